//! What a tool answers, and what can be turned into an answer.

use serde::Serialize;

use crate::{Content, ToolError, ToolResult};

#[allow(clippy::derivable_impls, reason = "the type is generated")]
impl Default for ToolResult {
    fn default() -> Self {
        Self {
            content: Vec::new(),
            details: None,
            structured_content: None,
            usage: None,
            is_error: false,
            terminate: None,
            added_tool_names: None,
        }
    }
}

impl ToolResult {
    /// A result without content.
    pub fn new() -> Self {
        Self::default()
    }

    /// One text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().content(Content::text(text))
    }

    /// Adds a block for the model. A text may be given as it is.
    pub fn content(mut self, block: impl Into<Content>) -> Self {
        self.content.push(block.into());
        self
    }

    /// Data for programs and user interfaces; the model does not see it.
    ///
    /// # Panics
    /// Where serde can't write `details` as JSON (a map whose keys are no strings, for example).
    pub fn details(mut self, details: impl Serialize) -> Self {
        self.details = Some(to_json("details", &details));
        self
    }

    /// The answer as data, for a tool that declares an output schema. Panics as [`details`](Self::details) does.
    pub fn structured_content(mut self, value: impl Serialize) -> Self {
        self.structured_content = Some(to_json("structured content", &value));
        self
    }

    /// Token or cost accounting, a JSON object. Panics as [`details`](Self::details) does.
    pub fn usage(mut self, usage: impl Serialize) -> Self {
        self.usage = Some(to_json("usage", &usage));
        self
    }

    /// The call failed although it has a result to show.
    pub fn error(mut self) -> Self {
        self.is_error = true;
        self
    }

    /// A hint that the run may stop here; it counts only where every result of the batch says true.
    pub fn terminate(mut self, terminate: bool) -> Self {
        self.terminate = Some(terminate);
        self
    }

    /// Tools that become callable from the next turn on.
    pub fn added_tool_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.added_tool_names = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// The text blocks, one after another on lines of their own.
    pub fn joined_text(&self) -> String {
        self.content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
    }
}

pub(crate) fn to_json(what: &str, value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| panic!("{what} can't be written as JSON: {error}"))
}

/// Data as the answer: becomes the structured content, and the same JSON as text for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Json<T>(pub T);

/// What a tool may return, or send as a partial result: `String`, `&str`, `()`, [`Content`] (an image, a sound, a
/// resource), `Vec<Content>`, [`Json`], or a [`ToolResult`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no answer of a tool",
    note = "an answer is a `String`, `&str`, `()`, `Content`, `Vec<Content>`, `Json<T>` (data) or a `ToolResult`"
)]
pub trait IntoToolResult {
    /// Fails where the value can't be written as JSON.
    fn into_tool_result(self) -> Result<ToolResult, ToolError>;
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(self))
    }
}

impl IntoToolResult for &str {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(self))
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::new().content(self))
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult { content: self, ..ToolResult::new() })
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::new())
    }
}

impl<T: Serialize> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        let json = serde_json::to_string(&self.0)?;
        Ok(ToolResult { structured_content: Some(json.clone()), ..ToolResult::text(json) })
    }
}
