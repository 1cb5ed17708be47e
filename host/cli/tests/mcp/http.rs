//! Streamable HTTP: who may connect, sessions, limits, and the end.

use std::io::Read as _;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Http, PATIENCE, command, ended, modern, read, send, terminate, text, workspace};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
}

#[test]
fn each_session_is_a_conversation() {
    let server = Http::start(&[]);
    let (one, two) = (server.session(), server.session());
    let add = json!({ "scope": "conversation", "key": "k", "delta": 1 });
    let sums = [&one, &one, &two].map(|session| text(&server.call(session, "state-add", add.clone())).to_owned());
    assert_eq!(sums, ["1", "2", "1"]);
    server.call(&one, "unlock", json!({}));
    assert_eq!(text(&server.call(&one, "hidden", json!({}))), "found");
    assert_eq!(server.call(&two, "hidden", json!({}))["error"]["code"], -32602);

    let ended = server.request("DELETE", &[("Mcp-Session-Id", &one)], "");
    assert_eq!(ended.status, 202, "{ended:?}");
    assert_eq!(server.post(&[("Mcp-Session-Id", &one)], &ping()).status, 404);
    assert_eq!(server.post(&[("Mcp-Session-Id", &two)], &ping()).answer()["result"], json!({}));
    assert_eq!(server.post(&[], &ping()).status, 400);
}

#[test]
fn a_session_hears_of_changes_on_its_own_stream() {
    let server = Http::start(&[]);
    let session = server.session();
    let mut stream = server.connect("GET", &[("Mcp-Session-Id", &session), ("Accept", "text/event-stream")], "");
    server.call(&session, "unlock", json!({}));
    let mut heard = String::new();
    let mut buffer = [0; 4096];
    while !heard.contains("notifications/tools/list_changed") {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "{heard}");
        heard.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
}

/// Revision 2026-07-28 has no sessions.
#[test]
fn without_sessions_a_connection_is_a_conversation() {
    let server = Http::start(&[]);
    let (body, headers) = modern("state-add", json!({ "scope": "conversation", "key": "k", "delta": 1 }), json!({}));
    let headers = headers.each_ref().map(|(key, value)| (*key, value.as_str()));
    let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    for sum in ["1", "2"] {
        send(&mut stream, &server.address, "POST", &headers, &body.to_string());
        let response = read(&mut stream);
        assert_eq!(response.header("mcp-session-id"), None);
        assert_eq!(text(&response.answer()), sum);
    }
    assert_eq!(text(&server.post(&headers, &body).answer()), "1");
}

/// It is not bound to a connection: clients keep several.
#[test]
fn without_sessions_a_question_is_answered_by_a_second_call() {
    let server = Http::start(&[]);
    let (mut body, headers) = modern("now", json!({}), json!({ "elicitation": { "form": {} } }));
    let headers = headers.each_ref().map(|(key, value)| (*key, value.as_str()));
    let asked = server.post(&headers, &body).answer();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    body["params"]["requestState"] = asked["result"]["requestState"].clone();
    body["params"]["inputResponses"] = json!({ "approval": { "action": "accept", "content": { "approve": true } } });
    let answer = server.post(&headers, &body).answer();
    assert!(text(&answer).parse::<u64>().is_ok(), "{answer}");
}

#[test]
fn pages_of_other_origins_and_other_names_are_refused() {
    let server = Http::start(&["--allow-origin", "https://app.example:443", "--allow-host", "tools.example"]);
    let port = server.address.rsplit(':').next().unwrap();
    let own = format!("localhost:{port}");
    for (header, value, status) in [
        ("Host", "evil.example", 403),
        ("Host", "127.0.0.1:1", 403),
        ("Host", own.as_str(), 400),
        ("Host", "tools.example", 400),
        ("Origin", "https://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", &format!("http://{own}"), 400),
        ("Origin", "http://localhost:1", 403),
        ("Origin", "https://app.example", 400),
    ] {
        // 400: it passed, and has no session.
        assert_eq!(server.post(&[(header, value)], &ping()).status, status, "{header}: {value}");
    }
}

#[test]
fn a_token_is_asked_for_where_there_is_one() {
    let server = Http::start_with(&["--token-env", "MCP_TOKEN"], &[("MCP_TOKEN", TOKEN)]);
    let right = format!("Bearer {TOKEN}");
    let refused = server.post(&[], &ping());
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(server.post(&[("Authorization", "Bearer wrong")], &ping()).status, 401);
    assert_eq!(server.request("GET", &[], "").status, 401);
    // It passed, and has no session.
    assert_eq!(server.post(&[("Authorization", &right)], &ping()).status, 400);
}

#[test]
fn an_address_that_others_reach_needs_a_token_and_names() {
    let dir = workspace();
    std::fs::write(dir.path().join("token"), format!("{TOKEN}\n")).unwrap();
    std::fs::write(dir.path().join("short"), "secret").unwrap();
    for (args, says) in [
        (vec!["--http", "0.0.0.0:0"], "can be reached from other machines"),
        (vec!["--http", "0.0.0.0:0", "--token-file", "token"], "name the hosts"),
        (vec!["--http", "[::]:0"], "can be reached from other machines"),
        (vec!["--http", "0", "--token-file", "short"], "at least 16 characters"),
        (vec!["--http", "0", "--token-file", "none"], "--token-file none"),
        (vec!["--http", "0", "--token-env", "NO_SUCH_VARIABLE"], "--token-env NO_SUCH_VARIABLE"),
        (vec!["--http", "somewhere"], "expected IP:PORT"),
        (vec!["--allow-host", "x"], "--http"),
    ] {
        let output = command(dir.path(), &args).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(says), "{args:?}: {errors}");
    }
}

#[test]
fn what_is_too_large_or_no_message_is_refused() {
    let server = Http::start(&[]);
    let long = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "a": "x".repeat(5 << 20) } });
    assert_eq!(server.post(&[], &long).status, 413);
    let many = format!("[{}1]", "1,".repeat(200_000));
    assert_eq!(server.request("POST", &[], &many).status, 413);
    assert_eq!(server.request("POST", &[("Content-Type", "text/plain")], "{}").status, 415);
    assert_eq!(server.request("POST", &[("Accept", "text/html")], "{}").status, 406);
    assert!((400..500).contains(&server.request("POST", &[], "no JSON").status));
    assert!((400..500).contains(&server.request("POST", &[], "[]").status));
    assert_eq!(server.request("PUT", &[], "{}").status, 405);
    let session = server.session();
    assert_eq!(server.post(&[("Mcp-Session-Id", &session)], &ping()).answer()["result"], json!({}));
}

#[test]
fn there_are_as_many_sessions_as_there_may_be() {
    let server = Http::start(&["--max-sessions", "2"]);
    let (one, _two) = (server.session(), server.session());
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let open = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let refused = server.post(&[], &open);
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("as many sessions as it takes"), "{refused:?}");
    server.request("DELETE", &[("Mcp-Session-Id", &one)], "");
    assert_eq!(server.post(&[], &open).status, 200);
}

#[test]
fn a_session_that_is_not_heard_of_ends() {
    let server = Http::start(&["--session-idle", "1"]);
    let session = server.session();
    let until = Instant::now() + PATIENCE;
    loop {
        // Asking would keep it: wait longer than it may be idle.
        std::thread::sleep(Duration::from_millis(1_500));
        if server.post(&[("Mcp-Session-Id", &session)], &ping()).status == 404 {
            return;
        }
        assert!(Instant::now() < until, "the session did not end");
    }
}

/// A long grace: the server ends at once only where the call has.
#[test]
fn a_dropped_request_reaches_the_guest() {
    let mut server = Http::start(&["--grace", "600"]);
    let (body, headers) = modern("wait-cancel", json!({ "ms": 100_000 }), json!({}));
    let headers = headers.each_ref().map(|(key, value)| (*key, value.as_str()));
    let stream = server.connect("POST", &headers, &body.to_string());
    std::thread::sleep(Duration::from_millis(500));
    drop(stream);
    terminate(&server.child);
    assert_eq!(ended(&mut server.child), 0);
}

#[test]
fn cancelling_a_request_of_a_session_reaches_the_guest() {
    let mut server = Http::start(&["--grace", "600"]);
    let session = server.session();
    let headers = [("Mcp-Session-Id", session.as_str())];
    let params = json!({ "name": "wait-cancel", "arguments": { "ms": 100_000 } });
    let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params });
    let _stream = server.connect("POST", &headers, &call.to_string());
    std::thread::sleep(Duration::from_millis(500));
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } });
    assert_eq!(server.post(&headers, &cancel).status, 202);
    terminate(&server.child);
    assert_eq!(ended(&mut server.child), 0);
}

#[test]
fn a_request_to_terminate_lets_running_calls_end() {
    let mut server = Http::start(&[]);
    let session = server.session();
    let params = json!({ "name": "sleep", "arguments": { "ms": 1_000 } });
    let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params });
    let mut stream = server.connect("POST", &[("Mcp-Session-Id", session.as_str())], &call.to_string());
    std::thread::sleep(Duration::from_millis(300));
    terminate(&server.child);
    assert_eq!(text(&read(&mut stream).answer()), "slept 1000 ms");
    assert_eq!(ended(&mut server.child), 0);
    // Nobody listens any more.
    assert!(std::net::TcpStream::connect(&server.address).is_err());
}

#[test]
fn the_help_names_every_option_of_the_page() {
    let output = Command::new(env!("CARGO_BIN_EXE_toolgate")).args(["serve", "mcp", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let page = std::fs::read_to_string(crate::support::root().join("docs/mcp.md")).unwrap();
    let options = help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2);
    for option in options.map(|word| word.trim_end_matches(|c: char| !c.is_ascii_lowercase())) {
        if !["--help", "--config", "--log"].contains(&option) {
            assert!(page.contains(option), "docs/mcp.md does not name {option}");
        }
    }
}

#[test]
fn a_request_with_the_id_of_one_that_runs_is_refused() {
    let server = Http::start(&[]);
    let session = server.session();
    let headers = [("Mcp-Session-Id", session.as_str())];
    let call = |ms: u64| {
        let params = json!({ "name": "sleep", "arguments": { "ms": ms } });
        json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params })
    };
    let mut stream = server.connect("POST", &headers, &call(1_000).to_string());
    std::thread::sleep(Duration::from_millis(300));
    let refused = server.post(&headers, &call(1_100));
    assert_eq!(refused.status, 400, "{refused:?}");
    assert_eq!(refused.answer()["error"]["code"], -32600, "{refused:?}");
    assert_eq!(text(&read(&mut stream).answer()), "slept 1000 ms");
    // Answered, so the id is free again.
    assert_eq!(text(&server.post(&headers, &call(10)).answer()), "slept 10 ms");
}

#[test]
fn who_is_not_let_in_takes_no_place_for_long() {
    let server = Http::start(&[]);
    let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    std::io::Write::write_all(&mut stream, b"POST /mcp HTTP/1.1\r\nHost: x\r\n").unwrap();
    assert!(matches!(stream.read(&mut [0; 64]), Ok(0) | Err(_)), "it is closed, or reset");
    let twice = [("Host", "127.0.0.1"), ("Host", "evil.example")];
    assert_eq!(server.post(&twice, &ping()).status, 400);
}

#[test]
fn a_client_that_does_not_read_does_not_keep_the_server() {
    use std::io::Write as _;
    for by_signal in [true, false] {
        let dir = workspace();
        let mut child = command(dir.path(), &["--grace", "1"]).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
        let lines = [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "flood-output", "arguments": { "mb": 1 } } }),
        ];
        for line in lines {
            writeln!(input, "{line}").unwrap();
        }
        std::thread::sleep(Duration::from_secs(1));
        if by_signal {
            terminate(&child);
            assert_eq!(ended(&mut child), 0);
        }
        drop(input);
        assert_eq!(ended(&mut child), 0);
    }
}
