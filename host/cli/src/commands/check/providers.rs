//! What model providers would make of a definition.

use serde::Serialize;
use toolgate::model::ToolDefinition;
use toolgate_formats::{Format, Level, Note, export};

use super::report::Findings;

/// A provider's view of one tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    pub format: &'static str,
    /// What `toolgate tools --format` changes, and what it can't.
    pub changes: Vec<Note>,
    /// Whether it can have the provider's strict mode, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// What that would change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strict_changes: Vec<Note>,
}

/// The Chat Completions API has the rules of OpenAI's other one.
const FORMATS: [Format; 4] = [Format::OpenAi, Format::Anthropic, Format::Google, Format::Mcp];

pub fn look(definition: &ToolDefinition, findings: &mut Findings) -> Vec<Provider> {
    FORMATS.into_iter().map(|format| provider(format, definition, findings)).collect()
}

fn provider(format: Format, definition: &ToolDefinition, findings: &mut Findings) -> Provider {
    let mut plain = export(format, false, [definition]);
    // The missing description is a finding of its own.
    plain.notes.retain(|note| note.level != Level::Advice);
    for note in plain.notes.iter().filter(|note| note.level == Level::Refused) {
        findings.problem(Some(&definition.name), format!("{}: {}", format.as_str(), note.text));
    }
    let mut seen = Provider { format: format.as_str(), changes: plain.notes, strict: None, strict_changes: Vec::new() };
    if format.has_strict_mode() {
        let strictly = export(format, true, [definition]);
        seen.strict = Some(strictly.tools.first().is_some_and(|tool| tool["strict"] == true));
        seen.strict_changes = strictly
            .notes
            .into_iter()
            .filter(|note| note.level != Level::Advice && !seen.changes.contains(note))
            .collect();
    }
    seen
}
