//! What happened in a batch, in order, as its sink and the log sink saw it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolgate::model::Event;
use toolgate::pipeline::{EventSink, LogLine, LogSink, SinkError};

/// One thing that happened: an event, or what a script told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The event's type, or the probe's name.
    pub word: String,
    /// The call.
    pub id: String,
    /// Which hook, which update.
    pub detail: String,
}

#[derive(Default)]
struct Rows {
    all: Vec<Row>,
    cancel: Option<(usize, CancellationToken)>,
}

/// Collects rows; cancels where it was told to.
#[derive(Default)]
pub(super) struct Trace(Mutex<Rows>);

impl Trace {
    /// One that cancels once it has this many rows.
    pub fn cancelling(after: usize, cancel: CancellationToken) -> Self {
        if after == 0 {
            cancel.cancel();
        }
        Self(Mutex::new(Rows { all: Vec::new(), cancel: Some((after, cancel)) }))
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn all(&self) -> Vec<Row> {
        self.rows().all.clone()
    }

    fn push(&self, word: &str, id: &str, detail: String) {
        let mut rows = self.rows();
        rows.all.push(Row { word: word.to_owned(), id: id.to_owned(), detail });
        let due = rows.cancel.as_ref().filter(|(after, _)| *after == rows.all.len());
        if let Some((_, cancel)) = due {
            cancel.cancel();
        }
    }
}

#[async_trait]
impl EventSink for Trace {
    fn name(&self) -> &str {
        "trace"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        let event = serde_json::to_value(event)?;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let id = event.get("toolCallId").unwrap_or(&event["message"]["toolCallId"]);
        self.push(&word(&event["type"]), &word(id), word(&event["partialResult"]["content"][0]["text"]));
        Ok(())
    }
}

impl LogSink for Trace {
    fn log(&self, line: &LogLine<'_>) {
        let Some(row) = line.message.strip_prefix("probe ") else { return };
        let row: Value = serde_json::from_str(row).unwrap_or_default();
        self.push(row["probe"].as_str().unwrap_or("?"), line.tool_call_id.unwrap_or_default(), line.plugin.to_owned());
    }
}
