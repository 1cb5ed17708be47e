//! Each provider's messages: what is read of them, and what goes back.

#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;

use serde_json::{Value, json};
use toolgate::model::{Content, ErrorInfo, ErrorKind, Json, Stage, StopReason, ToolResult, ToolResultMessage};
use toolgate_formats::{Format, Message};

fn read(format: Format, message: &Value) -> Message {
    Message::read(format, &message.to_string()).unwrap()
}

fn calls(message: &Message) -> Vec<(String, String, String)> {
    let calls = &message.assistant.calls;
    calls.iter().map(|call| (call.id.to_string(), call.name.to_string(), call.arguments.text().to_owned())).collect()
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

fn result(name: &str, result: ToolResult, error: Option<ErrorKind>) -> Arc<ToolResultMessage> {
    Arc::new(ToolResultMessage {
        tool_call_id: "c".into(),
        tool_name: name.into(),
        result: Arc::new(result),
        is_error: error.is_some(),
        error: error.map(|kind| ErrorInfo::new(kind, Stage::Execute)),
        timestamp: 1,
    })
}

fn good(text: &str) -> Arc<ToolResultMessage> {
    result("t", ToolResult::text(text), None)
}

fn bad(text: &str) -> Arc<ToolResultMessage> {
    result("t", ToolResult::error(text), Some(ErrorKind::ToolFailed))
}

/// Text, a picture, a sound and a PDF, in MCP's form.
fn media() -> Arc<ToolResultMessage> {
    let content = json!([
        { "type": "text", "text": "see" },
        { "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" },
        { "type": "audio", "data": "AAEC", "mimeType": "audio/wav" },
        { "type": "resource", "resource": { "uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "JVBERg==" } },
        { "type": "resource_link", "uri": "file:///b", "name": "b", "description": "B" }
    ]);
    let content: Vec<Content> = serde_json::from_value(content).unwrap();
    result("t", ToolResult { content, ..ToolResult::default() }, None)
}

const DIGITS: &str = r#"{"n": 9007199254740993, "x": 0.1000, "big": 1e400}"#;

#[test]
fn chat_completions() {
    let response = json!({ "choices": [{ "finish_reason": "tool_calls", "message": { "role": "assistant", "content": null, "tool_calls": [
        { "id": "call_1", "type": "function", "function": { "name": "add", "arguments": DIGITS } },
        { "id": "call_2", "type": "function", "function": { "name": "now", "arguments": "" } },
        { "id": "call_3", "type": "function", "function": { "name": "bad", "arguments": "{\"a\": " } },
        { "id": "call_4", "type": "function", "function": { "name": "plain", "arguments": { "a": 1 } } }
    ] } }] });
    let message = read(Format::OpenAiChat, &response);
    let expected = [
        call("call_1", "add", DIGITS),
        call("call_2", "now", "{}"),
        call("call_3", "bad", r#""{\"a\": ""#),
        call("call_4", "plain", r#"{"a":1}"#),
    ];
    assert_eq!(calls(&message), expected);
    let (reply, lost) = message.reply(&[good("1"), bad("no"), media(), good("")]);
    assert_eq!(
        reply.unwrap(),
        json!([
            { "role": "tool", "tool_call_id": "call_1", "content": "1" },
            { "role": "tool", "tool_call_id": "call_2", "content": "no" },
            { "role": "tool", "tool_call_id": "call_3", "content": "see\n[an image of type image/png, 8 bytes, which can't be shown here]\n[a sound of type audio/wav, 3 bytes, which can't be shown here]\n[file:///a.pdf of 4 bytes, which can't be shown here]\n[b](file:///b) (B)" },
            { "role": "tool", "tool_call_id": "call_4", "content": "" }
        ])
    );
    assert_eq!(lost.len(), 3, "{lost:?}");
    // The message alone, and one that was cut.
    let alone = read(Format::OpenAiChat, &response["choices"][0]["message"]);
    assert_eq!(calls(&alone), calls(&message));
    let cut = json!({ "choices": [{ "finish_reason": "length", "message": { "tool_calls": [] } }] });
    assert_eq!(read(Format::OpenAiChat, &cut).assistant.stop_reason, StopReason::Length);
    assert_eq!(
        read(Format::OpenAiChat, &json!({ "role": "assistant", "content": "hi" })).reply(&[]).0,
        Some(json!([]))
    );
}

#[test]
fn responses() {
    let output = json!([
        { "type": "reasoning", "id": "rs_1", "summary": [] },
        { "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": DIGITS },
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "hm" }] },
        { "type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "see", "arguments": "{}" }
    ]);
    let message =
        read(Format::OpenAi, &json!({ "object": "response", "status": "completed", "output": output, "error": null }));
    assert_eq!(calls(&message), [call("call_1", "add", DIGITS), call("call_2", "see", "{}")]);
    assert_eq!(calls(&read(Format::OpenAi, &output)), calls(&message));
    let (reply, lost) = message.reply(&[bad("no"), media()]);
    assert_eq!(
        reply.unwrap(),
        json!([
            { "type": "function_call_output", "call_id": "call_1", "output": "no" },
            { "type": "function_call_output", "call_id": "call_2", "output": [
                { "type": "input_text", "text": "see" },
                { "type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=" },
                { "type": "input_text", "text": "[a sound of type audio/wav, 3 bytes, which can't be shown here]" },
                { "type": "input_file", "filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBERg==" },
                { "type": "input_text", "text": "[b](file:///b) (B)" }
            ] }
        ])
    );
    assert_eq!(lost.len(), 1);
    let stopped = |response: Value| read(Format::OpenAi, &response).assistant.stop_reason;
    let cut = json!({ "status": "incomplete", "incomplete_details": { "reason": "max_output_tokens" }, "output": [] });
    assert_eq!(stopped(cut), StopReason::Length);
    // Neither is a call that is cut itself run.
    let item =
        json!({ "type": "function_call", "call_id": "a", "name": "write", "arguments": "{}", "status": "incomplete" });
    assert_eq!(stopped(json!([item])), StopReason::Length);
    assert_eq!(stopped(json!({ "status": "incomplete", "output": [] })), StopReason::Length);
    assert_eq!(stopped(json!({ "status": "failed", "output": [] })), StopReason::Error);
    assert_eq!(stopped(json!({ "status": "cancelled", "output": [] })), StopReason::Aborted);
}

#[test]
fn anthropic() {
    let text = format!(
        r#"{{"role": "assistant", "stop_reason": "tool_use", "content": [{{"type": "text", "text": "hm"}},
            {{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {DIGITS}}},
            {{"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {{}}}},
            {{"type": "tool_use", "id": "toolu_2", "name": "now"}}]}}"#
    );
    let message = Message::read(Format::Anthropic, &text).unwrap();
    assert_eq!(calls(&message), [call("toolu_1", "add", DIGITS), call("toolu_2", "now", "{}")]);
    let (reply, lost) = message.reply(&[media(), bad("no")]);
    assert_eq!(
        reply.unwrap(),
        json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "toolu_1", "content": [
                { "type": "text", "text": "see" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=" } },
                { "type": "text", "text": "[a sound of type audio/wav, 3 bytes, which can't be shown here]" },
                { "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "JVBERg==" } },
                { "type": "text", "text": "[b](file:///b) (B)" }
            ] },
            { "type": "tool_result", "tool_use_id": "toolu_2", "content": [{ "type": "text", "text": "no" }], "is_error": true }
        ] })
    );
    assert_eq!(lost.len(), 1);
    // Nothing to say is said by leaving the content out, but for an error.
    let empty = result("t", ToolResult::default(), None);
    let silent = result("t", ToolResult::default(), Some(ErrorKind::ToolFailed));
    let (reply, _) = message.reply(&[empty, silent]);
    let reply = reply.unwrap();
    assert_eq!(reply["content"][0], json!({ "type": "tool_result", "tool_use_id": "toolu_1" }));
    assert_eq!(reply["content"][1]["content"], "The tool failed without saying why");
    let cut = json!({ "role": "assistant", "content": "hi", "stop_reason": "max_tokens" });
    assert_eq!(read(Format::Anthropic, &cut).assistant.stop_reason, StopReason::Length);
    assert_eq!(read(Format::Anthropic, &cut).reply(&[]).0, None);
}

#[test]
fn google() {
    let text = format!(
        r#"{{"candidates": [{{"finishReason": "STOP", "content": {{"role": "model", "parts": [{{"text": "hm"}},
            {{"functionCall": {{"name": "add", "args": {DIGITS}}}, "thoughtSignature": "x"}},
            {{"functionCall": {{"id": "f2", "name": "add", "args": null}}}}]}}}}]}}"#
    );
    let message = Message::read(Format::Google, &text).unwrap();
    assert_eq!(calls(&message), [call("call-1", "add", DIGITS), call("f2", "add", "{}")]);
    let (reply, lost) = message.reply(&[media(), bad("no")]);
    assert_eq!(
        reply.unwrap(),
        json!({ "role": "user", "parts": [
            { "functionResponse": { "name": "t", "response": { "output": "see\n[a sound of type audio/wav, 3 bytes, which can't be shown here]\n[b](file:///b) (B)" },
                "parts": [{ "inlineData": { "mimeType": "image/png", "data": "iVBORw0KGgo=" } }, { "inlineData": { "mimeType": "application/pdf", "data": "JVBERg==" } }] } },
            { "functionResponse": { "id": "f2", "name": "t", "response": { "error": "no" } } }
        ] })
    );
    assert_eq!(lost.len(), 1);
    let stopped = |reason: &str| {
        read(Format::Google, &json!({ "candidates": [{ "finishReason": reason }] })).assistant.stop_reason
    };
    assert_eq!(
        [stopped("MAX_TOKENS"), stopped("SAFETY"), stopped("STOP")],
        [StopReason::Length, StopReason::Error, StopReason::ToolUse]
    );
    assert_eq!(
        calls(&read(Format::Google, &json!({ "role": "model", "parts": [{ "function_call": { "name": "a" } }] }))),
        [call("call-1", "a", "{}")]
    );
}

#[test]
fn mcp() {
    let request = |id: Value, name: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": { "a": 1 } } });
    let message = read(Format::Mcp, &request(json!(7), "add"));
    assert_eq!(calls(&message), [call("7", "add", r#"{"a":1}"#)]);
    let structured =
        ToolResult { structured_content: Some(Json::parse(r#"{"n":1.10}"#).unwrap()), ..ToolResult::text("1.10") };
    let (reply, _) = message.reply(&[result("add", structured, None)]);
    assert_eq!(
        reply.unwrap().to_string(),
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"1.10"}],"structuredContent":{"n":1.10},"isError":false}}"#
    );
    // A tool that is not there is the protocol's error, a failed one is a result.
    let batch = read(Format::Mcp, &json!([request(json!("a"), "gone"), request(json!("b"), "add")]));
    let gone = result("gone", ToolResult::error("Tool gone not found"), Some(ErrorKind::NotFound));
    let (reply, _) = batch.reply(&[gone, bad("no")]);
    assert_eq!(
        reply.unwrap(),
        json!([
            { "jsonrpc": "2.0", "id": "a", "error": { "code": -32602, "message": "Tool gone not found" } },
            { "jsonrpc": "2.0", "id": "b", "result": { "content": [{ "type": "text", "text": "no" }], "isError": true } }
        ])
    );
}

#[test]
fn data_without_text_is_passed_on_as_text() {
    let data = ToolResult { structured_content: Some(Json::parse(r#"{"n": 1.10}"#).unwrap()), ..ToolResult::default() };
    let message =
        read(Format::OpenAi, &json!([{ "type": "function_call", "call_id": "c", "name": "t", "arguments": "{}" }]));
    assert_eq!(message.reply(&[result("t", data, None)]).0.unwrap()[0]["output"], r#"{"n": 1.10}"#);
}

#[test]
fn what_is_no_such_message_says_what_was_expected() {
    for (format, text, why) in [
        (Format::OpenAi, r#"{"choices": []}"#, "missing field `output`"),
        (Format::OpenAi, r#"[{"type": "function_call", "name": "a"}]"#, "item 0 has no call_id"),
        (Format::OpenAiChat, r#"{"output": []}"#, "neither \"choices\" nor a \"role\""),
        (Format::OpenAiChat, r#"{"choices": [{"message": {}}, {"message": {}}]}"#, "it has 2 choices"),
        (
            Format::OpenAiChat,
            r#"{"role": "assistant", "tool_calls": [{"function": {"name": "a"}}]}"#,
            "tool_calls[0] has no id",
        ),
        (Format::Anthropic, r#"{"role": "user", "content": []}"#, "its role is not assistant"),
        (Format::Anthropic, r#"{"content": [{"type": "tool_use", "id": "a"}]}"#, "content[0] has no name"),
        (Format::Google, r#"{"contents": []}"#, "neither \"candidates\" nor \"parts\""),
        (Format::Mcp, r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#, "its method is \"tools/list\""),
        (Format::Mcp, r#"{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "a"}}"#, "it has no id"),
        (
            Format::Mcp,
            r#"{"id": {}, "method": "tools/call", "params": {"name": "a"}}"#,
            "neither a string nor a number",
        ),
        (Format::Mcp, "5", "invalid type"),
    ] {
        let error = Message::read(format, text).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("Expected "), "{text}: {error}");
    }
}

/// A model writes these, or whoever stands between it and us.
#[test]
fn hostile_messages_end_in_an_error_or_in_a_call() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let surrogate = r#"{"a": "\ud800"}"#;
    let reserved = r#"{"$serde_json::private::Number": "1"}"#;
    for arguments in [deep.as_str(), surrogate, reserved, "null", "\"\"", "1e999999"] {
        let text = json!(arguments).to_string();
        for (format, message) in [
            (
                Format::OpenAiChat,
                format!(
                    r#"{{"role": "a", "tool_calls": [{{"id": "1", "function": {{"name": "t", "arguments": {text}}}}}]}}"#
                ),
            ),
            (
                Format::OpenAi,
                format!(r#"[{{"type": "function_call", "call_id": "1", "name": "t", "arguments": {text}}}]"#),
            ),
            (
                Format::Anthropic,
                format!(r#"{{"content": [{{"type": "tool_use", "id": "1", "name": "t", "input": {arguments}}}]}}"#),
            ),
            (Format::Google, format!(r#"{{"parts": [{{"functionCall": {{"name": "t", "args": {arguments}}}}}]}}"#)),
            (
                Format::Mcp,
                format!(r#"{{"id": 1, "method": "tools/call", "params": {{"name": "t", "arguments": {arguments}}}}}"#),
            ),
        ] {
            if let Ok(message) = Message::read(format, &message) {
                assert_eq!(message.assistant.calls.len(), 1);
                let (reply, _) = message.reply(&[bad("no")]);
                assert!(reply.is_some_and(|reply| reply.to_string().len() < 500));
            }
        }
    }
    for text in ["", "{", "[[[", "null", "{\"content\": {}}", "{\"candidates\": [null]}", "\u{feff}[]"] {
        for format in Format::ALL {
            let _ = Message::read(format, text);
        }
    }
}
