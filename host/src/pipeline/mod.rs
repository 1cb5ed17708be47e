//! One batch of tool calls: prepare, execute, finalize, for each call; the order between them in `batch`.
//!
//! This module knows tools, hooks, approvers and sinks as traits. It does not know WebAssembly.
//!
//! What holds everywhere:
//! - A batch never fails and no call is lost: every call of a batch that runs gets its start event, its end event and one
//!   message, whatever tools, hooks, sinks or the approver do, panics included.
//! - Two orders: end events in the order of completion, messages in source order.
//! - Prepare is serial in source order in both modes, hooks and approver included. In parallel mode no call executes
//!   before the last one is prepared.
//! - Concurrency is structured: what a batch started has ended when its future ends, and is dropped with it.
//! - Cancellation is a token and a drop. Waiting (for keys, a slot, an approver) ends at once. Code of tools and hooks is
//!   told by the token and has one grace period to finish in, counted from the cancellation, or from its own start where
//!   it is started after it (after hooks must see a result that counts, `settled` hooks every call).
//! - No lock is held across an await.
//! - A batch that is resumed gives the same events and messages as one that was not; see [`Earlier`] for what is not done
//!   a second time.

mod approver;
pub(crate) mod batch;
mod call;
mod context;
mod earlier;
mod execute;
mod finalize;
mod guard;
mod hook;
pub(crate) mod keys;
mod log;
mod outcome;
mod prepare;
mod sink;
pub(crate) mod sinks;
mod tool;
mod updates;

pub use approver::{Approval, ApprovalRequest, Approver, Question};
pub use batch::{Batch, BatchOutcome, DEFAULT_CONVERSATION};
pub use context::{BatchInfo, CallContext, Surroundings};
pub use earlier::Earlier;
pub use hook::{Decision, Hook, HookError, HookEvent, OnError, Settled};
pub use log::{LogLevel, LogLine, LogSink, NoLogs, TracingLogs};
pub use sink::{EventSink, HookAnswer, SinkError, Step, Watcher};
pub use tool::{Key, KeySpace, Slot, Tool, ToolError};
