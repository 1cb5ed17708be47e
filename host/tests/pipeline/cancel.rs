//! Cancellation at every point. A batch that goes through everything counts its points: each event, hook, wait and step
//! of a tool; then it is run again for each of them, cancelled there, or dropped there.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::model::{Access, AssistantMessage, ExclusiveKey, ExecutionMode, ToolResult};
use toolgate::pipeline::{Approval, ApprovalRequest, Approver, Batch, CallContext, Decision, OnError, Slot, ToolError};
use toolgate::registry::Plugin;

use crate::support::*;

const GRACE: Duration = Duration::from_millis(1_000);
const MODES: [ExecutionMode; 2] = [ExecutionMode::Parallel, ExecutionMode::Sequential];
const IDS: [&str; 5] = ["c1", "c2", "c3", "c4", "c5"];

/// What a running tool does about a cancellation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    /// Ends early.
    Honours,
    /// Goes on and ends within the grace period.
    Deaf,
    /// Never ends.
    Stuck,
}

/// Counts points; at the chosen one it does what was asked for.
#[derive(Clone)]
struct Points(Arc<PointsInner>);

struct PointsInner {
    count: AtomicUsize,
    chosen: Mutex<Option<usize>>,
    cancel: Mutex<CancellationToken>,
    reached: Notify,
    live: Live,
    trace: Trace,
}

impl Points {
    fn new() -> Self {
        Self(Arc::new(PointsInner {
            count: AtomicUsize::new(0),
            chosen: Mutex::default(),
            cancel: Mutex::default(),
            reached: Notify::new(),
            live: Live::default(),
            trace: Trace::default(),
        }))
    }

    /// Starts anew, with another point chosen.
    fn choose(&self, chosen: Option<usize>) -> CancellationToken {
        let cancel = CancellationToken::new();
        self.0.count.store(0, Ordering::SeqCst);
        *self.0.chosen.lock().unwrap() = chosen;
        *self.0.cancel.lock().unwrap() = cancel.clone();
        self.0.trace.take();
        cancel
    }

    fn hit(&self) {
        let number = self.0.count.fetch_add(1, Ordering::SeqCst);
        if Some(number) == *self.0.chosen.lock().unwrap() {
            self.0.trace.note("CHOSEN");
            self.0.cancel.lock().unwrap().cancel();
            self.0.reached.notify_one();
        }
    }

    /// A short piece of foreign work with points before and after it.
    async fn work(&self) {
        let _alive = self.0.live.one();
        self.hit();
        sleep_ms(1).await;
        self.hit();
    }
}

struct Slow(Points);

#[async_trait]
impl Approver for Slow {
    async fn approve(&self, _request: ApprovalRequest) -> Approval {
        self.0.work().await;
        Approval::Approved
    }
}

/// A host whose batch of five calls meets everything there is to wait for.
fn host(points: &Points, manner: Manner) -> Host {
    let host = Host::builder().grace(GRACE).approver(Arc::new(Slow(points.clone()))).build();
    let work = |name: &str| {
        let points = points.clone();
        tool(name, move |cx, _| {
            let points = points.clone();
            Box::pin(async move {
                let _alive = points.0.live.one();
                points.0.trace.note(format!("enter {}", cx.call.id));
                for step in 0..2 {
                    points.hit();
                    cx.update(ToolResult::text(step.to_string())).await;
                    tokio::select! {
                        () = sleep_ms(5) => {}
                        () = cx.cancel.cancelled() => match manner {
                            Manner::Honours => return Err(ToolError::cancelled()),
                            Manner::Deaf => sleep_ms(5).await,
                            Manner::Stuck => std::future::pending().await,
                        }
                    }
                }
                points.hit();
                Ok(ToolResult::text("done"))
            })
        })
    };
    let (in_shim, in_acquire) = (points.clone(), points.clone());
    let everything = work("everything")
        .shim(move |_, arguments| {
            let points = in_shim.clone();
            Box::pin(async move {
                points.work().await;
                Ok(arguments.clone())
            })
        })
        .acquire(move |_: &CallContext| {
            let points = in_acquire.clone();
            Box::pin(async move {
                points.work().await;
                Ok(Slot::holding(points.0.live.one()))
            })
        });
    let keyed = work("keyed").define(|definition| {
        definition.exclusive = vec![ExclusiveKey { pointer: "/key".into(), is_path: false, access: Access::Write }];
    });
    host.load(Plugin::native("tools").tool(work("plain")).tool(everything).tool(keyed)).unwrap();

    let [before, after, settled] = [points.clone(), points.clone(), points.clone()];
    let hook = FnHook::default()
        .before(move |cx, _| {
            let points = before.clone();
            Box::pin(async move {
                points.work().await;
                Ok(match &*cx.call.name {
                    "everything" => Decision::Ask { title: "?".into(), text: String::new() },
                    _ => Decision::Allow,
                })
            })
        })
        .after(move |_, _, _| {
            let points = after.clone();
            Box::pin(async move {
                points.work().await;
                Ok(None)
            })
        })
        .settled(move |cx, _| {
            let points = settled.clone();
            Box::pin(async move {
                points.work().await;
                points.0.trace.note(format!("settled {}", cx.call.id));
                Ok(())
            })
        });
    host.load(Plugin::native("hook").hook(hook)).unwrap();
    host
}

fn batch(points: &Points, mode: ExecutionMode, cancel: CancellationToken) -> Batch {
    let message = AssistantMessage::of_calls([
        call(IDS[0], "keyed", json!({"key": "k"})),
        call(IDS[1], "nobody", json!({})),
        call(IDS[2], "keyed", json!({"key": "k"})),
        call(IDS[3], "everything", json!({})),
        call(IDS[4], "plain", json!({})),
    ]);
    let in_sink = points.clone();
    let sink = recorder_then("sink", &points.0.trace, move |_| {
        let points = in_sink.clone();
        Box::pin(async move {
            points.work().await;
            Ok(())
        })
    });
    Batch::new(message).mode(mode).cancel(cancel).sink(sink)
}

/// The number of points of a batch that is left alone, and that it comes out well.
async fn undisturbed(host: &Host, points: &Points, mode: ExecutionMode) -> usize {
    let cancel = points.choose(None);
    let outcome = host.run(batch(points, mode, cancel)).await;
    assert_eq!(texts(&outcome), ["done", "Tool nobody not found", "done", "done", "done"]);
    assert_complete(points);
    points.0.count.load(Ordering::SeqCst)
}

/// Every call has its start, end, message and notification once, updates only in between, messages in source order.
fn assert_complete(points: &Points) {
    let trace = &points.0.trace;
    let mut last_message = 0;
    for id in IDS {
        let at = |word: &str| trace.at(&format!("{word} {id}"));
        let (start, end, message) = (at("start"), at("end"), at("message_start"));
        assert!(start < end && end < message && message < at("message_end"), "{:#?}", trace.lines());
        assert!(end < at("settled"));
        assert!(last_message <= message);
        last_message = message;
        for (at, line) in trace.lines().iter().enumerate() {
            assert!(*line != format!("update {id}") || (start < at && at < end), "{:#?}", trace.lines());
        }
    }
    assert_eq!(points.0.live.count(), 0);
}

/// Nothing goes on after the batch.
async fn assert_quiet(points: &Points) {
    let before = points.0.trace.lines();
    tokio::time::sleep(10 * GRACE).await;
    assert_eq!(points.0.trace.lines(), before);
    assert_eq!(points.0.live.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_batch_cancelled_at_any_point_gives_every_call_its_events_and_its_message() {
    for mode in MODES {
        for manner in [Manner::Honours, Manner::Deaf, Manner::Stuck] {
            let points = Points::new();
            let host = host(&points, manner);
            let count = undisturbed(&host, &points, mode).await;
            assert!(count > 60, "{count}");
            for chosen in 0..count {
                let cancel = points.choose(Some(chosen));
                let cancelled_at = {
                    let cancel = cancel.clone();
                    tokio::spawn(async move {
                        cancel.cancelled().await;
                        Instant::now()
                    })
                };
                let outcome = host.run(batch(&points, mode, cancel)).await;
                let took = cancelled_at.await.unwrap().elapsed();
                let case = format!("{mode:?} {manner:?} at {chosen}: {:#?}", points.0.trace.lines());
                assert!(took < GRACE + Duration::from_millis(200), "{took:?} after {case}");
                assert!(manner == Manner::Stuck || took < GRACE, "{took:?} after {case}");
                assert_complete(&points);
                assert_eq!(outcome.messages.len(), IDS.len());
                assert!(!outcome.terminate);
                for (message, id) in outcome.messages.iter().zip(IDS) {
                    assert_eq!(&*message.tool_call_id, id);
                    let kind = message.error.as_ref().map_or("ok", |error| error.kind.as_str());
                    let text = text_of(message);
                    let is_known = match kind {
                        "ok" => text == "done",
                        "aborted" => text == "Operation aborted",
                        "not-found" => id == "c2",
                        _ => false,
                    };
                    assert!(is_known, "{id} {kind} {text}: {case}");
                }
                let lines = points.0.trace.lines();
                let late = lines.iter().skip_while(|line| *line != "CHOSEN").filter(|line| line.starts_with("enter"));
                assert_eq!(late.count(), 0, "a call began after the cancellation: {case}");
                assert_quiet(&points).await;
            }
            undisturbed(&host, &points, mode).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_dropped_at_any_point_stops_everything_it_had_running() {
    for mode in MODES {
        let points = Points::new();
        let host = host(&points, Manner::Stuck);
        let count = undisturbed(&host, &points, mode).await;
        for chosen in 0..count {
            points.choose(Some(chosen));
            tokio::select! {
                biased;
                () = points.0.reached.notified() => {}
                _ = host.run(batch(&points, mode, CancellationToken::new())) => {}
            }
            // Tasks of the batch are dropped when they are next looked at.
            sleep_ms(1).await;
            assert_quiet(&points).await;
        }
        undisturbed(&host, &points, mode).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_cancelled_before_it_begins_looks_at_nothing() {
    for mode in MODES {
        let points = Points::new();
        let host = host(&points, Manner::Deaf);
        let cancel = points.choose(None);
        cancel.cancel();
        let outcome = host.run(batch(&points, mode, cancel)).await;
        assert_eq!(texts(&outcome), ["Operation aborted"; 5], "not even whether there is such a tool");
        assert_complete(&points);
    }
}

/// The parts of foreign code that a cancellation may find running.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Shim,
    Before,
    Keys,
    Execute,
    After,
    AfterSkip,
    Settled,
}

/// A host where this part never ends, and the rest ends at once.
fn stuck(part: Part, live: &Live) -> Host {
    let host = Host::builder().grace(GRACE).build();
    let stay = |here: Part| {
        let live = live.clone();
        let stays = part == here || (part == Part::AfterSkip && here == Part::After);
        move || {
            let live = live.clone();
            async move {
                if stays {
                    let _alive = live.one();
                    std::future::pending::<()>().await;
                }
            }
        }
    };
    let (execute, shim) = (stay(Part::Execute), stay(Part::Shim));
    let base = tool("tool", move |_, _| {
        let stay = execute();
        Box::pin(async move {
            stay.await;
            Ok(ToolResult::text("done"))
        })
    })
    .shim(move |_, arguments| {
        let stay = shim();
        Box::pin(async move {
            stay.await;
            Ok(arguments.clone())
        })
    })
    .define(|definition| {
        definition.exclusive = vec![ExclusiveKey { pointer: String::new(), is_path: false, access: Access::Read }];
    });
    host.load(Plugin::native("tools").tool(StuckKeys(base, part == Part::Keys))).unwrap();
    let (before, after, settled) = (stay(Part::Before), stay(Part::After), stay(Part::Settled));
    let hook = FnHook::default()
        .before(move |_, _| {
            let stay = before();
            Box::pin(async move {
                stay.await;
                Ok(Decision::Allow)
            })
        })
        .after(move |_, _, _| {
            let stay = after();
            Box::pin(async move {
                stay.await;
                Ok(None)
            })
        })
        .settled(move |_, _| {
            let stay = settled();
            Box::pin(async move {
                stay.await;
                Ok(())
            })
        });
    let on_error = if part == Part::AfterSkip { OnError::Skip } else { OnError::Fail };
    host.load(Plugin::native("hook").hook(hook).on_error(on_error)).unwrap();
    host
}

/// A tool that may never find out what its keys are.
struct StuckKeys(FnTool, bool);

#[async_trait]
impl toolgate::pipeline::Tool for StuckKeys {
    fn definition(&self) -> &toolgate::model::ToolDefinition {
        self.0.definition()
    }

    async fn prepare_arguments(
        &self,
        cx: &CallContext,
        arguments: &toolgate::model::Json,
    ) -> Result<toolgate::model::Json, ToolError> {
        self.0.prepare_arguments(cx, arguments).await
    }

    async fn exclusive_keys(&self, _: &CallContext, _: &toolgate::model::Json) -> Vec<toolgate::pipeline::Key> {
        if self.1 { std::future::pending().await } else { Vec::new() }
    }

    async fn execute(&self, cx: &CallContext, arguments: &toolgate::model::Json, slot: Slot) -> ToolAnswer {
        self.0.execute(cx, arguments, slot).await
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_does_not_end_is_stopped_when_the_grace_period_is_over() {
    for mode in MODES {
        for part in [Part::Shim, Part::Before, Part::Keys, Part::Execute, Part::After, Part::AfterSkip, Part::Settled] {
            let live = Live::default();
            let host = stuck(part, &live);
            let cancel = CancellationToken::new();
            let token = cancel.clone();
            tokio::spawn(async move {
                sleep_ms(50).await;
                token.cancel();
            });
            let begun = Instant::now();
            let outcome = host.run(Batch::new(calls(&["tool"])).mode(mode).cancel(cancel)).await;
            let took = begun.elapsed();
            assert_eq!(took.as_millis(), 50 + GRACE.as_millis(), "{part:?}");
            assert_eq!(live.count(), 0);
            let kept = matches!(part, Part::AfterSkip | Part::Settled);
            assert_eq!(texts(&outcome), [if kept { "done" } else { "Operation aborted" }], "{part:?}");
            assert_eq!(kinds(&outcome), [(!kept).then_some("aborted")], "{part:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_within_the_grace_period_counts_and_its_after_hooks_run() {
    for mode in MODES {
        let cancel = CancellationToken::new();
        let host = Host::builder().grace(GRACE).build();
        let token = cancel.clone();
        let slow = tool("slow", move |_, _| {
            token.cancel();
            Box::pin(async {
                sleep_ms(999).await;
                Ok(ToolResult::text("secret"))
            })
        });
        host.load(Plugin::native("tools").tool(slow)).unwrap();
        let redact = FnHook::default().after(|_, _, _| {
            Box::pin(async {
                let content = Some(vec![toolgate::model::Content::text("***")]);
                Ok(Some(toolgate::model::Override { content, ..Default::default() }))
            })
        });
        host.load(Plugin::native("redact").hook(redact)).unwrap();
        let outcome = host.run(Batch::new(calls(&["slow"])).mode(mode).cancel(cancel)).await;
        assert_eq!(texts(&outcome), ["***"]);
    }
}

#[tokio::test(start_paused = true)]
async fn no_grace_at_all_stops_at_once() {
    let host = Host::builder().grace(Duration::ZERO).build();
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    let tool = tool("t", move |_, _| {
        token.cancel();
        Box::pin(std::future::pending())
    });
    host.load(Plugin::native("tools").tool(tool)).unwrap();
    let begun = Instant::now();
    let outcome = host.run(Batch::new(calls(&["t"])).cancel(cancel)).await;
    assert_eq!(kinds(&outcome), [Some("aborted")]);
    assert!(begun.elapsed() < Duration::from_millis(10));
}

/// A guest that computes must be stoppable too: here one that yields between its slices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_computes_between_yields_is_stopped() {
    let host = Host::builder().grace(Duration::from_millis(20)).build();
    let live = Live::default();
    let cancel = CancellationToken::new();
    let (token, count) = (cancel.clone(), live.clone());
    let spin = tool("spin", move |_, _| {
        let (token, alive) = (token.clone(), count.one());
        Box::pin(async move {
            let _alive = alive;
            token.cancel();
            loop {
                tokio::task::yield_now().await;
            }
        })
    });
    host.load(Plugin::native("tools").tool(spin)).unwrap();
    let outcome = host.run(Batch::new(calls(&["spin", "spin", "spin"])).cancel(cancel)).await;
    assert_eq!(outcome.messages.len(), 3);
    assert!(kinds(&outcome).iter().all(|kind| *kind == Some("aborted")));
    assert_eq!(live.count(), 0);
}
