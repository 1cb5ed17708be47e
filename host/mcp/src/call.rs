//! One `tools/call`: a batch of one, and what its client is told and asked while it runs.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{
    CallToolResponse, ElicitRequest, InputRequest, InputRequests, InputRequiredResult, ProgressNotificationParam,
    ProgressToken,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData as McpError, Peer, RoleServer};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use toolgate::model::{AssistantMessage, ErrorKind, Event, Json, ToolCall, ToolResult};
use toolgate::pipeline::{Approval, Batch, BatchOutcome, EventSink, LogLevel, SinkError};
use toolgate::registry::RegisteredTool;
use toolgate::telemetry::TraceParent;

use crate::bridge::{Ask, Level, Note, Registered};
use crate::content;
use crate::conversation::{Conversation, Turn};
use crate::elicit;
use crate::logging;
use crate::server::Server;

/// Key of the one question in `inputRequests`.
pub(crate) const QUESTION: &str = "approval";

/// How long what a call noted may take to get to its client once the call has ended.
const DRAIN: Duration = Duration::from_secs(5);

/// Characters of a partial result's text in a progress notification: it is a line in a user interface.
const MAX_MESSAGE: usize = 1_000;

/// A call under way. Dropping it stops it.
pub(crate) struct Running {
    pub name: Arc<str>,
    pub arguments: Json,
    tool: Arc<RegisteredTool>,
    run: Pin<Box<dyn Future<Output = BatchOutcome> + Send>>,
    cancel: CancellationToken,
    notes: mpsc::Receiver<Note>,
    asks: mpsc::Receiver<Ask>,
    registered: Registered,
    conversation: Arc<Conversation>,
    _turn: Arc<Turn>,
    _permit: OwnedSemaphorePermit,
}

/// What a call is set up with.
pub(crate) struct NewCall {
    pub conversation: Arc<Conversation>,
    pub permit: OwnedSemaphorePermit,
    /// Which log lines its client wants.
    pub level: Arc<Level>,
    pub tool: Arc<RegisteredTool>,
    pub arguments: Json,
    pub trace_parent: Option<TraceParent>,
}

/// Where a call has come to.
enum Step {
    Ended(BatchOutcome),
    Asks(Ask),
}

impl Running {
    /// Sets a call up; it runs as it is polled.
    pub(crate) fn new(server: &Server, call: NewCall) -> Self {
        let NewCall { conversation, permit, level, tool, arguments, trace_parent } = call;
        let (registered, notes, asks) = server.0.bridge.register(level);
        let name: Arc<str> = tool.name().into();
        let call = ToolCall::new(registered.id.clone(), name.clone(), arguments.clone());
        let (cancel, turn) = (CancellationToken::new(), conversation.turn());
        let mut batch = Batch::new(AssistantMessage::of_calls([call]))
            .conversation(conversation.id().clone())
            .turn(turn.name.clone())
            .active(conversation.active())
            .cancel(cancel.clone())
            .sink(Arc::new(Progress(registered.notes.clone())));
        batch.trace_parent = trace_parent;
        let host = server.0.host.clone();
        let run = Box::pin(async move { host.run(batch).await });
        Self { name, arguments, tool, run, cancel, notes, asks, registered, conversation, _turn: turn, _permit: permit }
    }

    /// Runs on without a client.
    pub(crate) async fn finish(mut self) {
        drop(self.notes);
        self.asks.close();
        self.run.as_mut().await;
    }

    /// Runs on until the call has ended, or waits for its client to come back with an answer.
    pub(crate) async fn drive(mut self, server: &Server, cx: &RequestContext<RoleServer>) -> CallResponse {
        match self.step(server, cx).await {
            Step::Ended(outcome) => self.ended(&outcome),
            Step::Asks(ask) => {
                let question = elicit::request(&ask.request);
                Ok(input_required(question, server.0.parked.keep(self, ask)))
            }
        }
    }

    async fn step(&mut self, server: &Server, cx: &RequestContext<RoleServer>) -> Step {
        let Self { run, cancel, notes, asks, registered, .. } = self;
        let mut tell = pin!(tell(notes, &cx.peer, cx.meta.get_progress_token()));
        let mut asking: Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = None;
        let step = loop {
            tokio::select! {
                biased;
                () = cx.ct.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
                () = server.0.closing.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
                outcome = run.as_mut() => break Step::Ended(outcome),
                never = tell.as_mut() => match never {},
                () = either(&mut asking) => asking = None,
                Some(ask) = asks.recv() => match Way::of(cx) {
                    Way::Nobody => ask.answer(Approval::Declined {
                        reason: Some("the client has no way to ask its user".into()),
                    }),
                    Way::Request => asking = Some(Box::pin(elicit::ask(&cx.peer, ask))),
                    Way::ComeBack => break Step::Asks(ask),
                },
            }
        };
        if let Some(asking) = asking {
            // The call ended without its answer: the question is taken back.
            let _ = tokio::time::timeout(DRAIN, asking).await;
        }
        // All that was noted goes out before the answer does.
        let (done, flushed) = oneshot::channel();
        let flush = async {
            let dropped = registered.dropped();
            if dropped > 0 {
                let message = format!("{dropped} log lines of this call were dropped: the client read too slowly");
                let line = Note::Log { plugin: "toolgate".into(), level: LogLevel::Warn, message };
                let _ = registered.notes.send(line).await;
            }
            if registered.notes.send(Note::Flush(done)).await.is_ok() {
                let _ = flushed.await;
            }
        };
        tokio::select! {
            () = flush => {}
            never = tell => match never {},
            () = tokio::time::sleep(DRAIN) => tracing::debug!("a client read too slowly; what a call noted is dropped"),
        }
        step
    }

    fn ended(self, outcome: &BatchOutcome) -> CallResponse {
        let Some(message) = outcome.messages.first() else {
            return Err(McpError::internal_error("the call gave no result", None));
        };
        if message.error.as_ref().is_some_and(|error| error.kind == ErrorKind::NotFound) {
            return Err(unknown_tool(&self.name));
        }
        self.conversation.unlock(message.added_tool_names());
        Ok(content::result(&self.tool, message).into())
    }
}

/// What `tools/call` is answered with.
pub(crate) type CallResponse = Result<CallToolResponse, McpError>;

/// The question as an answer, and the handle of the call that waits.
pub(crate) fn input_required(question: ElicitRequest, handle: String) -> CallToolResponse {
    let questions = InputRequests::from([(QUESTION.to_owned(), InputRequest::Elicitation(question))]);
    InputRequiredResult::new(Some(questions), Some(handle)).into()
}

/// The protocol error for a name that cannot be called.
pub(crate) fn unknown_tool(name: &str) -> McpError {
    let name: String = name.chars().take(80).collect();
    McpError::invalid_params(format!("Unknown tool: {name}"), None)
}

/// How a client can be asked something.
enum Way {
    Nobody,
    Request,
    /// It is answered with the question, and calls again.
    ComeBack,
}

impl Way {
    fn of(cx: &RequestContext<RoleServer>) -> Self {
        match cx.client_capabilities() {
            Some(client) if elicit::offers_forms(&client) => match cx.protocol_version() {
                Some(version) if !version.has_initialize() => Self::ComeBack,
                _ => Self::Request,
            },
            _ => Self::Nobody,
        }
    }
}

/// Ends with the future, where there is one.
async fn either(future: &mut Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>>) {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// Hands partial results on.
struct Progress(mpsc::Sender<Note>);

#[async_trait]
impl EventSink for Progress {
    fn name(&self) -> &str {
        "mcp"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        if let Event::ToolExecutionUpdate { partial_result, .. } = event {
            self.0.send(Note::Progress(partial_result.clone())).await?;
        }
        Ok(())
    }
}

/// Sends notes to the client, in order.
async fn tell(notes: &mut mpsc::Receiver<Note>, peer: &Peer<RoleServer>, token: Option<ProgressToken>) -> Infallible {
    let mut count = Count::default();
    while let Some(note) = notes.recv().await {
        let sent = match (note, &token) {
            (Note::Progress(partial), Some(token)) => peer.notify_progress(count.next(token.clone(), &partial)).await,
            (Note::Progress(_), None) => Ok(()),
            (Note::Log { plugin, level, message }, _) => logging::send(peer, plugin, level, message).await,
            (Note::Flush(done), _) => {
                let _ = done.send(());
                Ok(())
            }
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "a notification did not get to its client");
        }
    }
    std::future::pending().await
}

/// Progress so far; each notification's is greater than the one's before.
#[derive(Default)]
struct Count {
    last: Option<f64>,
    is_given: bool,
}

impl Count {
    /// A tool that puts numbers `progress` and `total` into its details is taken at its word while they increase; else
    /// updates are counted.
    fn next(&mut self, token: ProgressToken, partial: &ToolResult) -> ProgressNotificationParam {
        let details = partial.details.as_ref().map(Json::value);
        let number = |key: &str| details?.get(key)?.as_f64().filter(|number| number.is_finite());
        let last = self.last.unwrap_or(f64::NEG_INFINITY);
        let given = number("progress").filter(|given| *given > last);
        self.is_given |= given.is_some();
        let counted = if self.is_given { last.next_up() } else { self.last.unwrap_or(0.0) + 1.0 };
        let progress = given.unwrap_or(counted);
        self.last = Some(progress);
        let mut notification = ProgressNotificationParam::new(token, progress);
        notification.total = number("total").filter(|total| self.is_given && *total >= progress);
        notification.message = partial
            .content
            .iter()
            .find_map(|block| block.as_text())
            .map(|text| text.chars().take(MAX_MESSAGE).collect());
        notification
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rmcp::model::NumberOrString;

    #[test]
    fn progress_increases_whatever_a_tool_says() {
        let mut count = Count::default();
        let mut next = |details: &str| {
            let partial = ToolResult { details: Some(Json::parse(details).unwrap()), ..ToolResult::text("t") };
            let sent = count.next(ProgressToken(NumberOrString::Number(1)), &partial);
            (sent.progress, sent.total)
        };
        assert_eq!(next("{}"), (1.0, None));
        assert_eq!(next(r#"{"progress": 0.5}"#), (2.0, None));
        assert_eq!(next(r#"{"progress": 50, "total": 100}"#), (50.0, Some(100.0)));
        let (again, _) = next(r#"{"progress": 50, "total": 100}"#);
        assert!(again > 50.0 && again < 50.1);
        assert!(next(r#"{"progress": "99"}"#).0 > again);
        assert_eq!(next(r#"{"progress": 1e400, "total": 1e400}"#).1, None);
    }
}
