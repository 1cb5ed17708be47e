//! What the pipeline tells about its work: names of spans, fields and metrics in one place.
//!
//! Spans and metrics go through `tracing`, target [`TARGET`]; the feature `otel` sends them to an OpenTelemetry
//! collector. Names are those of OpenTelemetry's GenAI conventions (`execute_tool`, still in development there) where
//! they have one, else begin with `toolgate.`:
//!
//! | span | below | fields |
//! |---|---|---|
//! | `batch` | the caller's span or `traceparent` | `gen_ai.conversation.id`, `toolgate.turn`, `toolgate.batch.size` |
//! | `execute_tool {name}` | batch | `gen_ai.operation.name`, `gen_ai.tool.name`, `gen_ai.tool.type`, `gen_ai.tool.call.id`, `toolgate.plugin`, `error.type` (the error's kind) |
//! | `prepare`, `execute`, `finalize` | the call | |
//! | `hook {plugin}` | the stage | `toolgate.hook.event`, `toolgate.plugin` |
//!
//! The metric `gen_ai.execute_tool.duration` (seconds, from start to end event) has `gen_ai.operation.name`,
//! `gen_ai.tool.name`, `toolgate.plugin`, `error.type`. The name of a tool that nobody offers is the model's invention
//! and stands in no metric: it is `_OTHER` there.

#[cfg(feature = "otel")]
pub mod otel;
mod trace_parent;

use std::time::Duration;

use tracing::field::Empty;
use tracing::{Level, Span};

use crate::model::{ErrorInfo, Json, Stage, ToolCall, ToolResult};
use crate::pipeline::{BatchInfo, HookEvent};
use crate::registry::RegisteredHook;

pub use trace_parent::{InvalidTraceParent, TraceParent};

/// The `tracing` target of all spans and metrics.
pub const TARGET: &str = "toolgate::trace";

/// Longest text of arguments or a result in a span: 32 KiB, what collectors commonly take in one attribute.
const MAX_CONTENT_BYTES: usize = 32 << 10;

pub(crate) fn batch_span(info: &BatchInfo, parent: Option<&TraceParent>) -> Span {
    let span = tracing::span!(
        target: TARGET,
        Level::INFO,
        "batch",
        "gen_ai.conversation.id" = &*info.conversation,
        "toolgate.turn" = &*info.turn,
        "toolgate.batch.size" = info.size,
    );
    #[cfg(feature = "otel")]
    otel::set_parent(&span, parent);
    #[cfg(not(feature = "otel"))]
    let _ = parent;
    span
}

pub(crate) fn call_span(call: &ToolCall, plugin: Option<&str>, content: bool) -> Span {
    let span = tracing::span!(
        target: TARGET,
        Level::INFO,
        "execute_tool",
        "otel.name" = format!("execute_tool {}", call.name),
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = &*call.name,
        "gen_ai.tool.type" = "extension",
        "gen_ai.tool.call.id" = &*call.id,
        "gen_ai.tool.call.arguments" = Empty,
        "gen_ai.tool.call.result" = Empty,
        "toolgate.plugin" = plugin,
        "error.type" = Empty,
        "otel.status_code" = Empty,
    );
    if content && !span.is_disabled() {
        span.record("gen_ai.tool.call.arguments", short(call.arguments.text()));
    }
    span
}

pub(crate) fn stage_span(call: &Span, stage: Stage) -> Span {
    match stage {
        Stage::Prepare => tracing::span!(target: TARGET, parent: call, Level::INFO, "prepare"),
        Stage::Execute => tracing::span!(target: TARGET, parent: call, Level::INFO, "execute"),
        Stage::Finalize => tracing::span!(target: TARGET, parent: call, Level::INFO, "finalize"),
    }
}

/// A child of the current span.
pub(crate) fn hook_span(hook: &RegisteredHook, event: HookEvent) -> Span {
    tracing::span!(
        target: TARGET,
        Level::INFO,
        "hook",
        "otel.name" = format!("hook {}", hook.plugin()),
        "toolgate.hook.event" = event.as_str(),
        "toolgate.plugin" = &**hook.plugin(),
    )
}

/// What is known of a call when its end event is delivered.
pub(crate) struct Ended<'a> {
    pub call: &'a ToolCall,
    /// None where nobody offers the tool.
    pub plugin: Option<&'a str>,
    pub result: &'a ToolResult,
    pub error: Option<&'a ErrorInfo>,
    pub is_error: bool,
    pub duration: Duration,
}

/// Completes a call's span and counts it.
pub(crate) fn ended(span: &Span, ended: &Ended<'_>, content: bool) {
    let error_type = ended.is_error.then(|| ended.error.map_or("tool-failed", |error| error.kind.as_str()));
    if !span.is_disabled() {
        if let Some(kind) = error_type {
            span.record("error.type", kind);
            span.record("otel.status_code", "ERROR");
        }
        if content && let Ok(result) = Json::of(ended.result) {
            span.record("gen_ai.tool.call.result", short(result.text()));
        }
    }
    tracing::event!(
        target: TARGET,
        parent: span,
        Level::TRACE,
        "histogram.gen_ai.execute_tool.duration" = ended.duration.as_secs_f64(),
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = if ended.plugin.is_some() { &*ended.call.name } else { "_OTHER" },
        "toolgate.plugin" = ended.plugin,
        "error.type" = error_type,
    );
}

/// What a call's outgoing requests carry on: the span's place in its trace, or what the caller gave.
pub(crate) fn trace_parent(span: &Span, given: Option<&TraceParent>) -> Option<TraceParent> {
    #[cfg(feature = "otel")]
    if let Some(own) = otel::trace_parent(span) {
        return Some(own);
    }
    let _ = span;
    given.cloned()
}

/// At most [`MAX_CONTENT_BYTES`] of a text, not cut inside a character.
fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_CONTENT_BYTES)]
}
