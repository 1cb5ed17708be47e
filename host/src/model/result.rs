//! What a call answers, and what a hook may change of it.

use serde::{Deserialize, Serialize};

use super::json::given;
use super::{Content, Json};

/// A tool's result, in the wire's shape. An absent field was not given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// For the model.
    pub content: Vec<Content>,
    /// For programs and user interfaces. `None` and JSON `null` are different.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub details: Option<Json>,
    /// The answer as data.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Json>,
    /// Accounting, passed on untouched.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub usage: Option<Json>,
    /// A hint that the run may stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminate: Option<bool>,
    /// Tools that become callable from the next turn on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_tool_names: Option<Vec<String>>,
    /// The tool itself says that it failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl ToolResult {
    /// A result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// The host's own error result: one text block and empty details.
    pub fn error(text: impl Into<String>) -> Self {
        Self { details: Some(Json::empty_object()), ..Self::text(text) }
    }

    /// Bytes of all content and documents; what the result limit counts.
    pub fn size(&self) -> usize {
        let json = |j: &Option<Json>| j.as_ref().map_or(0, Json::len);
        self.content.iter().map(Content::size).sum::<usize>()
            + json(&self.details)
            + json(&self.structured_content)
            + json(&self.usage)
            + self.added_tool_names.iter().flatten().map(String::len).sum::<usize>()
    }
}

/// A hook's change to a result, field by field; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Override {
    /// Replaces all content; `[]` is a value.
    pub content: Option<Vec<Content>>,
    /// Replaces details whole; JSON `null` is a value.
    pub details: Option<Json>,
    /// Replaces structured content.
    pub structured_content: Option<Json>,
    /// Replaces usage whole.
    pub usage: Option<Json>,
    /// Makes an error of a success or the other way round.
    pub is_error: Option<bool>,
    /// Sets the hint.
    pub terminate: Option<bool>,
}

impl Override {
    /// Bytes of all that it replaces; what the result limit counts.
    pub fn size(&self) -> usize {
        let json = |j: &Option<Json>| j.as_ref().map_or(0, Json::len);
        self.content.iter().flatten().map(Content::size).sum::<usize>()
            + json(&self.details)
            + json(&self.structured_content)
            + json(&self.usage)
    }

    /// Applies the change to a result and its error mark.
    pub fn apply(self, result: &mut ToolResult, is_error: &mut bool) {
        if let Some(content) = self.content {
            result.content = content;
            // A redaction of the text must not leave the secret in the other copy.
            result.structured_content = None;
        }
        if let Some(details) = self.details {
            result.details = Some(details);
        }
        if let Some(structured) = self.structured_content {
            result.structured_content = Some(structured);
        }
        if let Some(usage) = self.usage {
            result.usage = Some(usage);
        }
        if let Some(flag) = self.is_error {
            *is_error = flag;
        }
        if let Some(terminate) = self.terminate {
            result.terminate = Some(terminate);
        }
    }
}
