//! One batch of tool calls: prepare, execute, finalize, for each call; the order between them in `batch`.
//!
//! This module knows tools, hooks, approvers and sinks as traits. It does not know WebAssembly.

mod approver;
mod context;
mod hook;
mod log;
mod sink;
mod tool;

pub use approver::{Approval, ApprovalRequest, Approver, Question};
pub use context::{BatchInfo, CallContext};
pub use hook::{Decision, Hook, HookError, HookEvent, OnError, Settled};
pub use log::{LogLevel, LogLine, LogSink, NoLogs, TracingLogs};
pub use sink::{EventSink, SinkError};
pub use tool::{Key, KeySpace, Slot, Tool, ToolError};
