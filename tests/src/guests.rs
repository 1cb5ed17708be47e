//! Real components for tests: built once, loaded into one engine, run by a host.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};
use toolgate::component::{Engine, EngineSettings, Loader, PluginSpec, Source};
use toolgate::model::{AssistantMessage, Event, Json, ToolCall, ToolResultMessage};
use toolgate::pipeline::{Batch, BatchOutcome, EventSink, LogLine, LogSink, SinkError};
use toolgate::registry::Plugin;
use toolgate::{Host, HostBuilder};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The component built from a guest package of this repository. The first use of each in a process brings it up to
/// date, unless `TOOLGATE_GUESTS_BUILT` says that whoever runs the tests has done so.
///
/// # Panics
///
/// Where the guest cannot be built.
pub fn component(package: &str) -> PathBuf {
    static BUILT: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    {
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        if std::env::var_os("TOOLGATE_GUESTS_BUILT").is_none() && !built.contains(package) {
            let status = Command::new(root().join("scripts/build-guests.sh")).arg(package).status();
            assert!(status.is_ok_and(|status| status.success()), "scripts/build-guests.sh {package} failed");
            built.insert(package.to_owned());
        }
    }
    let path = root().join("target/guests/components").join(format!("{package}.wasm"));
    assert!(path.is_file(), "{} is missing: is {package} a guest of this workspace?", path.display());
    path
}

/// The engine all tests of a process share: each reserves address space for its pool. Compiled code is kept in the
/// target directory, keyed by content.
///
/// # Panics
///
/// Where the engine does not start.
pub fn engine() -> Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE
        .get_or_init(|| {
            let mut settings = EngineSettings::default();
            settings.cache_dir = Some(root().join("target/test-compile-cache"));
            Engine::new(settings).unwrap_or_else(|error| panic!("{error}"))
        })
        .clone()
}

/// An engine for whoever counts its instances, with room for this many.
///
/// # Panics
///
/// Where it does not start.
pub fn engine_of(instances: u32) -> Engine {
    let mut settings = EngineSettings::default();
    settings.instances = instances;
    settings.queue_wait = std::time::Duration::from_secs(300);
    settings.cache_dir = Some(root().join("target/test-compile-cache"));
    Engine::new(settings).unwrap_or_else(|error| panic!("{error}"))
}

/// What to load: a guest package of this repository, under its own name.
pub fn spec(package: &str) -> PluginSpec {
    PluginSpec::new(package, Source::File(component(package)))
}

/// Loads a component.
///
/// # Panics
///
/// Where it does not load.
pub async fn load(spec: PluginSpec) -> Plugin {
    Loader::new(engine()).load(spec).await.unwrap_or_else(|error| panic!("{error}"))
}

/// A host with these plugins.
///
/// # Panics
///
/// Where one does not load.
pub async fn host(builder: HostBuilder, specs: impl IntoIterator<Item = PluginSpec>) -> Host {
    let host = builder.build();
    for spec in specs {
        host.load(load(spec).await).unwrap_or_else(|error| panic!("{error}"));
    }
    host
}

/// A call; ids are `c1`, `c2`, … where a batch is made by [`batch`].
pub fn call(id: &str, tool: &str, arguments: Value) -> ToolCall {
    ToolCall::new(id, tool, Json::from_value(arguments))
}

/// A batch of calls.
pub fn batch<const N: usize>(calls: [(&str, Value); N]) -> Batch {
    let calls = calls.into_iter().enumerate().map(|(at, (tool, args))| call(&format!("c{}", at + 1), tool, args));
    Batch::new(AssistantMessage::of_calls(calls))
}

/// Runs one call alone.
pub async fn run_one(host: &Host, tool: &str, arguments: Value) -> Answer {
    Answer::of(host.run(batch([(tool, arguments)])).await)
}

/// One message, with what tests look at.
#[derive(Debug)]
pub struct Answer(pub Arc<ToolResultMessage>);

impl Answer {
    fn of(outcome: BatchOutcome) -> Self {
        Self(outcome.messages[0].clone())
    }

    /// All text of the content.
    pub fn text(&self) -> String {
        self.0.result.content.iter().filter_map(|c| c.as_text()).collect::<Vec<_>>().join("\n")
    }

    /// `error.kind`, or `ok`.
    pub fn kind(&self) -> &'static str {
        self.0.error.as_ref().map_or("ok", |error| error.kind.as_str())
    }

    /// The message as it is written out.
    pub fn json(&self) -> Value {
        json!(self.0)
    }
}

/// Keeps every event, as JSON.
#[derive(Default)]
pub struct Events(Mutex<Vec<Value>>);

impl Events {
    /// What came so far.
    pub fn all(&self) -> Vec<Value> {
        self.0.lock().map(|events| events.clone()).unwrap_or_default()
    }

    /// The events of one type.
    pub fn of_type(&self, kind: &str) -> Vec<Value> {
        self.all().into_iter().filter(|event| event["type"] == kind).collect()
    }
}

#[async_trait::async_trait]
impl EventSink for Events {
    fn name(&self) -> &str {
        "events"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        let value = serde_json::to_value(event)?;
        self.0.lock().map_err(|error| error.to_string())?.push(value);
        Ok(())
    }
}

/// Keeps every log line, as `stream: message`.
#[derive(Default)]
pub struct Lines(Mutex<Vec<String>>);

impl Lines {
    /// What came so far.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().map(|lines| lines.clone()).unwrap_or_default()
    }
}

impl LogSink for Lines {
    fn log(&self, line: &LogLine<'_>) {
        if let Ok(mut lines) = self.0.lock() {
            lines.push(format!("{}: {}", line.stream, line.message));
        }
    }
}
