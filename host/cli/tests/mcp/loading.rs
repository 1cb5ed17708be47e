//! Plugins that nobody has seen before: the server answers while they are compiled, and when one of them never ends.

use serde_json::{Value, json};

use crate::support::{Http, Pipe, ended, new_plugins, terminate, text};

const CALC: &str = "[plugins.calc]\nfile = \"GUESTS/calc.wasm\"\n";

/// Says what it offers after an hour, and would be waited for.
const STUCK: &str = r#"
[plugins.stuck]
file = "GUESTS/scripted-tool.wasm"
config = { describe = "sleep" }
limits = { load-ms = 3_600_000 }
"#;

fn names(listed: &Value) -> Vec<&str> {
    listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn others_answer_while_a_plugin_does_not_come_to_an_end() {
    let config = format!("list-wait-ms = 1\n{STUCK}{CALC}");
    let mut client = Pipe::silent_in(new_plugins(&config), &["--watch"]);
    client.shake_hands(json!({}));
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(text(&client.call("calc", json!({ "expression": "6*7" }))), "42");
    assert_eq!(names(&client.request("tools/list", json!({}))), ["calc"]);
    let never = client.start("tools/call", json!({ "name": "never", "arguments": {} }));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": never } }));
    let (code, rest, errors) = client.close();
    assert_eq!(code, 0, "{errors}");
    assert!(rest.iter().all(|message| message["id"] != never), "{rest:?}");
    for line in ["compiling calc (", "compiling stuck (", "calc is ready"] {
        assert!(errors.contains(line), "{line}: {errors}");
    }

    let config = format!("list-wait-ms = 1\ncompile-wait-ms = 1\n{STUCK}");
    let server = Http::start_in(new_plugins(&config), &[], &[]);
    let session = server.session();
    let list = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" });
    assert_eq!(names(&server.post(&[("Mcp-Session-Id", &session)], &list).answer()), [] as [&str; 0]);
    let answer = server.call(&session, "never", json!({}));
    assert_eq!(answer["result"]["_meta"]["toolgate/error"]["kind"], "unavailable", "{answer}");
    assert!(text(&answer).contains("plugins are still being loaded"), "{answer}");
}

/// Many clients list the tools once, at the start.
#[test]
fn the_first_list_has_tools_that_are_still_being_compiled() {
    let config = format!("{CALC}[plugins.misbehave]\nfile = \"GUESTS/misbehave.wasm\"\ntools = [\"echo\"]\n");
    let mut client = Pipe::silent_in(new_plugins(&config), &[]);
    client.shake_hands(json!({}));
    assert_eq!(names(&client.request("tools/list", json!({}))), ["calc", "echo"]);
}

#[test]
fn a_plugin_that_fails_is_said_and_the_others_serve() {
    let config = format!("{CALC}{}", STUCK.replace("sleep", "trap"));
    let mut client = Pipe::silent_in(new_plugins(&config), &[]);
    client.shake_hands(json!({}));
    assert_eq!(names(&client.request("tools/list", json!({}))), ["calc"]);
    assert_eq!(text(&client.call("calc", json!({ "expression": "6*7" }))), "42");
    let (code, _, errors) = client.close();
    assert_eq!(code, 0);
    assert!(errors.contains("no definitions today") && errors.contains("scripted-tool.wasm"), "{errors}");
}

/// Whatever the grace for calls that run.
#[test]
fn what_waits_for_a_plugin_is_given_up_when_the_server_is_stopped() {
    let mut client = Pipe::silent_in(new_plugins(&format!("{STUCK}{CALC}")), &["--grace", "3600"]);
    client.shake_hands(json!({}));
    client.start("tools/call", json!({ "name": "never", "arguments": {} }));
    client.start("tools/list", json!({}));
    // Read after the two.
    client.request("ping", json!({}));
    terminate(&client.child);
    assert_eq!(ended(&mut client.child), 0);
}

#[test]
fn hooks_guard_the_first_call() {
    let gate = r#"
[plugins.gate]
file = "GUESTS/permission-gate.wasm"
config = { default = "allow", rules = [{ tools = "calc", action = "block", reason = "No sums." }] }
[[hooks]]
plugin = "gate"
"#;
    let mut client = Pipe::silent_in(new_plugins(&format!("{CALC}{gate}")), &[]);
    client.shake_hands(json!({}));
    assert_eq!(text(&client.call("calc", json!({ "expression": "6*7" }))), "No sums.");

    // Without rules it refuses to be loaded, and the server ends.
    let gate = gate.replace(", rules = [{ tools = \"calc\", action = \"block\", reason = \"No sums.\" }]", "");
    let mut client = Pipe::silent_in(new_plugins(&format!("{CALC}{gate}")), &[]);
    let begun =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let call = json!({ "name": "calc", "arguments": { "expression": "6*7" } });
    for (id, method, params) in [(1, "initialize", begun), (2, "tools/call", call)] {
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }
    assert_eq!(ended(&mut client.child), 3);
    let (_, rest, errors) = client.close();
    assert!(errors.contains("error: plugin gate: "), "{errors}");
    assert!(rest.iter().all(|message| message["id"] != 2 || message["result"]["isError"] == true), "{rest:?}");
}
