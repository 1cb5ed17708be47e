//! What a tool says about itself, checked.

use serde::{Deserialize, Serialize};

use super::Json;

/// Whether a batch may run a tool beside other calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExecutionMode {
    /// Beside others.
    #[default]
    Parallel,
    /// One call in such a mode makes its whole batch sequential.
    Sequential,
}

/// How a call uses what an exclusive key names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Access {
    /// Beside other readers.
    Read,
    /// Alone.
    Write,
}

/// A declared key: a place in the arguments whose value names what the call must hold while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExclusiveKey {
    /// RFC 6901 pointer into the arguments that will run.
    pub pointer: String,
    /// The value is a path, resolved through the plugin's grants and compared across plugins.
    #[serde(default)]
    pub is_path: bool,
    /// Read or write.
    pub access: Access,
}

/// MCP's tool annotations. Shown to clients, never used for policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hints {
    /// It changes nothing.
    #[serde(default, rename = "readOnlyHint", skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Its changes may destroy something.
    #[serde(default, rename = "destructiveHint", skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Calling it twice does no more than once.
    #[serde(default, rename = "idempotentHint", skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// It reaches beyond a closed world.
    #[serde(default, rename = "openWorldHint", skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// A tool's description of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// A short name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// For the model.
    pub description: String,
    /// JSON Schema 2020-12 of the arguments.
    pub parameters: Json,
    /// JSON Schema 2020-12 of structured content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// Not given = parallel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_mode: Option<ExecutionMode>,
    /// Keys a call holds while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclusive: Vec<ExclusiveKey>,
    /// The tool wants to see arguments before they are validated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prepares_arguments: bool,
    /// MCP's annotations.
    #[serde(default)]
    pub hints: Hints,
    /// MCP `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// Why a definition is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The name has a character or a length that model providers refuse.
    #[error("tool name {0:?} is not accepted: use 1 to 64 of A-Z, a-z, 0-9, _ and -")]
    Name(String),
    /// A key's pointer is not RFC 6901.
    #[error("tool {tool}: exclusive key {pointer:?} is no JSON pointer: it must be empty or begin with /")]
    Pointer {
        /// The tool.
        tool: String,
        /// The pointer as given.
        pointer: String,
    },
}

/// Whether a tool or a plugin may be called so: 1 to 64 of `A-Z a-z 0-9 _ -`, what every model provider takes.
pub fn is_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(allowed)
}

impl ToolDefinition {
    /// A parallel tool without keys, hints or output schema.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Json) -> Self {
        Self {
            name: name.into(),
            label: None,
            description: description.into(),
            parameters,
            output: None,
            execution_mode: None,
            exclusive: Vec::new(),
            prepares_arguments: false,
            hints: Hints::default(),
            meta: None,
        }
    }

    /// Checks the name and the pointers; schemas are checked where they are compiled.
    pub fn check(&self) -> Result<(), DefinitionError> {
        if !is_name(&self.name) {
            let mut name: String = self.name.chars().take(80).collect();
            if name.len() < self.name.len() {
                name.push('…');
            }
            return Err(DefinitionError::Name(name));
        }
        for key in &self.exclusive {
            if !key.pointer.is_empty() && !key.pointer.starts_with('/') {
                let pointer = key.pointer.chars().take(80).collect();
                return Err(DefinitionError::Pointer { tool: self.name.clone(), pointer });
            }
        }
        Ok(())
    }
}
