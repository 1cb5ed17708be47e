//! Why a call has an error result, for programs. The text in the result's content is for the model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// What went wrong, as a stable word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// No active tool of that name.
    NotFound,
    /// The arguments do not fit the tool's schema.
    InvalidArguments,
    /// A hook refused the call.
    Blocked,
    /// The approver said no, did not answer, or is not there.
    Declined,
    /// The batch was cancelled.
    Aborted,
    /// The tool returned an error.
    ToolFailed,
    /// The guest trapped: a panic, `unreachable`, an access out of bounds, a stack overflow.
    Trap,
    /// The guest used up its instructions.
    OutOfFuel,
    /// A guest entry took longer than its wall-clock limit.
    Deadline,
    /// The guest trapped after it was refused memory.
    MemoryLimit,
    /// The guest trapped after it was refused table elements.
    TableLimit,
    /// The component needs more instances, memories or tables than it may have.
    InstanceLimit,
    /// The guest pushed more bytes through host calls than it may.
    HostcallLimit,
    /// The result is larger than it may be.
    OutputLimit,
    /// A hook failed; the tool did nothing wrong.
    HookFailed,
    /// The message was cut at the output limit.
    TruncatedCall,
    /// The host stopped while the call ran, and it is unknown how far it came.
    Interrupted,
    /// The tool could not be started: the queue is full, or compiling or waiting took too long.
    Unavailable,
}

impl ErrorKind {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::InvalidArguments => "invalid-arguments",
            Self::Blocked => "blocked",
            Self::Declined => "declined",
            Self::Aborted => "aborted",
            Self::ToolFailed => "tool-failed",
            Self::Trap => "trap",
            Self::OutOfFuel => "out-of-fuel",
            Self::Deadline => "deadline",
            Self::MemoryLimit => "memory-limit",
            Self::TableLimit => "table-limit",
            Self::InstanceLimit => "instance-limit",
            Self::HostcallLimit => "hostcall-limit",
            Self::OutputLimit => "output-limit",
            Self::HookFailed => "hook-failed",
            Self::TruncatedCall => "truncated-call",
            Self::Interrupted => "interrupted",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Where in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Lookup, validation, before hooks.
    Prepare,
    /// The tool.
    Execute,
    /// After hooks.
    Finalize,
}

impl Stage {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Execute => "execute",
            Self::Finalize => "finalize",
        }
    }
}

/// Something a guest asked for and was not granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Denial {
    /// Who asked.
    pub plugin: Arc<str>,
    /// `http`, `network`, `filesystem`, …
    pub capability: String,
    /// What it asked for, for example a URL without its query.
    pub subject: String,
    /// Why not, and the key that would grant it.
    pub rule: String,
}

/// The `error` of an error result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ErrorInfo {
    /// What went wrong.
    pub kind: ErrorKind,
    /// Where.
    pub stage: Stage,
    /// The plugin whose code was concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<Arc<str>>,
    /// The hook that failed or refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<Arc<str>>,
    /// What stopped a hook that the host had to stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<ErrorKind>,
    /// For the operator: what to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What the guest was denied on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
}

impl ErrorInfo {
    /// An error that concerns no plugin.
    pub fn new(kind: ErrorKind, stage: Stage) -> Self {
        Self { kind, stage, plugin: None, hook: None, cause: None, hint: None, denials: Vec::new() }
    }

    /// The same, naming a plugin.
    pub fn with_plugin(mut self, plugin: Option<Arc<str>>) -> Self {
        self.plugin = plugin;
        self
    }

    /// The same, naming a hook.
    pub fn with_hook(mut self, hook: Arc<str>) -> Self {
        self.hook = Some(hook);
        self
    }

    /// The same, with a hint for the operator.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
