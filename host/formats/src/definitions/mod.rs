//! Definitions as each provider accepts them.

mod merge;
mod openapi;
mod root;
mod strict;

use serde_json::{Map, Value, json};
use toolgate::model::ToolDefinition;

use crate::note::{Level, Notes, quoted};
use crate::{Format, Note};
use strict::Rules;

/// Characters of a description that some servers with OpenAI's API refuse to exceed; OpenAI itself did until 2025.
const LONG_DESCRIPTION: usize = 1_024;

/// Anthropic's bounds on all strict tools of one request together.
const ANTHROPIC_STRICT_TOOLS: usize = 20;
const ANTHROPIC_OPTIONAL: usize = 24;
const ANTHROPIC_UNIONS: usize = 16;

/// Definitions in a provider's form.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Export {
    /// One per tool that the provider can have, in the order given.
    pub tools: Vec<Value>,
    /// What had to be changed, and which tools are left out.
    pub notes: Vec<Note>,
    format: Format,
}

impl Export {
    /// What goes into the request's `tools`.
    pub fn document(&self) -> Value {
        match self.format {
            Format::Google if self.tools.is_empty() => json!([]),
            Format::Google => json!([{ "functionDeclarations": self.tools }]),
            _ => Value::Array(self.tools.clone()),
        }
    }

    /// Whether a tool is left out.
    pub fn is_complete(&self) -> bool {
        self.notes.iter().all(|note| note.level != Level::Refused)
    }
}

/// Writes definitions in a provider's form. `strict` asks for the provider's strict mode where it has one; a tool whose
/// schema can't be put into it goes out without, and a note says why.
pub fn export<'a>(format: Format, strict: bool, tools: impl IntoIterator<Item = &'a ToolDefinition>) -> Export {
    let mut export = Export { tools: Vec::new(), notes: Vec::new(), format };
    let mut budget = Budget::default();
    for tool in tools {
        let mut notes = Notes::new(&tool.name);
        let written = match format {
            Format::OpenAi | Format::OpenAiChat => openai(format, strict, tool, &mut notes),
            Format::Anthropic => anthropic(strict, tool, &mut budget, &mut notes),
            Format::Google => google(tool, &mut notes),
            Format::Mcp => mcp(tool, &mut notes),
        };
        if tool.description.trim().is_empty() {
            notes.add(Level::Advice, "", "it has no description, which is all a model chooses by");
        }
        if let Some(written) = written
            && !notes.is_refused()
        {
            export.tools.push(written);
        }
        export.notes.extend(notes.finish());
    }
    export
}

/// What is left of Anthropic's bounds.
#[derive(Default)]
struct Budget {
    tools: usize,
    optional: usize,
    unions: usize,
}

fn openai(format: Format, strict: bool, tool: &ToolDefinition, notes: &mut Notes) -> Option<Value> {
    let parameters = root::flat(tool.parameters.value(), "OpenAI", notes)?;
    if format == Format::OpenAiChat && tool.description.chars().count() > LONG_DESCRIPTION {
        let text = format!("its description is longer than {LONG_DESCRIPTION} characters, which some servers refuse");
        notes.add(Level::Advice, "", text);
    }
    let strictly = if strict { try_strict(&parameters, &strict::OPENAI, notes) } else { None };
    let is_strict = strictly.is_some();
    let mut parameters = match strictly {
        Some(strictly) => Value::Object(strictly.schema),
        None => {
            let mut loose = Value::Object(parameters);
            root::add_items(&mut loose, "", notes);
            loose
        }
    };
    if let Value::Object(map) = &mut parameters {
        map.entry("properties").or_insert_with(|| json!({}));
    }
    let mut function = Map::new();
    if format == Format::OpenAi {
        function.insert("type".into(), "function".into());
    }
    function.insert("name".into(), tool.name.clone().into());
    function.insert("description".into(), tool.description.clone().into());
    function.insert("parameters".into(), parameters);
    // The Responses API is strict unless told otherwise, Chat Completions the other way round.
    if is_strict || format == Format::OpenAi {
        function.insert("strict".into(), is_strict.into());
    }
    Some(match format {
        Format::OpenAi => Value::Object(function),
        _ => json!({ "type": "function", "function": function }),
    })
}

fn anthropic(strict: bool, tool: &ToolDefinition, budget: &mut Budget, notes: &mut Notes) -> Option<Value> {
    let mut parameters = root::flat(tool.parameters.value(), "Anthropic", notes)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    for name in parameters.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys) {
        if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
            let text = format!(
                "Anthropic refuses the property name {}: 1 to 64 of A-Z, a-z, 0-9, _, . and - are accepted; rename it",
                quoted(name)
            );
            notes.refused("/properties", text);
        }
    }
    let mut is_strict = false;
    if strict && let Some(strictly) = try_strict(&parameters, &strict::ANTHROPIC, notes) {
        let full = [
            (budget.tools + 1 > ANTHROPIC_STRICT_TOOLS, ANTHROPIC_STRICT_TOOLS, "strict tools"),
            (budget.optional + strictly.optional > ANTHROPIC_OPTIONAL, ANTHROPIC_OPTIONAL, "optional properties"),
            (budget.unions + strictly.unions > ANTHROPIC_UNIONS, ANTHROPIC_UNIONS, "properties of several types"),
        ];
        match full.iter().find(|(full, ..)| *full) {
            Some((_, most, what)) => {
                notes.changed("", format!("not strict: a request may have {most} {what} in its strict tools together"));
            }
            None => {
                budget.tools += 1;
                budget.optional += strictly.optional;
                budget.unions += strictly.unions;
                parameters = strictly.schema;
                is_strict = true;
            }
        }
    }
    let mut written = Map::new();
    written.insert("name".into(), tool.name.clone().into());
    written.insert("description".into(), tool.description.clone().into());
    written.insert("input_schema".into(), Value::Object(parameters));
    if is_strict {
        written.insert("strict".into(), true.into());
    }
    Some(Value::Object(written))
}

/// The notes of an attempt that fails are of no interest but for the reason.
fn try_strict(parameters: &Map<String, Value>, rules: &'static Rules, notes: &mut Notes) -> Option<strict::Strict> {
    let mut attempt = Notes::new("");
    match strict::rewrite(parameters, rules, &mut attempt) {
        Ok(strict) => {
            notes.append(attempt);
            Some(strict)
        }
        Err(strict::NotStrict { path, why }) => {
            notes.changed(&path, format!("not strict: {why}"));
            None
        }
    }
}

fn google(tool: &ToolDefinition, notes: &mut Notes) -> Option<Value> {
    if !tool.name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        notes.refused("", "Google refuses names that do not begin with a letter or _; rename the tool");
    }
    let parameters = root::flat(tool.parameters.value(), "Google", notes)?;
    let written = openapi::rewrite(&parameters, notes);
    let mut function = Map::new();
    function.insert("name".into(), tool.name.clone().into());
    function.insert("description".into(), tool.description.clone().into());
    // An object without properties is refused; without parameters there are none.
    if written.get("properties").and_then(Value::as_object).is_some_and(|properties| !properties.is_empty()) {
        function.insert("parameters".into(), Value::Object(written));
    } else if root::is_open(&parameters) {
        notes.changed("", "it takes properties that its schema does not name; Google's models can't be told so");
    }
    Some(Value::Object(function))
}

fn mcp(tool: &ToolDefinition, notes: &mut Notes) -> Option<Value> {
    let mut written = Map::new();
    written.insert("name".into(), tool.name.clone().into());
    if let Some(label) = &tool.label {
        written.insert("title".into(), label.clone().into());
    }
    written.insert("description".into(), tool.description.clone().into());
    written.insert("inputSchema".into(), Value::Object(root::object(tool.parameters.value(), "MCP", notes)?));
    if let Some(output) = &tool.output {
        let mut attempt = Notes::new("");
        match root::object(output.value(), "MCP", &mut attempt) {
            Some(output) => {
                written.insert("outputSchema".into(), Value::Object(output));
            }
            None => notes.changed("", "its output schema is left out: MCP accepts objects only"),
        }
    }
    if let Ok(Value::Object(hints)) = serde_json::to_value(&tool.hints)
        && !hints.is_empty()
    {
        written.insert("annotations".into(), Value::Object(hints));
    }
    if let Some(Value::Object(meta)) = tool.meta.as_ref().map(|meta| meta.value()) {
        written.insert("_meta".into(), Value::Object(meta.clone()));
    }
    Some(Value::Object(written))
}
