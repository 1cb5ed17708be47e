//! Batches: their events, several of them, what belongs to a turn, what an earlier run has left.

use serde_json::{Value, json};
use toolgate_jsonl::Settings;

use crate::support::{Client, builder, message, text};

#[tokio::test]
async fn a_batch_gives_its_events_in_order_and_then_its_messages() {
    let mut client = Client::simple().await;
    let id = client.run(&[("a", "do", json!({ "say": "hi", "updates": 2 })), ("b", "nope", json!({}))]).await;
    let messages = client.messages(&id).await;
    assert_eq!(messages.iter().map(text).collect::<Vec<_>>(), ["hi", "Tool nope not found"]);
    assert_eq!(messages[1]["error"]["kind"], "not-found");
    let events = [
        "tool_execution_start a",
        "tool_execution_start b",
        "tool_execution_end b",
        "tool_execution_update a",
        "tool_execution_update a",
        "tool_execution_end a",
        "message_start a",
        "message_end a",
        "message_start b",
        "message_end b",
    ];
    assert_eq!(client.events(&id), events);
    let positions: Vec<&Value> = client.seen.iter().map(|seen| &seen["params"]["position"]).take(3).collect();
    assert_eq!(positions, [&json!(0), &json!(1), &json!(1)]);
}

#[tokio::test]
async fn several_batches_are_in_flight_and_one_is_cancelled() {
    let mut client = Client::simple().await;
    let first = client.run(&[("a", "do", json!({ "wait": true })), ("b", "do", json!({ "say": "b" }))]).await;
    let second = client.run(&[("a", "do", json!({ "say": "two" }))]).await;
    let other = json!("a name");
    let params = json!({ "message": [{ "id": "a", "name": "do" }], "mode": "sequential" });
    client.send(json!({ "jsonrpc": "2.0", "id": other, "method": "run", "params": params })).await;
    assert_eq!(text(&client.messages(&second).await[0]), "two");
    assert_eq!(text(&client.messages(&other).await[0]), "done");
    assert_eq!(client.request("cancel", json!({ "batch": first })).await, json!({ "found": true }));
    let messages = client.messages(&first).await;
    assert_eq!(messages.iter().map(text).collect::<Vec<_>>(), ["Operation aborted", "b"]);
    assert_eq!(messages[0]["error"]["kind"], "aborted");
    assert_eq!(client.request("cancel", json!({ "batch": first })).await, json!({ "found": false }));
}

#[tokio::test]
async fn an_id_in_use_and_a_batch_too_many_are_refused() {
    let mut settings = Settings::default();
    settings.batches = 1;
    let mut client = Client::new(builder(), settings, json!({})).await;
    let first = client.run(&[("a", "do", json!({ "wait": true }))]).await;
    let second = client.run(&[("a", "do", json!({}))]).await;
    assert_eq!(client.answer(&second).await["error"]["code"], -32003);
    let params = json!({ "message": [] });
    client.send(json!({ "jsonrpc": "2.0", "id": first, "method": "run", "params": params })).await;
    assert!(client.answer(&first).await["error"]["message"].as_str().unwrap().contains("in flight"));
    client.send(json!({ "jsonrpc": "2.0", "method": "cancel", "params": { "batch": first } })).await;
    assert_eq!(text(&client.messages(&first).await[0]), "Operation aborted");
    let third = client.run(&[("a", "do", json!({}))]).await;
    assert_eq!(text(&client.messages(&third).await[0]), "done");
}

#[tokio::test]
async fn turns_and_conversations_are_the_clients_to_end() {
    let mut client = Client::simple().await;
    let calls = message(&[("a", "do", json!({ "count": true }))]);
    let mut count = async |turn: &str, conversation: &str, end: Option<(&str, Value)>| {
        if let Some((method, params)) = end {
            assert_eq!(client.request(method, params).await, json!({}));
        }
        let id = client.start("run", json!({ "message": calls, "turn": turn, "conversation": conversation })).await;
        text(&client.messages(&id).await[0]).to_owned()
    };
    assert_eq!(count("t", "k", None).await, "1 1");
    assert_eq!(count("t", "k", None).await, "2 2");
    assert_eq!(count("t", "other", None).await, "1 1");
    assert_eq!(count("t", "k", Some(("end_turn", json!({ "turn": "t", "conversation": "k" })))).await, "1 3");
    assert_eq!(count("t", "k", Some(("end_conversation", json!({ "conversation": "k" })))).await, "1 1");
}

#[tokio::test]
async fn which_tools_are_active_is_the_clients_to_say() {
    let mut client = Client::simple().await;
    let calls = message(&[("a", "do", json!({})), ("b", "ask-first", json!({}))]);
    let id = client.start("run", json!({ "message": calls, "active": { "only": [], "added": ["do"] } })).await;
    let messages = client.messages(&id).await;
    assert_eq!(messages.iter().map(text).collect::<Vec<_>>(), ["done", "Tool ask-first not found"]);
}

#[tokio::test]
async fn a_batch_goes_on_where_an_earlier_run_came() {
    let mut client = Client::simple().await;
    let calls = [("a", "do", json!({ "say": "once" })), ("b", "do", json!({})), ("c", "do", json!({ "say": "new" }))];
    let id = client.run(&calls).await;
    let mut first = client.messages(&id).await;
    let settled = json!({ "state": "settled", "message": first[0].take() });
    let earlier = json!([settled, { "state": "begun" }, null]);
    let id = client.start("run", json!({ "message": message(&calls), "earlier": earlier })).await;
    let messages = client.messages(&id).await;
    assert_eq!(messages[0], settled["message"]);
    assert_eq!(messages[1]["error"]["kind"], "interrupted");
    assert_eq!(text(&messages[2]), "new");
    // Of another call.
    let earlier = json!([null, settled]);
    let refused = client.request("run", json!({ "message": message(&calls), "earlier": earlier })).await;
    assert!(
        refused["message"].as_str().unwrap().starts_with("earlier[1]: the message answers call \"a\""),
        "{refused}"
    );
}

#[tokio::test]
async fn steps_and_log_lines_come_where_they_are_wanted() {
    let capabilities = json!({ "events": false, "steps": true, "logs": true });
    let mut client = Client::new(builder(), Settings::default(), capabilities).await;
    let id = client.run(&[("a", "ask-first", json!({})), ("b", "do", json!({ "log": "a line" }))]).await;
    client.messages(&id).await;
    let steps: Vec<String> = client
        .seen
        .iter()
        .filter(|seen| seen["method"] == "step")
        .map(|seen| format!("{} {}", seen["params"]["position"], seen["params"]["step"].as_str().unwrap()))
        .collect();
    // Nobody answers the hook, so the first call goes no further.
    assert_eq!(steps, ["0 hook", "1 prepared", "1 executing", "1 executed"]);
    let log = client.asked("log").await;
    assert_eq!((&log["params"]["batch"], &log["params"]["message"]), (&id, &json!("a line")));
    assert!(client.events(&id).is_empty());
}
