//! What is known of a call from an earlier run of its batch, and what that saves it.
//!
//! A call that had settled gives its start, its end and its message again, with the mark `replayed` on both events; no
//! hook, no tool and no approver sees it, whether or not the batch is cancelled. A call that had begun to execute and had
//! not settled is answered `interrupted`, since nobody knows how far it came; it is a call settled in prepare, and no
//! before or after hook sees it. One whose tool the operator calls idempotent runs again from its beginning, hooks
//! included, like one that had not begun.

use std::sync::Arc;

use super::batch::Run;
use super::call::{Call, Lookup};
use super::outcome::Outcome;
use crate::model::{ErrorInfo, ErrorKind, Stage, ToolResultMessage};

/// How a call stood when the earlier run of its batch ended.
#[derive(Clone, Debug, Default)]
pub enum Earlier {
    /// Its tool had not begun; what hooks did until then is as if it had not been.
    #[default]
    NotBegun,
    /// Its tool had begun, and nobody knows how far it came.
    Begun,
    /// It had settled, with this message.
    Settled(Arc<ToolResultMessage>),
}

/// The outcome of a call that must not run a second time.
pub(crate) fn interrupted(run: &Run, call: &Call) -> Option<Outcome> {
    if !matches!(run.earlier(call.cx.position), Earlier::Begun) {
        return None;
    }
    let plugin = match &call.lookup {
        Lookup::Found(tool) if tool.is_idempotent() => return None,
        Lookup::Found(tool) | Lookup::Inactive(tool) => Some(tool.plugin().clone()),
        Lookup::Unknown => None,
    };
    let text = format!(
        "Tool \"{}\" was interrupted: the host stopped while it ran, and it is unknown how far it came. Look at what it has changed before you call it again.",
        call.cx.call.name
    );
    let info = ErrorInfo::new(ErrorKind::Interrupted, Stage::Execute)
        .with_plugin(plugin)
        .with_hint("a tool that the plugin's `idempotent` names is run again instead");
    Some(Outcome::failed(text, info))
}
