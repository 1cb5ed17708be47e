//! The integration tests: real components, through public interfaces only.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod golden;
#[cfg(feature = "component")]
mod limits;
#[cfg(feature = "component")]
mod registry;
