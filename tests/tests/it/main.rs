//! The integration tests: real components, through public interfaces only.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod example_hooks;
mod limits;
mod registry;
mod state;
mod wit;
