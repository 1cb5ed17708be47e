//! What lasts longer than a call, over standard input and output: turns, active tools, log levels, the end.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{PATIENCE, Pipe, ended, terminate, text};

fn add(client: &mut Pipe, scope: &str) -> String {
    text(&client.call("state-add", json!({ "scope": scope, "key": "k", "delta": 1 }))).to_owned()
}

#[test]
fn a_connection_is_a_conversation_and_a_turn_a_window() {
    let mut client = Pipe::open(&[], json!({}));
    assert_eq!(
        ["conversation", "conversation", "turn", "turn"].map(|scope| add(&mut client, scope)),
        ["1", "2", "1", "2"]
    );
    let mut client = Pipe::open(&["--turn", "0"], json!({}));
    assert_eq!(
        ["conversation", "conversation", "turn", "turn"].map(|scope| add(&mut client, scope)),
        ["1", "2", "1", "1"]
    );
}

#[test]
fn a_tool_that_a_result_adds_is_listed_and_can_be_called() {
    let mut client = Pipe::open(&[], json!({}));
    assert_eq!(text(&client.call("unlock", json!({}))), "unlocked");
    client.notification("notifications/tools/list_changed");
    let listed = client.request("tools/list", json!({}));
    assert!(listed["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "hidden"));
    assert_eq!(text(&client.call("hidden", json!({}))), "found");
    // It changes nothing any more.
    client.call("unlock", json!({}));
    client.request("ping", json!({}));
    assert_eq!(client.kept, Vec::<Value>::new());
    // Another connection is another conversation.
    let mut other = Pipe::open(&[], json!({}));
    assert_eq!(other.call("hidden", json!({}))["error"]["code"], -32602);
}

#[test]
fn what_changes_on_disk_is_taken_up_and_told() {
    let mut client = Pipe::open(&["--watch"], json!({}));
    let config = client.dir.path().join("toolgate.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    assert!(client.call("weigh", json!({ "grams": 1 }))["result"].is_object());
    let begin = text.find("[plugins.fixtures]").unwrap();
    let end = text.find("[plugins.misbehave]").unwrap();
    std::fs::write(&config, format!("{}{}", &text[..begin], &text[end..])).unwrap();
    client.notification("notifications/tools/list_changed");
    assert_eq!(client.call("weigh", json!({ "grams": 1 }))["error"]["code"], -32602);
    std::fs::write(&config, text).unwrap();
    client.notification("notifications/tools/list_changed");
    assert!(client.call("weigh", json!({ "grams": 1 }))["result"].is_object());
}

#[test]
fn a_subscription_hears_of_changes_where_there_is_no_handshake() {
    let mut client = Pipe::silent(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    client.request("tools/list", json!({ "_meta": meta }));
    let listening =
        client.start("subscriptions/listen", json!({ "_meta": meta, "notifications": { "toolsListChanged": true } }));
    client.notification("notifications/subscriptions/acknowledged");
    client.request("tools/call", json!({ "_meta": meta, "name": "unlock" }));
    let changed = client.notification("notifications/tools/list_changed");
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listening, "{changed}");
    // It does not hold the end up.
    let (code, _, _) = client.close();
    assert_eq!(code, 0);
}

#[test]
fn log_lines_of_plugins_come_from_the_level_that_was_set_on() {
    let mut client = Pipe::open(&[], json!({}));
    client.call("test_tool_with_logging", json!({}));
    let lines: Vec<Value> = client.kept.drain(..).collect();
    let said: Vec<&str> = lines.iter().map(|line| line["params"]["data"].as_str().unwrap()).collect();
    assert_eq!(said, ["Tool execution started", "Tool processing data", "Tool execution completed"]);
    assert_eq!(lines[0]["method"], "notifications/message");
    assert_eq!(lines[0]["params"]["level"], "info");
    assert_eq!(lines[0]["params"]["logger"], "fixtures");

    assert_eq!(client.request("logging/setLevel", json!({ "level": "warning" }))["result"], json!({}));
    client.call("test_tool_with_logging", json!({}));
    assert_eq!(client.kept, Vec::<Value>::new());
    let wrong = client.request("logging/setLevel", json!({ "level": "loud" }));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

#[test]
fn requests_that_stand_for_themselves_get_the_log_lines_they_ask_for() {
    let mut client = Pipe::silent(&[]);
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = |client: &mut Pipe, meta: &Value| {
        client.request("tools/call", json!({ "_meta": meta, "name": "test_tool_with_logging" }));
        client.kept.drain(..).count()
    };
    assert_eq!(call(&mut client, &meta), 0);
    meta["io.modelcontextprotocol/logLevel"] = "info".into();
    assert_eq!(call(&mut client, &meta), 3);
    meta["io.modelcontextprotocol/logLevel"] = "error".into();
    assert_eq!(call(&mut client, &meta), 0);
    let refused = client.request("logging/setLevel", json!({ "_meta": meta, "level": "info" }));
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
}

#[test]
fn what_a_guest_prints_is_a_log_line_and_no_protocol() {
    let mut client = Pipe::open(&[], json!({}));
    client.request("logging/setLevel", json!({ "level": "debug" }));
    client.call("print", json!({ "text": "{\"jsonrpc\": \"2.0\"}" }));
    let levels: Vec<&str> = client.kept.iter().map(|line| line["params"]["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["debug", "info"], "{:?}", client.kept);
    assert!(client.kept.iter().all(|line| line["params"]["data"] == "{\"jsonrpc\": \"2.0\"}"));
}

#[test]
fn cancelling_a_request_reaches_the_guest() {
    let mut client = Pipe::open(&["--grace", "50"], json!({}));
    let id = client.start("tools/call", json!({ "name": "wait-cancel", "arguments": { "ms": 100_000 } }));
    // It is under way.
    client.request("ping", json!({}));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    client.request("ping", json!({}));
    let begun = Instant::now();
    let (code, rest, errors) = client.close();
    assert_eq!(code, 0, "{errors}");
    assert_eq!(rest, Vec::<Value>::new());
    // Neither the call nor the grace was waited for.
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn the_end_of_the_input_lets_running_calls_end() {
    let mut client = Pipe::open(&[], json!({}));
    let id = client.start("tools/call", json!({ "name": "sleep", "arguments": { "ms": 700 } }));
    let (code, rest, errors) = client.close();
    assert_eq!(code, 0, "{errors}");
    assert!(rest.iter().any(|message| message["id"] == id && text(message) == "slept 700 ms"), "{rest:?}");
}

#[test]
fn after_the_grace_running_calls_are_cancelled() {
    let mut client = Pipe::open(&["--grace", "0"], json!({}));
    let id = client.start("tools/call", json!({ "name": "wait-cancel", "arguments": { "ms": 100_000 } }));
    client.request("ping", json!({}));
    let (code, rest, errors) = client.close();
    assert_eq!(code, 0, "{errors}");
    let cancelled = rest.iter().find(|message| message["id"] == id).unwrap();
    assert_eq!(cancelled["result"]["_meta"]["toolgate/error"]["kind"], "aborted", "{cancelled}");
}

#[test]
fn a_request_to_terminate_ends_the_server() {
    let mut client = Pipe::open(&["--grace", "0"], json!({}));
    client.start("tools/call", json!({ "name": "wait-cancel", "arguments": { "ms": 100_000 } }));
    client.request("ping", json!({}));
    let begun = Instant::now();
    terminate(&client.child);
    assert_eq!(ended(&mut client.child), 0);
    assert!(begun.elapsed() < PATIENCE);
}
