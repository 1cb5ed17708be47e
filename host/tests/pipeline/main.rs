//! The pipeline on native tools and hooks, through the public interface. Times run on a paused clock: it moves only
//! when nothing else can, so nothing here depends on the machine's speed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod active;
mod cancel;
mod hooks;
mod journal;
mod keys;
mod order;
mod properties;
mod registry;
mod sinks;
mod support;
