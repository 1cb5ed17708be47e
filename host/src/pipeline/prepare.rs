//! The first stage: which calls are fit to run, and with which arguments. Serial in source order, in both modes, so that
//! a hook may count.

use std::sync::Arc;

use tokio::time::Instant;
use tracing::Instrument as _;

use super::batch::Run;
use super::call::{Call, Lookup};
use super::earlier::interrupted;
use super::guard::{Panicked, Stopped, guarded, with_grace};
use super::outcome::{Outcome, panicked_hook};
use super::{Approval, ApprovalRequest, Decision, HookAnswer, HookError, HookEvent, Question, Step};
use crate::model::{ErrorInfo, ErrorKind, Event, Json, Stage, ToolCall, duplicate_key};
use crate::registry::{RegisteredHook, RegisteredTool};
use crate::schema::Invalid;
use crate::telemetry::hook_span;

const STAGE: Stage = Stage::Prepare;

/// Characters of unreadable arguments that are shown to the model, which wrote them a moment ago.
const MAX_RECEIVED_CHARS: usize = 2_000;

/// What becomes of a call.
pub(crate) enum Preparation {
    /// It is to run.
    Ready { tool: Arc<RegisteredTool>, arguments: Json },
    /// It is settled; the arguments are those that preparation came to.
    Immediate { arguments: Json, outcome: Outcome },
}

/// Takes a call through all steps of preparation.
pub(crate) async fn prepare(run: &Run, call: &Call) -> Preparation {
    let mut arguments = call.cx.call.arguments.clone();
    if let Some(outcome) = interrupted(run, call) {
        return Preparation::Immediate { arguments, outcome };
    }
    match steps(run, call, &mut arguments).instrument(call.span_of(STAGE)).await {
        Ok(tool) => {
            run.sinks.step(call.cx.position, Step::Prepared).await;
            Preparation::Ready { tool, arguments }
        }
        Err(outcome) => Preparation::Immediate { arguments, outcome },
    }
}

async fn steps(run: &Run, call: &Call, arguments: &mut Json) -> Result<Arc<RegisteredTool>, Outcome> {
    run.not_cancelled(STAGE)?;
    guardable(run, call)?;
    let tool = found(run, call)?;
    not_too_large(tool, arguments)?;
    readable(tool, &call.cx.call, arguments)?;
    unambiguous(tool, arguments)?;
    if tool.definition().prepares_arguments {
        *arguments = Box::pin(shim(run, call, tool, arguments)).await?;
    }
    if let Err(invalid) = validate(run, call, tool, arguments).await {
        let text = invalid.message(tool.name(), arguments);
        return Err(Outcome::failed(text, concerning(tool, ErrorKind::InvalidArguments)));
    }
    let mut hooks = call.hooks(run, HookEvent::BeforeToolCall).peekable();
    let verdict = match hooks.peek() {
        // Boxed, as all is that most calls do without: every call would carry room for it, and move it.
        Some(_) => Box::pin(before_hooks(run, call, hooks, tool, arguments)).await?,
        None => Ok(Vec::new()),
    };
    // A cancellation wins over a block, a hook's error over a cancellation.
    run.not_cancelled(STAGE)?;
    let questions = verdict?;
    if !questions.is_empty() {
        Box::pin(ask(run, call, arguments, questions)).await?;
    }
    Ok(tool.clone())
}

fn concerning(tool: &RegisteredTool, kind: ErrorKind) -> ErrorInfo {
    ErrorInfo::new(kind, STAGE).with_plugin(Some(tool.plugin().clone()))
}

/// Nothing runs without the hooks that guard it.
fn guardable(run: &Run, call: &Call) -> Result<(), Outcome> {
    match run.loading.refusal() {
        None => Ok(()),
        Some((reason, hint)) => Err(unavailable(call, reason, hint)),
    }
}

fn unavailable(call: &Call, reason: &str, hint: Option<String>) -> Outcome {
    let mut info = ErrorInfo::new(ErrorKind::Unavailable, STAGE);
    info.hint = hint;
    Outcome::failed(format!("Tool {} was not started: {reason}", call.cx.call.name), info)
}

fn found<'a>(run: &Run, call: &'a Call) -> Result<&'a Arc<RegisteredTool>, Outcome> {
    let hint = match &call.lookup {
        Lookup::Found(tool) => return Ok(tool),
        Lookup::Inactive(tool) => Some(format!(
            "plugin {:?} offers this tool, but it is not active at this point: a result's addedToolNames activates it, or initially-active = true",
            tool.plugin()
        )),
        Lookup::Unknown if !run.loading.is_over() => {
            let reason = "it is not there, and plugins are still being loaded. Try again later.";
            let hint = "raise compile-wait-ms, or run `toolgate compile` beforehand";
            return Err(unavailable(call, reason, Some(hint.into())));
        }
        Lookup::Unknown => None,
    };
    let mut info = ErrorInfo::new(ErrorKind::NotFound, STAGE);
    info.hint = hint;
    Err(Outcome::failed(format!("Tool {} not found", call.cx.call.name), info))
}

/// What the model wrote may be no JSON at all: cut off, half a character, nested without end.
fn readable(tool: &RegisteredTool, call: &ToolCall, arguments: &Json) -> Result<(), Outcome> {
    match &call.unreadable {
        None => Ok(()),
        Some(reason) => Err(refused(tool, &format!("{reason}; write the arguments as one JSON object"), arguments)),
    }
}

/// Of a key that is there twice one reader takes the first value, another the last: what was checked and approved must
/// be what runs.
fn unambiguous(tool: &RegisteredTool, arguments: &Json) -> Result<(), Outcome> {
    match duplicate_key(arguments) {
        None => Ok(()),
        Some(key) => Err(refused(tool, &format!("the key {key:?} is there twice; write each key once"), arguments)),
    }
}

fn refused(tool: &RegisteredTool, problem: &str, arguments: &Json) -> Outcome {
    let received: String = arguments.text().chars().take(MAX_RECEIVED_CHARS).collect();
    let text = format!(
        "Validation failed for tool \"{}\":\n  - root: {problem}\n\nReceived arguments:\n{received}",
        tool.name()
    );
    Outcome::failed(text, concerning(tool, ErrorKind::InvalidArguments))
}

fn not_too_large(tool: &RegisteredTool, arguments: &Json) -> Result<(), Outcome> {
    match tool.arguments_bytes() {
        Some(limit) if arguments.len() > limit => {
            let text = format!(
                "Validation failed for tool \"{}\":\n  - root: the arguments are {} bytes long, at most {limit} are accepted; send less at once\n\nReceived arguments:\n(too long to repeat)",
                tool.name(),
                arguments.len()
            );
            let info = concerning(tool, ErrorKind::InvalidArguments).with_hint("the limit is limits.arguments-bytes");
            Err(Outcome::failed(text, info))
        }
        _ => Ok(()),
    }
}

/// Lets the tool read an older argument shape.
async fn shim(run: &Run, call: &Call, tool: &RegisteredTool, arguments: &Json) -> Result<Json, Outcome> {
    let prepared =
        with_grace(&run.cancel, run.settings.grace, || tool.tool().prepare_arguments(&call.cx, arguments)).await;
    match prepared {
        Ok(Ok(prepared)) => Ok(prepared),
        Ok(Err(error)) => Err(Outcome::of_tool_error(error, STAGE, tool)),
        Err(stopped) => Err(Outcome::of_stopped_tool(stopped, STAGE, tool)),
    }
}

/// Coerces and validates; what was coerced is made known.
async fn validate(run: &Run, call: &Call, tool: &RegisteredTool, arguments: &mut Json) -> Result<(), Invalid> {
    let checked = tool.parameters().check(arguments)?;
    if let Some(coerced) = checked.coerced {
        *arguments = coerced;
        run.sinks
            .emit(|| Event::ArgumentsCoerced {
                tool_call_id: call.cx.call.id.clone(),
                tool_name: call.cx.call.name.clone(),
                paths: checked.paths,
            })
            .await;
    }
    Ok(())
}

/// Calls the before hooks one after another, also those behind one in which the batch was cancelled: what they answer
/// decides between an error and a cancellation, and a policy that counts sees every valid call. The outer error is a failure; the inner one a block, which a cancellation
/// still wins over; the good end is what is to be asked.
async fn before_hooks<'a>(
    run: &'a Run,
    call: &'a Call,
    hooks: impl Iterator<Item = &'a RegisteredHook>,
    tool: &RegisteredTool,
    arguments: &mut Json,
) -> Result<Result<Vec<Question>, Outcome>, Outcome> {
    const EVENT: HookEvent = HookEvent::BeforeToolCall;
    let mut questions = Vec::new();
    for hook in hooks {
        let began = Instant::now();
        let decided = with_grace(&run.cancel, run.settings.grace, || hook.hook().before_tool_call(&call.cx, arguments))
            .instrument(hook_span(hook, EVENT))
            .await;
        let answer = match &decided {
            Ok(Ok(Decision::Allow)) => HookAnswer::Allow,
            Ok(Ok(Decision::ReplaceArguments(_))) => HookAnswer::Replace,
            Ok(Ok(Decision::Block { .. })) => HookAnswer::Block,
            Ok(Ok(Decision::Ask { .. })) => HookAnswer::Ask,
            Ok(Err(_)) | Err(_) => HookAnswer::Failed,
        };
        answered(run, call, hook, EVENT, answer, began).await;
        match decided {
            Ok(Ok(Decision::Allow)) => {}
            Ok(Ok(Decision::ReplaceArguments(replaced))) => {
                *arguments = replaced;
                validate(run, call, tool, arguments).await.map_err(|invalid| {
                    let invalid = invalid.message(tool.name(), arguments);
                    let message = format!("it replaced the arguments with invalid ones. {invalid}");
                    let error = HookError::Failed { cause: ErrorKind::InvalidArguments, message };
                    Outcome::of_hook_error(error, EVENT, hook)
                })?;
            }
            Ok(Ok(Decision::Block { reason, terminate })) => return Ok(Err(blocked(hook, reason, terminate))),
            Ok(Ok(Decision::Ask { title, text })) => {
                let (hook, plugin) = (hook.name().clone(), Some(hook.plugin().clone()));
                questions.push(Question { hook, plugin, title, text });
            }
            // It was cancelled while it waited for its turn, before any of its code ran.
            Ok(Err(HookError::Failed { cause: ErrorKind::Aborted, .. })) if run.cancel.is_cancelled() => {
                return Err(Outcome::aborted(STAGE));
            }
            Ok(Err(error)) => return Err(Outcome::of_hook_error(error, EVENT, hook)),
            Err(Stopped::Cancelled) => return Err(Outcome::aborted(STAGE)),
            Err(Stopped::Panicked) => return Err(Outcome::of_hook_error(panicked_hook(), EVENT, hook)),
        }
    }
    Ok(Ok(questions))
}

/// Makes known what a hook answered.
pub(crate) async fn answered(
    run: &Run,
    call: &Call,
    hook: &RegisteredHook,
    event: HookEvent,
    answer: HookAnswer,
    began: Instant,
) {
    let step = Step::Hook { hook: hook.name().clone(), event, answer, duration: began.elapsed() };
    run.sinks.step(call.cx.position, step).await;
}

fn blocked(hook: &RegisteredHook, reason: Option<String>, terminate: bool) -> Outcome {
    let info = ErrorInfo::new(ErrorKind::Blocked, STAGE)
        .with_plugin(Some(hook.plugin().clone()))
        .with_hook(hook.name().clone());
    let text = reason.filter(|reason| !reason.is_empty()).unwrap_or_else(|| "Tool execution was blocked".into());
    let mut outcome = Outcome::failed(text, info);
    outcome.result.terminate = terminate.then_some(true);
    outcome
}

/// Puts all questions to the approver at once.
async fn ask(run: &Run, call: &Call, arguments: &Json, questions: Vec<Question>) -> Result<(), Outcome> {
    let asking = questions.first().map(|question| (question.hook.clone(), question.plugin.clone()));
    let declined = |reason: Option<String>, hint: Option<String>| {
        let mut text = "Tool execution was declined".to_owned();
        if let Some(reason) = reason.filter(|reason| !reason.trim().is_empty()) {
            text = format!("{text}: {reason}");
        }
        let mut info = ErrorInfo::new(ErrorKind::Declined, STAGE);
        info.hint = hint;
        if let Some((hook, plugin)) = asking {
            info.hook = Some(hook);
            info.plugin = plugin;
        }
        Err(Outcome::failed(text, info))
    };
    let Some(approver) = &run.approver else {
        return declined(None, Some("a hook asks for approval and this host has no approver".into()));
    };
    let request = ApprovalRequest {
        batch: call.cx.batch.clone(),
        position: call.cx.position,
        call: call.cx.call.clone(),
        arguments: arguments.clone(),
        questions,
    };
    run.sinks.step(call.cx.position, Step::Asking).await;
    let timeout = run.settings.approval_timeout;
    let answer = tokio::select! {
        biased;
        () = run.cancel.cancelled() => return Err(Outcome::aborted(STAGE)),
        answer = tokio::time::timeout(timeout, guarded(|| approver.approve(request))) => answer,
    };
    run.not_cancelled(STAGE)?;
    match answer {
        Ok(Ok(Approval::Approved)) => Ok(()),
        Ok(Ok(Approval::Declined { reason })) => declined(reason, None),
        Ok(Err(Panicked)) => declined(None, Some("the approver panicked".into())),
        Err(_) => declined(None, Some(format!("the approver gave no answer within {timeout:?}"))),
    }
}
