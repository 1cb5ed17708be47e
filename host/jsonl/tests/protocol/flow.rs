//! Slow readers, and the several ends.

use std::time::Duration;

use serde_json::json;
use toolgate_jsonl::Settings;

use crate::support::{Client, builder, text};

/// What waits for a client that does not read is bounded, the batch ends, and its messages are there when the client
/// reads again.
#[tokio::test]
async fn a_slow_reader_loses_events_and_no_messages() {
    let mut settings = Settings::default();
    settings.queue_bytes = 4096;
    let mut client = Client::silent(builder(), settings, 4096);
    client.hello(json!({})).await;
    let id = client.run(&[("a", "do", json!({ "updates": 200, "bytes": 1000, "say": "y" }))]).await;
    // Nothing is read until the sink is cut.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let mut answer = client.answer(&id).await;
    assert_eq!(answer["result"]["eventsLost"], true);
    assert_eq!(text(&answer["result"]["messages"][0].take()).len(), 1000);
    let bytes: usize = client.seen.iter().map(|seen| seen.to_string().len()).sum();
    assert!(bytes < 4 * 4096, "{bytes} bytes had waited");
    // The next batch has its events again.
    let id = client.run(&[("a", "do", json!({}))]).await;
    assert!(client.answer(&id).await["result"].get("eventsLost").is_none());
    assert_eq!(client.events(&id).len(), 4);
}

/// One line may be longer than all that may wait.
#[tokio::test]
async fn a_line_longer_than_the_queue_gets_through() {
    let mut settings = Settings::default();
    settings.queue_bytes = 1000;
    let mut client = Client::new(builder(), settings, json!({})).await;
    let id = client.run(&[("a", "do", json!({ "bytes": 100_000, "say": "z" }))]).await;
    assert_eq!(text(&client.messages(&id).await[0]).len(), 100_000);
    assert_eq!(client.events(&id).len(), 4);
}

#[tokio::test]
async fn the_end_of_the_input_lets_batches_finish() {
    let mut client = Client::simple().await;
    let id = client.run(&[("a", "do", json!({ "updates": 50, "say": "all of it" }))]).await;
    client.end();
    assert_eq!(text(&client.messages(&id).await[0]), "all of it");
    assert!(client.next().await.is_none());
    assert!((&mut client.server).await.unwrap().is_ok());
}

#[tokio::test]
async fn stopping_cancels_batches_and_their_results_still_come() {
    let mut client = Client::simple().await;
    let id = client.run(&[("a", "do", json!({ "wait": true, "deaf": true })), ("b", "do", json!({}))]).await;
    client.wait(|seen| seen["params"]["event"]["type"] == "tool_execution_end").await;
    client.stop.cancel();
    let messages = client.messages(&id).await;
    assert_eq!(messages.iter().map(text).collect::<Vec<_>>(), ["Operation aborted", "done"]);
    assert!(client.next().await.is_none());
    assert!((&mut client.server).await.unwrap().is_ok());
}

/// It neither reads nor goes away: the server ends all the same.
#[tokio::test]
async fn a_client_that_does_not_read_cannot_keep_a_stopped_server() {
    let mut settings = Settings::default();
    settings.queue_bytes = 1000;
    settings.farewell = Duration::from_millis(200);
    let mut client = Client::silent(builder(), settings, 1000);
    client.hello(json!({})).await;
    client.run(&[("a", "do", json!({ "updates": 100, "bytes": 1000 }))]).await;
    client.stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(8), &mut client.server).await;
    assert!(ended.expect("the server goes on").unwrap().is_ok());
}

#[tokio::test]
async fn a_client_that_goes_away_has_its_batches_cancelled() {
    let mut client = Client::simple().await;
    client.run(&[("a", "do", json!({ "wait": true }))]).await;
    client.wait(|seen| seen["params"]["event"]["type"] == "tool_execution_start").await;
    // Another batch makes the server notice.
    client.run(&[("a", "do", json!({ "updates": 1 }))]).await;
    client.vanish();
    let ended = tokio::time::timeout(Duration::from_secs(8), &mut client.server).await;
    assert!(ended.expect("the server goes on").unwrap().is_ok());
}
