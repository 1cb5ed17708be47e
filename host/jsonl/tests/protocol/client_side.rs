//! What the client does within the pipeline: it approves, it is a hook, it has tools.

use std::time::Duration;

use serde_json::{Value, json};
use toolgate_jsonl::Settings;

use crate::support::{Client, builder, text};

async fn approving() -> Client {
    Client::new(builder(), Settings::default(), json!({ "approve": true })).await
}

#[tokio::test]
async fn the_client_answers_hooks_that_ask() {
    let mut client = approving().await;
    let id = client.run(&[("a", "ask-first", json!({ "say": "ran" }))]).await;
    let asked = client.asked("approve").await;
    let params = &asked["params"];
    assert_eq!((&params["batch"], &params["position"]), (&id, &json!(0)));
    assert_eq!(params["questions"][0]["title"], "Really?");
    client.reply(&asked, json!({ "approved": true })).await;
    assert_eq!(text(&client.messages(&id).await[0]), "ran");

    for (answer, wanted) in [
        (json!({ "result": { "approved": false, "reason": "not now" } }), "Tool execution was declined: not now"),
        (json!({ "error": { "code": 1, "message": "no window" } }), "Tool execution was declined: no window"),
        (json!({ "result": 7 }), "Tool execution was declined: the client's answer to approve can't be read"),
    ] {
        let id = client.run(&[("a", "ask-first", json!({}))]).await;
        let asked = client.asked("approve").await;
        let mut message = json!({ "jsonrpc": "2.0", "id": asked["id"] });
        message.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        client.raw(format!("{message}\n").as_bytes()).await;
        let messages = client.messages(&id).await;
        assert!(text(&messages[0]).starts_with(wanted), "{messages:?}");
        assert_eq!(messages[0]["error"]["kind"], "declined");
    }
}

#[tokio::test]
async fn a_question_nobody_needs_answered_any_more_is_taken_back() {
    let mut client = approving().await;
    let id = client.run(&[("a", "ask-first", json!({}))]).await;
    let asked = client.asked("approve").await;
    client.request("cancel", json!({ "batch": id })).await;
    assert_eq!(client.asked("cancelled").await["params"]["request"], asked["id"]);
    assert_eq!(text(&client.messages(&id).await[0]), "Operation aborted");
    // Too late, and no harm.
    client.reply(&asked, json!({ "approved": true })).await;

    let builder = builder().approval_timeout(Duration::from_millis(50));
    let mut client = Client::new(builder, Settings::default(), json!({ "approve": true })).await;
    let id = client.run(&[("a", "ask-first", json!({}))]).await;
    client.asked("cancelled").await;
    assert_eq!(client.messages(&id).await[0]["error"]["kind"], "declined");
}

#[tokio::test]
async fn the_client_is_a_hook() {
    let mut client = Client::simple().await;
    let hooks = json!(["before-tool-call", "after-tool-call"]);
    assert_eq!(client.request("offer", json!({ "name": "mine", "hooks": hooks })).await, json!({}));
    let mut decide = async |before: Value, after: Option<Value>| {
        let id = client.run(&[("a", "do", json!({ "say": "first" }))]).await;
        let asked = client.asked("before_tool_call").await;
        assert_eq!(asked["params"]["arguments"], json!({ "say": "first" }));
        client.reply(&asked, before).await;
        if let Some(after) = after {
            let asked = client.asked("after_tool_call").await;
            client.reply(&asked, after).await;
        }
        client.messages(&id).await.remove(0)
    };
    let message = decide(json!({ "decision": "allow" }), Some(json!({}))).await;
    assert_eq!((text(&message), &message["isError"]), ("first", &json!(false)));
    let replace = json!({ "decision": "replace", "arguments": { "say": "second" } });
    let message = decide(replace, Some(json!({ "details": null, "isError": true }))).await;
    assert_eq!((text(&message), &message["isError"]), ("second", &json!(true)));
    assert_eq!(message["details"], Value::Null);
    assert!(message.as_object().unwrap().contains_key("details"));
    let message = decide(json!({ "decision": "block", "reason": "no" }), None).await;
    assert_eq!((text(&message), &message["error"]["hook"]), ("no", &json!("mine")));
    let message = decide(json!({ "decision": "ask", "title": "?" }), None).await;
    assert_eq!(message["error"]["kind"], "declined");
}

#[tokio::test]
async fn a_client_hook_that_fails_or_is_silent_refuses_the_call() {
    let mut settings = Settings::default();
    settings.hook_timeout = Duration::from_millis(100);
    let mut client = Client::new(builder(), settings, json!({})).await;
    client.request("offer", json!({ "name": "mine", "hooks": ["before-tool-call"] })).await;
    let id = client.run(&[("a", "do", json!({}))]).await;
    let asked = client.asked("before_tool_call").await;
    client.refuse(&asked, "it broke").await;
    let message = client.messages(&id).await.remove(0);
    assert_eq!((text(&message), &message["error"]["kind"]), ("it broke", &json!("hook-failed")));

    let id = client.run(&[("a", "do", json!({}))]).await;
    let asked = client.asked("before_tool_call").await;
    assert_eq!(client.asked("cancelled").await["params"]["request"], asked["id"]);
    let message = client.messages(&id).await.remove(0);
    assert_eq!(message["error"]["cause"], "deadline");
    assert!(text(&message).contains("Hook \"mine\""), "{message}");

    // With the input goes who could answer.
    let id = client.run(&[("a", "do", json!({}))]).await;
    client.asked("before_tool_call").await;
    client.end();
    assert_eq!(client.messages(&id).await[0]["error"]["kind"], "hook-failed");
}

#[tokio::test]
async fn the_client_has_tools() {
    let mut client = Client::new(builder(), Settings::default(), json!({ "toolsChanged": true })).await;
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let tool = json!({ "name": "theirs", "description": "Runs in the client", "parameters": schema });
    client.request("offer", json!({ "name": "mine", "tools": [tool] })).await;
    client.asked("tools_changed").await;
    let listed = client.request("tools", json!({})).await;
    assert!(listed["tools"].as_array().unwrap().iter().any(|tool| tool["plugin"] == "mine" && tool["active"] == true));

    let id = client.run(&[("a", "theirs", json!({ "n": "7" })), ("b", "theirs", json!({}))]).await;
    let asked = client.asked("execute").await;
    assert_eq!(asked["params"]["arguments"], json!({ "n": 7 }));
    assert_eq!(asked["params"]["toolCall"]["arguments"], json!({ "n": "7" }));
    for at in 0..20 {
        let params = json!({ "request": asked["id"], "partialResult": { "content": [{ "type": "text", "text": at.to_string() }] } });
        client.send(json!({ "jsonrpc": "2.0", "method": "update", "params": params })).await;
    }
    client.reply(&asked, json!({ "content": [{ "type": "text", "text": "seven" }], "details": { "k": 1 } })).await;
    let messages = client.messages(&id).await;
    assert_eq!((text(&messages[0]), &messages[0]["details"]), ("seven", &json!({ "k": 1 })));
    assert_eq!(messages[1]["error"]["kind"], "invalid-arguments");
    let updates: Vec<&Value> = client
        .seen
        .iter()
        .map(|seen| &seen["params"]["event"])
        .filter(|event| event["type"] == "tool_execution_update")
        .map(|event| &event["partialResult"]["content"][0]["text"])
        .collect();
    assert_eq!(updates, (0..20).map(|at| at.to_string()).collect::<Vec<_>>().iter().collect::<Vec<_>>());

    let id = client.run(&[("a", "theirs", json!({ "n": 1 }))]).await;
    let asked = client.asked("execute").await;
    client.refuse(&asked, "it broke").await;
    let message = client.messages(&id).await.remove(0);
    assert_eq!((text(&message), &message["error"]["kind"]), ("it broke", &json!("tool-failed")));

    let id = client.run(&[("a", "theirs", json!({ "n": 1 }))]).await;
    let asked = client.asked("execute").await;
    client.request("cancel", json!({ "batch": id })).await;
    assert_eq!(client.asked("cancelled").await["params"]["request"], asked["id"]);
    client.reply(&asked, json!({ "content": [{ "type": "text", "text": "in time" }] })).await;
    assert_eq!(text(&client.messages(&id).await[0]), "in time");
}

#[tokio::test]
async fn an_offer_takes_the_place_of_the_last_and_goes_with_the_client() {
    let mut client = Client::simple().await;
    let tool = |name: &str| json!([{ "name": name, "description": "", "parameters": {} }]);
    for (offer, why) in [
        (json!({ "name": "../x" }), "1 to 64 of A-Z"),
        (json!({ "name": "" }), "1 to 64 of A-Z"),
        (json!({ "name": "native" }), "native"),
        (json!({ "name": "mine", "tools": tool("do") }), "\"do\""),
        (
            json!({ "name": "mine", "tools": [{ "name": "x", "description": "", "parameters": { "type": "thing" } }] }),
            "x",
        ),
    ] {
        let refused = client.request("offer", offer).await;
        assert_eq!(refused["code"], -32004, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(why), "{refused}");
    }
    client.request("offer", json!({ "name": "mine", "tools": tool("one") })).await;
    client.request("offer", json!({ "name": "mine", "tools": tool("two") })).await;
    let names = |client: &Client| client.host.tools().tools().map(|tool| tool.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&client), ["do", "ask-first", "two"]);
    client.request("offer", json!({ "name": "renamed", "tools": tool("three") })).await;
    assert_eq!(names(&client), ["do", "ask-first", "three"]);
    client.end();
    client.rest().await;
    assert_eq!(names(&client), ["do", "ask-first"]);
}
