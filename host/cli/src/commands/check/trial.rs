//! One call of each tool with made-up arguments: without grants, under limits. A tool may refuse them; it may not trap.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use toolgate::Host;
use toolgate::config::Config;
use toolgate::model::{AssistantMessage, Content, Denial, ErrorKind, Event, Json, Metrics, ToolCall};
use toolgate::pipeline::{Batch, EventSink, SinkError};
use toolgate::registry::{ActiveTools, Plugin, RegisteredTool};
use toolgate_plugin_test::{StandIn, example_arguments};

use super::report::{Findings, Report};

/// The longest a trial may take.
pub const LONGEST: Duration = Duration::from_secs(10);
/// Characters of an answer that are reported.
const MOST_TEXT: usize = 300;
/// Tools that hooks are tried on.
const MOST_HOOKED: usize = 8;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    /// Nothing where none could be made up.
    pub arguments: Option<Json>,
    /// `ok`, or the kind of the error.
    pub outcome: &'static str,
    /// The beginning of the answer.
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
    pub duration_ms: f64,
    pub metrics: Metrics,
}

/// Kinds that no arguments may lead to.
fn is_fault(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Trap
            | ErrorKind::OutOfFuel
            | ErrorKind::Deadline
            | ErrorKind::MemoryLimit
            | ErrorKind::TableLimit
            | ErrorKind::InstanceLimit
            | ErrorKind::HostcallLimit
            | ErrorKind::OutputLimit
            | ErrorKind::Unavailable
    )
}

pub async fn call(host: &Host, tool: &RegisteredTool, findings: &mut Findings) -> Trial {
    let name = tool.name();
    let made = example_arguments(tool.definition().parameters.value()).map(Json::from_value);
    let Some(arguments) = made.filter(|made| tool.parameters().is_valid(made)) else {
        findings.advice(
            Some(name),
            "not tried: no valid arguments could be made up; `examples` in its schema would help, also a model",
        );
        let (text, denials, metrics) = (String::new(), Vec::new(), Metrics::default());
        return Trial { arguments: None, outcome: "not tried", text, denials, duration_ms: 0.0, metrics };
    };
    let end = Arc::new(End::default());
    let message = AssistantMessage::of_calls([ToolCall::new("trial", name, arguments.clone())]);
    let batch = Batch::new(message).sink(end.clone()).active(ActiveTools::only([name]));
    let outcome = host.run(batch).await;
    let (duration_ms, metrics) = *end.0.lock().unwrap_or_else(PoisonError::into_inner);
    let mut trial = Trial {
        arguments: Some(arguments),
        outcome: "ok",
        text: String::new(),
        denials: Vec::new(),
        duration_ms,
        metrics,
    };
    let Some(message) = outcome.messages.into_iter().next() else { return trial };
    let texts: Vec<&str> = message.result.content.iter().filter_map(Content::as_text).collect();
    trial.text = texts.join("\n").chars().take(MOST_TEXT).collect();
    if let Some(error) = message.error.as_ref().filter(|_| message.is_error) {
        trial.outcome = error.kind.as_str();
        trial.denials.clone_from(&error.denials);
        if is_fault(error.kind) {
            let arguments: String =
                trial.arguments.as_ref().map(Json::text).unwrap_or_default().chars().take(MOST_TEXT).collect();
            findings.problem(
                Some(name),
                format!("valid arguments end as {}: {}; called with {arguments}", error.kind.as_str(), trial.text),
            );
        }
        return trial;
    }
    if message.is_error {
        trial.outcome = "tool-failed";
        return trial;
    }
    match (tool.output(), &message.result.structured_content) {
        (Some(schema), Some(data)) if !schema.is_valid(data) => {
            findings.problem(Some(name), "its structured content does not match its output schema");
        }
        (Some(_), None) => {
            findings.problem(Some(name), "it has an output schema and answers without structured content");
        }
        _ => {}
    }
    trial
}

/// Calls stand-ins for the tools that the hooks want, so that the hooks run.
pub async fn hooks(config: &Config, mut plugin: Plugin, report: &Report, findings: &mut Findings) {
    let host = config.host().build();
    let mut named: Vec<&str> =
        report.hook_events.iter().flat_map(|event| event.tools.iter().flatten()).map(String::as_str).collect();
    named.sort_unstable();
    named.dedup();
    named.truncate(MOST_HOOKED);
    if named.is_empty() {
        named.push("example");
    }
    plugin.tools.clear();
    let mut others = Plugin::native("stand-ins");
    for name in &named {
        others = others.tool(StandIn::default().tool(name));
    }
    for plugin in [plugin, others] {
        if let Err(error) = host.load(plugin) {
            findings.advice(None, format!("its hooks were not tried: {error}"));
            return;
        }
    }
    for name in named {
        let message = AssistantMessage::of_calls([ToolCall::new("trial", name, Json::empty_object())]);
        let outcome = host.run(Batch::new(message)).await;
        for message in outcome.messages {
            let cause = message.error.as_ref().and_then(|error| error.cause);
            if let Some(cause) = cause.filter(|cause| is_fault(*cause)) {
                let texts: Vec<&str> = message.result.content.iter().filter_map(Content::as_text).collect();
                let text: String = texts.join("\n").chars().take(MOST_TEXT).collect();
                findings.problem(None, format!("its hook ends as {} on a call of {name}: {text}", cause.as_str()));
            }
        }
    }
}

/// The costs in the end event.
#[derive(Default)]
struct End(Mutex<(f64, Metrics)>);

#[async_trait]
impl EventSink for End {
    fn name(&self) -> &str {
        "check"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        if let Event::ToolExecutionEnd { duration_ms, metrics, .. } = event {
            let duration_ms = (duration_ms * 1_000.0).round() / 1_000.0;
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (duration_ms, *metrics);
        }
        Ok(())
    }
}
