//! A tool that stands in for somebody else's, so that a hook has something to see.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use toolgate::model::{Json, ToolDefinition, ToolResult};
use toolgate::pipeline::{CallContext, Slot, Tool, ToolError};

/// What the stand-in answers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StandIn {
    /// The answer; without one it answers with the arguments it got, as JSON.
    pub text: Option<String>,
    /// It fails.
    #[serde(default)]
    pub is_error: bool,
}

impl StandIn {
    /// The tool: it takes any object.
    pub fn tool(self, name: &str) -> impl Tool + 'static {
        let parameters = Json::from_value(json!({ "type": "object" }));
        StandInTool { definition: ToolDefinition::new(name, "A stand-in", parameters), answer: self }
    }
}

struct StandInTool {
    definition: ToolDefinition,
    answer: StandIn,
}

#[async_trait]
impl Tool for StandInTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn execute(&self, _cx: &CallContext, arguments: &Json, _slot: Slot) -> Result<ToolResult, ToolError> {
        let text = self.answer.text.clone().unwrap_or_else(|| arguments.text().to_owned());
        if self.answer.is_error { Err(ToolError::failed(text)) } else { Ok(ToolResult::text(text)) }
    }
}
