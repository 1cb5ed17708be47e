//! A scenario file, as far as the runner looks into it; scripts stay JSON for whoever plays them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use toolgate::model::{AssistantMessage, ExecutionMode, Json, StopReason, ToolCall};
use toolgate::pipeline::OnError;

/// One recorded scenario.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// The rule it shows.
    pub rule: String,
    /// What happens.
    pub scenario: Setup,
    /// Whether rows of different calls have a fixed order.
    pub cross_call_order: bool,
    /// What was recorded.
    pub expect: Expect,
}

/// What happens in a scenario.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Setup {
    /// The batches' mode.
    #[serde(default)]
    pub tool_execution: Option<ExecutionMode>,
    /// The scripted tools.
    #[serde(default)]
    pub tools: Option<Vec<Value>>,
    /// One hook whose first fitting entry runs.
    #[serde(default)]
    pub hooks: Option<Chains>,
    /// A chain of hooks, all of which run.
    #[serde(default)]
    pub extensions: Vec<Extension>,
    /// One batch each.
    pub turns: Vec<Turn>,
    /// When to cancel.
    #[serde(default)]
    pub abort: Option<Abort>,
    /// How long the sink takes, by event type.
    #[serde(default)]
    pub sink_delay_ms: HashMap<String, u64>,
    /// How long to wait before comparing.
    #[serde(default)]
    pub settle_ms: u64,
}

/// Scripts of before and after hooks.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Chains {
    /// Before hooks.
    #[serde(default)]
    pub before: Option<Vec<Value>>,
    /// After hooks.
    #[serde(default)]
    pub after: Option<Vec<Value>>,
}

/// A named set of handlers.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    /// Its name in probes.
    pub name: String,
    /// Before hooks.
    #[serde(default)]
    pub before: Vec<Value>,
    /// After hooks.
    #[serde(default)]
    pub after: Vec<Value>,
}

/// One answer of the model.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Turn {
    /// Its calls.
    pub calls: Vec<Call>,
    /// Why it stopped.
    #[serde(default)]
    pub stop_reason: StopReason,
}

/// One call.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub arguments: Json,
}

/// When to cancel.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Abort {
    /// Before anything.
    #[serde(default)]
    pub before_run: bool,
    /// While this event is delivered.
    #[serde(default)]
    pub on: Option<AbortOn>,
    /// That long after the first start event.
    #[serde(default)]
    pub after_ms: Option<u64>,
}

/// An event to cancel on.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AbortOn {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its call.
    #[serde(default)]
    pub tool_call_id: Option<String>,
}

/// What was recorded.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expect {
    /// Answers of the model.
    pub model_calls: usize,
    /// Event rows and probe rows.
    pub trace: Vec<Value>,
    /// All messages.
    pub tool_results: Vec<Value>,
}

/// Where a scripted hook sits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandlerEvent {
    /// Before the call.
    Before,
    /// After it.
    After,
    /// After its end event.
    Settled,
}

/// One scripted hook: a plugin of its own.
pub struct Handler<'a> {
    /// The plugin's name.
    pub plugin: String,
    /// Where it sits.
    pub event: HandlerEvent,
    /// The extension it belongs to; none for the scenario's one hook.
    pub extension: Option<&'a str>,
    /// Its name in probes; none for the scenario's one hook, whose entries are named by their place.
    pub name: Option<String>,
    /// `{match?, script}`; the first that fits runs.
    pub entries: &'a [Value],
    /// Extensions' after hooks are observers.
    pub on_error: OnError,
}

impl Scenario {
    /// All scripted hooks, in the order they are called.
    pub fn handlers(&self) -> Vec<Handler<'_>> {
        let mut handlers = Vec::new();
        for event in [HandlerEvent::Before, HandlerEvent::After] {
            let word = event.word();
            if let Some(hooks) = &self.scenario.hooks
                && let Some(entries) = if event == HandlerEvent::Before { &hooks.before } else { &hooks.after }
            {
                let (plugin, on_error) = (word.to_owned(), OnError::Fail);
                handlers.push(Handler { plugin, event, extension: None, name: None, entries, on_error });
            }
            for extension in &self.scenario.extensions {
                let entries = if event == HandlerEvent::Before { &extension.before } else { &extension.after };
                for (at, entry) in entries.iter().enumerate() {
                    handlers.push(Handler {
                        plugin: format!("{}-{word}-{at}", extension.name),
                        event,
                        extension: Some(&extension.name),
                        name: Some(format!("{}.{word}[{at}]", extension.name)),
                        entries: std::slice::from_ref(entry),
                        on_error: if event == HandlerEvent::After { OnError::Skip } else { OnError::Fail },
                    });
                }
            }
        }
        handlers
    }
}

impl HandlerEvent {
    /// As probes and names say it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::Settled => "settled",
        }
    }
}

impl Turn {
    /// As the host takes it.
    pub fn message(&self) -> AssistantMessage {
        let calls = self.calls.iter().map(|call| ToolCall::new(&*call.id, &*call.name, call.arguments.clone()));
        let mut message = AssistantMessage::of_calls(calls);
        message.stop_reason = self.stop_reason;
        message
    }
}

impl Abort {
    /// The delay after the first start event.
    pub fn after(&self) -> Option<Duration> {
        self.after_ms.map(Duration::from_millis)
    }
}

/// All scenarios of a folder, by name.
pub fn load_dir(dir: &Path) -> Result<Vec<Scenario>, String> {
    let in_dir = |error: std::io::Error| format!("{}: {error}", dir.display());
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .map_err(in_dir)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(in_dir)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let load = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
    };
    files.iter().map(load).collect()
}
