//! Why a guest entry ended without an answer: the engine's errors sorted into kinds and put into words.

use wasmtime::Trap;

use super::bindings::v0_1::BadJson;
use super::instance::CallState;
use crate::model::ErrorKind;
use crate::pipeline::{HookError, ToolError};

/// The epoch callback's error when the deadline has passed.
#[derive(Debug, thiserror::Error)]
#[error("deadline passed")]
pub struct DeadlinePassed;

/// The host's own reason not to take an answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// Longest error text, reason or question of a guest that is passed on: 64 KiB, more than a model should read.
const MAX_TEXT: usize = 64 << 10;

/// A guest's text, cut at a character where it is too long to be passed on, and saying so.
pub fn bounded(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let (all, end) = (text.len(), text.floor_char_boundary(MAX_TEXT));
        text.truncate(end);
        text.push_str(&format!("… (cut: {all} bytes)"));
    }
    text
}

/// A guest entry that ended without an answer.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What went wrong.
    pub kind: ErrorKind,
    /// For the model, without naming tool or hook.
    pub message: String,
    /// For the operator.
    pub hint: Option<String>,
}

impl Failure {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    fn raise(mut self, state: &CallState, key: &str) -> Self {
        self.hint = Some(format!("raise limits.{key} of plugin {}", state.plugin.name));
        self
    }

    /// What kept an entry from beginning.
    pub fn of_tool_error(error: ToolError) -> Self {
        Self { kind: error.kind, message: error.message, hint: error.hint }
    }

    /// The deadline passed, in the guest or in a host call it waited for.
    pub fn deadline(state: &CallState) -> Self {
        if state.describes {
            let limit = state.plugin.limits.load.as_millis();
            return Self::new(ErrorKind::Deadline, format!("it took longer than {limit} ms to say what it offers"))
                .raise(state, "load-ms");
        }
        let limit = state.plugin.limits.deadline;
        Self::new(
            ErrorKind::Deadline,
            format!("it ran longer than its limit of {} ms; ask for less at a time", limit.as_millis()),
        )
        .raise(state, "deadline-ms")
    }

    /// Sorts an engine error.
    pub fn of(error: &wasmtime::Error, state: &CallState) -> Self {
        if error.is::<DeadlinePassed>() {
            return Self::deadline(state);
        }
        if let Some(bad) = error.downcast_ref::<BadJson>() {
            return Self::new(ErrorKind::ToolFailed, format!("it answered with something unreadable: {bad}"));
        }
        if let Some(Refused(reason)) = error.downcast_ref() {
            return Self::new(ErrorKind::OutputLimit, reason);
        }
        if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
            return Self::new(ErrorKind::Trap, format!("it exited with status {}", exit.0));
        }
        let limits = &state.plugin.limits;
        match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) if state.describes => {
                return Self::new(ErrorKind::OutOfFuel, "it computed too long to say what it offers");
            }
            Some(Trap::OutOfFuel) => {
                return Self::new(
                    ErrorKind::OutOfFuel,
                    "it computed longer than it may (out of fuel); ask for less at a time",
                )
                .raise(state, "fuel");
            }
            trap => {
                if state.limiter.refused_table > 0 {
                    let text = format!("it wanted a table of more than {} elements", limits.table_elements);
                    return Self::new(ErrorKind::TableLimit, text).raise(state, "table-elements");
                }
                if state.limiter.refused_memory > 0 {
                    let text =
                        format!("it ran out of memory (limit {} bytes); ask for less at a time", limits.memory_bytes);
                    return Self::new(ErrorKind::MemoryLimit, text).raise(state, "memory-bytes");
                }
                if let Some(trap) = trap {
                    return Self::new(
                        ErrorKind::Trap,
                        state.log.panic().unwrap_or_else(|| format!("it crashed: {trap}")),
                    );
                }
            }
        }
        let root = error.root_cause().to_string();
        // The engine keeps these error types private; a test trips each, so that a changed text does not go unseen.
        if root.contains("fuel allocated for hostcalls") {
            let text = format!("it handed over more than {} bytes at once", limits.hostcall_bytes);
            return Self::new(ErrorKind::HostcallLimit, text).raise(state, "hostcall-bytes");
        }
        if root.contains("resource limit exceeded") || root.contains("maximum concurrent") {
            return Self::new(ErrorKind::InstanceLimit, format!("it needs more than it may have: {root}"));
        }
        Self::new(ErrorKind::Trap, format!("it crashed: {root}"))
    }

    /// As a tool's error.
    pub fn into_tool_error(self, tool: &str) -> ToolError {
        let message = match self.kind {
            ErrorKind::Trap if self.message.starts_with("panicked at ") => {
                format!("Tool {tool} crashed: {}", self.message)
            }
            ErrorKind::Trap | ErrorKind::ToolFailed => format!("Tool {tool} failed: {}", self.message),
            _ => format!("Tool {tool} was stopped: {}", self.message),
        };
        ToolError { kind: self.kind, message, hint: self.hint }
    }

    /// As a hook's error.
    pub fn into_hook_error(self) -> HookError {
        HookError::Failed { cause: self.kind, message: self.message }
    }
}
