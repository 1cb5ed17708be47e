//! What one call carries through all three stages, shared by its tool and its hooks.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::LogSink;
use super::updates::Updates;
use crate::model::{Denial, Json, Metrics, ToolCall, ToolResult};
use crate::state::StateStore;
use crate::telemetry::TraceParent;

/// The batch a call belongs to.
#[derive(Clone, Debug)]
pub struct BatchInfo {
    /// Calls in it.
    pub size: u32,
    /// The turn, as the embedder names it.
    pub turn: Arc<str>,
    /// The conversation, as the embedder names it.
    pub conversation: Arc<str>,
    /// The assistant message as it was given.
    pub message: Option<Json>,
}

/// One call's surroundings. Cheap to clone: clones speak of the same call.
#[derive(Clone)]
pub struct CallContext(Arc<Surroundings>);

/// What a [`CallContext`] holds.
pub struct Surroundings {
    /// As the model wrote it.
    pub call: ToolCall,
    /// The plugin that offers the tool; none for an unknown name.
    pub plugin: Option<Arc<str>>,
    /// Place in the batch, from 0.
    pub position: u32,
    /// The batch.
    pub batch: Arc<BatchInfo>,
    /// Cancelled with the batch.
    pub cancel: CancellationToken,
    /// What plugins keep.
    pub state: Arc<StateStore>,
    /// Where guests' log lines go.
    pub logs: Arc<dyn LogSink>,
    /// The call's place in a distributed trace, for requests that its code sends.
    pub trace_parent: Option<TraceParent>,
    updates: Mutex<Option<Arc<Updates>>>,
    record: Mutex<Record>,
}

impl Deref for CallContext {
    type Target = Surroundings;

    fn deref(&self) -> &Surroundings {
        &self.0
    }
}

#[derive(Default)]
struct Record {
    metrics: Metrics,
    denials: Vec<Denial>,
}

/// Different denials kept and logged per call; the rest is counted.
const MAX_DENIALS: usize = 32;
/// Longest subject or rule that is kept, in bytes: what a guest asks for may be as long as it likes.
const MAX_DENIAL_TEXT: usize = 1 << 10;

impl CallContext {
    /// A context without updates; the execute stage opens them.
    pub fn new(
        call: ToolCall,
        plugin: Option<Arc<str>>,
        position: u32,
        batch: Arc<BatchInfo>,
        cancel: CancellationToken,
        state: Arc<StateStore>,
        logs: Arc<dyn LogSink>,
    ) -> Self {
        let (updates, record) = Default::default();
        let trace_parent = None;
        Self(Arc::new(Surroundings { call, plugin, position, batch, cancel, state, logs, trace_parent, updates, record }))
    }

    /// The same in a distributed trace. To be called before it is cloned.
    pub(crate) fn with_trace_parent(mut self, trace_parent: Option<TraceParent>) -> Self {
        if let Some(only) = Arc::get_mut(&mut self.0) {
            only.trace_parent = trace_parent;
        }
        self
    }

    /// The name plain exclusive keys are compared under: the plugin's, or the tool's own where there is none.
    pub fn plugin_or_tool(&self) -> &Arc<str> {
        self.plugin.as_ref().unwrap_or(&self.call.name)
    }

    /// Reports a partial result. Starts its delivery, in order, and returns; where too many are pending, this waits.
    /// Outside execution, and after the call settled, it does nothing.
    pub async fn update(&self, partial: ToolResult) {
        let updates = self.updates.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(updates) = updates {
            updates.deliver(self.position, &self.call, partial).await;
        }
    }

    /// Opens updates for the execute stage.
    pub(crate) fn open_updates(&self, updates: Arc<Updates>) {
        *self.updates.lock().unwrap_or_else(PoisonError::into_inner) = Some(updates);
    }

    /// Closes them: none gets through from here on.
    pub(crate) fn close_updates(&self) {
        *self.updates.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Adds to what the call cost.
    pub fn record(&self, change: impl FnOnce(&mut Metrics)) {
        change(&mut self.record.lock().unwrap_or_else(PoisonError::into_inner).metrics);
    }

    /// What the call cost so far.
    pub fn metrics(&self) -> Metrics {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).metrics
    }

    /// Notes and logs that something was asked for and not granted. The same again, and what comes after many different
    /// ones, is only counted.
    pub fn deny(&self, mut denial: Denial) {
        for text in [&mut denial.subject, &mut denial.rule] {
            if text.len() > MAX_DENIAL_TEXT {
                text.truncate(text.floor_char_boundary(MAX_DENIAL_TEXT));
                text.push('…');
            }
        }
        let is_last = {
            let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
            record.metrics.denials += 1;
            if record.denials.len() >= MAX_DENIALS || record.denials.contains(&denial) {
                return;
            }
            record.denials.push(denial.clone());
            record.denials.len() == MAX_DENIALS
        };
        // Outside the lock: a log is foreign code.
        tracing::warn!(
            target: "toolgate::denial",
            plugin = &*denial.plugin,
            capability = denial.capability,
            subject = denial.subject.escape_debug().to_string(),
            rule = denial.rule.escape_debug().to_string(),
            tool_call_id = &*self.call.id,
            "denied{}",
            if is_last { "; further denials of this call are only counted" } else { "" }
        );
    }

    /// What the call was denied so far.
    pub fn denials(&self) -> Vec<Denial> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).denials.clone()
    }
}
