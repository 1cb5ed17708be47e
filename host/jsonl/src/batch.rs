//! One `run` request: from its parameters to a batch, and its events and log lines back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use toolgate::model::{AssistantMessage, Event, ToolCall, ToolResult, ToolResultMessage};
use toolgate::pipeline::{Batch, Earlier, EventSink, LogLine, LogSink, SinkError, Step};
use toolgate::registry::ActiveTools;

use crate::client::ClientApprover;
use crate::connection::Connection;
use crate::wire::{
    Capabilities, Code, EarlierCall, EarlierState, EventParams, Id, LogParams, MessageHead, Ran, Refusal, Request,
    Response, Run, StepParams,
};

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::InvalidParams, message)
}

/// Reads a request's parameters; what belongs to a connection is left out.
pub(crate) fn read(run: Run<'_>) -> Result<Batch, Refusal> {
    let Run { message, mode, turn, conversation, active, earlier, traceparent } = run;
    let message = AssistantMessage::parse(message.get()).map_err(|error| invalid(format!("message: {error}")))?;
    if earlier.len() > message.calls.len() {
        let (more, calls) = (earlier.len(), message.calls.len());
        return Err(invalid(format!("earlier: has {more} entries and the message has {calls} calls")));
    }
    let known = earlier.iter().zip(&message.calls).enumerate();
    let known = known.map(|(at, (earlier, call))| {
        earlier_call(earlier.as_ref(), call).map_err(|why| invalid(format!("earlier[{at}]: {why}")))
    });
    let known = known.collect::<Result<_, _>>()?;
    let parse = |text: String| text.parse().map_err(|error| invalid(format!("traceparent: {error}")));
    let trace_parent = traceparent.map(parse).transpose()?;
    let mut tools = active.only.map_or_else(ActiveTools::initial, ActiveTools::only);
    tools.unlock(active.added);
    let mut batch = Batch::new(message).active(tools).resume(known);
    batch.trace_parent = trace_parent;
    batch.mode = mode;
    batch.turn = turn;
    batch.conversation = conversation;
    Ok(batch)
}

fn earlier_call(earlier: Option<&EarlierCall<'_>>, call: &ToolCall) -> Result<Earlier, String> {
    let Some(earlier) = earlier else { return Ok(Earlier::NotBegun) };
    let message = match (earlier.state, earlier.message) {
        (EarlierState::Begun, None) => return Ok(Earlier::Begun),
        (EarlierState::Begun, Some(_)) => return Err("a call that has begun has no message".into()),
        (EarlierState::Settled, None) => return Err("a call that has settled needs its message".into()),
        (EarlierState::Settled, Some(message)) => message.get(),
    };
    let read = |error: serde_json::Error| format!("message: {error}");
    let head: MessageHead = serde_json::from_str(message).map_err(read)?;
    let mut result: ToolResult = serde_json::from_str(message).map_err(read)?;
    if head.tool_call_id != call.id || head.tool_name != call.name {
        return Err(format!(
            "the message answers call {:?} of {:?}, and here stands {:?} of {:?}",
            head.tool_call_id, head.tool_name, call.id, call.name
        ));
    }
    // In a message it is the verdict; in a result, the tool's own word.
    result.is_error = false;
    result.terminate = earlier.terminate;
    let MessageHead { tool_call_id, tool_name, is_error, error, timestamp } = head;
    let result = Arc::new(result);
    Ok(Earlier::Settled(Arc::new(ToolResultMessage { tool_call_id, tool_name, result, is_error, error, timestamp })))
}

/// Runs a batch and answers the request.
pub(crate) async fn run(connection: Arc<Connection>, id: Id, batch: Batch, tag: Arc<str>, cancel: CancellationToken) {
    let capabilities = connection.capabilities();
    let mut batch = batch.tag(tag).cancel(cancel);
    let lost = Arc::new(AtomicBool::new(false));
    if capabilities.events || capabilities.steps {
        batch = batch.sink(Arc::new(Watch { connection: connection.clone(), id: id.clone(), lost: lost.clone() }));
    }
    if capabilities.logs {
        let (connection, id) = (connection.clone(), id.clone());
        let inner = connection.host.logs();
        batch = batch.logs(Arc::new(Logs { connection, id, inner, dropped: AtomicU64::new(0) }));
    }
    if capabilities.approve {
        batch = batch.approver(Arc::new(ClientApprover { connection: connection.clone(), batch: id.clone() }));
    }
    let outcome = connection.host.run(batch).await;
    connection.over(&id);
    let (messages, terminate) = (&*outcome.messages, outcome.terminate);
    let ran = Ran { messages, terminate, events_lost: lost.load(Ordering::Relaxed) };
    // Where the client is gone there is nobody to tell.
    let _ = connection.outbox.send(&Response::new(Some(&id), Ok(ran))).await;
}

/// Sends a batch's events.
struct Watch {
    connection: Arc<Connection>,
    id: Id,
    lost: Arc<AtomicBool>,
}

impl Watch {
    async fn send(&self, message: &impl serde::Serialize) -> Result<(), SinkError> {
        let losing = Losing(&self.lost);
        self.connection.outbox.send(message).await?;
        std::mem::forget(losing);
        Ok(())
    }
}

/// Notes that an event was lost, unless it is forgotten.
struct Losing<'a>(&'a AtomicBool);

impl Drop for Losing<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[async_trait]
impl EventSink for Watch {
    fn name(&self) -> &str {
        "jsonl"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        let Capabilities { events: true, .. } = self.connection.capabilities() else { return Ok(()) };
        let position = match event {
            Event::ToolExecutionStart { position, .. }
            | Event::ToolExecutionUpdate { position, .. }
            | Event::ToolExecutionEnd { position, .. } => Some(*position),
            _ => None,
        };
        self.send(&Request::new(None, "event", EventParams { batch: &self.id, position, event })).await
    }

    async fn step(&self, position: u32, step: &Step) -> Result<(), SinkError> {
        let Capabilities { steps: true, .. } = self.connection.capabilities() else { return Ok(()) };
        self.send(&Request::new(None, "step", StepParams { batch: &self.id, position, step })).await
    }
}

/// Sends a batch's log lines, as far as there is room: a guest is not made to wait for them.
struct Logs {
    connection: Arc<Connection>,
    id: Id,
    inner: Arc<dyn LogSink>,
    dropped: AtomicU64,
}

impl LogSink for Logs {
    fn log(&self, line: &LogLine<'_>) {
        self.inner.log(line);
        let LogLine { plugin, tool_call_id, stream, level, message } = *line;
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        let params = LogParams { batch: &self.id, plugin, tool_call_id, stream, level, message, dropped };
        if !self.connection.outbox.try_send(&Request::new(None, "log", params)) {
            self.dropped.fetch_add(dropped + 1, Ordering::Relaxed);
        }
    }
}
