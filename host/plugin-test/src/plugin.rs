//! A loaded component and calls of its tools, without a runtime of the caller's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::runtime::Runtime;
use toolgate::Host;
use toolgate::component::{Engine, Loader, inspect, read_component};
use toolgate::config::{Config, PluginConfig, plugin_name};
use toolgate::model::{AssistantMessage, Content, ErrorKind, Event, Json, ToolCall, ToolResultMessage};
use toolgate::pipeline::{Approval, ApprovalRequest, Approver, Batch, EventSink, LogLevel, LogSink, SinkError};
use toolgate::registry::{ActiveTools, Plugin};

use crate::settings::config_text;
use crate::{StandIn, TestError};

/// What toolgate.toml would say of the plugin.
pub struct Builder {
    file: PathBuf,
    base: Option<PathBuf>,
    table: Map<String, Value>,
    stand_ins: BTreeMap<String, StandIn>,
}

impl Builder {
    /// All of a `[plugins.NAME]` table at once, as JSON and without `file`. Relative paths in it are relative to the
    /// current folder.
    pub fn settings(mut self, table: Map<String, Value>) -> Self {
        self.table = table;
        self
    }

    /// The plugin's own settings (`config`).
    pub fn config(mut self, config: impl Into<Value>) -> Self {
        self.table.insert("config".into(), config.into());
        self
    }

    /// One limit, by its key in toolgate.toml: `limit("deadline-ms", 500)`.
    pub fn limit(mut self, key: &str, value: impl Into<Value>) -> Self {
        if let Value::Object(limits) = self.table.entry("limits").or_insert_with(|| Map::new().into()) {
            limits.insert(key.into(), value.into());
        }
        self
    }

    /// Grants a directory for reading and writing.
    pub fn dir(mut self, guest: &str, host: impl AsRef<Path>) -> Self {
        let grant = serde_json::json!({ "guest": guest, "host": host.as_ref(), "access": "read-write" });
        if let Value::Array(dirs) = self.table.entry("dirs").or_insert_with(|| Value::Array(Vec::new())) {
            dirs.push(grant);
        }
        self
    }

    /// A tool of another plugin, for hooks to see.
    pub fn stand_in(mut self, tool: &str, answer: StandIn) -> Self {
        self.stand_ins.insert(tool.to_owned(), answer);
        self
    }

    /// What relative paths in the settings are relative to.
    pub(crate) fn base(mut self, folder: &Path) -> Self {
        self.base = Some(folder.to_owned());
        self
    }

    /// Loads the component. Compiled code is kept in the user's cache, so that only the first load of a file takes long.
    /// The hooks of the component run, if it has some.
    ///
    /// # Errors
    ///
    /// The component or a setting is refused.
    pub fn load(self) -> Result<PluginTest, TestError> {
        let path = std::path::absolute(&self.file).unwrap_or_else(|_| self.file.clone());
        let content = read_component(&path).map_err(|error| TestError::Read { path: self.file.clone(), error })?;
        let info = inspect(&content).map_err(|error| TestError::Inspect { path: self.file.clone(), error })?;
        let name = plugin_name(&path);
        let text = config_text(&name, &path.to_string_lossy(), &self.table, info.hooks)?;
        let base = self.base.unwrap_or_default();
        let config = Config::of_text(&base.join("settings"), &text)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(TestError::Runtime)?;
        let logs = Arc::new(Logs::default());
        let approvals = Arc::new(Approvals::default());
        let host = config.host().logs(logs.clone()).approver(approvals.clone()).build();
        let loader = Loader::new(engine(&config)?).with_logs(logs.clone());
        let plugin = config.plugins.first().ok_or_else(|| TestError::Settings("there is no plugin".into()))?;
        let loaded = on(&runtime, config.load_plugin(plugin, &loader))?;
        host.load(loaded)?;
        if !self.stand_ins.is_empty() {
            let mut others = Plugin::native("stand-ins");
            for (tool, answer) in self.stand_ins {
                others = others.tool(answer.tool(&tool));
            }
            host.load(others)?;
        }
        let loaded_logs = logs.take();
        Ok(PluginTest { host, runtime: Some(runtime), logs, approvals, plugin: plugin.clone(), loaded_logs })
    }
}

/// One engine for all tests of a process: each reserves address space.
fn engine(config: &Config) -> Result<Engine, TestError> {
    static SHARED: Mutex<Option<Engine>> = Mutex::new(None);
    const SHARED_TABLE_ELEMENTS: usize = 100_000;
    if config.plugins.iter().any(|plugin| plugin.limits.table_elements > SHARED_TABLE_ELEMENTS) {
        return Ok(config.engine()?);
    }
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(engine) = &*shared {
        return Ok(engine.clone());
    }
    let engine = config.engine()?;
    *shared = Some(engine.clone());
    Ok(engine)
}

/// Runs a future from anywhere, also from within another runtime.
fn on<F: Future<Output: Send> + Send>(runtime: &Runtime, future: F) -> F::Output {
    let ran = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(future)).join());
    ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A component, loaded.
pub struct PluginTest {
    host: Host,
    /// Gone only while this is dropped.
    runtime: Option<Runtime>,
    logs: Arc<Logs>,
    approvals: Arc<Approvals>,
    plugin: PluginConfig,
    loaded_logs: Vec<LogLine>,
}

impl PluginTest {
    /// A component with the default limits and nothing granted, to be loaded.
    #[allow(clippy::new_ret_no_self, reason = "reads best where tests begin")]
    pub fn new(file: impl Into<PathBuf>) -> Builder {
        Builder { file: file.into(), base: None, table: Map::new(), stand_ins: BTreeMap::new() }
    }

    /// Calls a tool. All calls share the plugin's conversation state, and each is a turn of its own.
    pub fn call(&self, tool: &str, arguments: impl Into<Value>) -> Done {
        self.call_in("test", tool, Json::from_value(arguments.into()))
    }

    /// Calls a tool in some conversation, with arguments whose digits matter.
    pub fn call_in(&self, conversation: &str, tool: &str, arguments: Json) -> Done {
        self.call_as(conversation, tool, arguments, false)
    }

    /// The same, with an answer for the hooks that ask; else they are declined.
    pub fn call_approved(&self, tool: &str, arguments: impl Into<Value>) -> Done {
        self.call_as("test", tool, Json::from_value(arguments.into()), true)
    }

    pub(crate) fn call_as(&self, conversation: &str, tool: &str, arguments: Json, approve: bool) -> Done {
        let events = Arc::new(Events::default());
        *self.approvals.0.lock().unwrap_or_else(PoisonError::into_inner) = approve;
        let message = AssistantMessage::of_calls([ToolCall::new("call-1", tool, arguments)]);
        let batch =
            Batch::new(message).conversation(conversation).sink(events.clone()).active(ActiveTools::only([tool]));
        let outcome = match &self.runtime {
            Some(runtime) => on(runtime, self.host.run(batch)),
            None => Default::default(),
        };
        let events = std::mem::take(&mut *events.0.lock().unwrap_or_else(PoisonError::into_inner));
        // One call gives one message.
        let message = outcome.messages.into_iter().next().unwrap_or_else(|| {
            Arc::new(ToolResultMessage {
                tool_call_id: "call-1".into(),
                tool_name: tool.into(),
                result: Arc::default(),
                is_error: true,
                error: None,
                timestamp: 0,
            })
        });
        Done { message, events, logs: self.logs.take() }
    }

    /// What it offers and how the host sees it.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// As the host was told to load it.
    pub fn plugin(&self) -> &PluginConfig {
        &self.plugin
    }

    /// What it logged while its definitions were read.
    pub fn load_logs(&self) -> &[LogLine] {
        &self.loaded_logs
    }
}

impl Drop for PluginTest {
    fn drop(&mut self) {
        // Plainly dropped it would panic within another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What came of a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Done {
    /// What goes to the model.
    pub message: Arc<ToolResultMessage>,
    /// What a user interface sees, in order.
    pub events: Vec<Event>,
    /// What was logged and printed.
    pub logs: Vec<LogLine>,
}

impl Done {
    /// All text blocks, line by line.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.message.result.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }

    /// Whether the call failed.
    pub fn is_error(&self) -> bool {
        self.message.is_error
    }

    /// Why, where the host knows.
    pub fn error_kind(&self) -> Option<ErrorKind> {
        self.message.error.as_ref().map(|error| error.kind)
    }

    /// The texts of the partial results.
    pub fn updates(&self) -> Vec<String> {
        let text = |event: &Event| match event {
            Event::ToolExecutionUpdate { partial_result, .. } => {
                let texts: Vec<&str> = partial_result.content.iter().filter_map(Content::as_text).collect();
                Some(texts.join("\n"))
            }
            _ => None,
        };
        self.events.iter().filter_map(text).collect()
    }

    /// Milliseconds from start to end.
    pub fn duration_ms(&self) -> f64 {
        let duration = |event: &Event| match event {
            Event::ToolExecutionEnd { duration_ms, .. } => Some(*duration_ms),
            _ => None,
        };
        self.events.iter().find_map(duration).unwrap_or_default()
    }
}

/// A line that the plugin logged or printed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct LogLine {
    /// How grave.
    pub level: LogLevel,
    /// `log`, `stdout` or `stderr`.
    pub stream: &'static str,
    /// The line.
    pub message: String,
}

#[derive(Default)]
struct Logs(Mutex<Vec<LogLine>>);

impl Logs {
    fn take(&self) -> Vec<LogLine> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl LogSink for Logs {
    fn log(&self, line: &toolgate::pipeline::LogLine<'_>) {
        let line = LogLine { level: line.level, stream: line.stream, message: line.message.to_owned() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

#[derive(Default)]
struct Events(Mutex<Vec<Event>>);

#[async_trait]
impl EventSink for Events {
    fn name(&self) -> &str {
        "test"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        Ok(())
    }
}

/// Whether questions are answered with yes.
#[derive(Default)]
struct Approvals(Mutex<bool>);

#[async_trait]
impl Approver for Approvals {
    async fn approve(&self, _request: ApprovalRequest) -> Approval {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            true => Approval::Approved,
            false => Approval::Declined { reason: None },
        }
    }
}
