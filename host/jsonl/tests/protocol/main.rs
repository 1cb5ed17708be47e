//! The protocol from a client's side, over streams in memory. Every line from either side is checked against
//! `schema.json`.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod batches;
mod client_side;
mod flow;
mod lines;
mod loading;
mod support;
