//! What the client does within the pipeline: its approver, its hooks, its tools.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use toolgate::model::{ErrorInfo, ErrorKind, Json, Override, ToolDefinition, ToolResult};
use toolgate::pipeline::{
    Approval, ApprovalRequest, Approver, BatchInfo, CallContext, Decision, Hook, HookError, HookEvent, Slot, Tool,
    ToolError,
};
use toolgate::registry::Plugin;

use crate::ask::{Asking, Next, NoAnswer};
use crate::connection::Connection;
use crate::wire::{About, After, Approve, Approved, Decided, Id, Offer, Overridden};

/// What a client offers, as a plugin of the host.
pub(crate) fn plugin(offer: Offer, connection: &Arc<Connection>) -> Plugin {
    let Offer { name, tools, hooks, on_error, hook_timeout_ms } = offer;
    let timeout = hook_timeout_ms.map_or(connection.settings.hook_timeout, Duration::from_millis);
    let mut plugin = Plugin::native(name);
    for definition in tools {
        // What it prepares, it prepares before it is asked.
        let definition = ToolDefinition { prepares_arguments: false, ..definition };
        plugin = plugin.tool(ClientTool { definition, connection: Arc::downgrade(connection) });
    }
    if !hooks.is_empty() {
        plugin = plugin.hook(ClientHook { hooks, timeout, connection: Arc::downgrade(connection) }).on_error(on_error);
    }
    plugin
}

/// Answers by the client's word.
pub(crate) struct ClientApprover {
    pub connection: Arc<Connection>,
    pub batch: Id,
}

#[async_trait]
impl Approver for ClientApprover {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        let ApprovalRequest { position, call, arguments, questions, .. } = &request;
        let about = About { batch: &self.batch, position: *position, tool_call: call.into(), arguments };
        let asked = self.connection.ask("approve", Approve { about, questions }).await;
        let answer = match asked {
            Ok(asking) => asking.answer::<Approved>().await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(Approved { approved: true, .. }) => Approval::Approved,
            Ok(Approved { approved: false, reason }) => Approval::Declined { reason },
            Err(error) => Approval::Declined { reason: Some(error.to_string()) },
        }
    }
}

/// A hook that runs in the client.
struct ClientHook {
    hooks: Vec<HookEvent>,
    timeout: Duration,
    connection: Weak<Connection>,
}

impl ClientHook {
    /// The connection, and its name of the batch; none where the batch is not of this connection: a host may have more
    /// than one, and a client has no say in the others' batches.
    fn batch(&self, info: &BatchInfo) -> Option<(Arc<Connection>, Id)> {
        let connection = self.connection.upgrade()?;
        let batch = connection.batch(info)?;
        Some((connection, batch))
    }
}

/// Waits for a hook's answer as long as it may take. A cancellation is told to the client, and the pipeline's grace period
/// ends the wait.
async fn decide<T: DeserializeOwned>(
    timeout: Duration,
    cancel: &CancellationToken,
    asked: Result<Asking, NoAnswer>,
) -> Result<T, HookError> {
    let failed = |cause, message: String| HookError::Failed { cause, message };
    let answer = async {
        let mut asking = asked?;
        loop {
            tokio::select! {
                biased;
                next = asking.next() => if let Next::Answer(_, answer) = next { return asking.read(&answer?) },
                () = cancel.cancelled(), if !asking.is_told() => asking.give_up(),
            }
        }
    };
    match tokio::time::timeout(timeout, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(NoAnswer::Error(message))) => Err(HookError::Returned(message)),
        Ok(Err(other)) => Err(failed(ErrorKind::Unavailable, other.to_string())),
        Err(_) => Err(failed(ErrorKind::Deadline, format!("the client did not answer within {timeout:?}"))),
    }
}

#[async_trait]
impl Hook for ClientHook {
    fn wants(&self, event: HookEvent, _tool: &str) -> bool {
        self.hooks.contains(&event)
    }

    async fn before_tool_call(&self, cx: &CallContext, arguments: &Json) -> Result<Decision, HookError> {
        let Some((connection, batch)) = self.batch(&cx.batch) else { return Ok(Decision::Allow) };
        let about = About { batch: &batch, position: cx.position, tool_call: (&cx.call).into(), arguments };
        let asked = connection.ask("before_tool_call", about).await;
        let decided: Decided = decide(self.timeout, &cx.cancel, asked).await?;
        decided.decision().map_err(|why| HookError::Failed { cause: ErrorKind::ToolFailed, message: why.into() })
    }

    async fn after_tool_call(
        &self,
        cx: &CallContext,
        arguments: &Json,
        result: &ToolResult,
        is_error: bool,
        error: Option<&ErrorInfo>,
    ) -> Result<Option<Override>, HookError> {
        let Some((connection, batch)) = self.batch(&cx.batch) else { return Ok(None) };
        let about = About { batch: &batch, position: cx.position, tool_call: (&cx.call).into(), arguments };
        let asked = connection.ask("after_tool_call", After { about, result, is_error, error }).await;
        let overridden: Overridden = decide(self.timeout, &cx.cancel, asked).await?;
        Ok(Some(overridden.into()).filter(|change| *change != Override::default()))
    }
}

/// A tool that runs in the client.
struct ClientTool {
    definition: ToolDefinition,
    connection: Weak<Connection>,
}

#[async_trait]
impl Tool for ClientTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn execute(&self, cx: &CallContext, arguments: &Json, _slot: Slot) -> Result<ToolResult, ToolError> {
        let gone = |error: NoAnswer| ToolError::of(ErrorKind::Unavailable, error.to_string());
        let ours = self.connection.upgrade().and_then(|connection| {
            let batch = connection.batch(&cx.batch)?;
            Some((connection, batch))
        });
        let Some((connection, batch)) = ours else {
            let text =
                format!("Tool {:?} runs in a client that does not take part in this batch", self.definition.name);
            return Err(ToolError::of(ErrorKind::Unavailable, text));
        };
        let about = About { batch: &batch, position: cx.position, tool_call: (&cx.call).into(), arguments };
        let mut asking = connection.ask("execute", about).await.map_err(gone)?;
        let answer = loop {
            let next = tokio::select! {
                biased;
                next = asking.next() => next,
                () = cx.cancel.cancelled(), if !asking.is_told() => {
                    asking.give_up();
                    continue;
                }
            };
            match next {
                Next::Update(partial) => cx.update(*partial).await,
                Next::Answer(rest, answer) => {
                    for partial in rest {
                        cx.update(partial).await;
                    }
                    break answer;
                }
            }
        };
        match answer {
            Ok(document) => asking.read(&document).map_err(|error| ToolError::failed(error.to_string())),
            Err(NoAnswer::Error(message)) if cx.cancel.is_cancelled() => {
                Err(ToolError::of(ErrorKind::Aborted, message))
            }
            Err(NoAnswer::Error(message)) => Err(ToolError::failed(message)),
            Err(other) => Err(gone(other)),
        }
    }
}
