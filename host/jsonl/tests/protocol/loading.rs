//! What a client is answered while plugins are still being loaded.

use std::time::Duration;

use serde_json::json;
use toolgate::Loading;
use toolgate::registry::Plugin;
use toolgate_jsonl::Settings;

use crate::support::{Client, Do, builder, plugin, text};

#[tokio::test]
async fn batches_and_the_list_of_tools_wait_and_the_rest_does_not() {
    let host = builder().build();
    host.set_loading(Loading::Hooks);
    host.load(plugin()).unwrap();
    let mut settings = Settings::default();
    settings.batches = 5;
    let mut client = Client::of_host(host.clone(), settings, 1 << 16);
    client.hello(json!({ "toolsChanged": true })).await;
    let tools = client.start("tools", json!({})).await;
    let there = client.run(&[("a", "do", json!({ "say": "guarded" }))]).await;
    let late = client.run(&[("a", "late", json!({}))]).await;
    let cancelled = client.run(&[("a", "do", json!({}))]).await;
    let impatient = client.start("tools", json!({})).await;
    // What waits is bounded.
    let refused = client.request("tools", json!({})).await;
    assert_eq!(refused["code"], -32003, "{refused}");
    for id in [&cancelled, &impatient] {
        assert_eq!(client.request("cancel", json!({ "batch": id })).await["found"], true);
    }
    assert_eq!(text(&client.messages(&cancelled).await[0]), "Operation aborted");
    assert_eq!(client.answer(&impatient).await["result"]["tools"].as_array().unwrap().len(), 2);
    assert!(
        client.seen.iter().all(|seen| seen["method"] == "event" && seen["params"]["batch"] == cancelled),
        "{:?}",
        client.seen
    );

    host.set_loading(Loading::Tools);
    assert_eq!(text(&client.messages(&there).await[0]), "guarded");
    host.load(Plugin::native("late").tool(Do::named("late"))).unwrap();
    assert_eq!(text(&client.messages(&late).await[0]), "done");
    client.asked("tools_changed").await;
    host.set_loading(Loading::Done);
    assert_eq!(client.answer(&tools).await["result"]["tools"].as_array().unwrap().len(), 3);
}

/// What toolgate.toml lists has its names, however long it takes to load; and a batch that was sent behind the offer has
/// the client's hooks.
#[tokio::test]
async fn an_offer_comes_after_what_is_still_being_loaded() {
    let host = builder().build();
    host.set_loading(Loading::Tools);
    host.load(plugin()).unwrap();
    let mut client = Client::of_host(host.clone(), Settings::default(), 1 << 16);
    client.hello(json!({})).await;
    let definition = json!({ "name": "mine", "description": "The client's", "parameters": { "type": "object" } });
    let offer = json!({ "name": "client", "tools": [definition], "hooks": ["before-tool-call"] });
    let offer = client.start("offer", offer).await;
    let guarded = client.run(&[("a", "do", json!({}))]).await;
    host.load(Plugin::native("late").tool(Do::named("mine"))).unwrap();
    host.set_loading(Loading::Done);
    let refused = client.answer(&offer).await;
    assert_eq!(refused["error"]["code"], -32004, "{refused}");
    assert_eq!(text(&client.messages(&guarded).await[0]), "done");

    host.set_loading(Loading::Tools);
    let offer = client.start("offer", json!({ "name": "client", "hooks": ["before-tool-call"] })).await;
    let guarded = client.run(&[("a", "do", json!({}))]).await;
    host.set_loading(Loading::Done);
    assert!(client.answer(&offer).await.get("result").is_some());
    let asked = client.asked("before_tool_call").await;
    client.reply(&asked, json!({ "decision": "block", "reason": "seen" })).await;
    assert_eq!(text(&client.messages(&guarded).await[0]), "seen");
}

#[tokio::test]
async fn the_list_of_tools_waits_within_a_limit_and_not_beyond_the_end() {
    let host = builder().list_wait(Duration::from_millis(1)).build();
    host.set_loading(Loading::Tools);
    host.load(plugin()).unwrap();
    let mut client = Client::of_host(host, Settings::default(), 1 << 16);
    client.hello(json!({})).await;
    assert_eq!(client.request("tools", json!({})).await["tools"].as_array().unwrap().len(), 2);

    let host = builder().build();
    host.set_loading(Loading::Tools);
    let mut client = Client::of_host(host, Settings::default(), 1 << 16);
    client.hello(json!({})).await;
    let tools = client.start("tools", json!({})).await;
    let late = client.run(&[("a", "late", json!({}))]).await;
    client.request("cancel", json!({ "batch": 99 })).await;
    client.stop.cancel();
    assert_eq!(text(&client.messages(&late).await[0]), "Operation aborted");
    assert!(client.answer(&tools).await.get("result").is_some());
    client.rest().await;
    assert!((&mut client.server).await.unwrap().is_ok());
}
