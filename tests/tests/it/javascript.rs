//! What the JavaScript SDK puts around QuickJS: promises, timers, cancellation, the globals of the web.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::component::{PluginSpec, Source};
use toolgate::model::Event;
use toolgate::pipeline::{EventSink, SinkError};
use toolgate::sandbox::{DirAccess, DirGrant};
use toolgate_tests::guests::{self, Lines, batch, root, run_one};

const SOON: Duration = Duration::from_secs(60);

/// The guest `tests/guests/runtime-js`, where somebody built it.
fn spec(test: &str) -> Option<PluginSpec> {
    let path = root().join("target/guests/components/runtime-js.wasm");
    if path.is_file() {
        return Some(PluginSpec::new("runtime", Source::File(path)));
    }
    let required = std::env::var("TOOLGATE_LANGUAGES").unwrap_or_default();
    assert!(!required.split(',').any(|name| name.trim() == "js"), "{} is not there", path.display());
    // Past the test harness's capture, so that a skip is seen.
    let _ = writeln!(std::io::stderr(), "skipped: {test} ({} is not there)", path.display());
    None
}

#[tokio::test(flavor = "multi_thread")]
async fn promises_and_timers_are_driven() {
    let Some(spec) = spec("promises_and_timers_are_driven") else { return };
    let host = guests::host(Host::builder(), [spec]).await;
    let order = run_one(&host, "order", json!({})).await;
    assert_eq!(
        order.json()["structuredContent"],
        json!(["now", "microtask", "promise", "timer 5", "interval", "timer 20"]),
        "{order:?}"
    );
    let combined = run_one(&host, "combine", json!({})).await;
    let settled = json!([{"status": "fulfilled", "value": 1}, {"status": "rejected", "reason": "x"}]);
    let expected = json!({
        "a": "a", "b": false, "race": "fast", "any": "any", "settled": settled, "numbers": [1, 2, 3], "from": [1, 2],
    });
    assert_eq!(combined.json()["structuredContent"], expected, "{combined:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn globals_of_the_web_are_there() {
    let Some(spec) = spec("globals_of_the_web_are_there") else { return };
    let host = guests::host(Host::builder(), [spec]).await;
    let found = run_one(&host, "globals", json!({})).await;
    let expected = json!({
        "text": "é😀", "bytes": 6, "clone": 5, "base64": "abc", "aborted": [false, true, true],
        "timeout": "TimeoutError", "elapsed": true, "clock": true,
    });
    assert_eq!(found.json()["structuredContent"], expected, "{found:?}");
    assert_eq!(run_one(&host, "utf8", json!({})).await.json()["structuredContent"], json!([]));
    assert_eq!(run_one(&host, "zod", json!({"word": "a"})).await.text(), "aa");
    assert_eq!(run_one(&host, "zod", json!({"word": ""})).await.kind(), "invalid-arguments");
}

/// The engine's own generator is seeded when a component is built.
#[tokio::test(flavor = "multi_thread")]
async fn each_call_has_its_own_random_numbers() {
    let Some(spec) = spec("each_call_has_its_own_random_numbers") else { return };
    let host = guests::host(Host::builder(), [spec]).await;
    let outcome = host.run(batch([("random", json!({})), ("random", json!({}))])).await;
    let [first, second] = [0, 1].map(|at| json!(outcome.messages[at])["structuredContent"].clone());
    for at in 0..3 {
        assert!(!first[at].is_null() && first[at] != second[at], "{first} {second}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_behind_is_told_or_dropped() {
    let Some(spec) = spec("what_is_left_behind_is_told_or_dropped") else { return };
    let logs = Arc::new(Lines::default());
    let host = guests::host(Host::builder().logs(logs.clone()), [spec]).await;
    let stuck = run_one(&host, "stuck", json!({})).await;
    assert_eq!(
        (stuck.kind(), &*stuck.text()),
        ("tool-failed", "The call awaits a promise that nothing can settle any more")
    );
    assert_eq!(run_one(&host, "unhandled", json!({})).await.text(), "done");
    assert!(
        logs.all().contains(&"log: A promise was rejected and nobody caught it: left alone".to_owned()),
        "{:?}",
        logs.all()
    );
    assert_eq!(run_one(&host, "late", json!({})).await.text(), "done");
    run_one(&host, "console", json!({})).await;
    let written = logs.all().split_off(logs.all().len() - 4);
    assert_eq!(written, ["log: it has 7 {\"a\":1}", "log: careful", "log: bad", "log: fine"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_environment_are_there_as_granted() {
    let Some(mut spec) = spec("files_and_environment_are_there_as_granted") else { return };
    let folder = tempfile::tempdir().unwrap();
    spec.grants.dirs.push(DirGrant { guest: "/w".into(), host: folder.path().into(), access: DirAccess::ReadWrite });
    spec.grants.env.insert("GREETING".into(), "hei".into());
    let host = guests::host(Host::builder(), [spec]).await;
    let found = run_one(&host, "files", json!({})).await;
    let granted = "(directories granted to this plugin: /w)";
    let outside = format!("the path is outside of what is granted {granted}");
    let expected = json!({
        "granted": ["/w"], "env": {"GREETING": "hei"}, "text": "grün", "long": 4_200_000,
        "list": [{"name": "a.txt", "type": "file"}, {"name": "b", "type": "file"}],
        "size": 600_000, "recent": true,
        "refused": [
            format!("/w/none: no such file or directory {granted}"), format!("/w/../secret: {outside}"),
            format!("/elsewhere: {outside}"), "/w/new: not a regular file",
        ],
    });
    assert_eq!(found.json()["structuredContent"], expected, "{found:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Cancels when the first update comes: the guest is about to wait, or waits.
struct CancelOnUpdate(CancellationToken);

#[async_trait]
impl EventSink for CancelOnUpdate {
    fn name(&self) -> &str {
        "cancel"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        if let Event::ToolExecutionUpdate { .. } = event {
            self.0.cancel();
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_stops_where_it_waits() {
    let Some(spec) = spec("a_cancelled_call_stops_where_it_waits") else { return };
    let logs = Arc::new(Lines::default());
    // A grace that nobody here needs.
    let host = guests::host(Host::builder().grace(SOON * 10).logs(logs.clone()), [spec]).await;
    let mut answers = Vec::new();
    for tool in ["listens", "cleans-up", "looks"] {
        let cancel = CancellationToken::new();
        let batch = batch([(tool, json!({}))]).sink(Arc::new(CancelOnUpdate(cancel.clone()))).cancel(cancel);
        let outcome = tokio::time::timeout(SOON, host.run(batch)).await.expect(tool);
        let kind = outcome.messages[0].error.as_ref().map_or("ok", |error| error.kind.as_str());
        answers.push((tool, kind));
    }
    assert_eq!(answers, [("listens", "aborted"), ("cleans-up", "aborted"), ("looks", "ok")]);
    assert!(logs.all().contains(&"log: cleaned up".to_owned()));
}
