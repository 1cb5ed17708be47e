//! The integration tests: real components, through public interfaces only.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod example_hooks;
mod fs;
mod golden;
mod http;
mod limits;
mod registry;
mod toolchains;
mod wit;
