//! Scheduling: in which order the calls of one batch go through the stages, and which of them at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::call::{Call, Lookup};
use super::execute::{Executed, execute, join_keys};
use super::finalize::{Finished, after_hooks, end, message, replay, settled};
use super::guard::{Panicked, guarded};
use super::keys::{Keys, Ticket};
use super::outcome::Outcome;
use super::prepare::{Preparation, prepare};
use super::sinks::Sinks;
use super::{Approver, BatchInfo, Earlier, EventSink, HookEvent, LogSink, Watcher};
use crate::loading::Loading;
use crate::model::{
    AssistantMessage, ErrorInfo, ErrorKind, ExecutionMode, Json, Stage, StopReason, ToolCall, ToolResultMessage,
};
use crate::registry::{ActiveTools, RegisteredTool, Snapshot};
use crate::state::StateStore;
use crate::telemetry::{self, TraceParent};

/// The conversation of batches that name none.
pub const DEFAULT_CONVERSATION: &str = "default";

/// The tool calls of one assistant message, and everything that belongs to running them once.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Batch {
    /// The message.
    pub message: AssistantMessage,
    /// The turn, for plugins' turn state: batches with the same name share it until
    /// [`StateStore::end_turn`](crate::state::StateStore::end_turn). Unique in its conversation. Default: a turn of its own
    /// that ends with the batch.
    pub turn: Option<Arc<str>>,
    /// The conversation, for plugins' conversation state. Default: [`DEFAULT_CONVERSATION`].
    pub conversation: Option<Arc<str>>,
    /// Cancels the batch. Every call still gets its events and its message.
    pub cancel: CancellationToken,
    /// Who watches.
    pub sinks: Vec<Arc<dyn EventSink>>,
    /// Default: the host's mode.
    pub mode: Option<ExecutionMode>,
    /// Tools that are active at this point of the transcript. Default: those active from the start.
    pub active: ActiveTools,
    /// How the calls stood when an earlier run of this batch ended, by position; see
    /// [`journal`](crate::journal). What is missing had not begun. Default: nothing had.
    pub earlier: Vec<Earlier>,
    /// Who answers when a hook asks. Default: the host's approver.
    pub approver: Option<Arc<dyn Approver>>,
    /// Where plugins' log lines go. Default: the host's.
    pub logs: Option<Arc<dyn LogSink>>,
    /// A word by which the embedder's own tools, hooks and approver know the batch; the host does not look at it.
    pub tag: Option<Arc<str>>,
    /// The caller's place in a distributed trace; see [`telemetry`](crate::telemetry). Default: none.
    pub trace_parent: Option<TraceParent>,
}

impl Batch {
    /// A batch with everything else at its default.
    pub fn new(message: AssistantMessage) -> Self {
        Self { message, ..Self::default() }
    }

    /// Adds a sink.
    pub fn sink(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.sinks.push(sink);
        self
    }

    /// Sets the token that cancels it.
    pub fn cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Sets the mode.
    pub fn mode(mut self, mode: ExecutionMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Names the turn.
    pub fn turn(mut self, turn: impl Into<Arc<str>>) -> Self {
        self.turn = Some(turn.into());
        self
    }

    /// Names the conversation.
    pub fn conversation(mut self, conversation: impl Into<Arc<str>>) -> Self {
        self.conversation = Some(conversation.into());
        self
    }

    /// Sets the tools that are active.
    pub fn active(mut self, active: ActiveTools) -> Self {
        self.active = active;
        self
    }

    /// Sets who answers when a hook asks.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Sets where plugins' log lines go.
    pub fn logs(mut self, logs: Arc<dyn LogSink>) -> Self {
        self.logs = Some(logs);
        self
    }

    /// Sets the word by which the embedder's own tools, hooks and approver know the batch.
    pub fn tag(mut self, tag: impl Into<Arc<str>>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// Sets the caller's place in a distributed trace.
    pub fn trace_parent(mut self, trace_parent: TraceParent) -> Self {
        self.trace_parent = Some(trace_parent);
        self
    }

    /// Resumes the batch from where an earlier run of it came.
    pub fn resume(mut self, earlier: Vec<Earlier>) -> Self {
        self.earlier = earlier;
        self
    }
}

/// What came of a batch.
#[derive(Clone, Debug, Default)]
pub struct BatchOutcome {
    /// One message per call, in source order; none where the assistant message itself failed or was cancelled.
    pub messages: Vec<Arc<ToolResultMessage>>,
    /// Every result asks to stop: a hint to the caller.
    pub terminate: bool,
}

/// What the embedding host configured, the same for all batches.
pub(crate) struct Settings {
    pub mode: ExecutionMode,
    pub grace: Duration,
    pub approval_timeout: Duration,
    pub sink_timeout: Duration,
    pub key_timeout: Duration,
    pub batch_result_bytes: usize,
    pub approver: Option<Arc<dyn Approver>>,
    pub logs: Arc<dyn LogSink>,
    pub watchers: Vec<Arc<dyn Watcher>>,
    /// Whether spans hold arguments and results.
    pub trace_content: bool,
}

/// One batch under way: what all its calls share.
pub(crate) struct Run {
    pub settings: Arc<Settings>,
    /// As it was when the snapshot was taken.
    pub loading: Loading,
    pub registry: Arc<Snapshot>,
    pub active: ActiveTools,
    pub earlier: Vec<Earlier>,
    pub trace_parent: Option<TraceParent>,
    pub sinks: Arc<Sinks>,
    pub approver: Option<Arc<dyn Approver>>,
    pub logs: Arc<dyn LogSink>,
    pub cancel: CancellationToken,
    pub info: Arc<BatchInfo>,
    pub keys: Arc<Keys>,
    pub result_bytes_left: AtomicUsize,
    pub state: Arc<StateStore>,
}

impl Run {
    pub(crate) fn lookup(&self, name: &str) -> Lookup {
        match self.registry.tool(name) {
            Some(tool) if self.active.contains(tool) => Lookup::Found(tool.clone()),
            Some(tool) => Lookup::Inactive(tool.clone()),
            None => Lookup::Unknown,
        }
    }

    /// What is known of the call at this position from an earlier run.
    pub(crate) fn earlier(&self, position: u32) -> &Earlier {
        const UNKNOWN: &Earlier = &Earlier::NotBegun;
        usize::try_from(position).ok().and_then(|at| self.earlier.get(at)).unwrap_or(UNKNOWN)
    }

    /// The outcome, or where the batch's results would take too much with it, an error in its place. What the batch
    /// keeps of its calls is all held until its end.
    pub(crate) fn affordable(&self, outcome: Outcome) -> Outcome {
        let size = outcome.result.size();
        let taken =
            self.result_bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(size));
        if taken.is_ok() {
            return outcome;
        }
        let most = self.settings.batch_result_bytes;
        let text = format!(
            "The result of {size} bytes was left out: the results of one message may take {most} bytes together. Ask for less at a time, or for fewer in one message."
        );
        let mut error = ErrorInfo::new(ErrorKind::OutputLimit, Stage::Finalize).with_hint("raise batch-result-bytes");
        error.plugin = outcome.error.and_then(|error| error.plugin);
        Outcome::failed(text, error)
    }

    /// The aborted outcome where the batch is cancelled.
    pub(crate) fn not_cancelled(&self, stage: Stage) -> Result<(), Outcome> {
        if self.cancel.is_cancelled() { Err(Outcome::aborted(stage)) } else { Ok(()) }
    }

    /// One sequential tool makes the whole batch sequential, by name alone; a tool's `parallel` undoes nothing.
    fn is_sequential(&self, mode: ExecutionMode, calls: &[ToolCall]) -> bool {
        let sequential = |call: &ToolCall| match self.lookup(&call.name) {
            Lookup::Found(tool) => tool.definition().execution_mode == Some(ExecutionMode::Sequential),
            Lookup::Inactive(_) | Lookup::Unknown => false,
        };
        mode == ExecutionMode::Sequential || (self.registry.has_sequential() && calls.iter().any(sequential))
    }
}

/// A call that is prepared and has its place in the queues of its keys.
struct Ready {
    position: usize,
    call: Call,
    tool: Arc<RegisteredTool>,
    arguments: Json,
    ticket: Ticket,
}

/// Runs a batch to its end.
pub(crate) async fn run(run: Run, message: &AssistantMessage, mode: ExecutionMode) -> BatchOutcome {
    let span = telemetry::batch_span(&run.info, run.trace_parent.as_ref());
    all(run, message, mode).instrument(span).await
}

async fn all(run: Run, message: &AssistantMessage, mode: ExecutionMode) -> BatchOutcome {
    let calls = &message.calls;
    let messages = match message.stop_reason {
        StopReason::Error | StopReason::Aborted => Vec::new(),
        StopReason::Length => truncated(&run, calls).await,
        _ if run.is_sequential(mode, calls) => sequential(&run, calls).await,
        _ => parallel(&Arc::new(run), calls).await,
    };
    let terminate = !messages.is_empty() && messages.iter().all(|message| message.result.terminate == Some(true));
    BatchOutcome { messages, terminate }
}

/// The message was cut at the output limit: nothing runs, whatever the mode.
async fn truncated(run: &Run, calls: &[ToolCall]) -> Vec<Arc<ToolResultMessage>> {
    let mut messages = Vec::with_capacity(calls.len());
    for (position, wanted) in calls.iter().enumerate() {
        let call = Call::start(run, position, wanted).await;
        if let Some(finished) = replay(run, &call).await {
            messages.push(message(run, wanted, finished).await);
            continue;
        }
        let text = format!(
            "Tool call \"{}\" was not executed: the response hit the output token limit, so its arguments may be truncated. Re-issue the tool call with complete arguments.",
            wanted.name
        );
        let outcome = Outcome::failed(text, ErrorInfo::new(ErrorKind::TruncatedCall, Stage::Prepare));
        messages.push(conclude(run, &call, wanted.arguments.clone(), outcome).await);
    }
    messages
}

/// One call after another, each to its message.
async fn sequential(run: &Run, calls: &[ToolCall]) -> Vec<Arc<ToolResultMessage>> {
    let mut messages = Vec::with_capacity(calls.len());
    for (position, wanted) in calls.iter().enumerate() {
        let call = Call::start(run, position, wanted).await;
        if let Some(finished) = replay(run, &call).await {
            messages.push(message(run, wanted, finished).await);
            continue;
        }
        let (arguments, outcome) = match prepare(run, &call).await {
            Preparation::Immediate { arguments, outcome } => (arguments, outcome),
            Preparation::Ready { tool, arguments } => {
                let outcome = match join_keys(run, &call, &tool, &arguments).await {
                    Ok(ticket) => perform(run, &call, &tool, &arguments, ticket).await,
                    Err(outcome) => outcome,
                };
                (arguments, outcome)
            }
        };
        messages.push(conclude(run, &call, arguments, outcome).await);
    }
    messages
}

/// End, message and notification of a call, in that order.
async fn conclude(run: &Run, call: &Call, arguments: Json, outcome: Outcome) -> Arc<ToolResultMessage> {
    let finished = end(run, call, outcome).await;
    let notice = finished.clone();
    let message = message(run, &call.cx.call, finished).await;
    settled(run, call, arguments, &notice).await;
    message
}

/// All calls are prepared, one after another; then all execute at the same time; then come the messages.
///
/// Executions are tasks of a [`JoinSet`], not futures of one task: guests compute between their yields, and only tasks
/// spread over all worker threads. The set aborts them where this future is dropped, and is empty where it ends.
async fn parallel(run: &Arc<Run>, calls: &[ToolCall]) -> Vec<Arc<ToolResultMessage>> {
    let mut finished: Vec<Option<Finished>> = calls.iter().map(|_| None).collect();
    let mut prepared = Vec::with_capacity(calls.len());
    for (position, wanted) in calls.iter().enumerate() {
        let call = Call::start(run, position, wanted).await;
        if let Some(done) = replay(run, &call).await {
            finished[position] = Some(done);
            continue;
        }
        match prepare(run, &call).await {
            Preparation::Ready { tool, arguments } => prepared.push((position, call, tool, arguments)),
            Preparation::Immediate { arguments, outcome } => {
                finish(run, &call, arguments, outcome, &mut finished[position]).await;
            }
        }
    }
    let mut ready = Vec::with_capacity(prepared.len());
    for (position, call, tool, arguments) in prepared {
        let joined = match run.not_cancelled(Stage::Execute) {
            Ok(()) => join_keys(run, &call, &tool, &arguments).await,
            Err(outcome) => Err(outcome),
        };
        match joined {
            Ok(ticket) => ready.push(Ready { position, call, tool, arguments, ticket }),
            Err(outcome) => finish(run, &call, arguments, outcome, &mut finished[position]).await,
        }
    }
    if ready.len() == 1 {
        // Nothing to run it beside.
        for one in ready {
            let position = one.position;
            finished[position] = Some(complete(run, one).await);
        }
    } else {
        let mut tasks = JoinSet::new();
        for one in ready {
            let run = run.clone();
            let task = async move { (one.position, complete(&run, one).await) };
            tasks.spawn(task.in_current_span());
        }
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok((position, done)) => finished[position] = Some(done),
                Err(error) => tracing::error!(%error, "the pipeline itself failed in a call"),
            }
        }
    }
    let mut messages = Vec::with_capacity(calls.len());
    for ((position, wanted), done) in calls.iter().enumerate().zip(finished) {
        let done = match done {
            Some(done) => done,
            // Only where its task panicked in the pipeline itself: it still gets its end.
            None => end(run, &Call::new(run, position, wanted), lost()).await,
        };
        messages.push(message(run, wanted, done).await);
    }
    messages
}

/// Ends a call that does not execute, before the next one of its batch is looked at.
async fn finish(run: &Run, call: &Call, arguments: Json, outcome: Outcome, place: &mut Option<Finished>) {
    let done = end(run, call, outcome).await;
    settled(run, call, arguments, &done).await;
    *place = Some(done);
}

/// Takes a prepared call from its keys to its end event.
async fn complete(run: &Run, ready: Ready) -> Finished {
    let Ready { call, tool, arguments, ticket, .. } = ready;
    let outcome = perform(run, &call, &tool, &arguments, ticket).await;
    let done = end(run, &call, outcome).await;
    settled(run, &call, arguments, &done).await;
    done
}

/// Executes and lets the after hooks see the result. Guarded as a whole too: what a tool holds may panic where it is
/// dropped.
async fn perform(run: &Run, call: &Call, tool: &RegisteredTool, arguments: &Json, ticket: Ticket) -> Outcome {
    let performed = guarded(|| async {
        let executed = execute(run, call, tool, arguments, ticket).instrument(call.span_of(Stage::Execute));
        match executed.await {
            Executed::NotStarted(outcome) => outcome,
            Executed::Ended(mut outcome) => {
                let finalize = call.span_of(Stage::Finalize);
                let mut hooks = call.hooks(run, HookEvent::AfterToolCall).peekable();
                if hooks.peek().is_some() {
                    Box::pin(after_hooks(run, call, hooks, arguments, &mut outcome).instrument(finalize)).await;
                }
                outcome
            }
        }
    });
    performed.await.unwrap_or_else(|Panicked| lost())
}

/// The outcome of a call that the host itself lost.
fn lost() -> Outcome {
    let text = "The host failed while this call ran; it is unknown how far it came";
    Outcome::failed(text, ErrorInfo::new(ErrorKind::Interrupted, Stage::Execute))
}
