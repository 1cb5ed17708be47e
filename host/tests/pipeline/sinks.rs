//! Event sinks: awaited, cut off where they fail, and never the reason a result is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;
use toolgate::Host;
use toolgate::model::{Event, ToolResult};
use toolgate::pipeline::Batch;
use toolgate::registry::Plugin;

use crate::support::*;

/// A tool that sends `updates` partial results and notes each `sent`.
fn talker(trace: &Trace, updates: usize) -> FnTool {
    let trace = trace.clone();
    tool("talk", move |cx, _| {
        let trace = trace.clone();
        Box::pin(async move {
            for number in 0..updates {
                cx.update(ToolResult::text(number.to_string())).await;
                trace.note("sent");
            }
            trace.note("exit");
            Ok(ToolResult::text("done"))
        })
    })
}

fn host(tool: FnTool) -> Host {
    let host = Host::new();
    host.load(Plugin::native("tools").tool(tool)).unwrap();
    host
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_fails_is_cut_off_the_others_are_told_and_no_result_is_lost() {
    let whole = Trace::default();
    host(echo("echo")).run(Batch::new(calls(&["echo", "echo"])).sink(recorder(&whole))).await;

    for how in ["error", "panic"] {
        let (good, bad) = (Trace::default(), Trace::default());
        let breaks = recorder_then("bad", &bad, move |event| {
            Box::pin(async move {
                match event {
                    Event::ToolExecutionEnd { .. } if how == "panic" => panic!("a sink's bug"),
                    Event::ToolExecutionEnd { .. } => Err("disk full".into()),
                    _ => Ok(()),
                }
            })
        });
        let good_sink = recorder(&good);
        let batch = Batch::new(calls(&["echo", "echo"])).sink(breaks).sink(good_sink.clone());
        let outcome = host(echo("echo")).run(batch).await;
        assert_eq!(texts(&outcome), ["echo", "echo"]);
        assert_eq!(bad.lines().iter().filter(|line| line.starts_with("message")).count(), 0, "{:?}", bad.lines());
        let (news, rest): (Vec<_>, Vec<_>) = good.lines().into_iter().partition(|line| *line == "sink_cut bad");
        assert_eq!(news.len(), 1);
        assert_eq!(rest, whole.lines());
        let reason = good_sink.of_type("sink_cut")[0]["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains(if how == "panic" { "panicked" } else { "disk full" }), "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_holds_an_event_too_long_is_cut_off_after_five_seconds() {
    let (good, bad) = (Trace::default(), Trace::default());
    let stuck = recorder_then("stuck", &bad, |_| Box::pin(std::future::pending()));
    let begun = Instant::now();
    let outcome = host(echo("echo")).run(Batch::new(calls(&["echo"])).sink(stuck).sink(recorder(&good))).await;
    assert_eq!(texts(&outcome), ["echo"]);
    let took = begun.elapsed();
    assert!((Duration::from_secs(5)..Duration::from_secs(6)).contains(&took), "{took:?}");
    assert_eq!(bad.lines(), ["start c1"]);
    assert_eq!(good.lines(), ["start c1", "sink_cut stuck", "end c1", "message_start c1", "message_end c1"]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_without_a_live_sink_goes_on() {
    let trace = Trace::default();
    let fails = recorder_then("only", &trace, |_| Box::pin(async { Err("no".into()) }));
    let outcome = host(talker(&trace, 200)).run(Batch::new(calls(&["talk"])).sink(fails)).await;
    assert_eq!(texts(&outcome), ["done"]);
    assert_eq!(trace.lines().iter().filter(|line| *line == "start c1" || *line == "sent").count(), 201);
}

/// 64 updates wait behind one lock for longer than a sink may hold one event, but none of them is held that long.
#[tokio::test(start_paused = true)]
async fn a_slow_sink_that_takes_one_event_after_another_is_not_cut_off() {
    let trace = Trace::default();
    let lock = Arc::new(Mutex::new(()));
    let slow = recorder_then("slow", &trace, move |_| {
        let lock = lock.clone();
        Box::pin(async move {
            let _one = lock.lock().await;
            sleep_ms(400).await;
            Ok(())
        })
    });
    let other = Trace::default();
    host(talker(&other, 64)).run(Batch::new(calls(&["talk"])).sink(slow).sink(recorder(&other))).await;
    assert_eq!(trace.lines().iter().filter(|line| *line == "update c1").count(), 64);
    assert_eq!(trace.lines().last().unwrap(), "message_end c1");
    assert!(!other.lines().iter().any(|line| line.starts_with("sink_cut")));
}

/// As in the recorded trace of a slow consumer: deliveries begin in order and the tool goes on.
#[tokio::test(start_paused = true)]
async fn updates_begin_at_once_and_are_all_delivered_before_the_after_hooks() {
    let trace = Trace::default();
    let done = trace.clone();
    let slow = recorder_then("slow", &trace, move |event| {
        let done = done.clone();
        Box::pin(async move {
            if matches!(event, Event::ToolExecutionUpdate { .. }) {
                sleep_ms(50).await;
                done.note("taken");
            }
            Ok(())
        })
    });
    let after = trace.clone();
    let hook = FnHook::default().after(move |_, _, _| {
        after.note("after");
        Box::pin(async { Ok(None) })
    });
    let host = host(talker(&trace, 2));
    host.load(Plugin::native("hook").hook(hook)).unwrap();
    host.run(Batch::new(calls(&["talk"])).sink(slow)).await;
    assert_eq!(
        trace.lines()[..9],
        ["start c1", "update c1", "sent", "update c1", "sent", "exit", "taken", "taken", "after"]
    );
    assert_eq!(trace.lines()[9], "end c1");
}

#[tokio::test(start_paused = true)]
async fn no_more_than_64_updates_are_pending_and_the_next_one_waits() {
    let trace = Trace::default();
    let room = Arc::new(Semaphore::new(0));
    let gate = room.clone();
    let gated = recorder_then("gated", &trace, move |event| {
        let gate = gate.clone();
        Box::pin(async move {
            if matches!(event, Event::ToolExecutionUpdate { .. }) {
                gate.acquire().await?.forget();
            }
            Ok(())
        })
    });
    let host = host(talker(&trace, 70));
    let running = tokio::spawn(async move { host.run(Batch::new(calls(&["talk"])).sink(gated)).await });
    let sent = || trace.lines().iter().filter(|line| *line == "sent").count();
    sleep_ms(10).await;
    assert_eq!(sent(), 64);
    room.add_permits(3);
    sleep_ms(10).await;
    assert_eq!(sent(), 67);
    room.add_permits(67);
    let outcome = running.await.unwrap();
    assert_eq!(texts(&outcome), ["done"]);
    assert_eq!(trace.lines().iter().filter(|line| *line == "update c1").count(), 70);
}

#[tokio::test(start_paused = true)]
async fn updates_reach_the_sink_in_order_before_the_end_and_with_raw_arguments() {
    let trace = Trace::default();
    let sink = recorder(&trace);
    host(talker(&trace, 300)).run(Batch::new(calls(&["talk", "talk"])).sink(sink.clone())).await;
    let updates = sink.of_type("tool_execution_update");
    for id in ["c1", "c2"] {
        let of_call = updates.iter().filter(|update| update["toolCallId"] == id);
        let texts: Vec<_> = of_call.map(|update| update["partialResult"]["content"][0]["text"].clone()).collect();
        assert_eq!(texts, (0..300).map(|number| number.to_string()).collect::<Vec<_>>());
        let lines = trace.lines();
        let end = trace.at(&format!("end {id}"));
        assert!(!lines[end..].contains(&format!("update {id}")));
    }
}

#[tokio::test(start_paused = true)]
async fn each_event_is_awaited_before_its_call_moves_on() {
    let trace = Trace::default();
    let slow = |trace: &Trace| {
        let done = trace.clone();
        recorder_then("slow", trace, move |event| {
            let (done, line) = (done.clone(), line_of(event));
            Box::pin(async move {
                sleep_ms(10).await;
                done.note(format!("{line} taken"));
                Ok(())
            })
        })
    };
    let ran = trace.clone();
    let tool = tool("t", move |_, _| {
        ran.note("ran");
        Box::pin(async { Ok(ToolResult::default()) })
    });
    host(tool).run(Batch::new(calls(&["t"])).sink(slow(&trace))).await;
    assert_eq!(
        trace.take(),
        [
            "start c1",
            "start c1 taken",
            "ran",
            "end c1",
            "end c1 taken",
            "message_start c1",
            "message_start c1 taken",
            "message_end c1",
            "message_end c1 taken"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn sinks_get_an_event_at_the_same_time() {
    let (trace, other) = (Trace::default(), Trace::default());
    let count = Arc::new(AtomicUsize::new(0));
    let slow = |name: &'static str, trace: &Trace| {
        let count = count.clone();
        recorder_then(name, trace, move |_| {
            let count = count.clone();
            Box::pin(async move {
                sleep_ms(100).await;
                count.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        })
    };
    let begun = Instant::now();
    let batch = Batch::new(calls(&["echo"])).sink(slow("one", &trace)).sink(slow("two", &other));
    host(echo("echo")).run(batch).await;
    assert_eq!(count.load(Ordering::Relaxed), 8);
    assert!(begun.elapsed() < Duration::from_millis(500), "4 events of 100 ms each: {:?}", begun.elapsed());
}

/// A sink that must not overlap takes a fair lock first thing; the order holds although updates overlap, however much a
/// task has used of its budget of polls.
#[tokio::test(start_paused = true)]
async fn a_sink_behind_a_fair_lock_sees_updates_in_order() {
    let trace = Trace::default();
    let order = Arc::new(Mutex::new(Vec::new()));
    let kept = order.clone();
    let sink = recorder_then("locked", &trace, move |event| {
        let kept = kept.clone();
        let text = match event {
            Event::ToolExecutionUpdate { partial_result, .. } => partial_result.content[0].as_text().map(str::to_owned),
            _ => None,
        };
        Box::pin(async move {
            let mut kept = kept.lock().await;
            tokio::task::yield_now().await;
            kept.extend(text);
            Ok(())
        })
    });
    host(talker(&trace, 1_000)).run(Batch::new(calls(&["talk"])).sink(sink)).await;
    assert_eq!(*order.lock().await, (0..1_000).map(|number| number.to_string()).collect::<Vec<_>>());
}

/// A sink may not hide an event it holds for ever behind others that it takes.
#[tokio::test(start_paused = true)]
async fn an_event_held_for_ever_is_noticed_although_others_are_taken() {
    let (trace, good) = (Trace::default(), Trace::default());
    let holds = recorder_then("holds", &trace, |event| {
        Box::pin(async move {
            if matches!(event, Event::ToolExecutionUpdate { position: 0, .. }) {
                std::future::pending::<()>().await;
            }
            Ok(())
        })
    });
    let chatty = tool("chatty", |cx, _| {
        Box::pin(async {
            for _ in 0..20 {
                cx.update(ToolResult::default()).await;
                sleep_ms(if cx.position == 0 { 0 } else { 1_000 }).await;
            }
            Ok(ToolResult::text("done"))
        })
    });
    let outcome = host(chatty).run(Batch::new(calls(&["chatty", "chatty"])).sink(holds).sink(recorder(&good))).await;
    assert_eq!(texts(&outcome), ["done", "done"]);
    let taken = trace.lines().iter().filter(|line| *line == "update c2").count();
    assert!((4..=6).contains(&taken), "cut off after 5 s, one update a second: {taken}");
    assert!(good.at("sink_cut holds") < good.at("end c1"));
}

/// Also where a tool leaves something behind that goes on sending.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn no_update_gets_through_after_the_tool_has_settled() {
    let leaves = tool("leaves", |cx, _| {
        let left_behind = cx.clone();
        tokio::spawn(async move {
            for _ in 0..200 {
                left_behind.update(ToolResult::default()).await;
            }
        });
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(ToolResult::text("done"))
        })
    });
    let host = host(leaves);
    for _ in 0..50 {
        let trace = Trace::default();
        let slow = recorder_then("slow", &trace, |_| {
            Box::pin(async {
                tokio::task::yield_now().await;
                Ok(())
            })
        });
        host.run(Batch::new(calls(&["leaves", "leaves"])).sink(slow)).await;
        let lines = trace.lines();
        for id in ["c1", "c2"] {
            assert!(!lines[trace.at(&format!("end {id}"))..].contains(&format!("update {id}")), "{lines:#?}");
        }
    }
}
