//! A tiny agent loop with Toolgate in it. The model is a script, everything else is what a real agent has: tools from a
//! component and from the program itself, a hook that watches them, an approver who answers, a sink that shows events.
//!
//! `cargo run --bin example-agent -- target/guests/components/calc.wasm`

mod agent;
mod model;

use std::sync::Arc;

use async_trait::async_trait;
use toolgate::Host;
use toolgate::component::{Engine, EngineSettings, Loader, PluginSpec, Source};
use toolgate::model::{Event, Json, ToolDefinition, ToolResult};
use toolgate::pipeline::{
    Approval, ApprovalRequest, Approver, CallContext, Decision, EventSink, Hook, HookError, HookEvent, SinkError, Slot,
    Tool, ToolError,
};
use toolgate::registry::Plugin;

/// A tool of the program itself: it needs no sandbox, and goes through the same three stages.
struct SendMail(ToolDefinition);

#[async_trait]
impl Tool for SendMail {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, _cx: &CallContext, arguments: &Json, _slot: Slot) -> Result<ToolResult, ToolError> {
        // The arguments fit the schema: `to` is there and is a string.
        let to = arguments.value()["to"].as_str().unwrap_or_default();
        Ok(ToolResult::text(format!("Sent to {to}.")))
    }
}

/// A policy of the program itself. Others may be components; they all run in one order.
struct MailPolicy;

#[async_trait]
impl Hook for MailPolicy {
    fn wants(&self, event: HookEvent, tool: &str) -> bool {
        event == HookEvent::BeforeToolCall && tool == "send_mail"
    }

    async fn before_tool_call(&self, _cx: &CallContext, arguments: &Json) -> Result<Decision, HookError> {
        let to = arguments.value()["to"].as_str().unwrap_or_default();
        if !to.ends_with("@example.com") {
            return Ok(Decision::Block {
                reason: Some("Mail may only go to example.com. Tell the user instead.".into()),
                terminate: false,
            });
        }
        Ok(Decision::Ask { title: "Send mail?".into(), text: format!("The agent wants to write to {to}.") })
    }
}

/// Who answers when a hook asks. A real agent shows the questions to its user.
struct Colleagues;

#[async_trait]
impl Approver for Colleagues {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        for question in &request.questions {
            println!("  ? {}: {}", question.title, question.text);
        }
        if request.arguments.text().contains("boss@") {
            return Approval::Declined { reason: Some("not while on holiday".into()) };
        }
        Approval::Approved
    }
}

/// Shows what happens as it happens: end events in the order of completion.
struct Show;

#[async_trait]
impl EventSink for Show {
    fn name(&self) -> &str {
        "show"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        match event {
            Event::ToolExecutionStart { tool_name, args, .. } => println!("  > {tool_name} {args}"),
            Event::ToolExecutionEnd { tool_name, is_error, duration_ms, .. } => {
                println!("  < {tool_name} {} in {duration_ms:.1} ms", if *is_error { "failed" } else { "done" });
            }
            _ => {}
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::builder().approver(Arc::new(Colleagues)).build();
    let schema = r#"{"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}"#;
    let send_mail = SendMail(ToolDefinition::new("send_mail", "Sends a mail.", Json::parse(schema)?));
    host.load(Plugin::native("mail").tool(send_mail).hook(MailPolicy))?;
    if let Some(file) = std::env::args_os().nth(1) {
        // One engine per process; every component gets limits, and of grants only those that its spec names.
        let loader = Loader::new(Engine::new(EngineSettings::default())?);
        host.load(loader.load(PluginSpec::new("file", Source::File(file.into()))).await?)?;
    }
    let answer = agent::run(&host, model::Script::new(), "How much is 6*7? Mail it to Ann.", Arc::new(Show)).await?;
    println!("{answer}");
    Ok(())
}
