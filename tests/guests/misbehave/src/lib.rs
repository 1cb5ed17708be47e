//! Tools that misbehave, or show what a guest sees, each as its name says. Host tests call them under limits and
//! grants of their choice.

mod reach;

use std::hint::black_box;
use std::time::{Duration, SystemTime};

use reach::{annotate, file_op, set_header, socket};
use toolgate_sdk::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Ms {
    ms: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Mb {
    /// MiB.
    mb: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Flood {
    n: u64,
    /// Of each; 1 by default.
    bytes: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Printed {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct File {
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct FileText {
    path: String,
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Depth {
    /// Without it, without end.
    depth: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
struct StateAdd {
    /// `turn` or `conversation`.
    scope: String,
    key: String,
    delta: f64,
}

/// Never returns.
#[tool(name = "loop-forever")]
fn loop_forever() -> Result<(), ToolError> {
    loop {
        black_box(());
    }
}

/// Panics with the message.
#[tool]
fn panic(args: Message) -> Result<(), ToolError> {
    panic!("{}", args.message)
}

/// Sleeps through WASI, deaf to cancellation.
#[tool]
fn sleep(args: Ms) -> Result<String, ToolError> {
    std::thread::sleep(Duration::from_millis(args.ms));
    Ok(format!("slept {} ms", args.ms))
}

/// Allocates memory and touches all of it.
#[tool]
fn allocate(args: Mb) -> Result<String, ToolError> {
    let memory = black_box(vec![1_u8; args.mb.saturating_mul(1 << 20)]);
    Ok(format!("allocated {} MiB", memory.len() >> 20))
}

/// Fills a large memory over and over, as the language does it: with bulk operations.
#[tool]
fn fill(args: Mb) -> Result<(), ToolError> {
    let mut memory = vec![0_u8; args.mb.saturating_mul(1 << 20)];
    for byte in (0..=u8::MAX).cycle() {
        memory.fill(byte);
        black_box(&memory);
    }
    Ok(())
}

/// Answers with a long text.
#[tool(name = "flood-output")]
fn flood_output(args: Mb) -> Result<String, ToolError> {
    Ok("x".repeat(args.mb.saturating_mul(1 << 20)))
}

/// Sends updates, numbered from 0 where they are of one byte.
#[tool(name = "flood-updates")]
fn flood_updates(args: Flood, cx: &ToolContext) -> Result<String, ToolError> {
    for n in 0..args.n {
        cx.update(args.bytes.map_or_else(|| n.to_string(), |bytes| "u".repeat(bytes)));
    }
    Ok(format!("sent {} updates", args.n))
}

/// Writes log lines, numbered from 0 where they are of one byte.
#[tool(name = "flood-logs")]
fn flood_logs(args: Flood) -> Result<String, ToolError> {
    for n in 0..args.n {
        log::info(args.bytes.map_or_else(|| n.to_string(), |bytes| "l".repeat(bytes)));
    }
    Ok(format!("wrote {} lines", args.n))
}

/// Writes the text to stdout and stderr.
#[tool]
fn print(args: Printed) -> Result<(), ToolError> {
    println!("{}", args.text);
    eprintln!("{}", args.text);
    Ok(())
}

/// Answers with its arguments as they came, as text and as structured content.
#[tool]
fn echo(_args: Value, cx: &ToolContext) -> Result<ToolResult, ToolError> {
    let raw = &cx.call().arguments;
    Ok(ToolResult { structured_content: Some(raw.clone()), ..ToolResult::text(raw) })
}

/// Waits, and stops by itself when cancelled.
#[tool(name = "wait-cancel")]
fn wait_cancel(args: Ms, cx: &ToolContext) -> Result<String, ToolError> {
    if cx.wait(Duration::from_millis(args.ms)) {
        return Err(ToolError::cancelled());
    }
    Ok("was not cancelled".into())
}

/// Reads a file.
#[tool(name = "read-file")]
fn read_file(args: File) -> Result<String, ToolError> {
    std::fs::read_to_string(&args.path).map_err(|error| ToolError::io(&args.path, error))
}

/// Writes a file.
#[tool(name = "write-file")]
fn write_file(args: FileText) -> Result<(), ToolError> {
    std::fs::write(&args.path, &args.text).map_err(|error| ToolError::io(&args.path, error))
}

/// Reads an environment variable.
#[tool]
fn env(args: Name) -> Result<String, ToolError> {
    Ok(std::env::var(&args.name)?)
}

/// Reads the wall clock: milliseconds since 1970.
#[tool]
fn now() -> Result<String, ToolError> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_millis().to_string())
}

/// Adds to a number kept by the host and answers with the sum.
#[tool(name = "state-add")]
fn state_add(args: StateAdd, cx: &ToolContext) -> Result<String, ToolError> {
    let scope = match args.scope.as_str() {
        "turn" => Scope::Turn,
        "conversation" => Scope::Conversation,
        other => return Err(format!("no scope `{other}`").into()),
    };
    Ok(cx.state(scope).add(&args.key, args.delta)?.to_string())
}

/// Answers with the plugin's configuration.
#[tool]
fn config(cx: &ToolContext) -> Result<Json<Value>, ToolError> {
    Ok(Json(cx.config()?))
}

/// Answers with what it knows of its batch.
#[tool(name = "batch-info")]
fn batch_info(cx: &ToolContext) -> Result<Json<Value>, ToolError> {
    let batch = cx.batch();
    let message: Value = serde_json::from_str(&batch.assistant_message())?;
    Ok(Json(json!({
        "position": batch.position(),
        "size": batch.size(),
        "turn": batch.turn(),
        "conversation": batch.conversation(),
        "assistantMessage": message,
    })))
}

/// Calls itself.
#[tool]
fn recurse(args: Depth) -> Result<String, ToolError> {
    Ok(descend(args.depth.unwrap_or(u64::MAX)).to_string())
}

fn descend(depth: u64) -> u64 {
    // Something to keep on the stack, so that the recursion can't become a loop.
    let frame = black_box([depth; 8]);
    if depth == 0 { 0 } else { black_box(descend(depth - 1)) + 1 + black_box(frame[7]) - depth }
}

toolgate_sdk::plugin! {
    tools: [
        loop_forever, panic, sleep, allocate, fill, flood_output, flood_updates, flood_logs, print, echo, wait_cancel,
        read_file, write_file, env, now, state_add, config, batch_info, recurse,
        file_op, socket, set_header, annotate,
    ]
}
