//! What the host gives every call, in a tool and in a hook alike.

use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::{HostError, Scope, State};

/// The host's side of a call. Every context derefs to it; `Host` by itself serves where there is no context, for
/// instance while a plugin makes its tools from its settings (at load only [`config`](Host::config) and
/// [`log`](mod@crate::log) are there).
#[derive(Clone, Copy, Debug)]
pub struct Host;

impl Host {
    /// All of the operator's settings for this plugin (`[plugins.NAME.config]`). An error where they don't fit `T`.
    ///
    /// Settings are not checked before they are read: in a tool or hook they don't fit only once it is called. A
    /// function given to [`plugin!`](crate::plugin) reads them at load, where an error refuses the plugin. A key that
    /// `T` doesn't know is ignored, unless `T` says `#[serde(deny_unknown_fields)]`.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, HostError> {
        parse(&backend::config_all())
            .map_err(|error| HostError::new(format_args!("The plugin's configuration does not fit: {error}")))
    }

    /// One of the operator's settings. An error where it doesn't fit `T`.
    pub fn config_key<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, HostError> {
        let Some(json) = backend::config_get(key) else { return Ok(None) };
        parse(&json)
            .map(Some)
            .map_err(|error| HostError::new(format_args!("The plugin's setting `{key}` does not fit: {error}")))
    }

    /// Whether the batch is cancelled. A tool that sees it should stop: [`ToolError::cancelled`](crate::ToolError::cancelled).
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        backend::is_cancelled()
    }

    /// Sleeps, but not beyond cancellation; returns whether cancelled. The call's deadline goes on meanwhile.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use toolgate_sdk::prelude::*;
    /// # fn pause(cx: &ToolContext) -> Result<(), ToolError> {
    /// if cx.wait(Duration::from_secs(1)) {
    ///     return Err(ToolError::cancelled());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "true means that the batch is cancelled: stop, and return `ToolError::cancelled()`"]
    pub fn wait(&self, duration: Duration) -> bool {
        let millis = duration.as_nanos().div_ceil(1_000_000);
        backend::wait(u32::try_from(millis).unwrap_or(u32::MAX))
    }

    /// What outlives the instance, for this model's turn or for the conversation.
    pub fn state(&self, scope: Scope) -> State {
        State::new(scope)
    }

    /// The batch that the call belongs to.
    pub fn batch(&self) -> Batch {
        Batch
    }

    /// The guest paths of the granted directories.
    pub fn granted_paths(&self) -> Vec<String> {
        granted_paths()
    }
}

/// The calls of one assistant message. Each method asks the host.
#[derive(Clone, Copy, Debug)]
pub struct Batch;

impl Batch {
    /// Of this call in the model's order, from 0.
    pub fn position(&self) -> u32 {
        backend::position()
    }

    /// Calls in the batch.
    pub fn size(&self) -> u32 {
        backend::size()
    }

    /// The turn's name; state of [`Scope::Turn`] lives as long as it.
    pub fn turn(&self) -> String {
        backend::turn()
    }

    /// The conversation's name; state of [`Scope::Conversation`] lives as long as it.
    pub fn conversation(&self) -> String {
        backend::conversation()
    }

    /// The assistant message that holds the calls, a JSON document; `null` where the host was given none.
    pub fn assistant_message(&self) -> String {
        backend::assistant_message()
    }
}

/// The guest paths of the directories granted to this plugin; empty on targets without WASI.
pub fn granted_paths() -> Vec<String> {
    #[cfg(target_os = "wasi")]
    return wasip2::filesystem::preopens::get_directories().into_iter().map(|(_, path)| path).collect();
    #[cfg(not(target_os = "wasi"))]
    Vec::new()
}

/// Reads JSON; the error names the place by its path. Not by line and column: whoever gets to read it did not write
/// this text.
pub(crate) fn parse<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        let text = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        let text = text.strip_suffix(&position).unwrap_or(&text);
        if path == "." { text.to_owned() } else { format!("`{path}`: {text}") }
    })?;
    deserializer.end().map_err(|error| error.to_string())?;
    Ok(value)
}

#[cfg(target_family = "wasm")]
mod backend {
    pub use crate::bindings::tools::toolgate::plugin::batch::{assistant_message, conversation, position, size, turn};
    pub use crate::bindings::tools::toolgate::plugin::cancellation::{is_cancelled, wait};
    pub use crate::bindings::tools::toolgate::plugin::config::{all as config_all, get as config_get};
}

#[cfg(not(target_family = "wasm"))]
use crate::testing::backend;
