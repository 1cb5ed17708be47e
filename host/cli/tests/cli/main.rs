//! The command line from outside: what is written where, and how it ends.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod call;
mod check;
mod failures;
mod formats;
mod information;
mod journal;
mod memory;
mod project;
mod run;
#[cfg(unix)]
mod streams;
mod support;
mod telemetry;
#[cfg(unix)]
mod terminal;
mod test;
