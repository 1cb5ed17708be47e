//! MCP's streamable HTTP at `/mcp`: who may connect, and how much of everything.

mod guard;
mod serve;
mod sessions;
mod token;

use std::net::SocketAddr;
use std::time::Duration;

pub use serve::HttpServer;
pub use token::{BearerToken, TokenError};

/// Where the endpoint is.
pub(crate) const PATH: &str = "/mcp";

/// Who may connect, and limits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// What clients must send as `Authorization: Bearer …`. Default: nothing, which only an address of the machine itself
    /// allows.
    pub token: Option<BearerToken>,
    /// Values of `Host` that are accepted beside the server's own address: names or `name:port`. A page in a browser that
    /// points a name of its own at this machine is refused by that.
    pub hosts: Vec<String>,
    /// Values of `Origin` that are accepted beside the server's own, as `https://app.example:443`. Requests without one,
    /// which browsers do not send, are not concerned.
    pub origins: Vec<String>,
    /// Connections at once; one more waits. Default 256.
    pub connections: usize,
    /// Sessions at once (revisions before 2026-07-28); one more is answered with 503. Default 256.
    pub sessions: usize,
    /// A session that hears nothing for so long is ended. Default 1 h.
    pub session_idle: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            token: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            connections: 256,
            sessions: 256,
            session_idle: Duration::from_secs(60 * 60),
        }
    }
}

/// Why an address is not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// Others could call tools.
    #[error("{0} can be reached from other machines, and there is no bearer token; give one, or listen on 127.0.0.1")]
    NoToken(SocketAddr),
    /// It cannot be told which names are this server's.
    #[error("{0} stands for every address of this machine; name the hosts that clients use to reach it")]
    NoHosts(SocketAddr),
    /// The address is not to be had.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}
