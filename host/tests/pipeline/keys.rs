//! Exclusive keys at the host's level: within and across batches, plugins, and with cancelled waiters.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::model::{Access, AssistantMessage, ExclusiveKey, ExecutionMode, Json, ToolDefinition, ToolResult};
use toolgate::pipeline::{Batch, CallContext, Key, KeySpace, Slot, Tool};
use toolgate::registry::Plugin;

use crate::support::*;

/// Notes `enter ID` and `exit ID`, and stays inside until the gate lets it out.
fn gated(name: &str, access: Access, trace: &Trace, gate: &Arc<Semaphore>) -> FnTool {
    let (trace, gate) = (trace.clone(), gate.clone());
    let tool = tool(name, move |cx, _| {
        let (trace, gate) = (trace.clone(), gate.clone());
        Box::pin(async move {
            trace.note(format!("enter {}", cx.call.id));
            gate.acquire().await.unwrap().forget();
            trace.note(format!("exit {}", cx.call.id));
            Ok(ToolResult::default())
        })
    });
    tool.define(|definition| {
        definition.exclusive = vec![
            ExclusiveKey { pointer: "/path".into(), is_path: false, access },
            ExclusiveKey { pointer: "/to".into(), is_path: false, access: Access::Write },
        ];
    })
}

fn host(trace: &Trace, gate: &Arc<Semaphore>) -> Host {
    let host = Host::new();
    let plugin = Plugin::native("files").tool(gated("read", Access::Read, trace, gate)).tool(gated(
        "edit",
        Access::Write,
        trace,
        gate,
    ));
    host.load(plugin).unwrap();
    host
}

fn on(id: &str, name: &str, path: &str) -> toolgate::model::ToolCall {
    call(id, name, json!({"path": path}))
}

/// Lets everything that can run do so.
async fn settle() {
    sleep_ms(1).await;
}

#[tokio::test(start_paused = true)]
async fn three_reads_and_an_edit_of_another_file_overlap() {
    let (trace, gate) = (Trace::default(), Arc::new(Semaphore::new(0)));
    let host = host(&trace, &gate);
    let message = AssistantMessage::of_calls([
        on("c1", "read", "a"),
        on("c2", "read", "a"),
        on("c3", "edit", "b"),
        on("c4", "read", "a"),
    ]);
    let running = tokio::spawn(async move { host.run(Batch::new(message)).await });
    settle().await;
    let mut lines = trace.take();
    lines.sort();
    assert_eq!(lines, ["enter c1", "enter c2", "enter c3", "enter c4"]);
    gate.add_permits(4);
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn calls_with_an_equal_key_run_one_after_another_in_source_order() {
    let (trace, gate) = (Trace::default(), Arc::new(Semaphore::new(0)));
    let host = host(&trace, &gate);
    let message = AssistantMessage::of_calls([
        on("c1", "edit", "a"),
        on("c2", "read", "a"),
        on("c3", "read", "a"),
        on("c4", "edit", "a"),
    ]);
    let running = tokio::spawn(async move { host.run(Batch::new(message)).await });
    settle().await;
    assert_eq!(trace.take(), ["enter c1"]);
    gate.add_permits(1);
    settle().await;
    let mut lines = trace.take();
    lines.sort();
    assert_eq!(lines, ["enter c2", "enter c3", "exit c1"]);
    gate.add_permits(1);
    settle().await;
    assert_eq!(trace.take().len(), 1, "one reader is still inside");
    gate.add_permits(1);
    settle().await;
    assert_eq!(trace.take()[1..], ["enter c4"]);
    gate.add_permits(1);
    assert!(running.await.unwrap().messages.iter().all(|message| !message.is_error));
}

#[tokio::test(start_paused = true)]
async fn keys_hold_across_batches_first_come_first_served() {
    let (trace, gate) = (Trace::default(), Arc::new(Semaphore::new(0)));
    let host = host(&trace, &gate);
    let run = |id: &'static str, mode| {
        let host = host.clone();
        let batch = Batch::new(AssistantMessage::of_calls([on(id, "edit", "a")])).mode(mode);
        tokio::spawn(async move { host.run(batch).await })
    };
    let mut running = Vec::new();
    for (id, mode) in
        [("b1", ExecutionMode::Parallel), ("b2", ExecutionMode::Sequential), ("b3", ExecutionMode::Parallel)]
    {
        running.push(run(id, mode));
        settle().await;
    }
    for id in ["b1", "b2", "b3"] {
        assert_eq!(trace.take().last().unwrap(), &format!("enter {id}"));
        gate.add_permits(1);
        settle().await;
    }
    for batch in running {
        batch.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn several_keys_in_any_order_never_deadlock() {
    let (trace, gate) = (Trace::default(), Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)));
    let host = host(&trace, &gate);
    let crossing = |from: &str, to: &str| json!({"path": from, "to": to});
    let mut running = Vec::new();
    for batch in 0..20 {
        let host = host.clone();
        let message = AssistantMessage::of_calls((0..10).map(|at| {
            let (from, to) = if (at + batch) % 2 == 0 { ("a", "b") } else { ("b", "a") };
            call(&format!("{batch}-{at}"), "edit", crossing(from, to))
        }));
        running.push(tokio::spawn(async move { host.run(Batch::new(message)).await }));
    }
    for batch in running {
        assert_eq!(batch.await.unwrap().messages.len(), 10);
    }
    // Nobody was inside beside anybody else.
    for pair in trace.lines().chunks(2) {
        assert_eq!(pair[0].replace("enter", "exit"), pair[1]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_waiter_leaves_no_trace() {
    let (trace, gate) = (Trace::default(), Arc::new(Semaphore::new(0)));
    let host = host(&trace, &gate);
    let cancel = CancellationToken::new();
    let run = |id: &'static str, cancel: CancellationToken| {
        let host = host.clone();
        let batch = Batch::new(AssistantMessage::of_calls([on(id, "edit", "a")])).cancel(cancel);
        tokio::spawn(async move { host.run(batch).await })
    };
    let first = run("b1", CancellationToken::new());
    settle().await;
    let waiting = run("b2", cancel.clone());
    settle().await;
    let last = run("b3", CancellationToken::new());
    settle().await;
    cancel.cancel();
    assert_eq!(texts(&waiting.await.unwrap()), ["Operation aborted"]);
    assert_eq!(trace.take(), ["enter b1"]);
    gate.add_permits(1);
    settle().await;
    assert_eq!(trace.take(), ["exit b1", "enter b3"]);
    gate.add_permits(1);
    last.await.unwrap();
    first.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_dropped_batch_gives_its_keys_back() {
    let (trace, gate) = (Trace::default(), Arc::new(Semaphore::new(0)));
    let host = host(&trace, &gate);
    let batch = |id: &str| Batch::new(AssistantMessage::of_calls([on(id, "edit", "a"), on(id, "edit", "a")]));
    let dropped = {
        let (host, batch) = (host.clone(), batch("b1"));
        tokio::spawn(async move { host.run(batch).await })
    };
    settle().await;
    dropped.abort();
    settle().await;
    gate.add_permits(2);
    host.run(batch("b2")).await;
    assert_eq!(trace.lines(), ["enter b1", "enter b2", "exit b2", "enter b2", "exit b2"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_holds_a_slot_while_waiting_for_a_key() {
    let slots = Arc::new(Semaphore::new(1));
    let (trace, gate) = (Trace::default(), Arc::new(Semaphore::new(0)));
    let edit = gated("edit", Access::Write, &trace, &gate).acquire(move |_| {
        let slots = slots.clone();
        Box::pin(async move { Ok(Slot::holding(slots.acquire_owned().await.unwrap())) })
    });
    let host = Host::new();
    host.load(Plugin::native("files").tool(edit).tool(gated("other", Access::Write, &trace, &gate))).unwrap();
    let message = AssistantMessage::of_calls([on("c1", "other", "a"), on("c2", "edit", "a"), on("c3", "edit", "b")]);
    let running = tokio::spawn(async move { host.run(Batch::new(message)).await });
    settle().await;
    // c2 waits for its key; were it to hold the one slot meanwhile, c3 would not be inside.
    let mut lines = trace.take();
    lines.sort();
    assert_eq!(lines, ["enter c1", "enter c3"]);
    gate.add_permits(3);
    running.await.unwrap();
}

/// A tool whose keys are host paths, as a component's are once resolved through its grants.
struct OnHostPath(FnTool);

#[async_trait::async_trait]
impl Tool for OnHostPath {
    fn definition(&self) -> &ToolDefinition {
        self.0.definition()
    }

    async fn exclusive_keys(&self, _cx: &CallContext, arguments: &Json) -> Vec<Key> {
        let value = arguments.value()["path"].as_str().unwrap().trim_start_matches("./").to_owned();
        vec![Key { space: KeySpace::HostPath, value, access: Access::Write }]
    }

    async fn execute(
        &self,
        cx: &CallContext,
        arguments: &Json,
        slot: Slot,
    ) -> Result<ToolResult, toolgate::pipeline::ToolError> {
        self.0.execute(cx, arguments, slot).await
    }
}

#[tokio::test(start_paused = true)]
async fn paths_are_compared_across_plugins_and_plain_values_within_one() {
    let (trace, gate) = (Trace::default(), Arc::new(Semaphore::new(0)));
    let host = Host::new();
    for plugin in ["one", "two"] {
        let plain = gated(&format!("plain-{plugin}"), Access::Write, &trace, &gate);
        let path = OnHostPath(gated(&format!("path-{plugin}"), Access::Write, &trace, &gate));
        host.load(Plugin::native(plugin).tool(plain).tool(path)).unwrap();
    }
    let message = AssistantMessage::of_calls([
        on("c1", "plain-one", "a"),
        on("c2", "plain-two", "a"),
        on("c3", "path-one", "./a"),
        on("c4", "path-two", "a"),
    ]);
    let running = tokio::spawn(async move { host.run(Batch::new(message)).await });
    settle().await;
    let mut lines = trace.take();
    lines.sort();
    assert_eq!(lines, ["enter c1", "enter c2", "enter c3"]);
    gate.add_permits(4);
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_key_is_computed_from_the_arguments_that_will_run_and_a_pointer_to_nothing_is_none() {
    let (trace, gate) = (Trace::default(), Arc::new(Semaphore::new(0)));
    let host = host(&trace, &gate);
    let redirect = FnHook::default().before(|cx, _| {
        let decision = if &*cx.call.id == "c2" {
            toolgate::pipeline::Decision::ReplaceArguments(json!({"path": "a"}).into())
        } else {
            toolgate::pipeline::Decision::Allow
        };
        Box::pin(async move { Ok(decision) })
    });
    host.load(Plugin::native("redirect").hook(redirect)).unwrap();
    let message = AssistantMessage::of_calls([
        on("c1", "edit", "a"),
        on("c2", "edit", "b"),
        call("c3", "edit", json!({})),
        call("c4", "edit", json!({"path": ["a"]})),
    ]);
    let running = tokio::spawn(async move { host.run(Batch::new(message)).await });
    settle().await;
    let mut lines = trace.take();
    lines.sort();
    assert_eq!(lines, ["enter c1", "enter c3", "enter c4"]);
    gate.add_permits(4);
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_key_is_given_back_when_the_tool_has_ended_not_when_its_hooks_have() {
    let (trace, gate) = (Trace::default(), Arc::new(Semaphore::new(2)));
    let host = host(&trace, &gate);
    let (inside, release) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (count, wait) = (inside.clone(), release.clone());
    let slow = FnHook::default().after(move |_, _, _| {
        let (count, wait) = (count.clone(), wait.clone());
        Box::pin(async move {
            count.fetch_add(1, Ordering::SeqCst);
            wait.notified().await;
            Ok(None)
        })
    });
    host.load(Plugin::native("slow").hook(slow)).unwrap();
    let message = AssistantMessage::of_calls([on("c1", "edit", "a"), on("c2", "edit", "a")]);
    let running = tokio::spawn(async move { host.run(Batch::new(message)).await });
    settle().await;
    assert_eq!(inside.load(Ordering::SeqCst), 2);
    release.notify_waiters();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_key_has_a_limit_of_its_own() {
    let (trace, gate) = (Trace::default(), Arc::new(Semaphore::new(0)));
    let host = host(&trace, &gate);
    let message = AssistantMessage::of_calls([on("c1", "edit", "a"), on("c2", "edit", "a"), on("c3", "edit", "a")]);
    let release = gate.clone();
    tokio::spawn(async move {
        sleep_ms(301_000).await;
        release.add_permits(1);
    });
    let outcome = host.run(Batch::new(message)).await;
    assert_eq!(kinds(&outcome), [None, Some("unavailable"), Some("unavailable")]);
    assert!(texts(&outcome)[1].contains("300s"), "{:?}", texts(&outcome));
    assert_eq!(trace.lines(), ["enter c1", "exit c1"]);
}
