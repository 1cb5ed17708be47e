//! Very many calls of every fate, and what must be left of them: nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::component::{Engine, Loader, PluginSpec};
use toolgate::model::{AssistantMessage, Event, Json};
use toolgate::pipeline::{Batch, BatchOutcome, EventSink, SinkError};
use toolgate::sandbox::{DirAccess, DirGrant};

use crate::guests::{call, engine_of, spec};

/// Slots, fewer than there are calls at once, so that some wait.
const INSTANCES: u32 = 12;
/// Batches at once.
const WORKERS: usize = 3;
/// Calls of a batch.
const CALLS: usize = 11;
/// What a process may grow by after its warm-up: the allocator's slack, not one page per call.
const SLACK_KIB: u64 = 24 << 10;
/// How often the memory is looked at.
const SAMPLES: usize = 40;

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// Calls that were answered.
    pub answered: usize,
    /// Of them, by `error.kind`.
    pub kinds: BTreeMap<&'static str, usize>,
    /// Batches that were dropped before their end.
    pub dropped: usize,
    /// Resident memory along the way, in KiB.
    pub resident: Vec<u64>,
    /// The time it took.
    pub took: Duration,
}

/// The host under load, and what it is given to read.
struct Load {
    host: Host,
    engine: Engine,
    next: AtomicUsize,
    _dir: tempfile::TempDir,
}

/// Makes this many calls and checks that nothing is left: memory is flat after a third of them, no instance, no task, no
/// file and no slot is lost.
///
/// # Errors
///
/// What is left.
///
/// # Panics
///
/// Where guests cannot be built or loaded.
pub async fn soak(calls: usize, seen: impl Fn(usize, u64)) -> Result<Report, String> {
    let load = Arc::new(load().await);
    // Whatever is made on first use is there from here on.
    run(&load, CALLS * 20, &mut Report::default()).await;
    settle(&load).await;
    let (tasks, files) = (tasks(), open_files());

    let begun = Instant::now();
    let mut report = Report::default();
    for sample in 1..=SAMPLES {
        run(&load, calls / SAMPLES, &mut report).await;
        report.resident.push(resident_kib());
        seen(calls * sample / SAMPLES, report.resident[sample - 1]);
    }
    report.took = begun.elapsed();
    settle(&load).await;

    let mut left = Vec::new();
    let mut expect = |what: &str, is: usize, most: usize| {
        if is > most {
            left.push(format!("{is} {what}, {most} before"));
        }
    };
    expect("live instances", load.engine.live_instances(), 0);
    expect("calls in the queue", load.engine.waiting(), 0);
    expect("tasks", self::tasks(), tasks);
    expect("open files", open_files(), files);
    let (warm, end) = (SAMPLES / 3, SAMPLES - SAMPLES / 4);
    let most = |samples: &[u64]| samples.iter().max().copied().unwrap_or(0);
    let (first, last) = (most(&report.resident[warm..SAMPLES / 2]), most(&report.resident[end..]));
    if last > first + SLACK_KIB {
        left.push(format!("memory grew from {first} to {last} KiB"));
    }
    if let Err(lost) = all_slots(&load).await {
        left.push(lost);
    }
    for kind in
        ["ok", "trap", "out-of-fuel", "deadline", "memory-limit", "output-limit", "blocked", "hook-failed", "aborted"]
    {
        if !report.kinds.contains_key(kind) {
            left.push(format!("no call ended as {kind}: {:?}", report.kinds));
        }
    }
    if left.is_empty() { Ok(report) } else { Err(left.join("; ")) }
}

async fn load() -> Load {
    let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    std::fs::write(dir.path().join("note"), "a note\n").unwrap_or_else(|error| panic!("{error}"));
    let engine = engine_of(INSTANCES);
    let loader = Loader::new(engine.clone());
    let host = Host::builder().grace(Duration::from_millis(5)).build();
    let misbehave = |name: &str, tools: &[&str], change: &dyn Fn(&mut PluginSpec)| {
        let mut spec = spec("misbehave");
        spec.name = name.into();
        spec.tools = Some(tools.iter().map(ToString::to_string).collect());
        change(&mut spec);
        spec
    };
    let hook = |name: &str, config: Value| {
        let mut spec = spec("scripted-hook");
        spec.name = name.into();
        spec.config = Json::from_value(config);
        spec
    };
    let mut fs = spec("fs");
    let grant = DirGrant { guest: "/work".into(), host: dir.path().to_owned(), access: DirAccess::ReadOnly };
    fs.grants.dirs.push(grant);
    fs.tools = Some(vec!["read".into()]);
    let block = json!([{"op": "return", "value": {"block": true, "reason": "no"}}]);
    let before = json!([
        {"match": {"toolCallId": "blocked"}, "script": block},
        {"match": {"toolCallId": "broken"}, "script": [{"op": "trap"}]},
    ]);
    let change = json!([{"op": "return", "value": {"details": {"seen": true}}}]);
    let specs = [
        misbehave("plain", &["echo", "panic", "flood-updates", "wait-cancel", "state-add"], &|_| {}),
        misbehave("metered", &["loop-forever"], &|spec| spec.limits.fuel = Some(3_000_000)),
        misbehave("timed", &["sleep"], &|spec| spec.limits.deadline = Duration::from_millis(15)),
        misbehave("small", &["allocate", "flood-output"], &|spec| {
            spec.limits.memory_bytes = 8 << 20;
            spec.limits.result_bytes = 64 << 10;
        }),
        fs,
        hook("before", json!({"event": "before", "entries": before})),
        hook("after", json!({"event": "after", "entries": [{"match": {"toolName": "echo"}, "script": change}]})),
        hook(
            "settled",
            json!({"event": "settled", "entries": [{"match": {"toolName": "panic"}, "script": [{"op": "trap"}]}]}),
        ),
    ];
    for spec in specs {
        let plugin = loader.load(spec).await.unwrap_or_else(|error| panic!("{error}"));
        host.load(plugin).unwrap_or_else(|error| panic!("{error}"));
    }
    Load { host, engine, next: AtomicUsize::new(0), _dir: dir }
}

/// Makes at least this many calls, some batches at a time.
async fn run(load: &Arc<Load>, calls: usize, report: &mut Report) {
    let batches = calls.div_ceil(CALLS).div_ceil(WORKERS);
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..WORKERS {
        let load = load.clone();
        workers.spawn(async move {
            let mut outcomes = Vec::with_capacity(batches);
            for _ in 0..batches {
                outcomes.push(one(&load, load.next.fetch_add(1, Ordering::Relaxed)).await);
            }
            outcomes
        });
    }
    for outcome in workers.join_all().await.into_iter().flatten() {
        match outcome {
            None => report.dropped += 1,
            Some(kinds) => {
                report.answered += kinds.len();
                kinds.into_iter().for_each(|kind| *report.kinds.entry(kind).or_default() += 1);
            }
        }
    }
}

/// One batch: the kinds of its answers, or nothing where it was dropped on its way.
async fn one(load: &Load, number: usize) -> Option<Vec<&'static str>> {
    let last = match number % 4 {
        0 => call("c", "wait-cancel", json!({"ms": 60_000})),
        _ => call("c", "state-add", json!({"scope": "turn", "key": "n", "delta": 1})),
    };
    let calls = [
        call("c", "echo", json!({"number": number})),
        call("c", "read", json!({"path": "note"})),
        call("c", "panic", json!({"message": "soaked"})),
        call("c", "loop-forever", json!({})),
        call("c", "sleep", json!({"ms": 60_000})),
        call("c", "allocate", json!({"mb": 64})),
        call("c", "flood-output", json!({"mb": 1})),
        call("c", "flood-updates", json!({"n": 10})),
        call("blocked", "echo", json!({})),
        call("broken", "echo", json!({})),
        last,
    ];
    let cancel = CancellationToken::new();
    // At most after as many events as every batch has: each call's start, end and, at the least, nothing between.
    let sink = Arc::new(CancelAt { cancel: cancel.clone(), left: AtomicUsize::new(number % (2 * CALLS - 1)) });
    let mut batch = Batch::new(AssistantMessage::of_calls(calls)).cancel(cancel);
    if number.is_multiple_of(4) {
        batch = batch.sink(sink);
    }
    let running = load.host.run(batch);
    let outcome: BatchOutcome = if number % 4 == 2 && number.is_multiple_of(3) {
        let patience = Duration::from_millis((number % 17) as u64);
        match tokio::time::timeout(patience, running).await {
            Ok(outcome) => outcome,
            Err(_) => return None,
        }
    } else {
        running.await
    };
    Some(
        outcome
            .messages
            .iter()
            .map(|message| message.error.as_ref().map_or("ok", |error| error.kind.as_str()))
            .collect(),
    )
}

/// Cancels at some event.
struct CancelAt {
    cancel: CancellationToken,
    left: AtomicUsize,
}

#[async_trait]
impl EventSink for CancelAt {
    fn name(&self) -> &str {
        "cancel"
    }

    async fn event(&self, _event: &Event) -> Result<(), SinkError> {
        let before = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(1)));
        if before.is_ok_and(|left| left <= 1) {
            self.cancel.cancel();
        }
        Ok(())
    }
}

/// Dropped batches' tasks are gone when the runtime has looked at them.
async fn settle(load: &Load) {
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        if load.engine.live_instances() == 0 && load.engine.waiting() == 0 {
            break;
        }
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Every slot can still be taken, all at the same time.
async fn all_slots(load: &Load) -> Result<(), String> {
    let cancel = CancellationToken::new();
    let calls = (0..INSTANCES).map(|_| call("c", "wait-cancel", json!({"ms": 60_000})));
    let batch = Batch::new(AssistantMessage::of_calls(calls)).cancel(cancel.clone());
    let all_live = async {
        let begun = Instant::now();
        while load.engine.live_instances() < INSTANCES as usize && begun.elapsed() < Duration::from_secs(60) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let live = load.engine.live_instances();
        cancel.cancel();
        live
    };
    let (_, live) = tokio::join!(load.host.run(batch), all_live);
    if live == INSTANCES as usize { Ok(()) } else { Err(format!("{live} of {INSTANCES} slots are left")) }
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
