//! Which tools are active at a point of a transcript: those active from the start, and those that a result up to there
//! named in `addedToolNames`.
//!
//! The names come from the transcript alone. So a replay gives the same set at the same message, and what is loaded,
//! unloaded or loaded again in between changes only whether a name has a tool behind it.

use std::collections::HashSet;

use super::{RegisteredTool, Snapshot};
use crate::model::{Json, ToolResultMessage};

/// The active tools at one point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActiveTools {
    unlocked: HashSet<String>,
    only: Option<HashSet<String>>,
}

impl ActiveTools {
    /// Before the first result: the tools that are active from the start.
    pub fn initial() -> Self {
        Self::default()
    }

    /// After these result messages.
    pub fn after<'a>(messages: impl IntoIterator<Item = &'a ToolResultMessage>) -> Self {
        let mut active = Self::initial();
        for message in messages {
            active.unlock(message.added_tool_names());
        }
        active
    }

    /// After message `k` (from 0) of a transcript of JSON messages. Messages other than tool results, and what has
    /// another shape, unlock nothing.
    pub fn after_message(transcript: &[Json], k: usize) -> Self {
        let mut active = Self::initial();
        for message in transcript.iter().take(k.saturating_add(1)) {
            let message = message.value();
            if message.get("role").and_then(|role| role.as_str()) == Some("toolResult") {
                let names = message.get("addedToolNames").and_then(|names| names.as_array());
                active.unlock(names.into_iter().flatten().filter_map(|name| name.as_str()));
            }
        }
        active
    }

    /// Exactly these tools, whatever is active from the start; for an embedder that keeps its own books.
    pub fn only(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { unlocked: HashSet::new(), only: Some(names.into_iter().map(Into::into).collect()) }
    }

    /// Makes tools active from here on.
    pub fn unlock(&mut self, names: impl IntoIterator<Item = impl AsRef<str>>) {
        self.unlocked.extend(names.into_iter().map(|name| name.as_ref().to_owned()));
    }

    /// Whether a tool is active.
    pub fn contains(&self, tool: &RegisteredTool) -> bool {
        let from_start = match &self.only {
            None => tool.is_initially_active(),
            Some(only) => only.contains(tool.name()),
        };
        from_start || self.unlocked.contains(tool.name())
    }

    /// Names of the active tools among those loaded, in the registry's order.
    pub fn names<'a>(&'a self, tools: &'a Snapshot) -> impl Iterator<Item = &'a str> {
        tools.tools().filter(|tool| self.contains(tool)).map(|tool| tool.name())
    }
}
