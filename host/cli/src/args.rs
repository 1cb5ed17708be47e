//! The command line's words.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands::serve::mcp::Mcp;
use crate::exit;

/// Run the tools of AI agents, each in a WebAssembly sandbox.
#[derive(Parser)]
#[command(name = "toolgate", version, after_help = exit::HELP, arg_required_else_help = true)]
pub struct Args {
    #[command(flatten)]
    pub shared: Shared,

    /// What to log to standard error: off, error, warn, info, debug, trace, or targets, for example
    /// `warn,toolgate::guest=debug`
    #[arg(long, global = true, value_name = "LEVEL", default_value = "warn")]
    pub log: String,

    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(clap::Args)]
pub struct Shared {
    /// The configuration [default: toolgate.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run the tool calls of assistant messages
    ///
    /// Reads `{"stopReason"?, "content": [{"type": "toolCall", "id", "name", "arguments"}, …]}` or a bare array of calls.
    /// Several documents in a row are the turns of one conversation; each runs as soon as it is read.
    ///
    /// On a terminal the calls are shown live; elsewhere every event is written as one line of JSON, and a `turn_end`
    /// after each message. A hook's question is asked on the terminal; where there is none, the call is declined.
    Run(Run),
    /// Run one tool call and print what it answers
    ///
    /// Prints the text of the result; an error result goes to standard error.
    Call(Call),
    /// List the tools
    Tools(Tools),
    /// Show what a component exports, imports and wants, without running it
    Inspect(Inspect),
    /// Compile all plugins into the cache
    Compile(Compile),
    /// Serve the tools to another program
    #[command(subcommand)]
    Serve(Serve),
}

#[derive(Subcommand)]
pub enum Serve {
    /// The tools, over the Model Context Protocol
    ///
    /// One client on standard input and output, or any number over HTTP. Each call goes through the whole pipeline, hooks
    /// included; a hook's question is put to the client where it can ask its user. See docs/mcp.md.
    Mcp(Box<Mcp>),
}

const CALL_USAGE: &str = "toolgate call [OPTIONS] TOOL [JSON]
       toolgate call [OPTIONS] FILE.wasm TOOL [JSON]";

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Text,
    /// JSON, one document a line
    Json,
}

/// Who answers when a hook asks.
#[derive(clap::Args)]
pub struct Approve {
    /// Approve whatever a hook asks about
    #[arg(long)]
    pub yes: bool,

    /// Approve what a hook asks about this tool; may be repeated
    #[arg(long, value_name = "TOOL")]
    pub approve: Vec<String>,
}

#[derive(clap::Args)]
#[command(after_help = exit::HELP)]
pub struct Run {
    /// The messages; `-` is standard input
    #[arg(default_value = "-")]
    pub file: PathBuf,

    /// [default: text on a terminal, json elsewhere]
    #[arg(long, value_enum)]
    pub output: Option<Output>,

    #[command(flatten)]
    pub approve: Approve,

    /// Load plugins again when toolgate.toml or a component changes; calls that run go on with what they began with
    #[arg(long)]
    pub watch: bool,

    #[command(flatten)]
    pub record: Record,
}

/// How a run is recorded.
#[derive(clap::Args)]
pub struct Record {
    /// Record what was done in this file, so that a run that was killed can be resumed
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,

    /// Go on where the journal ends; the messages must be the same
    #[arg(long, requires = "journal")]
    pub resume: bool,

    /// When records are forced to the disk
    #[arg(long, value_enum, default_value = "always", requires = "journal")]
    pub fsync: Fsync,
}

/// When records are forced to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fsync {
    /// Each before the run goes on
    Always,
    /// After each message
    Batch,
    /// When the system likes to
    Never,
}

#[derive(clap::Args)]
#[command(after_help = exit::HELP, override_usage = CALL_USAGE)]
pub struct Call {
    /// The tool's name, then its arguments, a JSON object; `-` reads them from standard input, without them it is `{}`.
    /// With a FILE.wasm before the name that component is loaded alone: without toolgate.toml, with the default limits
    /// and without grants
    #[arg(required = true, num_args = 1.., value_name = "TOOL")]
    pub words: Vec<String>,

    /// `json` prints the tool-result message
    #[arg(long, value_enum, default_value = "text")]
    pub output: Output,

    #[command(flatten)]
    pub approve: Approve,
}

#[derive(clap::Args)]
pub struct Tools {
    /// The tools of this component alone, without toolgate.toml
    #[arg(value_name = "FILE.wasm")]
    pub file: Option<PathBuf>,

    /// `json` prints each tool's whole definition
    #[arg(long, value_enum, default_value = "text")]
    pub output: Output,
}

#[derive(clap::Args)]
pub struct Inspect {
    /// The component
    pub file: PathBuf,

    /// How to print it
    #[arg(long, value_enum, default_value = "text")]
    pub output: Output,
}

#[derive(clap::Args)]
pub struct Compile {
    /// How to print what was compiled
    #[arg(long, value_enum, default_value = "text")]
    pub output: Output,
}
