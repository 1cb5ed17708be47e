//! `toolgate serve`: the tools and the pipeline for other programs, one file per protocol.

pub mod mcp;

use crate::args::{Serve, Shared};
use crate::exit::{Exit, Failure};

pub fn run(shared: &Shared, serve: Serve) -> Result<Exit, Failure> {
    match serve {
        Serve::Mcp(args) => mcp::run(shared, &args),
    }
}
