//! Who watches a batch.

use async_trait::async_trait;

use crate::model::Event;

/// Why a sink takes no more events.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// A consumer of events. Each event is awaited before the pipeline moves on, updates excepted. A sink that fails, or
/// holds one event longer than the configured time (5 s), is cut off; nothing else changes.
#[async_trait]
pub trait EventSink: Send + Sync {
    /// How it is named when it is cut off.
    fn name(&self) -> &str;

    /// Takes one event.
    async fn event(&self, event: &Event) -> Result<(), SinkError>;
}
