//! Hooks of components that break: the call is refused, or its result replaced, and everything says whose fault it was.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolgate::Host;
use toolgate::component::PluginSpec;
use toolgate::model::Json;
use toolgate::pipeline::OnError;
use toolgate_tests::guests::{self, Events, batch, run_one};

/// A way to break: what the hook does, under which limits, and what comes of it.
struct Broken {
    script: Value,
    limit: fn(&mut PluginSpec),
    /// `error.cause`; none where the hook itself said what is wrong.
    cause: Option<&'static str>,
    words: &'static str,
}

fn ways() -> Vec<Broken> {
    let by = |script, limit, cause, words| Broken { script, limit, cause, words };
    vec![
        by(json!([{"op": "throw", "message": "the policy is missing"}]), |_| {}, None, "the policy is missing"),
        by(json!([{"op": "throw", "message": ""}]), |_| {}, None, "it gave no reason"),
        by(json!([{"op": "trap"}]), |_| {}, Some("trap"), "a scripted trap"),
        by(
            json!([{"op": "sleep", "ms": 60_000}]),
            |spec| spec.limits.deadline = Duration::from_millis(200),
            Some("deadline"),
            "its limit of 200 ms",
        ),
        by(json!([]), |spec| spec.limits.fuel = Some(1_000), Some("out-of-fuel"), "out of fuel"),
        by(json!([]), |spec| spec.limits.hostcall_bytes = 64, Some("hostcall-limit"), "more than 64 bytes"),
    ]
}

/// A host whose tools a hook guards, loaded before its limit is set so that reading its subscriptions is not what fails.
async fn guarded(event: &str, way: &Broken, on_error: OnError) -> Host {
    let mut spec = guests::spec("scripted-hook");
    spec.name = "guard".into();
    spec.config = Json::from_value(json!({"event": event, "entries": [{"script": way.script}]}));
    guests::load(spec.clone()).await;
    (way.limit)(&mut spec);
    let host = guests::host(Host::builder(), [guests::spec("misbehave")]).await;
    let mut plugin = guests::load(spec).await;
    plugin.hook_settings.on_error = on_error;
    host.load(plugin).unwrap();
    host
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_hook_fails_closed_and_is_named() {
    for (event, called) in [("before", "before-tool-call"), ("after", "after-tool-call")] {
        for way in ways() {
            let host = guarded(event, &way, OnError::Fail).await;
            let answer = run_one(&host, "echo", json!({"secret": 1})).await;
            let error = &answer.json()["error"];
            let what = format!("{event} {}: {}", way.words, answer.json());
            assert_eq!(answer.kind(), "hook-failed", "{what}");
            assert_eq!((&error["hook"], &error["plugin"]), (&json!("guard"), &json!("guard")), "{what}");
            assert_eq!(error["cause"].as_str(), way.cause, "{what}");
            assert!(answer.text().contains(way.words) && !answer.text().contains("secret"), "{what}");
            // What the host words names hook and plugin; what the hook says stays as it is.
            let named = format!("Hook \"guard\" of plugin \"guard\" failed in {called}: ");
            assert_eq!(answer.text().starts_with(&named), way.words != "the policy is missing", "{what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_observer_is_skipped_where_the_operator_says_so() {
    for way in ways() {
        let host = guarded("after", &way, OnError::Skip).await;
        let events = Arc::new(Events::default());
        let outcome = host.run(batch([("echo", json!({"a": 1}))]).sink(events.clone())).await;
        assert_eq!(outcome.messages[0].result.content[0].as_text(), Some("{\"a\":1}"));
        let skipped = events.of_type("hook_skipped");
        assert_eq!((skipped.len(), &skipped[0]["hook"]), (1, &json!("guard")), "{skipped:?}");
        assert!(skipped[0]["message"].as_str().unwrap().contains(way.words), "{skipped:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_replaced_by_a_component_are_validated_again() {
    let way = Broken {
        script: json!([{"op": "setArg", "path": ["ms"], "value": "soon"}]),
        limit: |_| {},
        cause: Some("invalid-arguments"),
        words: "",
    };
    let host = guarded("before", &way, OnError::Fail).await;
    let answer = run_one(&host, "sleep", json!({"ms": 1})).await;
    assert_eq!((answer.kind(), answer.json()["error"]["cause"].as_str()), ("hook-failed", way.cause));
    let named =
        "Hook \"guard\" of plugin \"guard\" failed in before-tool-call: it replaced the arguments with invalid ones";
    assert!(answer.text().starts_with(named) && answer.text().contains("\n  - ms: "), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tools_fault_is_never_the_hooks() {
    let way = Broken { script: json!([]), limit: |_| {}, cause: None, words: "" };
    let host = guarded("after", &way, OnError::Fail).await;
    let answer = run_one(&host, "panic", json!({"message": "mine"})).await;
    let error = &answer.json()["error"];
    assert_eq!((answer.kind(), &error["plugin"], &error["hook"]), ("trap", &json!("misbehave"), &Value::Null));
}
