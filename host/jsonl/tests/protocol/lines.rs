//! Lines that are no good, and what is said before anything else.

use serde_json::{Value, json};
use toolgate_jsonl::{PROTOCOL, Settings};

use crate::support::{Client, builder};

#[tokio::test]
async fn hello_comes_first_once_and_in_a_version_that_is_spoken() {
    let mut client = Client::silent(builder(), Settings::default(), 1 << 16);
    assert_eq!(client.request("tools", json!({})).await["code"], -32001);
    client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":\"v\",\"method\":\"hello\",\"params\":{\"protocol\":7}}\n").await;
    let refused = client.answer(&json!("v")).await;
    assert_eq!(refused["error"]["code"], -32002);
    assert_eq!(refused["error"]["data"], json!({ "supported": [PROTOCOL] }));
    let welcome = client.hello(json!({})).await;
    assert_eq!((&welcome["protocol"], &welcome["server"]["name"]), (&json!(1), &json!("toolgate")));
    assert_eq!(client.hello(json!({})).await["message"], "hello was said already");
}

#[tokio::test]
async fn what_cannot_be_read_is_answered_and_the_next_line_is_read() {
    let mut settings = Settings::default();
    settings.line_bytes = 300;
    let mut client = Client::new(builder(), settings, json!({})).await;
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run\",\"params\":{}1{}}}",
        "[".repeat(140),
        "]".repeat(140)
    );
    let long = "x".repeat(1000);
    for (line, code, word) in [
        ("garbage", -32700, "not JSON"),
        ("{\"jsonrpc\":", -32700, "not JSON"),
        ("[1,2]", -32600, ""),
        ("7", -32600, ""),
        (r#"{"id":1,"method":"tools"}"#, -32600, "jsonrpc"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"tools"}"#, -32600, "an id is"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"tools"}"#, -32600, "an id is"),
        (r#"{"jsonrpc":"2.0"}"#, -32600, "neither"),
        (r#"{"jsonrpc":"2.0","method":1,"id":1}"#, -32600, "JSON-RPC"),
        (&long, -32600, "longer than 300 bytes"),
    ] {
        client.raw(format!("{line}\n").as_bytes()).await;
        let refused = client.answer(&Value::Null).await;
        assert_eq!(refused["error"]["code"], code, "{line}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(word), "{line}: {refused}");
    }
    client.raw(b"\"\xff\"\n").await;
    assert_eq!(client.answer(&Value::Null).await["error"]["code"], -32700);
    client.raw(deep.as_bytes()).await;
    client.raw(b"\n\r\n\n").await;
    assert!(client.next().await.unwrap()["error"]["code"].is_number());
    // Those that say who they are are answered by name.
    for (line, code, word) in [
        (r#""method":"runn""#, -32601, "there are: hello"),
        (r#""method":"tools","params":{"x":1}"#, -32602, "unknown field `x`"),
        (r#""method":"run""#, -32602, "missing field `message`"),
        (r#""method":"run","params":{"message":{"content":[{"type":"toolCall","id":"c"}]}}"#, -32602, "content[0]"),
        (r#""method":"run","params":{"message":[],"mode":"serial"}"#, -32602, "unknown variant `serial`"),
        (r#""method":"run","params":{"message":[],"earlier":[null]}"#, -32602, "earlier: has 1"),
        (r#""method":"run","params":{"message":[],"traceparent":"00-1-2-3"}"#, -32602, "traceparent: not a"),
        (r#""method":"cancel","params":{"batch":null}"#, -32602, "an id is"),
    ] {
        client.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":\"w\",{line}}}\n").as_bytes()).await;
        let refused = client.answer(&json!("w")).await;
        assert_eq!(refused["error"]["code"], code, "{line}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(word), "{line}: {refused}");
    }
    // Answers to what was never asked, and notifications nobody knows, are passed over.
    client
        .raw(b"{\"jsonrpc\":\"2.0\",\"id\":\"t99\",\"result\":1}\n{\"jsonrpc\":\"2.0\",\"method\":\"nothing\"}\n")
        .await;
    assert!(client.request("tools", json!({})).await["tools"].is_array());
}

#[tokio::test]
async fn a_last_line_needs_no_end() {
    let mut client = Client::simple().await;
    client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"tools\"}").await;
    client.end();
    assert!(client.answer(&json!("last")).await["result"]["tools"].is_array());
    assert!(client.next().await.is_none());
}
