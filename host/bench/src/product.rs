//! Toolgate as an embedder has it: engine, loader, hosts with the benchmark's guest as tool and as hooks.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::component::{Engine, EngineSettings, Loader, PluginSpec, Source};
use toolgate::model::{AssistantMessage, Event, Json, ToolCall, ToolDefinition, ToolResult};
use toolgate::pipeline::{
    Batch, BatchInfo, BatchOutcome, CallContext, EventSink, NoLogs, SinkError, Slot, Tool, ToolError,
};
use toolgate::registry::Plugin;

use crate::Fallible;

/// 1 KB of arguments in the shape of an edit: strings with escapes, nested objects, numbers, a boolean.
pub fn arguments() -> String {
    let edits: Vec<String> = (0..4)
        .map(|n| {
            format!(
                r#"{{"oldText":"    let value_{n} = compute(input, {n});\n    assert_eq!(value_{n}, \"expected\");\n","newText":"    let value_{n} = compute(input, {n})?;\n    ensure!(value_{n} == \"expected\");\n","line":{}}}"#,
                40 + n * 17
            )
        })
        .collect();
    format!(
        r#"{{"path":"src/components/pipeline/prepare.rs","edits":[{}],"encoding":"utf-8","dryRun":false,"context":3,"tags":["refactor","errors","{}"]}}"#,
        edits.join(","),
        "x".repeat(166)
    )
}

/// An engine with its default settings, compiled code kept in `cache`.
pub fn engine(cache: Option<&Path>, instances: u32) -> Fallible<Engine> {
    let mut settings = EngineSettings::default();
    settings.cache_dir = cache.map(Path::to_owned);
    settings.instances = instances;
    settings.queue_length = 100_000;
    Ok(Engine::new(settings)?)
}

/// The guest as a plugin with tools and without hooks.
pub async fn tools(loader: &Loader, component: &Path) -> Fallible<Plugin> {
    let mut plugin = loader.load(spec("bench", component, "{}")?).await?;
    plugin.hook = None;
    Ok(plugin)
}

/// The guest as a plugin with a hook and without tools.
pub async fn hook(loader: &Loader, component: &Path, name: String, config: &str) -> Fallible<Plugin> {
    let mut spec = spec(&name, component, config)?;
    spec.tools = Some(Vec::new());
    Ok(loader.load(spec).await?)
}

fn spec(name: &str, component: &Path, config: &str) -> Fallible<PluginSpec> {
    let mut spec = PluginSpec::new(name, Source::File(component.to_owned()));
    spec.config = Json::parse(config)?;
    // A picture of 10 MB, and its update.
    spec.limits.updates = 1_000_000;
    spec.limits.update_bytes = 1 << 30;
    spec.limits.memory_bytes = 64 << 20;
    Ok(spec)
}

/// Which hooks a host has.
#[derive(Clone, Copy, Default)]
pub struct Hooks {
    /// Before hooks.
    pub before: usize,
    /// After hooks.
    pub after: usize,
    /// Hooks that want other tools only.
    pub uninterested: usize,
}

/// A host with the guest's tools and these hooks.
pub async fn host(loader: &Loader, component: &Path, hooks: Hooks) -> Fallible<Host> {
    let host = Host::new();
    host.load(tools(loader, component).await?)?;
    let kinds = [
        (hooks.before, "before", r#"{"before":true}"#),
        (hooks.after, "after", r#"{"after":true}"#),
        (hooks.uninterested, "other", "{}"),
    ];
    for (count, kind, config) in kinds {
        for n in 0..count {
            host.load(hook(loader, component, format!("{kind}-{n}"), config).await?)?;
        }
    }
    Ok(host)
}

/// A host with a native echo.
pub fn native_host(tools: usize) -> Fallible<Host> {
    let host = Host::new();
    let mut plugin = Plugin::native("native").tool(Echo::new("echo")?);
    for n in 1..tools {
        plugin = plugin.tool(Echo::new(&format!("other-{n}"))?);
    }
    host.load(plugin)?;
    Ok(host)
}

/// One call through the whole pipeline, from the text of its arguments to its message.
pub async fn call(host: &Host, tool: &str, arguments: &str) -> BatchOutcome {
    host.run(Batch::new(message(tool, arguments, 1))).await
}

/// Some calls of one tool.
pub fn message(tool: &str, arguments: &str, calls: usize) -> AssistantMessage {
    let call = || {
        let arguments = Json::parse(arguments).unwrap_or_else(|error| unreachable!("the bench's own: {error}"));
        ToolCall::new("call-1", tool, arguments)
    };
    AssistantMessage::of_calls((0..calls).map(|_| call()))
}

/// The execute stage of one call: a slot, then the tool, as the pipeline asks for them.
pub async fn execute(tool: &dyn Tool, surroundings: &Surroundings, arguments: &Json) {
    let cx = surroundings.context(arguments);
    let slot = tool.acquire(&cx).await;
    let result = match slot {
        Ok(slot) => tool.execute(&cx, arguments, slot).await,
        Err(error) => Err(error),
    };
    assert!(result.is_ok(), "{result:?}");
}

/// What calls share.
pub struct Surroundings {
    batch: Arc<BatchInfo>,
    state: Arc<toolgate::state::StateStore>,
    name: Arc<str>,
    id: Arc<str>,
    plugin: Arc<str>,
    logs: Arc<NoLogs>,
}

impl Surroundings {
    /// Of a batch of one call.
    pub fn new(tool: &str) -> Self {
        let (turn, conversation) = ("turn".into(), "conversation".into());
        let batch = BatchInfo { size: 1, turn, conversation, message: None, tag: None };
        Self {
            batch: Arc::new(batch),
            state: Arc::default(),
            name: tool.into(),
            id: "call-1".into(),
            plugin: "bench".into(),
            logs: Arc::new(NoLogs),
        }
    }

    fn context(&self, arguments: &Json) -> CallContext {
        CallContext::new(
            ToolCall::new(self.id.clone(), self.name.clone(), arguments.clone()),
            Some(self.plugin.clone()),
            0,
            self.batch.clone(),
            CancellationToken::new(),
            self.state.clone(),
            self.logs.clone(),
        )
    }
}

/// A native tool that does what the guest does.
struct Echo(ToolDefinition);

impl Echo {
    /// With the schema of the guest's.
    fn new(name: &str) -> Fallible<Self> {
        let schema = Json::parse(ECHO_SCHEMA)?;
        Ok(Self(ToolDefinition::new(name, "Answers with its arguments.", schema)))
    }
}

/// As in the guest.
const ECHO_SCHEMA: &str = r#"{"type":"object","required":["path","edits"],"additionalProperties":false,"properties":{
    "path":{"type":"string","minLength":1},
    "edits":{"type":"array","minItems":1,"items":{"type":"object","required":["oldText","newText"],"properties":{
        "oldText":{"type":"string"},"newText":{"type":"string"},"line":{"type":"integer","minimum":1}}}},
    "encoding":{"enum":["utf-8","latin-1"]},
    "dryRun":{"type":"boolean"},
    "context":{"type":"integer","minimum":0},
    "tags":{"type":"array","items":{"type":"string"}}}}"#;

#[async_trait]
impl Tool for Echo {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, _cx: &CallContext, arguments: &Json, _slot: Slot) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(arguments.text()))
    }
}

/// A sink that counts.
#[derive(Default)]
pub struct Count(pub std::sync::atomic::AtomicU64);

#[async_trait]
impl EventSink for Count {
    fn name(&self) -> &str {
        "count"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        if matches!(event, Event::ToolExecutionUpdate { .. }) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    }
}
