//! Who watches a batch.

use async_trait::async_trait;

use crate::model::Event;

/// Why a sink takes no more events.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

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

    /// The call at this position is about to execute: from here on it may have had effects. Awaited like an event. For
    /// sinks that keep books; a user interface sees the call's start event. Default: nothing.
    async fn executing(&self, _position: u32) -> Result<(), SinkError> {
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
