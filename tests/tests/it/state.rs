//! What a guest keeps, and for how long.

use serde_json::json;
use toolgate::Host;
use toolgate_tests::guests::{self, batch};

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_one_conversations_own_and_ends_with_it() {
    let host = guests::host(Host::builder(), [guests::spec("misbehave")]).await;
    let add = async |conversation: &str, scope: &str| {
        let call = batch([("state-add", json!({"scope": scope, "key": "n", "delta": 1}))]);
        let outcome = host.run(call.conversation(conversation).turn("t")).await;
        outcome.messages[0].result.content[0].as_text().unwrap().to_owned()
    };
    for scope in ["turn", "conversation"] {
        assert_eq!([add("one", scope).await, add("one", scope).await, add("two", scope).await], ["1", "2", "1"]);
    }
    host.state().end_turn("one", "t");
    assert_eq!([add("one", "turn").await, add("two", "turn").await], ["1", "2"]);
    assert_eq!(add("one", "conversation").await, "3");
    host.state().end_conversation("one");
    assert_eq!([add("one", "turn").await, add("two", "turn").await], ["1", "3"]);
    assert_eq!([add("one", "conversation").await, add("two", "conversation").await], ["1", "2"]);
}
