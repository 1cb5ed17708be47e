//! What the fuzz targets do with their bytes. The targets in `tests/fuzz` are nothing but these functions under
//! libFuzzer; `tests/it/fuzz.rs` gives them their seeds and some random bytes in every test run.
//!
//! A finding is a panic: of the host, or of an assertion here. Each function answers what became of its bytes, so that a test
//! can see that they get past the first check.

#[cfg(feature = "component")]
mod answers;
#[cfg(feature = "component")]
mod batch;
mod config;
#[cfg(feature = "component")]
mod load;
mod read;
mod schema;
pub mod seeds;
mod validate;

#[cfg(feature = "component")]
pub use batch::{batch, play_cancelled, play_undisturbed};
pub use config::config;
#[cfg(feature = "component")]
pub use load::load;
pub use read::read;
pub use validate::validate;

/// The number of random cases of a test: `TOOLGATE_CASES` times as many as usual, for a long run without a fuzzer.
pub fn cases(usual: u32) -> u32 {
    let factor = std::env::var("TOOLGATE_CASES").ok().and_then(|factor| factor.parse().ok());
    usual.saturating_mul(factor.unwrap_or(1))
}
