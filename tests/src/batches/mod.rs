//! Random batches of native and component tools under native and component hooks, and the rules that every batch keeps.
//!
//! The tools and hooks are the scripted ones; each call's arguments hold the steps of everybody who meets it. So one set
//! of loaded components serves all batches, and a batch can be played a second time with native twins of them.

mod check;
mod rules;
mod spec;
mod trace;
mod world;

pub use check::{cancelled, undisturbed};
pub use spec::{Cancel, Spec};
pub use world::World;
