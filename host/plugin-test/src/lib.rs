//! Runs a component in process, as the host runs it, for whoever writes it.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use serde_json::json;
//! use toolgate_plugin_test::PluginTest;
//!
//! let plugin = PluginTest::new("greet.wasm").load()?;
//! let done = plugin.call("greet", json!({ "name": "Ada" }));
//! assert_eq!(done.text(), "Hello Ada!");
//! # Ok(())
//! # }
//! ```
//!
//! The call goes through the whole pipeline: arguments are checked against the schema, the tool runs in an instance of its
//! own under its limits, and whatever happens ends as a result. [`Builder`] sets what toolgate.toml would set; nothing is
//! granted that it does not name.
//!
//! [`Cases`] are the same as data: calls with the results they are to have, in a file beside the component. `toolgate
//! test` runs them, and so does [`Cases::run`].

mod arguments;
mod cases;
mod check;
mod error;
mod plugin;
mod settings;
mod stand_in;

pub use arguments::example_arguments;
pub use cases::{Case, Cases, Expect};
pub use check::{CaseReport, Difference, Report};
pub use error::TestError;
pub use plugin::{Builder, Done, LogLine, PluginTest};
pub use stand_in::StandIn;
