//! A host in a few lines: one native tool, one native hook, a component if a file is named, one batch.
//!
//! `cargo run --example embed -- target/guests/components/calc.wasm`

use std::sync::Arc;

use async_trait::async_trait;
use toolgate::Host;
use toolgate::component::{Engine, EngineSettings, Loader, PluginSpec, Source};
use toolgate::model::{AssistantMessage, Event, Json, ToolDefinition, ToolResult};
use toolgate::pipeline::{
    Batch, CallContext, Decision, EventSink, Hook, HookError, HookEvent, SinkError, Slot, Tool, ToolError,
};
use toolgate::registry::Plugin;

/// A tool of the program itself.
struct Shout(ToolDefinition);

#[async_trait]
impl Tool for Shout {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, _cx: &CallContext, arguments: &Json, _slot: Slot) -> Result<ToolResult, ToolError> {
        // The arguments fit the schema: `text` is there and is a string.
        let text = arguments.value()["text"].as_str().unwrap_or_default();
        Ok(ToolResult::text(text.to_uppercase()))
    }
}

/// A hook of the program itself.
struct NoSecrets;

#[async_trait]
impl Hook for NoSecrets {
    fn wants(&self, event: HookEvent, tool: &str) -> bool {
        event == HookEvent::BeforeToolCall && tool == "shout"
    }

    async fn before_tool_call(&self, _cx: &CallContext, arguments: &Json) -> Result<Decision, HookError> {
        if arguments.text().contains("secret") {
            return Ok(Decision::Block { reason: Some("Secrets are not shouted.".into()), terminate: false });
        }
        Ok(Decision::Allow)
    }
}

/// Shows events as they come.
struct Print;

#[async_trait]
impl EventSink for Print {
    fn name(&self) -> &str {
        "print"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        println!("{}", serde_json::to_string(event)?);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::new();
    let schema = r#"{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}"#;
    let shout = Shout(ToolDefinition::new("shout", "Says it loudly.", Json::parse(schema)?));
    host.load(Plugin::native("builtin").tool(shout).hook(NoSecrets))?;

    if let Some(file) = std::env::args().nth(1) {
        // One engine per process; every component gets limits, and only the grants its spec names.
        let loader = Loader::new(Engine::new(EngineSettings::default())?);
        host.load(loader.load(PluginSpec::new("file", Source::File(file.into()))).await?)?;
    }

    let message = AssistantMessage::parse(
        r#"[{"id": "1", "name": "shout", "arguments": {"text": "hello"}},
            {"id": "2", "name": "shout", "arguments": {"text": "the secret"}},
            {"id": "3", "name": "calc", "arguments": {"expression": "2*(3+4)"}}]"#,
    )?;
    let outcome = host.run(Batch::new(message).sink(Arc::new(Print))).await;
    for message in outcome.messages {
        println!("to the model: {}", serde_json::to_string(&message)?);
    }
    Ok(())
}
