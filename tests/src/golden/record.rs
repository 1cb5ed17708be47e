//! What a replay records: event rows from the sink, probe rows from the guests' log lines, in one list.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolgate::model::Event;
use toolgate::pipeline::{EventSink, LogLine, LogSink, SinkError};

use super::scenario::{Abort, Scenario};

/// The rows so far, and what cancels the run.
pub(super) struct Recorder {
    rows: Mutex<Vec<Value>>,
    pub cancel: CancellationToken,
}

impl Recorder {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { rows: Mutex::default(), cancel: CancellationToken::new() })
    }

    pub(super) fn row(&self, row: Value) {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).push(row);
    }

    pub(super) fn abort(&self, by: &str) {
        self.row(json!({"probe": "abort", "by": by}));
        self.cancel.cancel();
    }

    pub(super) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl LogSink for Recorder {
    fn log(&self, line: &LogLine<'_>) {
        let row =
            |text: &str| serde_json::from_str(text).unwrap_or_else(|error| json!({"unreadable": error.to_string()}));
        if let Some(probe) = line.message.strip_prefix("probe ") {
            self.row(row(probe));
        } else if let Some(abort) = line.message.strip_prefix("abort ") {
            self.row(row(abort));
            self.cancel.cancel();
        }
    }
}

/// The scripted event consumer.
pub(super) struct Sink {
    recorder: Arc<Recorder>,
    delays: HashMap<String, Duration>,
    abort_on: Option<(String, Option<String>)>,
    abort_after: Option<Duration>,
    has_started: AtomicBool,
    /// Extensions by the plugins their handlers are.
    extensions: HashMap<String, String>,
}

impl Sink {
    pub(super) fn new(scenario: &Scenario, recorder: Arc<Recorder>) -> Arc<Self> {
        let setup = &scenario.scenario;
        let abort = setup.abort.as_ref();
        let extensions = scenario.handlers().into_iter();
        Arc::new(Self {
            recorder,
            delays: setup.sink_delay_ms.iter().map(|(kind, ms)| (kind.clone(), Duration::from_millis(*ms))).collect(),
            abort_on: abort.and_then(|abort| abort.on.as_ref()).map(|on| (on.kind.clone(), on.tool_call_id.clone())),
            abort_after: abort.and_then(Abort::after),
            has_started: AtomicBool::new(false),
            extensions: extensions
                .filter_map(|handler| Some((handler.plugin, handler.extension?.to_owned())))
                .collect(),
        })
    }

    /// What the host adds to the reference's events is left out here; `None` where that is the whole event.
    fn row_of(&self, event: &Event) -> Option<Value> {
        let mut row = serde_json::to_value(event).ok()?;
        match event {
            Event::HookSkipped { hook, message, .. } => {
                let extension = self.extensions.get(&**hook)?;
                return Some(
                    json!({"probe": "extension_error", "extension": extension, "event": "tool_result", "error": message}),
                );
            }
            Event::ArgumentsCoerced { .. } | Event::SinkCut { .. } => return None,
            _ => {}
        }
        strip(&mut row);
        if let Some(message) = row.get_mut("message") {
            strip(message);
        }
        Some(json!({ "event": row }))
    }
}

/// Drops the host's additive fields and what changes with time.
pub(super) fn strip(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        for key in ["durationMs", "metrics", "error", "timestamp"] {
            fields.shift_remove(key);
        }
    }
}

#[async_trait::async_trait]
impl EventSink for Sink {
    fn name(&self) -> &str {
        "golden"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        let Some(row) = self.row_of(event) else { return Ok(()) };
        let event = row.get("event").cloned();
        self.recorder.row(row);
        let Some(event) = event else { return Ok(()) };
        let kind = event["type"].as_str().unwrap_or_default();
        let call = event["toolCallId"].as_str().or(event["message"]["toolCallId"].as_str());
        if kind == "tool_execution_start"
            && !self.has_started.swap(true, Ordering::Relaxed)
            && let Some(after) = self.abort_after
        {
            let recorder = self.recorder.clone();
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                recorder.abort("timer");
            });
        }
        if let Some((on, on_call)) = &self.abort_on
            && on == kind
            && on_call.as_deref().is_none_or(|id| Some(id) == call)
            && !self.recorder.cancel.is_cancelled()
        {
            self.recorder.abort(&format!("sink:{kind}"));
        }
        if let Some(delay) = self.delays.get(kind) {
            tokio::time::sleep(*delay).await;
            self.recorder.row(json!({"probe": "sink_done", "type": kind, "toolCallId": call}));
        }
        Ok(())
    }
}
