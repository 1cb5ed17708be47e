//! Batches of components that are cancelled, wherever they are: every call is answered, nothing runs on, the grace
//! period is kept, and the next batch works.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::Mutex as Turn;
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::component::{Engine, EngineSettings, Loader, PluginSpec};
use toolgate::model::{Event, ExecutionMode, Json, ToolDefinition, ToolResult};
use toolgate::pipeline::{BatchOutcome, CallContext, EventSink, LogLine, LogSink, SinkError, Slot, Tool, ToolError};
use toolgate::registry::Plugin;
use toolgate_tests::guests::{self, batch, run_one};

/// Engines of their own, used by one test at a time, so that their counts are that test's.
static WIDE: LazyLock<Turn<Engine>> = LazyLock::new(|| Turn::new(engine(8)));
static NARROW: LazyLock<Turn<Engine>> = LazyLock::new(|| Turn::new(engine(1)));

/// Soon over, for guests that use it up.
const SHORT: Duration = Duration::from_millis(300);
/// Never over within a test, for those that must not wait for its end.
const LONG: Duration = Duration::from_secs(300);
/// How long guests would go on, in ms, were they not stopped.
const ENDLESS: u64 = 200_000;
/// Far less than `LONG` and `ENDLESS`, far more than stopping takes on a loaded machine.
const SOON: Duration = Duration::from_secs(60);

fn engine(instances: u32) -> Engine {
    let mut settings = EngineSettings::default();
    settings.instances = instances;
    settings.queue_wait = LONG;
    settings.cache_dir = Some(guests::root().join("target/test-compile-cache"));
    Engine::new(settings).unwrap()
}

fn unbounded(mut spec: PluginSpec) -> PluginSpec {
    spec.limits.fuel = None;
    spec.limits.deadline = LONG;
    spec
}

fn scripted(package: &str, name: &str, config: Value) -> PluginSpec {
    let mut spec = unbounded(guests::spec(package));
    spec.name = name.into();
    spec.config = Json::from_value(config);
    spec
}

/// A tool `t`.
fn tool(fields: Value) -> PluginSpec {
    let mut tool = json!({"name": "t", "parameters": {"type": "object"}});
    tool.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    scripted("scripted-tool", "tools", json!({"tools": [tool]}))
}

/// A hook around `echo`.
fn hook(event: &str, script: Value) -> PluginSpec {
    let entries = json!([{"match": {"toolName": "echo"}, "script": script}]);
    scripted("scripted-hook", "hook", json!({"event": event, "entries": entries}))
}

async fn host(engine: &Engine, grace: Duration, watch: &Arc<Watch>, specs: Vec<PluginSpec>) -> Host {
    let host = Host::builder().grace(grace).logs(watch.clone()).build();
    let loader = Loader::new(engine.clone());
    for spec in std::iter::once(unbounded(guests::spec("misbehave"))).chain(specs) {
        host.load(loader.load(spec).await.unwrap()).unwrap();
    }
    host
}

/// Where a batch is cancelled.
#[derive(Clone, Copy, Debug)]
enum When {
    /// Before it.
    Before,
    /// Once as many guests as run beside each other are live, and have had a moment to get going.
    Running,
    /// When as many guests as run beside each other have written a log line with this in it.
    Logged(&'static str),
    /// On the first event of a type.
    Event(&'static str),
}

/// Sees events and log lines, and cancels.
struct Watch {
    when: When,
    at_once: usize,
    cancel: CancellationToken,
    cancelled: Mutex<Option<Instant>>,
    logged: AtomicUsize,
    events: Mutex<Vec<Value>>,
}

impl Watch {
    fn new(when: When, at_once: usize) -> Arc<Self> {
        Arc::new(Self {
            when,
            at_once,
            cancel: CancellationToken::new(),
            cancelled: Mutex::default(),
            logged: AtomicUsize::new(0),
            events: Mutex::default(),
        })
    }

    fn cancel(&self) {
        self.cancelled.lock().unwrap().get_or_insert_with(Instant::now);
        self.cancel.cancel();
    }

    /// Events of one call.
    fn of_call(&self, id: &str) -> Vec<Value> {
        let of = |event: &&Value| event["toolCallId"] == id || event["message"]["toolCallId"] == id;
        self.events.lock().unwrap().iter().filter(of).cloned().collect()
    }

    fn end(&self, id: &str) -> Value {
        self.of_call(id).into_iter().find(|event| event["type"] == "tool_execution_end").unwrap()
    }
}

impl LogSink for Watch {
    fn log(&self, line: &LogLine<'_>) {
        if let When::Logged(text) = self.when
            && line.message.contains(text)
            && self.logged.fetch_add(1, Ordering::SeqCst) + 1 == self.at_once
        {
            self.cancel();
        }
    }
}

#[async_trait]
impl EventSink for Watch {
    fn name(&self) -> &str {
        "watch"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        let event = serde_json::to_value(event)?;
        let kind = event["type"].clone();
        self.events.lock().unwrap().push(event);
        if matches!(self.when, When::Event(wanted) if kind == wanted) {
            self.cancel();
        }
        if kind == "tool_execution_update" {
            // Slow enough that a flood of updates outlasts the grace period.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

/// Waits for what must come to be.
async fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < SOON, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// What must not wait out a long grace period.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("it waited for what it need not wait for")
}

fn alive_tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

fn kinds(outcome: &BatchOutcome) -> Vec<&'static str> {
    outcome.messages.iter().map(|message| message.error.as_ref().map_or("ok", |error| error.kind.as_str())).collect()
}

/// Every call has its start, updates, end and one message, in that order, and nothing else.
fn assert_answered(what: &str, watch: &Watch, outcome: &BatchOutcome, ids: &[&str]) {
    let answered: Vec<_> = outcome.messages.iter().map(|message| &*message.tool_call_id).collect();
    assert_eq!(answered, ids, "{what}");
    for id in ids {
        let mut types: Vec<_> =
            watch.of_call(id).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
        // Updates follow each other, between start and end.
        types.dedup();
        if types.get(1).is_some_and(|kind| kind == "tool_execution_update") {
            types.remove(1);
        }
        let expected = ["tool_execution_start", "tool_execution_end", "message_start", "message_end"];
        assert_eq!(types, expected, "{what}: {id}");
    }
}

struct Case {
    /// Where the batch is when it is cancelled; only one call is, where it says `preparation`.
    what: &'static str,
    specs: Vec<PluginSpec>,
    /// Called twice.
    call: (&'static str, Value),
    when: When,
    grace: Duration,
    /// What becomes of a call that was under way.
    running: &'static str,
}

fn cases() -> Vec<Case> {
    let aborted = |what, specs, tool: &'static str, arguments, when, grace| Case {
        what,
        specs,
        call: (tool, arguments),
        when,
        grace,
        running: "aborted",
    };
    let counts = |case: Case| Case { running: "ok", ..case };
    let sleep = json!([{"op": "sleep", "ms": ENDLESS}]);
    let wait = json!([{"op": "sleepOrAbort", "ms": ENDLESS}]);
    let redact = json!([
        {"op": "sleepOrAbort", "ms": ENDLESS},
        {"op": "return", "value": {"content": [{"type": "text", "text": "redacted, ${aborted}"}]}},
    ]);
    let late = json!({"script": [
        {"op": "sleep", "ms": 300},
        {"op": "return", "value": {"content": [{"type": "text", "text": "late"}]}},
    ]});
    let (none, empty, ms) = (Vec::new, json!({}), json!({"ms": ENDLESS}));
    vec![
        aborted("before the batch", none(), "loop-forever", empty.clone(), When::Before, LONG),
        aborted("on the first start", none(), "echo", empty.clone(), When::Event("tool_execution_start"), LONG),
        aborted("computing", none(), "loop-forever", empty.clone(), When::Running, SHORT),
        aborted("in a host call", none(), "sleep", ms.clone(), When::Running, SHORT),
        counts(aborted(
            "in a host call that ends in time",
            vec![tool(late)],
            "t",
            empty.clone(),
            When::Logged("execute_enter"),
            LONG,
        )),
        aborted("honouring the flag", none(), "wait-cancel", ms, When::Running, LONG),
        aborted(
            "during updates",
            none(),
            "flood-updates",
            json!({"n": 100_000}),
            When::Event("tool_execution_update"),
            SHORT,
        ),
        aborted(
            "in preparation, the tool's own",
            vec![tool(json!({"prepareArguments": sleep}))],
            "t",
            empty.clone(),
            When::Logged("prepare_arguments"),
            SHORT,
        ),
        aborted(
            "in preparation, a deaf hook",
            vec![hook("before", sleep.clone())],
            "echo",
            empty.clone(),
            When::Logged("probe"),
            SHORT,
        ),
        aborted(
            "in preparation, a hook",
            vec![hook("before", wait)],
            "echo",
            empty.clone(),
            When::Logged("probe"),
            LONG,
        ),
        aborted(
            "in a deaf after hook",
            vec![hook("after", sleep)],
            "echo",
            empty.clone(),
            When::Logged("probe"),
            SHORT,
        ),
        counts(aborted(
            "in an after hook",
            vec![hook("after", redact)],
            "echo",
            empty.clone(),
            When::Logged("probe"),
            LONG,
        )),
        counts(aborted("on the first message", none(), "echo", empty, When::Event("message_start"), LONG)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn wherever_a_batch_is_cancelled_every_call_is_answered_and_nothing_runs_on() {
    let engine = WIDE.lock().await;
    for mode in [ExecutionMode::Parallel, ExecutionMode::Sequential] {
        for case in cases() {
            run_case(&engine, mode, case).await;
        }
    }
}

async fn run_case(engine: &Engine, mode: ExecutionMode, case: Case) {
    let what = format!("{} ({mode:?})", case.what);
    // Preparation is serial in both modes.
    let at_once = if mode == ExecutionMode::Parallel && !case.what.contains("preparation") { 2 } else { 1 };
    let watch = Watch::new(case.when, at_once);
    let host = host(engine, case.grace, &watch, case.specs).await;
    let tasks = alive_tasks();
    if matches!(case.when, When::Before) {
        watch.cancel();
    }
    let calls = batch([case.call.clone(), case.call]).mode(mode).cancel(watch.cancel.clone()).sink(watch.clone());
    let cancelled_while_running = async {
        if matches!(case.when, When::Running) {
            until("live guests", || engine.live_instances() == at_once).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            watch.cancel();
        }
    };
    let (outcome, ()) = tokio::join!(host.run(calls), cancelled_while_running);

    let took = watch.cancelled.lock().unwrap().unwrap_or_else(|| panic!("{what}: was not cancelled")).elapsed();
    assert_eq!((engine.live_instances(), engine.waiting()), (0, 0), "{what}");
    assert_answered(&what, &watch, &outcome, &["c1", "c2"]);
    let second = if mode == ExecutionMode::Parallel { case.running } else { "aborted" };
    assert_eq!(kinds(&outcome), [case.running, second], "{what}: {:?}", outcome.messages);
    assert!(took < SOON, "{what}: {took:?}");
    if case.grace == SHORT {
        assert!(took >= SHORT, "{what}: the grace period was cut to {took:?}");
    }
    if let When::Before | When::Event("tool_execution_start") = case.when {
        assert_eq!(watch.end("c1")["metrics"]["fuel"], 0, "{what}: something ran");
    } else {
        // In parallel the first to be seen may be either, and the other may not have begun.
        let fuel = ["c1", "c2"].map(|id| watch.end(id)["metrics"]["fuel"].as_u64().unwrap());
        assert_ne!(fuel, [0, 0], "{what}: what ran cost nothing");
    }
    until("tasks have ended", || alive_tasks() <= tasks).await;

    let next = run_one(&host, "now", json!({})).await;
    assert_eq!(next.kind(), "ok", "{what}: {}", next.text());
    assert_eq!(engine.live_instances(), 0, "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_dropped_stops_its_guests() {
    let engine = WIDE.lock().await;
    let watch = Watch::new(When::Before, 0);
    let host = host(&engine, LONG, &watch, Vec::new()).await;
    let tasks = alive_tasks();
    let calls = batch([
        ("loop-forever", json!({})),
        ("sleep", json!({"ms": ENDLESS})),
        ("wait-cancel", json!({"ms": ENDLESS})),
    ]);
    tokio::select! {
        _ = host.run(calls) => panic!("nothing ends by itself"),
        () = until("live guests", || engine.live_instances() == 3) => {}
    }
    until("guests are gone", || engine.live_instances() == 0 && alive_tasks() <= tasks).await;
    assert_eq!(run_one(&host, "now", json!({})).await.kind(), "ok");
}

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
    assert_eq!(ran, 1, "those that waited never ran");
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
