//! `toolgate serve mcp`, driven over the wire: raw lines, raw HTTP, and clients and the conformance suite of others.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod asking;
mod calls;
mod clients;
mod hostile;
mod http;
mod loading;
mod session;
mod support;
