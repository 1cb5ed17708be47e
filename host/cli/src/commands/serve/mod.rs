//! `toolgate serve`: the tools and the pipeline for other programs, one file per protocol.

mod dashboard;
mod jsonl;
mod loading;
pub mod mcp;

use crate::args::{Serve, Shared};
use crate::exit::{Exit, Failure};

pub fn run(shared: &Shared, serve: Serve) -> Result<Exit, Failure> {
    match serve {
        Serve::Jsonl(args) => jsonl::run(shared, &args),
        Serve::Mcp(args) => mcp::run(shared, &args),
    }
}
