//! Who watches a batch.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;

use super::{BatchInfo, HookEvent};
use crate::model::{Event, ToolCall};

/// Why a sink takes no more events.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// A point of a call between its events. Cheap to clone.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Step {
    /// A hook answered, or failed.
    Hook {
        /// The hook.
        hook: Arc<str>,
        /// What it was called for.
        #[serde(rename = "hookEvent")]
        event: HookEvent,
        /// What it answered.
        answer: HookAnswer,
        /// How long it took, in milliseconds on the wire.
        #[serde(rename = "durationMs", serialize_with = "milliseconds")]
        duration: Duration,
    },
    /// The approver is asked.
    Asking,
    /// The call is fit to run.
    Prepared,
    /// The tool is about to run: from here on the call may have had effects.
    Executing,
    /// The tool has ended, and every update is delivered.
    Executed,
}

/// What a hook answered, without what it said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookAnswer {
    /// It lets the call go on, or the result stand.
    Allow,
    /// It replaced the arguments.
    Replace,
    /// It refused the call.
    Block,
    /// It asks the approver.
    Ask,
    /// It changed the result.
    Override,
    /// It failed.
    Failed,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn milliseconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((duration.as_secs_f64() * 1e6).round() / 1e3)
}

/// Watches every batch of a host, whoever runs it.
pub trait Watcher: Send + Sync {
    /// A batch begins. The sink is one of the batch's, and is dropped when the batch is over.
    fn watch(&self, batch: &Arc<BatchInfo>, calls: &[ToolCall]) -> Arc<dyn EventSink>;
}

/// A consumer of events.
///
/// Each event is awaited before its call moves on, so a sink sees one call's events in order. Calls that run at the same
/// time deliver at the same time, and an update may be handed over while an earlier one is still being taken: what must
/// not overlap takes a fair lock (tokio's `Mutex`) first thing, and keeps the order by that.
///
/// A sink that fails, panics, or holds one event longer than the configured time (5 s) is cut off for the rest of the
/// batch and the others are told (`sink_cut`); nothing else changes. Time that a sink spends on earlier events does not
/// count against the later ones that wait behind them.
#[async_trait]
pub trait EventSink: Send + Sync {
    /// How it is named when it is cut off.
    fn name(&self) -> &str;

    /// Takes one event.
    async fn event(&self, event: &Event) -> Result<(), SinkError>;

    /// The call at this position has come to a point between its events. Awaited like an event. For sinks that keep books
    /// or show how a call spends its time. Default: nothing.
    async fn step(&self, _position: u32, _step: &Step) -> Result<(), SinkError> {
        Ok(())
    }

    /// Whether the other sinks get an event only after this one has taken it, for a record that must be ahead of what
    /// anybody acts on. Updates go to all sinks at once. Default: no.
    fn is_ahead(&self) -> bool {
        false
    }

    /// Whether the batch waits for this sink as long as it takes, instead of cutting it off where it holds an event too
    /// long. For the program's own output, where a slow reader must lose nothing; such a sink sees to it itself that a
    /// cancelled batch is not held up. Default: no.
    fn is_patient(&self) -> bool {
        false
    }
}
