//! What the integration tests share: the golden scenarios and their runner.

pub mod golden;

use std::path::PathBuf;

/// The project's own scenarios.
pub fn scenarios() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/scenarios")
}
