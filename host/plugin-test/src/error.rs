//! Why a component could not be tested.

use std::path::PathBuf;

use toolgate::component::{EngineError, InspectError};
use toolgate::config::{ConfigError, OpenError};
use toolgate::registry::RegistryError;

/// What went wrong before anything was called.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestError {
    /// A file can't be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The cases are not in their form.
    #[error("{}: {what}", path.display())]
    Cases {
        /// The file.
        path: PathBuf,
        /// Where and why.
        what: String,
    },
    /// The file is no plugin.
    #[error("{}: {error}", path.display())]
    Inspect {
        /// The file.
        path: PathBuf,
        /// Why.
        error: InspectError,
    },
    /// A setting that toolgate.toml would not have.
    #[error("the plugin's settings: {0}")]
    Settings(String),
    /// The settings are refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The engine does not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The component is not loaded.
    #[error(transparent)]
    Load(#[from] OpenError),
    /// A stand-in is refused.
    #[error(transparent)]
    StandIn(#[from] RegistryError),
    /// No runtime to run it on.
    #[error("the runtime does not start: {0}")]
    Runtime(std::io::Error),
}
