//! The server inside a program: a host of native plugins, one client over a pair of streams in memory.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split};
use toolgate::model::{Content, ErrorInfo, Json, Override, ToolDefinition, ToolResult};
use toolgate::pipeline::{CallContext, Hook, HookError, HookEvent, NoLogs, Slot, Tool, ToolError};
use toolgate::registry::Plugin;
use toolgate::{Host, Loading};
use toolgate_mcp::{Bridge, Options, Server, serve_connection};

struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
}

impl Client {
    async fn open(host: Host, bridge: Bridge) -> Self {
        Self::open_with(host, bridge, Options::default()).await
    }

    async fn open_with(host: Host, bridge: Bridge, options: Options) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = split(theirs);
        let server = Server::new(host, bridge, options);
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

/// What the client asks while plugins are still being loaded: at once what needs none, later what is still to come.
#[tokio::test]
async fn lists_and_calls_wait_for_what_is_still_being_loaded() {
    let (host, bridge) = host();
    host.set_loading(Loading::Hooks);
    host.load(Plugin::native("scale").tool(Weigh::named("weigh"))).unwrap();
    let mut client = Client::open(host.clone(), bridge).await;
    for (id, method, params) in [
        ("list", "tools/list", json!({})),
        ("there", "tools/call", json!({ "name": "weigh" })),
        ("late", "tools/call", json!({ "name": "measure" })),
        ("never", "tools/call", json!({ "name": "nobody" })),
        ("given up", "tools/call", json!({ "name": "nobody" })),
    ] {
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
    }
    // The next line is the answer to the ping: nothing else has been answered.
    client.send(&json!({ "jsonrpc": "2.0", "id": "ping", "method": "ping" })).await;
    assert_eq!(client.next().await["id"], "ping");
    let cancelled = json!({ "requestId": "given up" });
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled })).await;

    host.set_loading(Loading::Tools);
    let answer = client.next().await;
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!("there"), &json!("one gram")));
    host.load(Plugin::native("rule").tool(Weigh::named("measure"))).unwrap();
    let (mut changed, mut called) = (false, false);
    while !(changed && called) {
        let message = client.next().await;
        changed |= message["method"] == "notifications/tools/list_changed";
        called |= message["id"] == "late" && message["result"]["content"][0]["text"] == "one gram";
    }
    host.set_loading(Loading::Done);
    for _ in 0..2 {
        let answer = client.next().await;
        match answer["id"].as_str() {
            Some("list") => assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 2, "{answer}"),
            Some("never") => assert_eq!(answer["error"]["code"], -32602, "{answer}"),
            _ => panic!("{answer}"),
        }
    }
}

#[tokio::test]
async fn lists_and_calls_wait_within_limits() {
    let bridge = Bridge::new(Arc::new(NoLogs));
    let host = Host::builder().load_wait(Duration::from_millis(1)).list_wait(Duration::from_millis(1)).build();
    host.set_loading(Loading::Hooks);
    host.load(Plugin::native("scale").tool(Weigh::named("weigh"))).unwrap();
    let mut client = Client::open(host, bridge).await;
    let tools = client.request("tools/list", json!({})).await;
    assert_eq!(tools["result"]["tools"][0]["name"], "weigh", "{tools}");
    for tool in ["weigh", "measure"] {
        let answer = client.request("tools/call", json!({ "name": tool })).await;
        assert_eq!(answer["result"]["_meta"]["toolgate/error"]["kind"], "unavailable", "{answer}");
    }
}

/// A client that says all it wants and closes its end gets its answers, however long loading takes.
#[tokio::test]
async fn the_end_of_the_input_does_not_end_the_wait_for_what_is_loaded() {
    let (host, bridge) = host();
    host.set_loading(Loading::Tools);
    let mut options = Options::default();
    options.grace = Duration::ZERO;
    let mut client = Client::open_with(host.clone(), bridge, options).await;
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "weigh" } })).await;
    client.request("ping", json!({})).await;
    client.input.shutdown().await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    host.load(Plugin::native("scale").tool(Weigh::named("weigh"))).unwrap();
    let answer = loop {
        let message = client.next().await;
        if message["id"] == 2 {
            break message;
        }
    };
    assert_eq!(answer["result"]["content"][0]["text"], "one gram", "{answer}");
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
