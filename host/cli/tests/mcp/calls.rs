//! Tools and calls, over standard input and output.

use serde_json::{Value, json};

use crate::support::{Pipe, text};

#[test]
fn the_handshake_keeps_to_what_both_sides_speak() {
    let newest = "2025-11-25";
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", newest),
        // This revision has no handshake.
        ("2026-07-28", newest),
        ("1999-01-01", newest),
    ] {
        let mut client = Pipe::silent(&["--instructions", "Weigh before you lift."]);
        let answer = client.initialize(asked, json!({}));
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], answered, "{asked}: {answer}");
        assert_eq!(result["serverInfo"]["name"], "toolgate");
        assert_eq!(result["instructions"], "Weigh before you lift.");
        assert_eq!(result["capabilities"], json!({ "logging": {}, "tools": { "listChanged": true } }));
        assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    }
}

#[test]
fn requests_of_the_revision_without_a_handshake_stand_for_themselves() {
    let mut client = Pipe::silent(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.request("server/discover", json!({ "_meta": meta }));
    assert!(found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    let listed = client.request("tools/list", json!({ "_meta": meta }));
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    assert_eq!(listed["result"]["cacheScope"], "private");
    let called = client.request("tools/call", json!({ "_meta": meta, "name": "weigh", "arguments": { "grams": 1 } }));
    assert_eq!(called["result"]["structuredContent"], json!({ "grams": 1 }), "{called}");
    assert_eq!(called["result"]["resultType"], "complete");
    let old = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2024-01-01", "io.modelcontextprotocol/clientCapabilities": {} } });
    assert!(client.request("tools/list", old)["error"]["code"].is_i64());
}

#[test]
fn tools_are_listed_by_name_with_all_that_mcp_has_for_them() {
    let mut client = Pipe::open(&[], json!({}));
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted(), "{names:?}");
    assert!(!names.contains(&"hidden"), "{names:?}");
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    let all = tool("all_blocks");
    assert_eq!(all["title"], "All blocks");
    assert_eq!(all["annotations"], json!({ "title": "All blocks", "readOnlyHint": true, "openWorldHint": false }));
    assert!(all["description"].as_str().unwrap().starts_with("Answers with all five"));
    assert_eq!(all["inputSchema"]["type"], "object");
    assert_eq!(tool("weigh")["outputSchema"]["properties"], json!({ "grams": { "type": "number" } }));
    assert!(tool("json_schema_2020_12_tool")["inputSchema"]["$defs"]["address"].is_object());
}

#[test]
fn a_list_comes_in_pages() {
    let mut client = Pipe::open(&["--page-size", "4"], json!({}));
    let (mut names, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let page = client.request("tools/list", params);
        let tools = page["result"]["tools"].as_array().unwrap();
        assert!((1..=4).contains(&tools.len()));
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        match page["result"]["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert!(names.len() > 12 && names.is_sorted(), "{names:?}");
    let wrong = client.request("tools/list", json!({ "cursor": "of another server" }));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

#[test]
fn a_name_that_cannot_be_called_is_a_protocol_error_and_all_else_a_result() {
    let mut client = Pipe::open(&[], json!({}));
    for (tool, arguments) in
        [("nothing", json!({})), ("hidden", json!({})), ("weigh", json!([1])), ("weigh", json!("1"))]
    {
        let answer = client.call(tool, arguments);
        assert_eq!(answer["error"]["code"], -32602, "{tool}: {answer}");
    }
    for (tool, arguments, kind, says) in [
        ("weigh", json!({}), "invalid-arguments", "Validation failed for tool \"weigh\""),
        ("weigh", json!({ "grams": "heavy" }), "invalid-arguments", "grams"),
        ("test_error_handling", json!({}), "tool-failed", "This tool intentionally returns an error for testing"),
        ("broken_output", json!({}), "tool-failed", "broke its output schema"),
        ("env", json!({ "name": "HOME" }), "blocked", "The environment is private."),
    ] {
        let answer = client.call(tool, arguments);
        assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
        assert_eq!(answer["result"]["_meta"]["toolgate/error"]["kind"], kind, "{tool}: {answer}");
        assert!(text(&answer).contains(says), "{tool}: {answer}");
        assert!(answer["result"].get("structuredContent").is_none(), "{tool}: {answer}");
    }
    let good = client.call("weigh", json!({ "grams": "42" }));
    assert_eq!(
        good["result"],
        json!({ "content": [{ "type": "text", "text": "42" }], "structuredContent": { "grams": 42 }, "isError": false })
    );
}

#[test]
fn numbers_keep_every_digit_both_ways() {
    let mut client = Pipe::open(&[], json!({}));
    let arguments = r#"{"big":123456789012345678901234567890,"exact":9007199254740993,"money":0.10,"tiny":1e-400,"list":[1.0,-0.0,1e+2],"deep":{"n":3.14159265358979323846264338327950288}}"#;
    client.send_text(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#
    ));
    let line = client.next_line();
    assert!(line.contains(&format!("\"structuredContent\":{arguments}")), "{line}");
    client.send_text(
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"weigh","arguments":{"grams":"12345678901234567890123.50"}}}"#,
    );
    let line = client.next_line();
    assert!(line.contains(r#""structuredContent":{"grams":12345678901234567890123.50}"#), "{line}");
    client.send_text(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"all_blocks"}}"#);
    let line = client.next_line();
    assert!(line.contains(r#""example/digits":12345678901234567890123.50"#), "{line}");
}

#[test]
fn all_five_kinds_of_content_arrive() {
    let mut client = Pipe::open(&[], json!({}));
    let answer = client.call("all_blocks", json!({}));
    let blocks = answer["result"]["content"].as_array().unwrap();
    let kinds: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "audio", "resource_link", "resource"]);
    assert_eq!(blocks[0]["annotations"], json!({ "audience": ["user"], "priority": 0.5 }));
    assert_eq!(blocks[1]["mimeType"], "image/png");
    assert!(blocks[1]["data"].as_str().unwrap().starts_with("iVBOR"));
    assert!(blocks[2]["data"].as_str().unwrap().starts_with("UklGR"));
    let link = json!({ "type": "resource_link", "uri": "test://linked", "name": "linked", "title": "Linked", "mimeType": "text/plain", "size": 7 });
    assert_eq!(blocks[3], link);
    assert_eq!(blocks[4], json!({ "type": "resource", "resource": { "uri": "test://blob", "blob": "AP8=" } }));
}

#[test]
fn progress_increases_and_ends_with_the_call() {
    let mut client = Pipe::open(&[], json!({}));
    let id =
        client.start("tools/call", json!({ "name": "test_tool_with_progress", "_meta": { "progressToken": "p" } }));
    let silent = client.start("tools/call", json!({ "name": "test_tool_with_progress" }));
    client.answer(silent);
    client.answer(id);
    // The answer is taken out; whatever is kept came in this order before it or in between.
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    let progress: Vec<Value> =
        client.kept.drain(..).filter(|kept| kept["method"] == "notifications/progress").collect();
    let seen: Vec<(&Value, f64)> = progress
        .iter()
        .map(|sent| (&sent["params"]["progressToken"], sent["params"]["progress"].as_f64().unwrap()))
        .collect();
    let token = json!("p");
    assert_eq!(seen, [(&token, 0.0), (&token, 50.0), (&token, 100.0)]);
    assert_eq!(progress[1]["params"]["total"].as_f64(), Some(100.0));
    assert_eq!(progress[1]["params"]["message"], "Completed step 50 of 100");
}

#[test]
fn nothing_of_a_call_comes_after_its_answer() {
    let mut client = Pipe::open(&[], json!({}));
    let id = client.start("tools/call", json!({ "name": "test_tool_with_progress", "_meta": { "progressToken": 1 } }));
    let mut progress = 0;
    loop {
        let message: Value = serde_json::from_str(&client.next_line()).unwrap();
        if message["id"] == id {
            break;
        }
        assert_eq!(message["method"], "notifications/progress");
        progress += 1;
    }
    assert_eq!(progress, 3);
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.kept, Vec::<Value>::new());
}
