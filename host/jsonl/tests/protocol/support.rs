//! A client that sends and reads lines, a server beside it, and native tools that do what their arguments say.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolgate::model::{Json, ToolDefinition, ToolResult};
use toolgate::pipeline::{CallContext, Decision, Hook, HookError, HookEvent, LogLevel, LogLine, Slot, Tool, ToolError};
use toolgate::registry::Plugin;
use toolgate::{Host, HostBuilder};
use toolgate_jsonl::{Settings, serve};

/// One validator per definition that is checked for.
fn validator(definition: &str) -> jsonschema::Validator {
    let mut schema: Value = serde_json::from_str(include_str!("../../schema.json")).unwrap();
    let root = schema.as_object_mut().unwrap();
    root.remove("anyOf");
    root.insert("$ref".into(), format!("#/$defs/{definition}").into());
    jsonschema::options().build(&schema).unwrap()
}

/// Checks a document against a definition of `schema.json`.
pub fn check(definition: &str, document: &Value) {
    static VALIDATORS: LazyLock<std::sync::Mutex<HashMap<String, Arc<jsonschema::Validator>>>> =
        LazyLock::new(std::sync::Mutex::default);
    let validator = {
        let mut all = VALIDATORS.lock().unwrap();
        all.entry(definition.to_owned()).or_insert_with(|| Arc::new(validator(definition))).clone()
    };
    let problems: Vec<String> = validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{document}\nis no {definition}: {problems:?}");
}

pub struct Client {
    input: Option<DuplexStream>,
    output: BufReader<DuplexStream>,
    /// What was read while something else was waited for.
    pub seen: Vec<Value>,
    asked: HashMap<String, String>,
    next: i64,
    pub server: JoinHandle<std::io::Result<()>>,
    pub stop: CancellationToken,
    pub host: Host,
}

impl Client {
    /// A server with the native tools, and a client that has said hello with these capabilities.
    pub async fn new(builder: HostBuilder, settings: Settings, capabilities: Value) -> Self {
        let mut client = Self::silent(builder, settings, 1 << 16);
        client.hello(capabilities).await;
        client
    }

    pub async fn simple() -> Self {
        Self::new(builder(), Settings::default(), json!({})).await
    }

    /// A client that has not said hello; so many bytes wait in the stream.
    pub fn silent(builder: HostBuilder, settings: Settings, stream: usize) -> Self {
        let host = builder.build();
        host.load(plugin()).unwrap();
        Self::of_host(host, settings, stream)
    }

    /// The same with a host that is set up.
    pub fn of_host(host: Host, settings: Settings, stream: usize) -> Self {
        let (input, from_client) = tokio::io::duplex(stream);
        let (to_client, output) = tokio::io::duplex(stream);
        let stop = CancellationToken::new();
        let server = tokio::spawn(serve(host.clone(), settings, from_client, to_client, stop.clone()));
        let (output, asked) = (BufReader::new(output), HashMap::new());
        Self { input: Some(input), output, seen: Vec::new(), asked, next: 0, server, stop, host }
    }

    pub async fn hello(&mut self, capabilities: Value) -> Value {
        self.request("hello", json!({ "protocol": 1, "capabilities": capabilities })).await
    }

    /// Sends bytes as they are.
    pub async fn raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    pub async fn send(&mut self, message: Value) {
        check("clientMessage", &message);
        if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            self.asked.insert(id.to_string(), method.to_owned());
        }
        self.raw(format!("{message}\n").as_bytes()).await;
    }

    /// Starts a request and gives its id.
    pub async fn start(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = json!(self.next);
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// A batch of calls `(id, tool, arguments)`.
    pub async fn run(&mut self, calls: &[(&str, &str, Value)]) -> Value {
        self.start("run", json!({ "message": message(calls) })).await
    }

    /// The next line.
    pub async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = tokio::time::timeout(Duration::from_secs(10), self.output.read_line(&mut line));
        if read.await.expect("the server says nothing").unwrap() == 0 {
            return None;
        }
        let message: Value = serde_json::from_str(&line).unwrap();
        check("serverMessage", &message);
        let method = message["id"].as_i64().and_then(|id| self.asked.get(&id.to_string()));
        if let (Some(method), Some(result), None) = (method, message.get("result"), message.get("method")) {
            check(&format!("results/$defs/{method}"), result);
        }
        Some(message)
    }

    /// The first line, of those seen or to come, that is wanted. The others are kept.
    pub async fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.seen.iter().position(&wanted) {
            return self.seen.remove(at);
        }
        loop {
            let message = self.next().await.expect("the server has ended");
            if wanted(&message) {
                return message;
            }
            self.seen.push(message);
        }
    }

    /// The answer to a request.
    pub async fn answer(&mut self, id: &Value) -> Value {
        let id = id.clone();
        self.wait(move |message| message.get("method").is_none() && message["id"] == id).await
    }

    /// The result of a request, or its error.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        let mut answer = self.answer(&id).await;
        if answer.get("error").is_some() { answer["error"].take() } else { answer["result"].take() }
    }

    /// A request or notification of the server's.
    pub async fn asked(&mut self, method: &str) -> Value {
        let method = method.to_owned();
        self.wait(move |message| message["method"] == *method).await
    }

    /// Answers a request of the server's.
    pub async fn reply(&mut self, request: &Value, result: Value) {
        check(&format!("results/$defs/{}", request["method"].as_str().unwrap()), &result);
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    pub async fn refuse(&mut self, request: &Value, message: &str) {
        let error = json!({ "code": -32000, "message": message });
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).await;
    }

    /// The messages of a batch, when it is over.
    pub async fn messages(&mut self, id: &Value) -> Vec<Value> {
        let mut answer = self.answer(id).await;
        let Value::Array(messages) = answer["result"]["messages"].take() else { panic!("{answer}") };
        messages
    }

    /// Events of a batch that were seen, as `type id`.
    pub fn events(&self, id: &Value) -> Vec<String> {
        let ours = self.seen.iter().filter(|seen| seen["method"] == "event" && seen["params"]["batch"] == *id);
        let word = |seen: &Value| {
            let event = &seen["params"]["event"];
            let call = event.get("toolCallId").unwrap_or(&event["message"]["toolCallId"]);
            format!("{} {}", event["type"].as_str().unwrap(), call.as_str().unwrap_or_default())
        };
        ours.map(word).collect()
    }

    /// Ends the client's side.
    pub fn end(&mut self) {
        self.input = None;
    }

    /// Drops the client's ends of both streams.
    pub fn vanish(&mut self) {
        self.input = None;
        self.output = BufReader::new(tokio::io::duplex(1).0);
    }

    /// What is left, to the end.
    pub async fn rest(&mut self) {
        while let Some(message) = self.next().await {
            self.seen.push(message);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.server.abort();
    }
}

pub fn message(calls: &[(&str, &str, Value)]) -> Value {
    let call = |(id, name, arguments): &(&str, &str, Value)| json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments });
    json!({ "stopReason": "toolUse", "content": calls.iter().map(call).collect::<Vec<_>>() })
}

pub fn text(message: &Value) -> &str {
    message["content"][0]["text"].as_str().unwrap()
}

pub fn builder() -> HostBuilder {
    Host::builder().grace(Duration::from_millis(200)).sink_timeout(Duration::from_millis(300))
}

/// The native plugin.
pub fn plugin() -> Plugin {
    Plugin::native("native").tool(Do::named("do")).tool(Do::named("ask-first")).hook(Asks)
}

/// `{say?, updates?, bytes?, wait?, log?, count?}`.
pub struct Do(ToolDefinition);

impl Do {
    pub fn named(name: &str) -> Self {
        Self(ToolDefinition::new(name, "Does what the arguments say", Json::from_value(json!({ "type": "object" }))))
    }
}

#[async_trait]
impl Tool for Do {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, cx: &CallContext, arguments: &Json, _slot: Slot) -> Result<ToolResult, ToolError> {
        let arguments = arguments.value();
        let bytes = arguments["bytes"].as_u64().unwrap_or(1) as usize;
        for at in 0..arguments["updates"].as_u64().unwrap_or(0) {
            cx.update(ToolResult::text(format!("{at} {}", "x".repeat(bytes)))).await;
        }
        if let Some(message) = arguments["log"].as_str() {
            let line = LogLine {
                plugin: "native",
                tool_call_id: Some(&cx.call.id),
                stream: "log",
                level: LogLevel::Info,
                message,
            };
            cx.logs.log(&line);
        }
        if arguments["wait"] == true {
            cx.cancel.cancelled().await;
            if arguments["deaf"] == true {
                std::future::pending::<()>().await;
            }
            return Err(ToolError::cancelled());
        }
        if arguments["count"] == true {
            use toolgate::state::{Scope, StateKey, StateLimits};
            let (batch, plugin) = (&cx.batch, "native".into());
            let count = |scope| {
                let at = StateKey { scope, conversation: &batch.conversation, turn: &batch.turn, plugin: &plugin };
                cx.state.add(&at, "n", 1.0, StateLimits { keys: 9, bytes: 99 }).unwrap()
            };
            return Ok(ToolResult::text(format!("{} {}", count(Scope::Turn), count(Scope::Conversation))));
        }
        Ok(ToolResult::text(arguments["say"].as_str().unwrap_or("done").repeat(bytes)))
    }
}

/// Asks about `ask-first`.
struct Asks;

#[async_trait]
impl Hook for Asks {
    fn wants(&self, event: HookEvent, tool: &str) -> bool {
        event == HookEvent::BeforeToolCall && tool == "ask-first"
    }

    async fn before_tool_call(&self, _cx: &CallContext, _arguments: &Json) -> Result<Decision, HookError> {
        Ok(Decision::Ask { title: "Really?".into(), text: "It does things.".into() })
    }
}
