//! One call on its way through the stages.

use std::sync::Arc;

use tokio::time::Instant;
use tracing::Span;

use super::batch::Run;
use super::{CallContext, Earlier, HookEvent};
use crate::model::{Event, Stage, ToolCall};
use crate::registry::{RegisteredHook, RegisteredTool};
use crate::telemetry;

/// A call whose start event was delivered.
pub(crate) struct Call {
    pub cx: CallContext,
    pub lookup: Lookup,
    pub started: Instant,
    /// Covers all stages.
    pub span: Span,
}

/// What the name stands for, in this batch.
pub(crate) enum Lookup {
    Found(Arc<RegisteredTool>),
    Inactive(Arc<RegisteredTool>),
    Unknown,
}

impl Call {
    /// Begins a call: looks its name up and delivers its start event.
    pub(crate) async fn start(run: &Run, position: usize, call: &ToolCall) -> Self {
        let begun = Self::new(run, position, call);
        run.sinks
            .emit(|| Event::ToolExecutionStart {
                position: begun.cx.position,
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                args: call.arguments.clone(),
                replayed: matches!(run.earlier(begun.cx.position), Earlier::Settled(_)),
            })
            .await;
        begun
    }

    /// The same without the event.
    pub(crate) fn new(run: &Run, position: usize, call: &ToolCall) -> Self {
        let started = Instant::now();
        let lookup = run.lookup(&call.name);
        let plugin = match &lookup {
            Lookup::Found(tool) => Some(tool.plugin().clone()),
            Lookup::Inactive(_) | Lookup::Unknown => None,
        };
        let span = telemetry::call_span(call, plugin.as_deref(), run.settings.trace_content);
        let cx = CallContext::new(
            call.clone(),
            plugin,
            u32::try_from(position).unwrap_or(u32::MAX),
            run.info.clone(),
            run.cancel.clone(),
            run.state.clone(),
            run.logs.clone(),
        );
        let cx = cx.with_trace_parent(telemetry::trace_parent(&span, run.trace_parent.as_ref()));
        Self { cx, lookup, started, span }
    }

    /// A stage of this call, for traces.
    pub(crate) fn span_of(&self, stage: Stage) -> Span {
        telemetry::stage_span(&self.span, stage)
    }

    /// The hooks to call for an event of this call, in order.
    pub(crate) fn hooks<'a>(
        &'a self,
        run: &'a Run,
        event: HookEvent,
    ) -> impl Iterator<Item = &'a RegisteredHook> + Send + 'a {
        let name = &self.cx.call.name;
        run.registry.hooks().iter().map(|hook| &**hook).filter(move |hook| hook.wants(event, name))
    }
}
