//! `tools --format` and `run --format`.

use serde_json::{Value, json};

use crate::support::{PLUGINS, Workspace, component};

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn definitions_go_out_in_each_providers_form() {
    let workspace = Workspace::bare();
    let calc = component("calc");
    let tools = |format: &str| parse(&workspace.run(&["tools", &calc, "--format", format]).out);
    assert_eq!(tools("openai")[0]["name"], "calc");
    assert_eq!(tools("openai")[0]["strict"], false);
    assert_eq!(tools("openai-chat")[0]["function"]["name"], "calc");
    assert_eq!(tools("anthropic")[0]["input_schema"]["required"], json!(["expression"]));
    assert_eq!(
        tools("google")[0]["functionDeclarations"][0]["parameters"]["properties"]["expression"]["type"],
        "STRING"
    );
    assert_eq!(tools("mcp")[0]["inputSchema"]["type"], "object");
}

#[test]
fn what_was_changed_is_told() {
    let workspace = Workspace::new(
        r#"
[plugins.scripted]
file = "GUESTS/scripted-tool.wasm"
[[plugins.scripted.config.tools]]
name = "closed"
parameters = { type = "object", additionalProperties = false, properties = { a = { type = "string", format = "uri" } } }
"#,
    );
    let done = workspace.run(&["tools", "--format", "google"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let note = "note: closed: /properties/a/format: removed: Google's schema does not know the format \"uri\"";
    assert!(done.err.contains(note), "{}", done.err);
    let document = parse(&workspace.run(&["tools", "--format", "google", "--json"]).out);
    assert_eq!(document["changes"][0]["level"], "changed");
    assert!(document["tools"][0]["functionDeclarations"].is_array());

    let fs = component("fs");
    let strict = parse(&workspace.run(&["tools", &fs, "--format", "openai", "--strict", "--json"]).out);
    assert_eq!(strict["tools"][0]["strict"], true, "{strict}");
    let none = workspace.run(&["tools", &fs, "--format", "mcp", "--strict"]);
    assert_eq!((none.code, none.err.contains("mcp has no strict mode")), (2, true), "{}", none.err);
}

#[test]
fn a_tool_that_a_provider_refuses_is_left_out() {
    let workspace = Workspace::new(
        r#"
[plugins.scripted]
file = "GUESTS/scripted-tool.wasm"
[[plugins.scripted.config.tools]]
name = "2fast"
parameters = { type = "object" }
[[plugins.scripted.config.tools]]
name = "fine"
parameters = { type = "object" }
"#,
    );
    let done = workspace.run(&["tools", "--format", "google"]);
    assert_eq!(done.code, 1);
    assert!(done.err.contains("left out: 2fast: Google refuses names"), "{}", done.err);
    assert_eq!(parse(&done.out)[0]["functionDeclarations"].as_array().map(Vec::len), Some(1));
    assert_eq!(workspace.run(&["tools", "--format", "openai"]).code, 0);
}

#[test]
fn a_conversation_goes_on_in_the_providers_form() {
    let workspace = Workspace::new(PLUGINS);
    let first = r#"{"role": "assistant", "tool_calls": [
        {"id": "call_a", "type": "function", "function": {"name": "echo", "arguments": "{\"n\": 9007199254740993}"}},
        {"id": "call_b", "type": "function", "function": {"name": "calc", "arguments": "{\"expression\": "}},
        {"id": "call_c", "type": "function", "function": {"name": "gone", "arguments": "{}"}}]}"#;
    let second = r#"{"role": "assistant", "content": "done"}"#;
    let done = workspace.run_with(&["run", "--format", "openai-chat"], &format!("{first}\n{second}"));
    assert_eq!(done.code, 1, "{}", done.err);
    let lines = done.lines();
    assert_eq!(lines.len(), 2, "{}", done.out);
    assert_eq!(
        lines[0][0],
        json!({ "role": "tool", "tool_call_id": "call_a", "content": "{\"n\": 9007199254740993}" })
    );
    assert!(lines[0][1]["content"].as_str().unwrap().contains("not a JSON document"), "{}", lines[0][1]);
    assert_eq!(lines[0][2], json!({ "role": "tool", "tool_call_id": "call_c", "content": "Tool gone not found" }));
    assert_eq!(lines[1], json!([]));
}

#[test]
fn each_provider_is_answered() {
    let workspace = Workspace::new(PLUGINS);
    let arguments = json!({ "expression": "6*7" });
    for (format, message, answer) in [
        (
            "openai",
            json!([{ "type": "function_call", "call_id": "c", "name": "calc", "arguments": arguments.to_string() }]),
            json!([{ "type": "function_call_output", "call_id": "c", "output": "42" }]),
        ),
        (
            "anthropic",
            json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "c", "name": "calc", "input": arguments }] }),
            json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c", "content": [{ "type": "text", "text": "42" }] }] }),
        ),
        (
            "google",
            json!({ "role": "model", "parts": [{ "functionCall": { "name": "calc", "args": arguments } }] }),
            json!({ "role": "user", "parts": [{ "functionResponse": { "name": "calc", "response": { "output": "42" } } }] }),
        ),
    ] {
        let done = workspace.run_with(&["run", "--format", format], &message.to_string());
        assert_eq!((done.code, done.lines()), (0, vec![answer]), "{}", done.err);
    }
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "calc", "arguments": arguments } });
    let done = workspace.run_with(&["run", "--format", "mcp"], &request.to_string());
    assert_eq!(done.lines()[0]["result"]["content"], json!([{ "type": "text", "text": "42" }]));
}

#[test]
fn a_message_of_another_provider_is_refused_with_what_was_expected() {
    let done = Workspace::new(PLUGINS)
        .run_with(&["run", "--format", "anthropic"], r#"{"role": "assistant", "tool_calls": []}"#);
    assert_eq!(done.code, 2);
    assert!(
        done.err.contains("message 1: not a message as anthropic writes it: it has no content. Expected"),
        "{}",
        done.err
    );
    let done = Workspace::new(PLUGINS).run(&["run", "--format", "openai", "--output", "text"]);
    assert_eq!(done.code, 2);
}
