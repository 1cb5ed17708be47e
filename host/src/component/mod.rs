//! Tools and hooks that are WebAssembly components. Everything that knows the engine is in here.

mod bindings;
mod cache;
mod compile;
mod engine;
mod exports;
mod failure;
mod hostcalls;
pub mod http;
mod inspect;
mod instance;
mod keys;
mod known;
mod limiter;
mod load;
mod load_error;
mod logs;
mod plugin;
mod probe;
mod stamp;
mod ticker;
mod wasi;

pub(crate) use cache::sha256_hex;
pub use cache::{CacheError, CompileCache};
pub use compile::{Progress, Watcher};
pub use engine::{Engine, EngineError, EngineSettings};
pub use inspect::{ComponentInfo, InspectError, inspect};
pub use load::{Loader, PluginSpec, Source, read_component};
pub(crate) use load::{Looked, Unread};
pub use load_error::{LoadError, LoadErrorReason};
pub use probe::Probe;
pub(crate) use stamp::Stamp;
