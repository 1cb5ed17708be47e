//! The interpreter of golden scenarios, shared by the scripted guests: steps, templates, probes, and results in the
//! wire's shape. The format is described in `tests/golden/SCENARIO.md`.

mod step;
mod template;
mod wire;

pub use step::{Script, Surroundings, run};
pub use template::Values;
pub use wire::{override_in, result_in, result_out};

use toolgate_sdk::log;
use toolgate_sdk::prelude::Value;

/// Lets the runner see a probe row, in order with everything else: it reads the plugin's log lines.
pub fn probe(row: &Value) {
    log::info(format_args!("probe {row}"));
}

/// Asks the runner to cancel the batch; it has done so when this returns.
pub(crate) fn abort(by: &str) {
    log::info(format_args!("abort {}", toolgate_sdk::serde_json::json!({"probe": "abort", "by": by})));
}
