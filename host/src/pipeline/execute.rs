//! The second stage: a prepared call waits for its keys and its slot, then the tool runs.

use super::batch::Run;
use super::call::Call;
use super::guard::{Panicked, Stopped, guarded, with_grace};
use super::keys::Ticket;
use super::outcome::Outcome;
use super::{Slot, Step, ToolError, updates};
use crate::model::{ErrorInfo, ErrorKind, Json, Stage, ToolResult, duplicate_key};
use crate::registry::RegisteredTool;

const STAGE: Stage = Stage::Execute;

/// What came of it.
pub(crate) enum Executed {
    /// The tool's code never ran; after hooks see nothing of it.
    NotStarted(Outcome),
    /// The tool ran, to whatever end.
    Ended(Outcome),
}

/// Joins the queues for the keys of a prepared call. In a batch this is done in source order before any of its calls
/// executes, which is what makes calls with an equal key run in source order.
pub(crate) async fn join_keys(
    run: &Run,
    call: &Call,
    tool: &RegisteredTool,
    arguments: &Json,
) -> Result<Ticket, Outcome> {
    let keys = if tool.definition().exclusive.is_empty() {
        Vec::new()
    } else {
        with_grace(&run.cancel, run.settings.grace, || tool.tool().exclusive_keys(&call.cx, arguments))
            .await
            .map_err(|stopped| Outcome::of_stopped_tool(stopped, STAGE, tool))?
    };
    Ok(run.keys.join(keys))
}

/// Runs one call. The keys are given back as soon as the tool's code has ended.
pub(crate) async fn execute(
    run: &Run,
    call: &Call,
    tool: &RegisteredTool,
    arguments: &Json,
    mut ticket: Ticket,
) -> Executed {
    let slot = match start(run, call, tool, &mut ticket).await {
        Ok(slot) => slot,
        Err(outcome) => return Executed::NotStarted(outcome),
    };
    let running = with_grace(&run.cancel, run.settings.grace, || tool.tool().execute(&call.cx, arguments, slot));
    let ended = if run.sinks.is_silent() {
        // Nobody to tell: a sink that is cut does not come back.
        let ended = running.await;
        drop(ticket);
        ended
    } else {
        match Box::pin(watched(run, call, running, ticket)).await {
            Ok(ended) => ended,
            Err(outcome) => return Executed::NotStarted(outcome),
        }
    };
    Executed::Ended(match ended {
        Ok(Ok(result)) => checked(tool, result),
        Ok(Err(error)) => Outcome::of_tool_error(honest(run, error), STAGE, tool),
        Err(stopped) => Outcome::of_stopped_tool(stopped, STAGE, tool),
    })
}

/// Runs the tool and tells what it does.
async fn watched<T>(run: &Run, call: &Call, running: impl Future<Output = T>, ticket: Ticket) -> Result<T, Outcome> {
    run.sinks.step(call.cx.position, Step::Executing).await;
    run.not_cancelled(STAGE)?;
    let (open, mut deliveries) = updates::channel(run.sinks.clone());
    call.cx.open_updates(open);
    let ended = {
        let mut running = std::pin::pin!(running);
        tokio::select! {
            biased;
            ended = &mut running => ended,
            never = deliveries.drive() => match never {},
        }
        // Here the tool's future is dropped, and with it all that it held.
    };
    call.cx.close_updates();
    drop(ticket);
    deliveries.finish().await;
    run.sinks.step(call.cx.position, Step::Executed).await;
    Ok(ended)
}

/// Waits until the call may start: first for its keys, then for a slot, so that nobody holds a slot while waiting for a
/// key.
async fn start(run: &Run, call: &Call, tool: &RegisteredTool, ticket: &mut Ticket) -> Result<Slot, Outcome> {
    let timeout = run.settings.key_timeout;
    let ready = async {
        if !ticket.is_granted() {
            Box::pin(tokio::time::timeout(timeout, ticket.granted())).await.map_err(|_| ())?;
        }
        Ok(guarded(|| tool.tool().acquire(&call.cx)).await)
    };
    let acquired = tokio::select! {
        biased;
        acquired = ready => acquired,
        () = run.cancel.cancelled() => return Err(Outcome::aborted(STAGE)),
    };
    run.not_cancelled(STAGE)?;
    match acquired {
        Ok(Ok(Ok(slot))) => Ok(slot),
        Ok(Ok(Err(error))) => Err(Outcome::of_tool_error(honest(run, error), STAGE, tool)),
        Ok(Err(Panicked)) => Err(Outcome::of_stopped_tool(Stopped::Panicked, STAGE, tool)),
        Err(()) => {
            let text = format!(
                "Tool \"{}\" was not started: earlier calls kept what it needs for longer than {timeout:?}. Try again later.",
                tool.name()
            );
            let error = ToolError::of(ErrorKind::Unavailable, text).with_hint("it waited for an exclusive key");
            Err(Outcome::of_tool_error(error, STAGE, tool))
        }
    }
}

/// `aborted` is the host's word: a tool that claims it in a batch nobody cancelled has failed.
fn honest(run: &Run, mut error: ToolError) -> ToolError {
    if error.kind == ErrorKind::Aborted && !run.cancel.is_cancelled() {
        error.kind = ErrorKind::ToolFailed;
        error.hint = Some("the tool says it was cancelled, but nobody cancelled it".into());
    }
    error
}

/// Reads the verdict off a tool's result. One that declares an output schema must fulfil it, as clients rely on it (MCP
/// demands it); its usage is kept, since it was spent either way.
fn checked(tool: &RegisteredTool, result: ToolResult) -> Outcome {
    let failed = |stage| Some(ErrorInfo::new(ErrorKind::ToolFailed, stage).with_plugin(Some(tool.plugin().clone())));
    if result.is_error {
        return Outcome { result, is_error: true, error: failed(STAGE) };
    }
    let Some(problem) = tool.output().and_then(|output| output_problem(output, result.structured_content.as_ref()))
    else {
        return Outcome { result, is_error: false, error: None };
    };
    let text = format!("Tool \"{}\" broke its output schema:\n{problem}", tool.name());
    let mut outcome = Outcome { error: failed(STAGE), is_error: true, result: ToolResult::error(text) };
    outcome.result.usage = result.usage;
    outcome
}

/// What is wrong with structured content. It is not coerced: what clients get is what the tool gave.
fn output_problem(output: &crate::schema::Schema, structured: Option<&Json>) -> Option<String> {
    let Some(structured) = structured else {
        return Some("  - root: it gave no structured content".into());
    };
    if let Some(key) = duplicate_key(structured) {
        return Some(format!("  - root: the key {key:?} is there twice"));
    }
    if output.is_valid(structured) {
        return None;
    }
    Some(match output.check(structured) {
        Ok(checked) => {
            let line = |path: &String| format!("  - {path}: is of another type than the schema says");
            checked.paths.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        Err(invalid) => {
            let line = |problem: &crate::schema::Problem| format!("  - {}: {}", problem.path, problem.message);
            invalid.problems.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    })
}
