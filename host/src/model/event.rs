//! What a user interface sees live, and the messages that go to the model.

use std::sync::Arc;
use std::time::SystemTime;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{ErrorInfo, Json, ToolResult};

/// What a call cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Metrics {
    /// Fuel used by the tool's own entries (wasmtime's unit, about one instruction). 0 for native and unmetered tools.
    pub fuel: u64,
    /// The most linear memory and table bytes held at once.
    pub peak_memory_bytes: u64,
    /// Calls from the guest to the host's own interfaces.
    pub host_calls: u64,
    /// Updates dropped over a limit.
    pub dropped_updates: u64,
    /// Log lines dropped over a limit.
    pub dropped_log_lines: u64,
    /// Memory or table growth that was refused.
    pub refused_growths: u64,
    /// Things asked for and not granted.
    pub denials: u64,
}

/// Now, as messages give the time.
pub(crate) fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// The tool-result artifact: what goes to the model and into the transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResultMessage {
    /// The model's id of the call.
    pub tool_call_id: Arc<str>,
    /// The name as the model wrote it.
    pub tool_name: Arc<str>,
    /// What the call answered, shared with the end event; its `terminate` and own `is_error` are not part of the
    /// message.
    pub result: Arc<ToolResult>,
    /// Whether the call failed.
    pub is_error: bool,
    /// Why, for programs.
    pub error: Option<ErrorInfo>,
    /// Milliseconds since the Unix epoch.
    pub timestamp: u64,
}

impl ToolResultMessage {
    /// Tools that become callable from the next turn on.
    pub fn added_tool_names(&self) -> &[String] {
        self.result.added_tool_names.as_deref().unwrap_or_default()
    }
}

impl Serialize for ToolResultMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn optional<M: SerializeMap>(map: &mut M, key: &str, value: &Option<impl Serialize>) -> Result<(), M::Error> {
            value.as_ref().map_or(Ok(()), |value| map.serialize_entry(key, value))
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", "toolResult")?;
        map.serialize_entry("toolCallId", &self.tool_call_id)?;
        map.serialize_entry("toolName", &self.tool_name)?;
        map.serialize_entry("content", &self.result.content)?;
        optional(&mut map, "details", &self.result.details)?;
        optional(&mut map, "structuredContent", &self.result.structured_content)?;
        optional(&mut map, "usage", &self.result.usage)?;
        if !self.added_tool_names().is_empty() {
            map.serialize_entry("addedToolNames", self.added_tool_names())?;
        }
        map.serialize_entry("isError", &self.is_error)?;
        optional(&mut map, "error", &self.error)?;
        map.serialize_entry("timestamp", &self.timestamp)?;
        map.end()
    }
}

/// One event of a batch, in the order PIPELINE rules give. Cheap to clone.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Event {
    /// A call is looked at.
    ToolExecutionStart {
        /// Place of the call in its batch, from 0: ids need not be unique. Not on the wire.
        #[serde(skip)]
        position: u32,
        /// The model's id.
        tool_call_id: Arc<str>,
        /// The name as written.
        tool_name: Arc<str>,
        /// The arguments as written.
        args: Json,
        /// The call had settled in an earlier run of its batch and does not run again.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        replayed: bool,
    },
    /// The tool reported a partial result.
    ToolExecutionUpdate {
        /// Place of the call in its batch, from 0: ids need not be unique. Not on the wire.
        #[serde(skip)]
        position: u32,
        /// The model's id.
        tool_call_id: Arc<str>,
        /// The name as written.
        tool_name: Arc<str>,
        /// The arguments as written.
        args: Json,
        /// As the tool gave it.
        partial_result: Arc<ToolResult>,
    },
    /// A call settled.
    ToolExecutionEnd {
        /// Place of the call in its batch, from 0: ids need not be unique. Not on the wire.
        #[serde(skip)]
        position: u32,
        /// The model's id.
        tool_call_id: Arc<str>,
        /// The name as written.
        tool_name: Arc<str>,
        /// The final result.
        result: Arc<ToolResult>,
        /// Whether it failed.
        is_error: bool,
        /// Why, for programs.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
        /// From start to end, in milliseconds; with three decimal places on the wire.
        #[serde(serialize_with = "microseconds")]
        duration_ms: f64,
        /// What it cost.
        metrics: Metrics,
        /// The call had settled in an earlier run of its batch; this is what it answered there.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        replayed: bool,
    },
    /// A message begins.
    MessageStart {
        /// The message.
        message: Arc<ToolResultMessage>,
    },
    /// A message is complete.
    MessageEnd {
        /// The message.
        message: Arc<ToolResultMessage>,
    },
    /// An after hook with `on-error = "skip"` failed; the result stands.
    HookSkipped {
        /// The model's id.
        tool_call_id: Arc<str>,
        /// The name as written.
        tool_name: Arc<str>,
        /// The hook.
        hook: Arc<str>,
        /// Its plugin.
        #[serde(skip_serializing_if = "Option::is_none")]
        plugin: Option<Arc<str>>,
        /// What it said.
        message: String,
    },
    /// Arguments were read into the types the schema wants.
    ArgumentsCoerced {
        /// The model's id.
        tool_call_id: Arc<str>,
        /// The name as written.
        tool_name: Arc<str>,
        /// Where, as `a.b.0.c`.
        paths: Vec<String>,
    },
    /// An event sink failed or was too slow and gets no more events.
    SinkCut {
        /// The sink's name.
        sink: Arc<str>,
        /// Why.
        reason: String,
    },
}

/// Milliseconds with three decimal places: more is noise of the clock and of binary fractions.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn microseconds<S: Serializer>(ms: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((ms * 1_000.0).round() / 1_000.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn durations_have_three_decimal_places() {
        let duration = |duration_ms: f64| {
            let event = Event::ToolExecutionEnd {
                position: 0,
                tool_call_id: "c".into(),
                tool_name: "t".into(),
                result: Arc::default(),
                is_error: false,
                replayed: false,
                error: None,
                duration_ms,
                metrics: Metrics::default(),
            };
            serde_json::to_value(event).unwrap()["durationMs"].to_string()
        };
        assert_eq!([0.985_229_999_999_999_9, 12.0, 0.000_4].map(duration), ["0.985", "12.0", "0.0"]);
    }
}
