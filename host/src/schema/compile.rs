//! Turns a schema document that someone else wrote into something that can be checked against, or refuses it.

use std::sync::Arc;

use jsonschema::json::Json;
use jsonschema::{Draft, PatternOptions, Retrieve, Uri, Validator};
use serde_json::{Map, Value};

use super::build::reference_error;
use super::error::SchemaError;
use super::graph::Graph;
use super::{Inner, Schema, limits, value};
use crate::model;

/// The one place that configures the library.
#[derive(Clone, Copy)]
pub(super) struct Compiler;

impl Compiler {
    pub(super) fn build<F: Json>(
        self,
        document: &Value,
        draft: Draft,
    ) -> Result<Validator<F>, jsonschema::ValidationError<'static>> {
        let largest = limits::PATTERN_CLASSES.iter().max().copied().unwrap_or(1);
        Self::build_within(document, draft, largest)
    }

    fn build_within<F: Json>(
        document: &Value,
        draft: Draft,
        class: u64,
    ) -> Result<Validator<F>, jsonschema::ValidationError<'static>> {
        let size = usize::try_from(class).unwrap_or(1).saturating_mul(limits::PATTERN_CLASS_BYTES);
        jsonschema::options_for::<F>()
            .with_draft(draft)
            .with_retriever(Offline)
            .should_validate_formats(true)
            .with_content_media_type("application/json", is_json)
            .with_pattern_options(PatternOptions::regex().size_limit(size).dfa_size_limit(limits::PATTERN_DFA_BYTES))
            .build(document)
    }

    /// Compiles a regular expression within the smallest size that suffices.
    pub(super) fn pattern(self, text: &str) -> Option<(Validator, u64)> {
        let document = Value::Object(Map::from_iter([("pattern".to_owned(), Value::String(text.to_owned()))]));
        limits::PATTERN_CLASSES
            .into_iter()
            .find_map(|class| Some((Self::build_within(&document, Draft::Draft202012, class).ok()?, class)))
    }
}

/// In place of the library's own check, which reads what a private key of serde_json holds anew, however deep.
fn is_json(text: &str) -> bool {
    model::Json::verify(text).is_ok()
}

/// A retriever that retrieves nothing.
pub(super) struct Offline;

impl Retrieve for Offline {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("{uri} is outside this schema").into())
    }
}

impl Schema {
    /// Compiles a JSON Schema document: draft 2020-12, or the draft its `$schema` names; `format` is asserted.
    ///
    /// The document may come from anywhere: nothing is fetched, regular expressions take linear time, and the work is
    /// bounded by the numbers in [`limits`].
    ///
    /// # Errors
    ///
    /// A document that is no valid schema, refers to something outside itself, or exceeds a bound; the error names the
    /// place and says what to change.
    pub fn compile(document: &Value) -> Result<Self, SchemaError> {
        const FAILED: &str = "the schema library failed on this schema; simplify its `$id`, `$anchor` and `$ref`";
        if is_shallow(document, SHALLOW) {
            let compiled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compile(document)));
            return compiled.unwrap_or_else(|_| Err(SchemaError::new("", FAILED)));
        }
        // Compiling recurses over a document whose depth is bounded, but not by what every caller's stack holds.
        std::thread::scope(|scope| {
            std::thread::Builder::new()
                .name("toolgate-schema".to_owned())
                .stack_size(limits::STACK_BYTES)
                .spawn_scoped(scope, || compile(document))
                .map_err(|error| SchemaError::new("", format!("no thread to compile the schema on: {error}")))?
                .join()
                .unwrap_or_else(|_| Err(SchemaError::new("", FAILED)))
        })
    }
}

/// Nesting that any stack holds.
const SHALLOW: usize = 16;

/// Nested no deeper than most schemas are, and without references, by which compiling gets deeper than the document:
/// such a schema needs no thread of its own.
fn is_shallow(document: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return false };
    match document {
        Value::Array(items) => items.iter().all(|item| is_shallow(item, below)),
        Value::Object(map) => map.iter().all(|(key, value)| !key.starts_with('$') && is_shallow(value, below)),
        _ => true,
    }
}

fn compile(document: &Value) -> Result<Schema, SchemaError> {
    measure(document)?;
    let draft = Draft::Draft202012.detect(document);
    if draft == Draft::Unknown {
        let named = document.get("$schema").and_then(Value::as_str).unwrap_or_default();
        return Err(SchemaError::new(
            "#/$schema",
            format!(
                "{} is not a known dialect; use https://json-schema.org/draft/2020-12/schema (2019-09, draft-07, -06 and -04 work too)",
                super::words::excerpt(named)
            ),
        ));
    }
    let compiler = Compiler;
    // Before the library compiles the whole: this refuses what would cost it too much.
    let graph = Graph::build(document, draft, compiler)?;
    let validator = compiler.build(document, draft).map_err(|error| build_error(&error))?;
    Ok(Schema(Arc::new(Inner { graph, validator })))
}

/// Refuses documents that are too large to be looked at any further.
fn measure(document: &Value) -> Result<(), SchemaError> {
    if !document.is_object() && !document.is_boolean() {
        return Err(SchemaError::new(
            "",
            format!(
                "a schema must be a JSON object (or `true` or `false`), this one is {}",
                super::words::describe(document)
            ),
        ));
    }
    if value::depth(document, limits::MAX_SCHEMA_DEPTH) > limits::MAX_SCHEMA_DEPTH {
        return Err(SchemaError::new(
            "",
            format!("nested deeper than {} levels; use `$ref`", limits::MAX_SCHEMA_DEPTH),
        ));
    }
    let mut size = Size { bytes: 0, values: 0 };
    size.add(document);
    if size.bytes > limits::MAX_SCHEMA_BYTES || size.values > limits::MAX_SCHEMA_VALUES {
        return Err(SchemaError::new(
            "",
            format!(
                "larger than {} bytes or {} JSON values; make the schema smaller",
                limits::MAX_SCHEMA_BYTES,
                limits::MAX_SCHEMA_VALUES
            ),
        ));
    }
    Ok(())
}

struct Size {
    bytes: usize,
    values: usize,
}

impl Size {
    fn add(&mut self, value: &Value) {
        self.values += 1;
        self.bytes += match value {
            Value::Null | Value::Bool(_) => 4,
            Value::Number(number) => number.as_str().len(),
            Value::String(text) => text.len() + 2,
            Value::Array(items) => {
                items.iter().for_each(|item| self.add(item));
                items.len() + 2
            }
            Value::Object(map) => {
                map.values().for_each(|child| self.add(child));
                map.keys().map(|key| key.len() + 4).sum::<usize>() + 2
            }
        };
    }
}

fn build_error(error: &jsonschema::ValidationError<'_>) -> SchemaError {
    if let jsonschema::error::ValidationErrorKind::Referencing(reference) = error.kind() {
        return reference_error("", reference);
    }
    // Where the document breaks its meta-schema, the error's instance is a part of the document.
    let at = format!("#{}", error.instance_path());
    let message = error.masked_with(super::words::describe(error.instance())).to_string();
    SchemaError::new(at, format!("not a valid JSON Schema: {}", super::words::shorten(&message, 400)))
}
