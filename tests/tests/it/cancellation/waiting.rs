//! Cancelled while calls wait: for a slot, for a key, for the approver.

use tokio::sync::Notify;
use toolgate::model::{ToolDefinition, ToolResult};
use toolgate::pipeline::{Approval, ApprovalRequest, Approver, CallContext, Slot, Tool, ToolError};
use toolgate::registry::Plugin;
use toolgate_tests::guests::{batch, run_one};

use super::*;

/// A native tool: it needs no slot, and its hooks do.
struct Quick(ToolDefinition);

#[async_trait]
impl Tool for Quick {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, _cx: &CallContext, _arguments: &Json, _slot: Slot) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text("secret"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_for_a_slot_are_answered_at_once() {
    let engine = NARROW.lock().await;
    let watch = Watch::new(When::Before, 0);
    let host = host(&engine, LONG, &watch, Vec::new()).await;
    let wait = || ("wait-cancel", json!({"ms": ENDLESS}));
    let calls = batch([wait(), wait(), wait()]).cancel(watch.cancel.clone()).sink(watch.clone());
    let (outcome, ()) = tokio::join!(soon(host.run(calls)), async {
        until("one runs and two wait", || (engine.live_instances(), engine.waiting()) == (1, 2)).await;
        watch.cancel();
    });
    assert_eq!((engine.live_instances(), engine.waiting()), (0, 0));
    assert_answered("queued", &watch, &outcome, &["c1", "c2", "c3"]);
    assert_eq!(kinds(&outcome), ["aborted"; 3]);
    let ran = ["c1", "c2", "c3"].iter().filter(|id| watch.end(id)["metrics"]["fuel"] != 0).count();
    // The one with the slot may have been cancelled before its first instruction.
    assert!(ran <= 1, "those that waited never ran");
    assert_eq!(run_one(&host, "now", json!({})).await.kind(), "ok");
}

/// Takes the one slot of the engine until cancelled.
async fn occupy(engine: &Engine) -> (CancellationToken, tokio::task::JoinHandle<BatchOutcome>) {
    let watch = Watch::new(When::Before, 0);
    let host = host(engine, LONG, &watch, Vec::new()).await;
    let calls = batch([("wait-cancel", json!({"ms": ENDLESS}))]).cancel(watch.cancel.clone());
    let running = tokio::spawn(async move { host.run(calls).await });
    until("the slot is taken", || engine.live_instances() == 1).await;
    (watch.cancel.clone(), running)
}

#[tokio::test(flavor = "multi_thread")]
async fn preparation_that_waits_for_a_slot_ends_at_once() {
    let engine = NARROW.lock().await;
    let shim = tool(json!({"prepareArguments": []}));
    for (name, spec) in [("echo", hook("before", json!([]))), ("t", shim)] {
        let watch = Watch::new(When::Before, 0);
        let host = host(&engine, LONG, &watch, vec![spec]).await;
        let (release, occupied) = occupy(&engine).await;
        let calls = batch([(name, json!({})), (name, json!({}))]).cancel(watch.cancel.clone()).sink(watch.clone());
        let (outcome, ()) = tokio::join!(soon(host.run(calls)), async {
            until("one waits", || engine.waiting() == 1).await;
            watch.cancel();
        });
        // The slot is still taken: nobody waited for it to become free.
        assert_eq!((engine.live_instances(), engine.waiting()), (1, 0), "{name}");
        assert_answered(name, &watch, &outcome, &["c1", "c2"]);
        assert_eq!(kinds(&outcome), ["aborted"; 2], "{name}");
        assert_eq!(watch.end("c1")["metrics"]["hostCalls"], 0, "{name}: it never ran");
        release.cancel();
        occupied.await.unwrap();
        assert_eq!(engine.live_instances(), 0);
        assert_eq!(run_one(&host, name, json!({})).await.kind(), "ok");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_after_hook_that_waits_for_a_slot_still_sees_the_result() {
    let engine = NARROW.lock().await;
    let watch = Watch::new(When::Before, 0);
    let script = json!([{"op": "return", "value": {"content": [{"type": "text", "text": "redacted"}]}}]);
    let spec = scripted("scripted-hook", "redact", json!({"event": "after", "entries": [{"script": script}]}));
    let host = host(&engine, LONG, &watch, vec![spec]).await;
    let definition = ToolDefinition::new("quick", "", json!({"type": "object"}).into());
    host.load(Plugin::native("native").tool(Quick(definition))).unwrap();
    let (release, occupied) = occupy(&engine).await;
    let calls = batch([("quick", json!({}))]).cancel(watch.cancel.clone()).sink(watch.clone());
    let (outcome, ()) = tokio::join!(host.run(calls), async {
        until("the hook waits", || engine.waiting() == 1).await;
        watch.cancel();
        release.cancel();
    });
    occupied.await.unwrap();
    assert_eq!(kinds(&outcome), ["ok"]);
    assert_eq!(outcome.messages[0].result.content[0].as_text(), Some("redacted"));
    assert_eq!((engine.live_instances(), engine.waiting()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_for_a_key_are_answered_at_once() {
    let engine = WIDE.lock().await;
    let watch = Watch::new(When::Before, 0);
    let script = json!([
        {"op": "sleepOrAbort", "ms": ENDLESS},
        {"op": "return", "value": {"content": [{"type": "text", "text": "held it"}]}},
    ]);
    let keyed = tool(json!({"exclusive": [{"pointer": "/key", "write": true}], "script": script}));
    let host = host(&engine, LONG, &watch, vec![keyed]).await;
    let call = || ("t", json!({"key": "k"}));
    let calls = batch([call(), call(), call()]).cancel(watch.cancel.clone()).sink(watch.clone());
    let (outcome, ()) = tokio::join!(soon(host.run(calls)), async {
        until("one runs", || watch.times_logged("execute_enter") == 1).await;
        // Nobody else takes a slot: they wait for the key first.
        assert_eq!((engine.live_instances(), engine.waiting()), (1, 0));
        watch.cancel();
    });
    assert_eq!((engine.live_instances(), engine.waiting()), (0, 0));
    assert_answered("behind a key", &watch, &outcome, &["c1", "c2", "c3"]);
    assert_eq!(kinds(&outcome), ["ok", "aborted", "aborted"]);
    assert_eq!(["c2", "c3"].map(|id| watch.end(id)["metrics"]["fuel"].as_u64()), [Some(0), Some(0)], "they never ran");
    assert_eq!(run_one(&host, "now", json!({})).await.kind(), "ok");
    // The key is free again: another call gets to run, which its own cancellation ends.
    let again = CancellationToken::new();
    let (entered, cancel) = (watch.times_logged("execute_enter"), again.clone());
    let (next, ()) = tokio::join!(soon(host.run(batch([call()]).cancel(again))), async {
        until("it runs", || watch.times_logged("execute_enter") > entered).await;
        cancel.cancel();
    });
    assert_eq!(kinds(&next), ["ok"]);
}

/// An approver that thinks for ever, and tells when it is asked and when it is let go.
#[derive(Default)]
struct Thinker {
    asked: Notify,
    thinking: AtomicUsize,
}

struct Thinking<'a>(&'a AtomicUsize);

impl Drop for Thinking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Approver for Thinker {
    async fn approve(&self, _request: ApprovalRequest) -> Approval {
        self.thinking.fetch_add(1, Ordering::SeqCst);
        let _thinking = Thinking(&self.thinking);
        self.asked.notify_one();
        std::future::pending().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_the_approver_is_answered_at_once() {
    let engine = WIDE.lock().await;
    let watch = Watch::new(When::Before, 0);
    let thinker = Arc::new(Thinker::default());
    let host = Host::builder().grace(LONG).approver(thinker.clone()).logs(watch.clone()).build();
    load(&host, &engine, vec![hook("before", json!([{"op": "return", "value": {"ask": "May it?"}}]))]).await;
    let tasks = alive_tasks();
    let call = || ("echo", json!({}));
    let calls = batch([call(), call()]).cancel(watch.cancel.clone()).sink(watch.clone());
    let (outcome, ()) = tokio::join!(soon(host.run(calls)), async {
        thinker.asked.notified().await;
        assert_eq!(engine.live_instances(), 0, "nobody holds a slot while a person thinks");
        watch.cancel();
    });
    assert_answered("asking", &watch, &outcome, &["c1", "c2"]);
    assert_eq!(kinds(&outcome), ["aborted"; 2]);
    assert_eq!(thinker.thinking.load(Ordering::SeqCst), 0, "the question is withdrawn");
    until("tasks have ended", || alive_tasks() <= tasks).await;
    assert_eq!(engine.live_instances(), 0);
    assert_eq!(run_one(&host, "now", json!({})).await.kind(), "ok");
}
