//! The command line from outside: what is written where, and how it ends.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod call;
mod failures;
mod information;
mod journal;
mod memory;
mod run;
#[cfg(unix)]
mod streams;
mod support;
mod telemetry;
#[cfg(unix)]
mod terminal;
