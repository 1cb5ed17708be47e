//! Plain data that crosses every border of the host: calls, results, events, messages. No engine, no runtime.

mod call;
mod content;
mod definition;
mod error;
mod event;
mod json;
mod result;
mod rewrite;
mod tape;

pub use call::{AssistantMessage, MessageError, StopReason, ToolCall};
pub use content::{Content, ContentMeta, ResourceBody};
pub use definition::{Access, DefinitionError, ExclusiveKey, ExecutionMode, Hints, ToolDefinition, is_name};
pub use error::{Denial, ErrorInfo, ErrorKind, Stage};
pub(crate) use event::unix_ms;
pub use event::{Event, Metrics, ToolResultMessage};
pub(crate) use json::duplicate_key;
pub use json::{Json, JsonError, MAX_BYTES, MAX_DEPTH};
pub use result::{Override, ToolResult};
pub(crate) use tape::{Items, Look, Members, Node, Tape};
