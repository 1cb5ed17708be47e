//! What a client must not be able to do.

use std::io::{BufRead as _, BufReader, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::support::{Pipe, command, ended, workspace};

/// After each of these the server answers as before.
#[test]
fn what_is_no_message_is_refused_and_the_server_goes_on() {
    let mut client = Pipe::open(&[], json!({}));
    let deep = "[".repeat(100_000);
    let many = format!("[{}1]", "1,".repeat(200_000));
    let long = format!("\"{}\"", "x".repeat(5 << 20));
    // serde_json reads a string under this key as JSON, so that nesting is not counted through.
    let escaped = |text: &str| text.replace('\\', "\\u005c").replace('"', "\\u0022");
    let mut raw = "1".to_owned();
    for _ in 0..150 {
        let inner = format!("{}{raw}{}", "[".repeat(120), "]".repeat(120));
        raw = format!(r#"{{"$serde_json::private::RawValue":"{}"}}"#, escaped(&inner));
    }
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"a":{arguments}}}}}}}"#
        )
    };
    for line in [
        "not JSON".to_owned(),
        "\u{0}\u{1}".to_owned(),
        "[]".to_owned(),
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#.to_owned(),
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"$serde_json::private::Number":"x"}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}"#.to_owned(),
        call(&deep),
        call(&many),
        call(&long),
        call(&raw),
    ] {
        let shown: String = line.chars().take(100).collect();
        eprintln!("{shown}");
        client.send_text(&line);
        let answer = client.find(|message| message.get("method").is_none());
        let is_refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
        assert!(is_refused, "{shown}: {}", answer.to_string().chars().take(300).collect::<String>());
        assert_eq!(client.request("ping", json!({}))["result"], json!({}), "{shown}");
    }
    // Neither of these has an answer.
    for line in [
        "",
        "   ",
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"no/such"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","id":12345,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":12345,"error":{"code":1,"message":"m"}}"#,
        r#"{"id":5,"result":1}"#,
    ] {
        client.send_text(line);
    }
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert!(client.kept.is_empty(), "{:?}", client.kept);
}

#[test]
fn of_two_requests_with_one_id_the_second_is_refused() {
    let mut client = Pipe::open(&[], json!({}));
    let call = |ms: u64| json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": { "name": "sleep", "arguments": { "ms": ms } } });
    client.send(&call(500));
    client.send(&call(1));
    assert_eq!(client.answer(5)["error"]["code"], -32600);
    assert_eq!(client.answer(5)["result"]["content"][0]["text"], "slept 500 ms");
}

#[test]
fn one_call_too_many_is_told_so() {
    let mut client = Pipe::open(&[], json!({ "elicitation": {} }));
    // Each waits for an answer that does not come.
    let waiting: Vec<i64> = (0..256).map(|_| client.start("tools/call", json!({ "name": "now" }))).collect();
    for _ in &waiting {
        client.notification("elicitation/create");
    }
    let refused = client.call("weigh", json!({ "grams": 1 }));
    assert_eq!(refused["result"]["_meta"]["toolgate/error"]["kind"], "unavailable", "{refused}");
    client
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": waiting[0] } }));
    client.notification("notifications/cancelled");
    // Its place is free once it has ended.
    let served = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        client.call("weigh", json!({ "grams": 1 }))["result"]["isError"] == false
    });
    assert!(served);
}

/// Answers wait in the pipe; where that is full, requests do.
#[test]
fn a_client_that_does_not_read_is_not_read_from() {
    const REQUESTS: usize = 10_000;
    // Requests that the server takes up, and what pipes and buffers hold, with room to spare.
    const TAKEN: usize = 4_000;
    let dir = workspace();
    let mut child = command(dir.path(), &[]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let written = Arc::new(AtomicUsize::new(0));
    let writer = std::thread::spawn({
        let written = written.clone();
        move || {
            let info = json!({ "name": "t", "version": "1" });
            let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
            writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }))
                .unwrap();
            for id in 1..=REQUESTS {
                writeln!(input, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#).unwrap();
                written.store(id, Ordering::Relaxed);
            }
        }
    });
    let mut before = 0;
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let now = written.load(Ordering::Relaxed);
        assert!(now < TAKEN, "{now} requests were read while no answer was");
        if now > 0 && now == before {
            break;
        }
        before = now;
    }
    let answers = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(answers.count(), 1 + REQUESTS);
    writer.join().unwrap();
    assert_eq!(ended(&mut child), 0);
}
