//! The third stage: after hooks, the end event, the `settled` notification and the message.
//!
//! `settled` hooks run within their call, after its end event: in sequential mode after its message and before the next
//! call begins, for an immediate call before the next one is prepared. So what such a hook counts is there for the before
//! hooks that follow, and the same batch twice gives the same messages. The calls of a parallel batch notify at the same
//! time, each for itself. All are over before the batch is.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::Instrument as _;

use super::batch::Run;
use super::call::Call;
use super::guard::{Stopped, with_grace};
use super::outcome::{Outcome, panicked_hook};
use super::prepare::answered;
use super::{Earlier, HookAnswer, HookError, HookEvent, OnError, Settled};
use crate::model::{ErrorInfo, ErrorKind, Event, Json, Stage, ToolCall, ToolResult, ToolResultMessage, unix_ms};
use crate::registry::RegisteredHook;
use crate::telemetry::{self, hook_span};

/// A call whose end event was delivered.
#[derive(Clone)]
pub(crate) struct Finished {
    result: Arc<ToolResult>,
    is_error: bool,
    error: Option<ErrorInfo>,
    duration: Duration,
    /// When it settled, in milliseconds since the Unix epoch, where that was in an earlier run.
    settled_earlier: Option<u64>,
}

/// Lets these after hooks change the outcome, one after another. One that fails replaces it, and those behind it see
/// that.
pub(crate) async fn after_hooks<'a>(
    run: &'a Run,
    call: &'a Call,
    hooks: impl Iterator<Item = &'a RegisteredHook>,
    arguments: &Json,
    outcome: &mut Outcome,
) {
    const EVENT: HookEvent = HookEvent::AfterToolCall;
    for hook in hooks {
        let began = Instant::now();
        let answer = with_grace(&run.cancel, run.settings.grace, || {
            hook.hook().after_tool_call(&call.cx, arguments, &outcome.result, outcome.is_error, outcome.error.as_ref())
        })
        .instrument(hook_span(hook, EVENT))
        .await;
        let word = match &answer {
            Ok(Ok(None)) => HookAnswer::Allow,
            Ok(Ok(Some(_))) => HookAnswer::Override,
            Ok(Err(_)) | Err(_) => HookAnswer::Failed,
        };
        answered(run, call, hook, EVENT, word, began).await;
        let failure = match answer {
            Ok(Ok(None)) => continue,
            Ok(Ok(Some(change))) => {
                change.apply(&mut outcome.result, &mut outcome.is_error);
                outcome.error = error_after(outcome, hook);
                continue;
            }
            Ok(Err(error)) => Outcome::of_hook_error(error, EVENT, hook),
            // What this hook would have taken out must not get through.
            Err(Stopped::Cancelled) => Outcome::aborted(Stage::Finalize),
            Err(Stopped::Panicked) => Outcome::of_hook_error(panicked_hook(), EVENT, hook),
        };
        match hook.on_error() {
            OnError::Fail => *outcome = failure,
            OnError::Skip => skipped(run, call, hook, &failure).await,
        }
    }
}

/// The reason for an error result after a hook's change: the earlier one, or that this hook called it a failure.
fn error_after(outcome: &mut Outcome, hook: &RegisteredHook) -> Option<ErrorInfo> {
    match outcome.error.take() {
        _ if !outcome.is_error => None,
        Some(error) => Some(error),
        None => Some(
            ErrorInfo::new(ErrorKind::ToolFailed, Stage::Finalize)
                .with_plugin(Some(hook.plugin().clone()))
                .with_hook(hook.name().clone()),
        ),
    }
}

async fn skipped(run: &Run, call: &Call, hook: &RegisteredHook, failure: &Outcome) {
    let message = failure.result.content.iter().find_map(|block| block.as_text()).unwrap_or_default().to_owned();
    run.sinks
        .emit(|| Event::HookSkipped {
            tool_call_id: call.cx.call.id.clone(),
            tool_name: call.cx.call.name.clone(),
            hook: hook.name().clone(),
            plugin: Some(hook.plugin().clone()),
            message,
        })
        .await;
}

/// Delivers the end event.
pub(crate) async fn end(run: &Run, call: &Call, outcome: Outcome) -> Finished {
    let Outcome { result, is_error, mut error } = run.affordable(outcome);
    if let Some(error) = &mut error {
        error.denials = call.cx.denials();
    }
    let duration = call.started.elapsed();
    let ended = telemetry::Ended {
        call: &call.cx.call,
        plugin: call.cx.plugin.as_deref(),
        result: &result,
        error: error.as_ref(),
        is_error,
        duration,
    };
    telemetry::ended(&call.span, &ended, run.settings.trace_content);
    let finished = Finished { result: Arc::new(result), is_error, error, duration, settled_earlier: None };
    announce(run, call, &finished).await;
    finished
}

/// Delivers the end event of a call that had settled in an earlier run.
pub(crate) async fn replay(run: &Run, call: &Call) -> Option<Finished> {
    let Earlier::Settled(message) = run.earlier(call.cx.position) else { return None };
    let finished = Finished {
        result: message.result.clone(),
        is_error: message.is_error,
        error: message.error.clone(),
        duration: Duration::ZERO,
        settled_earlier: Some(message.timestamp),
    };
    announce(run, call, &finished).await;
    Some(finished)
}

async fn announce(run: &Run, call: &Call, finished: &Finished) {
    run.sinks
        .emit(|| Event::ToolExecutionEnd {
            position: call.cx.position,
            tool_call_id: call.cx.call.id.clone(),
            tool_name: call.cx.call.name.clone(),
            result: finished.result.clone(),
            is_error: finished.is_error,
            error: finished.error.clone(),
            duration_ms: finished.duration.as_secs_f64() * 1e3,
            metrics: call.cx.metrics(),
            replayed: finished.settled_earlier.is_some(),
        })
        .await;
}

/// Notifies the `settled` hooks.
pub(crate) async fn settled(run: &Run, call: &Call, arguments: Json, finished: &Finished) {
    let mut hooks = call.hooks(run, HookEvent::Settled).peekable();
    if hooks.peek().is_some() {
        // Boxed: large, and most calls have none.
        Box::pin(notify(run, call, hooks, arguments, finished)).await;
    }
}

/// What they answer changes nothing; a failure is logged.
async fn notify<'a>(
    run: &'a Run,
    call: &'a Call,
    hooks: impl Iterator<Item = &'a RegisteredHook>,
    arguments: Json,
    finished: &Finished,
) {
    const EVENT: HookEvent = HookEvent::Settled;
    let notice = Settled {
        arguments,
        result: finished.result.clone(),
        is_error: finished.is_error,
        error: finished.error.clone(),
        duration: finished.duration,
    };
    for hook in hooks {
        let answered = with_grace(&run.cancel, run.settings.grace, || hook.hook().settled(&call.cx, &notice))
            .instrument(hook_span(hook, EVENT))
            .await;
        let error = match answered {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error,
            Err(Stopped::Cancelled) => HookError::Failed {
                cause: ErrorKind::Aborted,
                message: "it was stopped when the grace period after a cancellation was over".into(),
            },
            Err(Stopped::Panicked) => panicked_hook(),
        };
        tracing::warn!(
            target: "toolgate::hook",
            hook = &**hook.name(),
            plugin = &**hook.plugin(),
            event = EVENT.as_str(),
            tool_call_id = &*call.cx.call.id,
            error = %error,
            "a hook failed"
        );
    }
}

/// Makes a call's message and delivers its two events.
pub(crate) async fn message(run: &Run, call: &ToolCall, finished: Finished) -> Arc<ToolResultMessage> {
    let message = Arc::new(ToolResultMessage {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        result: finished.result,
        is_error: finished.is_error,
        error: finished.error,
        timestamp: finished.settled_earlier.unwrap_or_else(unix_ms),
    });
    run.sinks.emit(|| Event::MessageStart { message: message.clone() }).await;
    run.sinks.emit(|| Event::MessageEnd { message: message.clone() }).await;
    message
}
