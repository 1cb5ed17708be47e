//! The integration tests: real components, through public interfaces only.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod architecture;
mod bad_files;
mod cancellation;
mod conformance;
mod denials;
mod example_hooks;
mod fs;
mod fuzz;
mod golden;
mod hooks;
mod hostile;
mod http;
mod javascript;
mod keys;
mod late;
mod limits;
mod numbers;
mod properties;
mod registry;
mod reload;
mod soak;
mod starts;
mod state;
mod toolchains;
mod wit;
