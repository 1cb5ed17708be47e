//! The integration tests: real components, through public interfaces only.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod architecture;
mod cancellation;
mod example_hooks;
mod fs;
mod golden;
mod hostile;
mod http;
mod keys;
mod limits;
mod numbers;
mod registry;
mod reload;
mod state;
mod toolchains;
mod wit;
