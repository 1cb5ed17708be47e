//! Toolgate runs the tools of AI agents. A tool or a hook is a WebAssembly component that someone else wrote, or a
//! native Rust type; every call goes through prepare → execute → finalize and always ends as a result the model can
//! read.

#[cfg(feature = "component")]
pub mod component;
pub mod config;
mod files;
mod host;
pub mod journal;
mod loading;
pub mod model;
pub mod pipeline;
pub mod registry;
pub mod sandbox;
pub mod schema;
pub mod state;
pub mod telemetry;

pub use host::{Host, HostBuilder};
pub use loading::Loading;
