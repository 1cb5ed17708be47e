//! The conformance plugin in Rust: what `tests/conformance/README.md` asks of every SDK, and nothing else.

use std::time::Duration;

use toolgate_sdk::prelude::*;
use toolgate_sdk::{EmbeddedResource, ResourceBody, ResourceLink};

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    code_points: usize,
}

/// Answers with the text.
#[tool(label = "Echo", read_only, idempotent)]
fn echo(args: Text) -> Result<ToolResult, ToolError> {
    let details = Counted { code_points: args.text.chars().count() };
    Ok(ToolResult::text(args.text).details(details))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum How {
    Error,
    Throw,
    Reported,
    Trap,
}

#[derive(Deserialize, JsonSchema)]
struct Failure {
    how: How,
    message: String,
}

/// Fails.
#[tool]
fn fail(args: Failure) -> Result<ToolResult, ToolError> {
    match args.how {
        How::Error => Err(ToolError::new(args.message)),
        How::Throw => panic!("{}", args.message),
        How::Reported => Ok(ToolResult::text(args.message).error()),
        How::Trap => std::process::abort(),
    }
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    steps: u32,
}

/// Reports its steps.
#[tool]
fn progress(args: Steps, cx: &ToolContext) -> Result<&'static str, ToolError> {
    for step in 1..=args.steps {
        cx.update(format!("step {step} of {}", args.steps));
    }
    Ok("done")
}

#[derive(Deserialize, JsonSchema)]
struct Pause {
    ms: u32,
}

/// Waits.
#[tool]
fn sleep(args: Pause, cx: &ToolContext) -> Result<&'static str, ToolError> {
    if cx.wait(Duration::from_millis(args.ms.into())) {
        return Err(ToolError::cancelled());
    }
    Ok("slept")
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kept {
    Turn,
    Conversation,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    key: String,
    by: f64,
    scope: Kept,
}

/// Adds to a number that is kept.
#[tool]
fn count(args: Count, cx: &ToolContext) -> Result<String, ToolError> {
    let scope = match args.scope {
        Kept::Turn => Scope::Turn,
        Kept::Conversation => Scope::Conversation,
    };
    Ok(cx.state(scope).add(&args.key, args.by)?.to_string())
}

#[derive(Deserialize, JsonSchema)]
struct Remember {
    key: String,
    value: Option<String>,
    remove: Option<bool>,
}

/// Keeps a text for the conversation.
#[tool(exclusive(value("/key", write)))]
fn remember(args: Remember, cx: &ToolContext) -> Result<String, ToolError> {
    let state = cx.state(Scope::Conversation);
    if args.remove == Some(true) {
        state.remove(&args.key);
    } else if let Some(value) = args.value {
        state.set(&args.key, &value)?;
    } else {
        return Ok(state.get(&args.key)?.unwrap_or_else(|| "(nothing)".into()));
    }
    Ok("ok".into())
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Number {
    value: serde_json::Number,
}

/// Answers with the number.
#[tool(output = Number)]
fn number(args: Number) -> Result<ToolResult, ToolError> {
    Ok(ToolResult::text(args.value.to_string()).structured_content(args))
}

#[derive(Deserialize, JsonSchema)]
struct Data {
    data: String,
}

/// Counts bytes.
#[tool]
fn size(args: Data) -> Result<String, ToolError> {
    Ok(args.data.len().to_string())
}

#[derive(Deserialize, JsonSchema)]
struct Bytes {
    bytes: u32,
}

/// Makes a text.
#[tool]
fn make(args: Bytes) -> Result<String, ToolError> {
    Ok("x".repeat(args.bytes as usize))
}

/// Answers with one block of each kind.
#[tool]
fn media() -> Result<Vec<Content>, ToolError> {
    let link = ResourceLink {
        uri: "file:///a.txt".into(),
        name: "a.txt".into(),
        title: Some("A".into()),
        description: None,
        mime_type: Some("text/plain".into()),
        size: Some(3.0),
        annotations: None,
        meta: None,
    };
    let blob = EmbeddedResource {
        uri: "mem://b".into(),
        mime_type: None,
        body: ResourceBody::Blob(vec![0, 255]),
        annotations: None,
        meta: None,
    };
    Ok(vec![
        Content::text("all"),
        Content::image([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png"),
        Content::audio([0, 1, 2, 3, 4, 5, 6, 7], "audio/wav"),
        Content::ResourceLink(link),
        Content::resource("mem://t", "é"),
        Content::EmbeddedResource(blob),
    ])
}

/// Answers with the settings.
#[tool]
fn settings(cx: &ToolContext) -> Result<String, ToolError> {
    Ok(cx.config::<Value>()?.to_string())
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

#[derive(Deserialize, JsonSchema)]
struct Line {
    level: Level,
    message: String,
}

/// Writes a line for the operator.
#[tool]
fn logs(args: Line) -> Result<&'static str, ToolError> {
    match args.level {
        Level::Trace => log::trace(args.message),
        Level::Debug => log::debug(args.message),
        Level::Info => log::info(args.message),
        Level::Warn => log::warn(args.message),
        Level::Error => log::error(args.message),
    }
    Ok("logged")
}

#[derive(Serialize, JsonSchema)]
struct Place {
    position: u32,
    size: u32,
    turn: String,
    conversation: String,
}

/// Tells where in its batch the call stands.
#[tool(name = "where", output = Place)]
fn place(cx: &ToolContext) -> Result<ToolResult, ToolError> {
    let batch = cx.batch();
    Ok(ToolResult::text("ok").structured_content(Place {
        position: batch.position(),
        size: batch.size(),
        turn: batch.turn(),
        conversation: batch.conversation(),
    }))
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Greets.
#[tool(prepare_arguments = renamed)]
fn prepared(args: Name) -> Result<String, ToolError> {
    Ok(format!("hello {}", args.name))
}

fn renamed(mut args: Value) -> Result<Value, ToolError> {
    if let Some(args) = args.as_object_mut()
        && let Some(who) = args.remove("who")
    {
        args.insert("name".into(), who);
    }
    Ok(args)
}

struct Hooks;

impl Hook for Hooks {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::before().tools(["echo"]), Subscription::after().tools(["echo"]), Subscription::settled()]
    }

    fn before_tool_call(&self, cx: &BeforeContext) -> Result<Decision, HookError> {
        match cx.parse_arguments::<Text>()?.text.as_str() {
            "block me" => Ok(Decision::block("not this")),
            "ask me" => Ok(Decision::ask("Sure?", "echo asks")),
            "change me" => Ok(Decision::replace(json!({"text": "changed"}))),
            "fail me" => Err("hook broke")?,
            _ => Ok(Decision::allow()),
        }
    }

    fn after_tool_call(&self, cx: &AfterContext) -> Result<Option<Override>, HookError> {
        if cx.result().joined_text() != "secret" {
            return Ok(None);
        }
        Ok(Some(Override::new().content(vec!["[redacted]".into()])))
    }

    fn settled(&self, cx: &SettledContext) {
        log::info(format_args!("settled {} {}", cx.call().name, cx.is_error()));
    }
}

toolgate_sdk::plugin! {
    tools: [
        echo, fail, progress, sleep, count, remember, number, size, make, media, settings, logs, place, prepared,
    ],
    hooks: [Hooks]
}
