//! An MCP server over a [`Host`](toolgate::Host): its active tools are the server's tools, and each `tools/call` is a
//! batch of one that goes through the whole pipeline, hooks included.
//!
//! ```no_run
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use toolgate::{Host, pipeline::TracingLogs};
//! use toolgate_mcp::{Bridge, Options, Server, serve_stdio};
//!
//! let bridge = Bridge::new(Arc::new(TracingLogs));
//! let host = Host::builder().approver(Arc::new(bridge.clone())).logs(Arc::new(bridge.clone())).build();
//! // … host.load(plugin)? …
//! serve_stdio(Server::new(host, bridge, Options::default()), std::future::pending()).await?;
//! # Ok(()) }
//! ```
//!
//! What holds:
//! - A session is a conversation; over stdio, and where a revision has no sessions, a connection is one. A turn is a time
//!   window ([`Options::turn`]), since MCP does not say where one ends.
//! - A name that is not there, or not active, is a protocol error (-32602); whatever else goes wrong with a call is a
//!   result with `isError`, which the model reads.
//! - Progress is sent only for calls that ask for it, strictly increasing, and never after the call's answer.
//! - What a client sends is bounded: message bytes, values in a message, calls in flight, connections, sessions.

mod bridge;
mod call;
mod content;
mod conversation;
mod elicit;
mod handler;
mod http;
mod input;
mod logging;
mod parked;
mod server;
mod stdio;
mod tools;

pub use bridge::Bridge;
pub use http::{BearerToken, HttpError, HttpOptions, HttpServer, TokenError};
pub use server::{Options, Server};
pub use stdio::{ServeError, serve_connection, serve_stdio};
