//! The JSON Schema of a tool's arguments: compiled once, then arguments are coerced, validated and, where they are
//! refused, explained.
//!
//! The verdict is always the library's, on the whole value. Coercion and explanation need to know which part fails which
//! subschema, so they walk a graph of the subschemas beside it. Both schemas and arguments are hostile: see [`limits`].

mod bounds;
mod build;
mod coerce;
mod compile;
mod error;
mod explain;
mod graph;
mod instance;
pub mod limits;
mod message;
mod value;
mod walk;
mod words;

use std::sync::Arc;

use serde_json::Value;

pub use error::{Invalid, Problem, SchemaError};

use coerce::Coercer;
use instance::{InText, Instance};
use walk::Walk;

use crate::model::{Json, Tape};

/// A compiled schema. Cheap to clone and to share between threads.
#[derive(Clone)]
pub struct Schema(Arc<Inner>);

struct Inner {
    graph: graph::Graph,
    validator: jsonschema::Validator<InText>,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

/// Arguments that are valid, perhaps after coercion.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The arguments to run with where something was coerced; nothing where they are valid as they stand.
    pub coerced: Option<Json>,
    /// Paths of what was coerced, like `a.b.0.c`; a property that was dropped for being null is named too.
    pub paths: Vec<String>,
}

/// Whether any string in `value`, whose depth is bounded, looks like a JSON array or object.
fn holds_json(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim_start().starts_with(['{', '[']),
        Value::Array(items) => items.iter().any(holds_json),
        Value::Object(map) => map.values().any(holds_json),
        _ => false,
    }
}

fn depth(document: &Json) -> usize {
    document.tape().map_or(limits::MAX_ARGUMENT_DEPTH, Tape::depth)
}

/// Why a check gave up before it had a verdict.
enum Refusal {
    TooDeep,
    Unread,
    TooMuch,
}

impl Schema {
    /// Checks a call's arguments, coercing what can be read without loss.
    ///
    /// What is valid as it stands is not touched, neither the whole nor a part of it.
    ///
    /// # Errors
    ///
    /// Arguments that the schema refuses, and arguments that are nested too deeply or would cost too much to check.
    pub fn check(&self, arguments: &Json) -> Result<Checked, Invalid> {
        match self.verdict(arguments) {
            Ok(true) => return Ok(Checked { coerced: None, paths: Vec::new() }),
            Ok(false) => {}
            Err(refusal) => return Err(refusal.into()),
        }
        // A string may turn out to hold JSON that is deeper than the arguments themselves.
        let levels = if holds_json(arguments.value()) { limits::MAX_ARGUMENT_DEPTH } else { depth(arguments) };
        self.on_enough_stack(levels, || self.coerce(arguments))
    }

    /// Memory that its regular expressions may take, in bytes: for whoever holds many schemas.
    pub fn pattern_bytes(&self) -> u64 {
        self.0.graph.pattern_classes.saturating_mul(limits::PATTERN_CLASS_BYTES as u64)
    }

    /// Whether a document is valid as it stands, without any coercion. False too where it is too costly to say.
    #[must_use]
    pub fn is_valid(&self, document: &Json) -> bool {
        self.verdict(document).unwrap_or(false)
    }

    /// Coerces arguments that are not valid as they stand.
    fn coerce(&self, arguments: &Json) -> Result<Checked, Invalid> {
        let mut coercer = Coercer::new(&self.0.graph);
        let mut coerced = arguments.value().clone();
        coercer.coerce_root(&mut coerced);
        let paths = coercer.changed;
        let coerced = if paths.is_empty() { arguments.clone() } else { arguments.changed_to(coerced) };
        if !paths.is_empty() && self.verdict(&coerced).unwrap_or(false) {
            return Ok(Checked { coerced: Some(coerced), paths });
        }
        Err(self.explain(arguments, coerced.value()))
    }

    /// What is wrong, where possible without what coercion would have taken care of.
    fn explain(&self, received: &Json, coerced: &Value) -> Invalid {
        let count = |invalid: &Invalid| invalid.problems.len().saturating_add(invalid.more);
        let after = explain::explain(&self.0.graph, coerced);
        let before = explain::explain(&self.0.graph, received.value());
        let chosen = if count(&after) > 0 && count(&after) <= count(&before) { after } else { before };
        if chosen.problems.is_empty() { self.library_words(received) } else { chosen }
    }

    /// The library's own words, for what the walk does not follow (`unevaluatedProperties` and the like).
    fn library_words(&self, received: &Json) -> Invalid {
        /// Weight of arguments up to which the library may list its errors: it copies the value into each of them.
        const MAX_LISTED_WEIGHT: u64 = 2_000;
        let whole = |message: &str| Invalid {
            problems: vec![Problem { path: words::path(&[]), message: message.to_owned() }],
            more: 0,
        };
        let Some(tape) = received.tape().filter(|tape| tape.weight() <= MAX_LISTED_WEIGHT) else {
            return whole(
                "does not match the schema of this tool, and is too large for a closer look; use only the properties it describes",
            );
        };
        let Err(error) = self.0.validator.validate(Instance::Part(tape.root(received.text()))) else {
            return whole("does not match the schema of this tool");
        };
        let segments: Vec<String> = error
            .instance_path()
            .as_str()
            .split('/')
            .skip(1)
            .map(|part| words::segment(&part.replace("~1", "/").replace("~0", "~")))
            .collect();
        let message = error.masked_with(words::describe(error.instance())).to_string().replace(char::is_control, " ");
        Invalid {
            problems: vec![Problem { path: words::path(&segments), message: words::shorten(&message, 300) }],
            more: 0,
        }
    }

    /// The library's verdict, where it is affordable.
    fn verdict(&self, document: &Json) -> Result<bool, Refusal> {
        let tape = document.tape().ok_or(Refusal::Unread)?;
        let depth = tape.depth();
        if depth > limits::MAX_ARGUMENT_DEPTH {
            return Err(Refusal::TooDeep);
        }
        let root = Instance::Part(tape.root(document.text()));
        self.on_enough_stack(depth, || {
            // For each part: the step to it, its text, its keywords, and once for each level that may be compared as a
            // whole.
            let is_cheap = self.0.graph.steps_per_part.is_some_and(|steps| {
                let steps = steps.saturating_add(4).saturating_add(depth as u64);
                tape.weight().saturating_mul(steps) < limits::MAX_STEPS
            });
            if !is_cheap && !Walk::new(&self.0.graph).affordable(0, root) {
                return Err(Refusal::TooMuch);
            }
            Ok(self.0.validator.is_valid(root))
        })
    }

    /// Runs `check` here, or on a thread with a large stack where the recursion could be too deep for this one.
    fn on_enough_stack<T: Send>(&self, levels: usize, check: impl Fn() -> T + Sync) -> T {
        if (levels + 2).saturating_mul(self.0.graph.longest_chain) <= limits::SMALL_STACK_LEVELS {
            return check();
        }
        std::thread::scope(|scope| {
            let deep = std::thread::Builder::new()
                .name("toolgate-schema".to_owned())
                .stack_size(limits::STACK_BYTES)
                .spawn_scoped(scope, &check);
            match deep {
                Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // No thread to be had: most stacks hold it all the same.
                Err(_) => check(),
            }
        })
    }
}

impl From<Refusal> for Invalid {
    fn from(refusal: Refusal) -> Self {
        let message = match refusal {
            Refusal::TooDeep => {
                format!("nested deeper than {} levels; send flatter arguments", limits::MAX_ARGUMENT_DEPTH)
            }
            Refusal::Unread => format!(
                "nested deeper than {} levels, or with a number of more than 4300 digits; send flatter arguments, or fewer digits",
                limits::MAX_ARGUMENT_DEPTH
            ),
            Refusal::TooMuch => {
                "too large or too complex to be checked against this tool's schema; send less in one call".to_owned()
            }
        };
        Self { problems: vec![Problem { path: words::path(&[]), message }], more: 0 }
    }
}
