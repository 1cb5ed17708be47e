//! The whole pipeline as JSON lines, for hosts in other languages.
//!
//! [`serve`] speaks JSON-RPC 2.0, one message a line, over any pair of streams and a [`Host`](toolgate::Host): batches with
//! their events and messages, cancellation, approvals, and the client's own tools and hooks inside the pipeline. The
//! protocol is described in docs/jsonl.md, its messages in `schema.json` beside this crate.
//!
//! What holds:
//! - Nothing that is read stops the server or makes it grow: lines, batches in flight and what waits to be written are
//!   bounded; what cannot be read is answered with an error, and reading goes on.
//! - A client that reads slowly is waited for. A batch waits as long as the host gives an event sink, then goes on without
//!   events and says so in its result.
//! - No task outlives [`serve`].

mod ask;
mod batch;
mod client;
mod connection;
mod lines;
mod outbox;
mod serve;
mod wire;

pub use serve::{Settings, serve};
pub use wire::PROTOCOL;
