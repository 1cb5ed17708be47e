//! The server inside a program: a host of native plugins, one client over a pair of streams in memory.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split};
use toolgate::Host;
use toolgate::model::{Content, ErrorInfo, Json, Override, ToolDefinition, ToolResult};
use toolgate::pipeline::{CallContext, Hook, HookError, HookEvent, NoLogs, Slot, Tool, ToolError};
use toolgate::registry::Plugin;
use toolgate_mcp::{Bridge, Options, Server, serve_connection};

struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
}

impl Client {
    async fn open(host: Host, bridge: Bridge) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = split(theirs);
        let server = Server::new(host, bridge, Options::default());
        tokio::spawn(async move { serve_connection(server, read, write, std::future::pending()).await.unwrap() });
        let (read, input) = split(ours);
        let mut client = Self { lines: BufReader::new(read).lines(), input };
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        client.request("initialize", params).await;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client.request("ping", json!({})).await;
        client
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(60), self.lines.next_line()).await.expect("a line in time");
        serde_json::from_str(&line.unwrap().unwrap()).unwrap()
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await;
        loop {
            let message = self.next().await;
            if message["id"] == 1 {
                return message;
            }
        }
    }
}

/// Answers with data.
struct Weigh(ToolDefinition);

impl Weigh {
    fn named(name: &str) -> Self {
        let mut definition = ToolDefinition::new(name, "Weighs.", Json::parse(r#"{"type": "object"}"#).unwrap());
        let output = r#"{"type": "object", "properties": {"grams": {"type": "number"}}, "required": ["grams"]}"#;
        definition.output = Some(Json::parse(output).unwrap());
        Self(definition)
    }
}

#[async_trait]
impl Tool for Weigh {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, cx: &CallContext, _arguments: &Json, _slot: Slot) -> Result<ToolResult, ToolError> {
        let structured_content = Some(Json::parse(r#"{"grams": 1}"#).unwrap());
        let text = cx.trace_parent.as_ref().map_or("one gram", |at| at.as_str());
        Ok(ToolResult { structured_content, ..ToolResult::text(text) })
    }
}

/// Changes results as it was told to.
struct Change(Override);

#[async_trait]
impl Hook for Change {
    fn wants(&self, event: HookEvent, _tool: &str) -> bool {
        event == HookEvent::AfterToolCall
    }

    async fn after_tool_call(
        &self,
        _cx: &CallContext,
        _arguments: &Json,
        _result: &ToolResult,
        _is_error: bool,
        _error: Option<&ErrorInfo>,
    ) -> Result<Option<Override>, HookError> {
        Ok(Some(self.0.clone()))
    }
}

fn host() -> (Host, Bridge) {
    let bridge = Bridge::new(Arc::new(NoLogs));
    (Host::builder().approver(Arc::new(bridge.clone())).logs(Arc::new(bridge.clone())).build(), bridge)
}

#[tokio::test]
async fn the_list_changes_with_what_is_loaded() {
    let (host, bridge) = host();
    let mut client = Client::open(host.clone(), bridge).await;
    let scale = |tool: &str| Plugin::native("scale").tool(Weigh::named(tool));
    for listed in ["weigh", "measure", ""] {
        match listed {
            "weigh" => host.load(scale(listed)).unwrap(),
            "measure" => host.replace(scale(listed)).unwrap(),
            _ => host.unload("scale").unwrap(),
        }
        assert_eq!(client.next().await["method"], "notifications/tools/list_changed");
        let tools = client.request("tools/list", json!({})).await;
        let names: Vec<&str> =
            tools["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names.join(" "), listed);
    }
}

/// A client refuses a success without the data that its tool promises; a redaction must not be undone for that.
#[tokio::test]
async fn what_a_hook_makes_of_a_result_is_checked_again() {
    for (change, says) in [
        (Override { content: Some(vec![Content::text("redacted")]), ..Override::default() }, "was taken out"),
        (
            Override { structured_content: Some(Json::parse(r#"{"grams": "x"}"#).unwrap()), ..Override::default() },
            "does not match the output schema",
        ),
    ] {
        let (host, bridge) = host();
        let answered = change.content.as_ref().map_or("one gram", |_| "redacted");
        host.load(Plugin::native("scale").tool(Weigh::named("weigh")).hook(Change(change.clone()))).unwrap();
        let mut client = Client::open(host, bridge).await;
        let answer = client.request("tools/call", json!({ "name": "weigh" })).await;
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{answer}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains(says), "{answer}");
        assert_eq!(result["content"][1]["text"], answered, "{answer}");
        assert!(result.get("structuredContent").is_none(), "{answer}");
    }
}

#[tokio::test]
async fn a_call_hangs_in_its_callers_trace() {
    let (host, bridge) = host();
    host.load(Plugin::native("scale").tool(Weigh::named("weigh"))).unwrap();
    let mut client = Client::open(host, bridge).await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (given, seen) in [(trace, trace), ("nonsense", "one gram")] {
        let params = json!({ "name": "weigh", "_meta": { "traceparent": given } });
        let answer = client.request("tools/call", params).await;
        assert_eq!(answer["result"]["content"][0]["text"], seen, "{answer}");
    }
}
