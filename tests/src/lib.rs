//! What the integration tests share: real components under a host, the golden scenarios and their runner.

#[cfg(feature = "component")]
pub mod batches;
pub mod fuzz;
pub mod golden;
#[cfg(feature = "component")]
pub mod guests;
#[cfg(feature = "component")]
pub mod soak;
pub mod validation;

use std::path::PathBuf;

/// The project's own scenarios.
pub fn scenarios() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/scenarios")
}

/// The project's own validation rows.
pub fn validation_rows() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/validation.json")
}
