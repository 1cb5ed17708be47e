//! How a call stands: its result so far, whether that is a failure, and why.

use super::guard::Stopped;
use super::{HookError, HookEvent, ToolError};
use crate::model::{ErrorInfo, ErrorKind, Stage, ToolResult};
use crate::registry::{RegisteredHook, RegisteredTool};

/// What the model is told wherever a cancellation ended a call.
pub(crate) const ABORTED: &str = "Operation aborted";

/// A result with its verdict.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub result: ToolResult,
    pub is_error: bool,
    /// Given exactly where `is_error` is true.
    pub error: Option<ErrorInfo>,
}

impl Outcome {
    pub(crate) fn failed(text: impl Into<String>, error: ErrorInfo) -> Self {
        Self { result: ToolResult::error(text), is_error: true, error: Some(error) }
    }

    pub(crate) fn aborted(stage: Stage) -> Self {
        Self::failed(ABORTED, ErrorInfo::new(ErrorKind::Aborted, stage))
    }

    /// A tool's error, from any of its methods.
    pub(crate) fn of_tool_error(error: ToolError, stage: Stage, tool: &RegisteredTool) -> Self {
        let ToolError { kind, message, hint } = error;
        let mut info = ErrorInfo::new(kind, stage).with_plugin(Some(tool.plugin().clone()));
        info.hint = hint;
        Self::failed(message, info)
    }

    /// A tool's method that did not come to its end.
    pub(crate) fn of_stopped_tool(stopped: Stopped, stage: Stage, tool: &RegisteredTool) -> Self {
        match stopped {
            Stopped::Cancelled => Self::aborted(stage),
            Stopped::Panicked => {
                let text = format!("Tool \"{}\" of plugin \"{}\" panicked", tool.name(), tool.plugin());
                Self::of_tool_error(ToolError::of(ErrorKind::Trap, text), stage, tool)
            }
        }
    }

    /// A hook's own error keeps its text; where the host words it, hook and plugin are named, so that the fault never
    /// looks like the tool's.
    pub(crate) fn of_hook_error(error: HookError, event: HookEvent, hook: &RegisteredHook) -> Self {
        let stage = match event {
            HookEvent::BeforeToolCall => Stage::Prepare,
            HookEvent::AfterToolCall | HookEvent::Settled => Stage::Finalize,
        };
        let (cause, text) = match error {
            HookError::Returned(text) if !text.trim().is_empty() => (None, text),
            HookError::Returned(_) => (None, hook_failure(hook, event, "it gave no reason")),
            HookError::Failed { cause, message } => (Some(cause), hook_failure(hook, event, &message)),
        };
        let mut info = ErrorInfo::new(ErrorKind::HookFailed, stage)
            .with_plugin(Some(hook.plugin().clone()))
            .with_hook(hook.name().clone());
        info.cause = cause;
        Self::failed(text, info)
    }
}

fn hook_failure(hook: &RegisteredHook, event: HookEvent, message: &str) -> String {
    format!("Hook \"{}\" of plugin \"{}\" failed in {}: {message}", hook.name(), hook.plugin(), event.as_str())
}

/// A hook that panicked.
pub(crate) fn panicked_hook() -> HookError {
    HookError::Failed { cause: ErrorKind::Trap, message: "it panicked".into() }
}
