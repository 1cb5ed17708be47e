//! What the pipeline asks of a hook, native or component.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::CallContext;
use crate::model::{ErrorInfo, ErrorKind, Json, Override, ToolResult};

/// The three places a hook may be called at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookEvent {
    /// After validation.
    BeforeToolCall,
    /// After execution.
    AfterToolCall,
    /// After the end event.
    Settled,
}

impl HookEvent {
    /// The word on the wire and in the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeToolCall => "before-tool-call",
            Self::AfterToolCall => "after-tool-call",
            Self::Settled => "settled",
        }
    }
}

/// What a before hook decides.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Go on.
    Allow,
    /// Go on with these arguments, validated again.
    ReplaceArguments(Json),
    /// End the call here.
    Block {
        /// For the model; empty or absent: `Tool execution was blocked`.
        reason: Option<String>,
        /// Sets the result's terminate hint.
        terminate: bool,
    },
    /// Ask the approver, once the later hooks have run.
    Ask {
        /// What is asked, in a few words.
        title: String,
        /// What the person should know.
        text: String,
    },
}

/// How a hook fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// Its own error; the text becomes the result unchanged.
    #[error("{0}")]
    Returned(String),
    /// The host stopped it or could not run it: a trap, a limit, a bad answer. The pipeline names hook and plugin.
    #[error("{message}")]
    Failed {
        /// What stopped it.
        cause: ErrorKind,
        /// What happened, for model and operator.
        message: String,
    },
}

/// What becomes of the result when an after hook fails. Before hooks always fail closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// The error replaces the result.
    #[default]
    Fail,
    /// The result stands, and `hook_skipped` is emitted.
    Skip,
}

/// How a call ended, for `settled`.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The arguments that ran, or as far as preparation came.
    pub arguments: Json,
    /// The final result.
    pub result: Arc<ToolResult>,
    /// Whether it failed.
    pub is_error: bool,
    /// Why, for programs.
    pub error: Option<ErrorInfo>,
    /// From start to end.
    pub duration: Duration,
}

/// A hook. Every method has a default, so that a hook says only what it wants.
///
/// A cancelled batch tells its hooks by `cx.cancel` and drops the future once the grace period is over, counted from the
/// cancellation or from the hook's own start, whichever is later.
#[async_trait]
pub trait Hook: Send + Sync {
    /// Whether to call it at all. Asked per call: keep it cheap, and let it answer from load-time knowledge.
    fn wants(&self, event: HookEvent, tool: &str) -> bool;

    /// May refuse or change a validated call. `cx.call` is what the model wrote.
    async fn before_tool_call(&self, _cx: &CallContext, _arguments: &Json) -> Result<Decision, HookError> {
        Ok(Decision::Allow)
    }

    /// May change the result of an executed call.
    async fn after_tool_call(
        &self,
        _cx: &CallContext,
        _arguments: &Json,
        _result: &ToolResult,
        _is_error: bool,
        _error: Option<&ErrorInfo>,
    ) -> Result<Option<Override>, HookError> {
        Ok(None)
    }

    /// Sees how a call ended.
    async fn settled(&self, _cx: &CallContext, _settled: &Settled) -> Result<(), HookError> {
        Ok(())
    }
}
