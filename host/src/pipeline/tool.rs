//! What the pipeline asks of a tool, native or component.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;

use super::CallContext;
use crate::model::{Access, ErrorKind, ExclusiveKey, Json, Look, ToolDefinition, ToolResult};

/// A tool. Native Rust tools implement [`definition`](Tool::definition) and [`execute`](Tool::execute).
#[async_trait]
pub trait Tool: Send + Sync {
    /// What it says about itself; the same for as long as it is registered.
    fn definition(&self) -> &ToolDefinition;

    /// Reads older argument shapes, before validation. Called only where the definition says
    /// [`prepares_arguments`](ToolDefinition::prepares_arguments). The error is the call's result.
    async fn prepare_arguments(&self, _cx: &CallContext, arguments: &Json) -> Result<Json, ToolError> {
        Ok(arguments.clone())
    }

    /// The keys to hold while these arguments run. Called only where the definition declares some.
    async fn exclusive_keys(&self, cx: &CallContext, arguments: &Json) -> Vec<Key> {
        Key::declared(self.definition(), arguments, cx.plugin_or_tool())
    }

    /// Waits until a call may start: compiled, and a slot free. The pipeline drops the future when the batch is
    /// cancelled, and counts none of the time against the call's deadline.
    async fn acquire(&self, _cx: &CallContext) -> Result<Slot, ToolError> {
        Ok(Slot::none())
    }

    /// Runs one call with validated arguments. The pipeline drops the future when the grace period after a
    /// cancellation is over: whatever it holds must end with it.
    async fn execute(&self, cx: &CallContext, arguments: &Json, slot: Slot) -> Result<ToolResult, ToolError>;
}

/// What a tool got from [`Tool::acquire`]: held until the call is over.
pub struct Slot(Option<Box<dyn Any + Send>>);

impl Slot {
    /// Nothing to hold.
    pub fn none() -> Self {
        Self(None)
    }

    /// Holds a guard.
    pub fn holding(guard: impl Any + Send) -> Self {
        Self(Some(Box::new(guard)))
    }

    /// Gives the guard back to the tool that made it.
    pub fn take<T: Any>(&mut self) -> Option<T> {
        self.0.take()?.downcast().ok().map(|guard| *guard)
    }
}

/// How a tool fails: text for the model, kind for programs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What went wrong.
    pub kind: ErrorKind,
    /// For the model.
    pub message: String,
    /// For the operator: what to change.
    pub hint: Option<String>,
}

impl ToolError {
    /// The tool's own error.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::of(ErrorKind::ToolFailed, message)
    }

    /// The tool saw the cancellation and stopped.
    pub fn cancelled() -> Self {
        Self::of(ErrorKind::Aborted, "Operation aborted")
    }

    /// An error of any kind.
    pub fn of(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// The same, with a hint for the operator.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Where a key's value is compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeySpace {
    /// Within one plugin.
    Plugin(Arc<str>),
    /// Everywhere: a resolved path of the host.
    HostPath,
    /// Everywhere: a file of the host that is there, whatever its path.
    HostFile,
}

/// A resource a call holds while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Where the value is compared.
    pub space: KeySpace,
    /// What is held.
    pub value: String,
    /// Read beside other readers, or write alone.
    pub access: Access,
}

impl Key {
    /// The keys a definition declares, values as they stand in the arguments.
    pub fn declared(definition: &ToolDefinition, arguments: &Json, owner: &Arc<str>) -> Vec<Self> {
        definition.exclusive.iter().filter_map(|key| Self::of(key, arguments, owner)).collect()
    }

    /// One declared key. A pointer that finds nothing, or no scalar, is no key.
    pub fn of(declared: &ExclusiveKey, arguments: &Json, owner: &Arc<str>) -> Option<Self> {
        let value = match arguments.root()?.pointer(&declared.pointer)?.look() {
            Look::String(written) => written.text().into_owned(),
            Look::Number(digits) => digits.to_owned(),
            Look::Bool(value) => value.to_string(),
            _ => return None,
        };
        Some(Self { space: KeySpace::Plugin(owner.clone()), value, access: declared.access })
    }
}
