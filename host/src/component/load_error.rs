//! Why a component is not loaded, in the words of whoever has to mend it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::failure::Failure;
use super::inspect::{CONTRACT_VERSION, InspectError};
use crate::model::DefinitionError;

/// Why a component is not loaded.
#[derive(Debug, thiserror::Error)]
#[error("plugin {plugin}: {reason}")]
pub struct LoadError {
    /// The plugin.
    pub plugin: Arc<str>,
    /// What is wrong and what to do.
    pub reason: LoadErrorReason,
}

/// What is wrong with a component.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadErrorReason {
    /// The file cannot be read.
    #[error("{path}: {error}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Not the file that was pinned.
    #[error("the file is not the pinned one: its sha256 is {found}, the pin says {pinned}")]
    Pin {
        /// Of the file.
        found: String,
        /// Of the configuration.
        pinned: String,
    },
    /// Not a component of this contract.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// It needs more memory than it may have before it does anything.
    #[error(
        "it needs {needs} bytes of memory at the start and may have {limit}; raise limits.memory-bytes of this plugin"
    )]
    Memory {
        /// The sum of its memories' minimums.
        needs: u64,
        /// Its limit.
        limit: usize,
    },
    /// It does not compile.
    #[error("the component does not compile: {0}")]
    Compile(String),
    /// It takes the compiler too long.
    #[error("it was not compiled within {} ms; raise compile-ms, or use a smaller build", limit.as_millis())]
    CompileTime {
        /// The limit.
        limit: Duration,
    },
    /// Others are still being compiled that took too long.
    #[error(
        "it is not compiled while {0} components that took longer than compile-ms keep the compiler busy; load it again later"
    )]
    CompilerBusy(usize),
    /// What it exports is not what the contract says.
    #[error(
        "the component does not export {interface} as toolgate:plugin@{CONTRACT_VERSION} has it: {problem}; rebuild it with a matching SDK"
    )]
    Shape {
        /// Which interface.
        interface: &'static str,
        /// What is missing or of another type.
        problem: String,
    },
    /// It wants what nobody provides, or what we provide in another shape.
    #[error("the component cannot be linked: {0}")]
    Link(String),
    /// It failed to say what it offers.
    #[error("reading its definitions failed: {0}")]
    Describe(String),
    /// It offers too much.
    #[error("it defines {found} {what}, more than {limit}")]
    TooMany {
        /// Tools or subscriptions.
        what: &'static str,
        /// How many.
        found: usize,
        /// At most.
        limit: usize,
    },
    /// A definition is ill-formed.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// Two tools of one name.
    #[error("it defines the tool {0} twice")]
    Duplicate(String),
    /// The operator chose a tool it does not have.
    #[error("`tools` names {wanted}, which it does not define; it defines: {offered}")]
    NoSuchTool {
        /// What was chosen.
        wanted: String,
        /// What there is.
        offered: String,
    },
}

/// A component that failed to say what it offers.
impl From<Failure> for LoadErrorReason {
    fn from(Failure { message, hint, .. }: Failure) -> Self {
        // Where in its source the plugin gave up is of no use to who configures it.
        let text = message.strip_prefix("panicked at ").and_then(|m| m.split_once(": ")).map_or(&*message, |m| m.1);
        Self::Describe(hint.map_or(text.to_owned(), |hint| format!("{text}; {hint}")))
    }
}

pub(super) fn shape(interface: &'static str) -> impl Fn(wasmtime::Error) -> LoadErrorReason {
    move |error| LoadErrorReason::Shape { interface, problem: format!("{error:#}") }
}
