//! Batches of components that are cancelled, wherever they are: every call is answered, nothing runs on, the grace
//! period is kept, and the next batch works.

mod matrix;
mod sockets;
mod waiting;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::Mutex as Turn;
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::component::{Engine, Loader, PluginSpec};
use toolgate::model::{Event, Json};
use toolgate::pipeline::{BatchOutcome, EventSink, LogLine, LogSink, OnError, SinkError};
use toolgate_tests::guests::{self, engine_of};

/// Engines of their own, used by one test at a time, so that their counts are that test's.
static WIDE: LazyLock<Turn<Engine>> = LazyLock::new(|| Turn::new(engine_of(8)));
static NARROW: LazyLock<Turn<Engine>> = LazyLock::new(|| Turn::new(engine_of(1)));

/// Soon over, for guests that use it up.
const SHORT: Duration = Duration::from_millis(300);
/// Never over within a test, for those that must not wait for its end.
const LONG: Duration = Duration::from_secs(300);
/// How long guests would go on, in ms, were they not stopped.
const ENDLESS: u64 = 200_000;
/// Far less than `LONG` and `ENDLESS`, far more than stopping takes on a loaded machine.
const SOON: Duration = Duration::from_secs(60);

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
    load(&host, engine, specs).await;
    host
}

/// Loads plugins beside `misbehave`. A failing after hook of one that is called `skipped` is skipped.
async fn load(host: &Host, engine: &Engine, specs: Vec<PluginSpec>) {
    let loader = Loader::new(engine.clone());
    for spec in std::iter::once(unbounded(guests::spec("misbehave"))).chain(specs) {
        let mut plugin = loader.load(spec).await.unwrap();
        if &*plugin.name == "skipped" {
            plugin.hook_settings.on_error = OnError::Skip;
        }
        host.load(plugin).unwrap();
    }
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
    lines: Mutex<Vec<String>>,
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
            lines: Mutex::default(),
        })
    }

    /// How many log lines have this in them.
    fn times_logged(&self, text: &str) -> usize {
        self.lines.lock().unwrap().iter().filter(|line| line.contains(text)).count()
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
        self.lines.lock().unwrap().push(line.message.to_owned());
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
        // Where the batch was cancelled on one of these, it is there too.
        types.retain(|kind| kind != "arguments_coerced" && kind != "hook_skipped");
        // Updates follow each other, between start and end.
        types.dedup();
        if types.get(1).is_some_and(|kind| kind == "tool_execution_update") {
            types.remove(1);
        }
        let expected = ["tool_execution_start", "tool_execution_end", "message_start", "message_end"];
        assert_eq!(types, expected, "{what}: {id}");
    }
}
