//! The plugins that random batches meet: a native half, and a half that is components or their native twins.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use toolgate::Host;
use toolgate::component::{Engine, Loader, PluginSpec, Source};
use toolgate::model::Json;
use toolgate::pipeline::{Approval, ApprovalRequest, Approver};
use toolgate::registry::Plugin;

use super::trace::Trace;
use crate::golden::{HandlerEvent, native};
use crate::guests;

/// The two halves of the tools and of each kind of hook.
pub(super) const HALVES: [&str; 2] = ["n", "c"];
/// Where a call's keys are in its arguments.
pub(super) const KEYS: [&str; 2] = ["/key", "/other"];
const EVENTS: [HandlerEvent; 3] = [HandlerEvent::Before, HandlerEvent::After, HandlerEvent::Settled];

/// Loaded plugins, to be put into any number of hosts.
pub struct World {
    pub(super) runtime: Runtime,
    pub(super) engine: Engine,
    mixed: Vec<Plugin>,
    native: Vec<Plugin>,
}

fn tools(half: &str) -> Vec<Value> {
    let tool = |name: &str| {
        json!({
            "name": format!("{half}-{name}"),
            "parameters": {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "script": {"type": "array"}},
                "required": ["n"],
            },
            "scriptAt": "/script",
        })
    };
    let with = |name: &str, key: &str, value: Value| {
        let mut tool = tool(name);
        tool[key] = value;
        tool
    };
    vec![
        with("read", "exclusive", keys(false)),
        with("write", "exclusive", keys(true)),
        with("old", "prepareArguments", json!([{"op": "rename", "from": "old", "to": "n"}])),
        with("seq", "executionMode", json!("sequential")),
    ]
}

/// Two keys, so that calls may cross: one holds `a` and `b`, another `b` and `a`.
fn keys(write: bool) -> Value {
    KEYS.iter().map(|pointer| json!({"pointer": pointer, "write": write})).collect()
}

/// Where this half's hook for an event finds its script.
fn entries(event: HandlerEvent, half: usize) -> Value {
    json!([{"scriptAt": format!("/{}/{half}", event.word())}])
}

impl World {
    /// Builds and loads what is needed, into an engine of its own, so that its counts are this world's.
    ///
    /// # Panics
    ///
    /// Where a guest cannot be built or loaded.
    pub fn new() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.unwrap_or_else(|error| panic!("{error}"));
        let engine = guests::engine_of(16);
        let (mixed, native) = runtime.block_on(plugins(&engine));
        Self { runtime, engine, mixed, native }
    }

    /// A host of both halves.
    pub(super) fn host(&self, grace: Duration, trace: &Arc<Trace>) -> Host {
        host(&self.mixed, grace, trace)
    }

    /// One where the components' part is played by native twins of the same names.
    pub(super) fn native_host(&self, grace: Duration, trace: &Arc<Trace>) -> Host {
        host(&self.native, grace, trace)
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// The mixed ones and the native ones.
async fn plugins(engine: &Engine) -> (Vec<Plugin>, Vec<Plugin>) {
    let loader = Loader::new(engine.clone());
    let load = async |package: &str, name: String, config: Value| {
        let mut spec = PluginSpec::new(name, Source::File(guests::component(package)));
        spec.config = Json::from_value(config);
        loader.load(spec).await.unwrap_or_else(|error| panic!("{error}"))
    };
    let twin = |half: &str| native::tools(half, &tools(half)).unwrap_or_else(|error| panic!("{error}"));
    let mut native = HALVES.map(twin).to_vec();
    let mut mixed = vec![native[0].clone(), load("scripted-tool", "c".into(), json!({"tools": tools("c")})).await];
    for event in EVENTS {
        for (at, half) in HALVES.into_iter().enumerate() {
            let (name, entries) = (format!("{half}-{}", event.word()), entries(event, at));
            let list = entries.as_array().map(Vec::as_slice).unwrap_or_default();
            let twin = native::hook(&name, event, list).unwrap_or_else(|error| panic!("{error}"));
            mixed.push(match half {
                "n" => twin.clone(),
                _ => load("scripted-hook", name, json!({"event": event.word(), "entries": entries})).await,
            });
            native.push(twin);
        }
    }
    (mixed, native)
}

fn host(plugins: &[Plugin], grace: Duration, trace: &Arc<Trace>) -> Host {
    let host = Host::builder().grace(grace).approver(Arc::new(ByTitle)).logs(trace.clone()).build();
    for plugin in plugins {
        host.load(plugin.clone()).unwrap_or_else(|error| panic!("{error}"));
    }
    host
}

/// Approves what only asks that ask for it.
struct ByTitle;

#[async_trait]
impl Approver for ByTitle {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        tokio::time::sleep(Duration::from_millis(1)).await;
        if request.questions.iter().all(|question| question.title == "yes") {
            Approval::Approved
        } else {
            Approval::Declined { reason: Some("no".into()) }
        }
    }
}
