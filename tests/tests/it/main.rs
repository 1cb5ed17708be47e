//! The integration tests: real components, through public interfaces only.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod http;
mod example_hooks;
mod limits;
mod registry;
mod wit;
