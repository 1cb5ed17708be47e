//! The command line's words.

use std::net::SocketAddr;
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
    #[arg(long, global = true, value_name = "LEVEL", default_value = "warn,toolgate::load=info")]
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
    /// Begin a plugin: a project that builds, with the SDK of its language
    New(New),
    /// Build a plugin's project into a component
    Build(Build),
    /// Report what a component offers, wants, costs and does wrong, for its author
    Check(Check),
    /// Run the cases an author keeps beside a component
    ///
    /// `cases.json` holds calls and the results they are to have; see docs/authoring.md.
    Test(Test),
}

/// Whose form of definitions and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// OpenAI's Responses API
    #[value(name = "openai")]
    OpenAi,
    /// OpenAI's Chat Completions API, and servers that speak it
    #[value(name = "openai-chat")]
    OpenAiChat,
    /// Anthropic's Messages API
    Anthropic,
    /// Google's Gemini API
    Google,
    /// Model Context Protocol
    Mcp,
}

impl From<Format> for toolgate_formats::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::OpenAi => Self::OpenAi,
            Format::OpenAiChat => Self::OpenAiChat,
            Format::Anthropic => Self::Anthropic,
            Format::Google => Self::Google,
            Format::Mcp => Self::Mcp,
        }
    }
}

#[derive(Subcommand)]
pub enum Serve {
    /// The tools, over the Model Context Protocol
    ///
    /// One client on standard input and output, or any number over HTTP. Each call goes through the whole pipeline, hooks
    /// included; a hook's question is put to the client where it can ask its user. See docs/mcp.md.
    Mcp(Box<Mcp>),
    /// The whole pipeline, as JSON lines on standard input and output
    ///
    /// For hosts in other languages: batches with their events and messages, cancellation, approvals, and the host's own
    /// tools and hooks inside the pipeline. The protocol is described in docs/jsonl.md. Ends with its input, when all
    /// batches are over; SIGTERM and Ctrl-C cancel them first.
    Jsonl(Jsonl),
}

#[derive(clap::Args)]
pub struct Jsonl {
    /// Load plugins again when toolgate.toml or a component changes; calls that run go on with what they began with
    #[arg(long)]
    pub watch: bool,

    #[command(flatten)]
    pub dashboard: Dashboard,
}

/// The page to look at.
#[derive(clap::Args)]
pub struct Dashboard {
    /// Show live batches and the plugins on a page for a browser on this machine; its address is written to standard
    /// error. ADDR is a loopback address with a port, or a port [default: any that is free]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "0", value_parser = loopback)]
    pub dashboard: Option<SocketAddr>,
}

/// An address, or a port of this machine's own.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address = match text.parse::<u16>() {
        Ok(port) => SocketAddr::from(([127, 0, 0, 1], port)),
        Err(_) => text.parse().map_err(|_| "expected a port or IP:PORT, for example 8765 or 127.0.0.1:8765")?,
    };
    match address.ip().is_loopback() {
        true => Ok(address),
        false => Err("the page shows arguments and results; it listens on a loopback address only".into()),
    }
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

    /// Read messages as this provider's models write them, and write what goes back to the model, a line for each
    #[arg(long, value_enum, value_name = "PROVIDER", conflicts_with = "output")]
    pub format: Option<Format>,

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

    /// `json` prints each tool's whole definition; with --format the definitions and what was changed in them
    #[arg(long, value_enum, default_value = "text")]
    pub output: Output,

    /// The same as --output json
    #[arg(long, conflicts_with = "output")]
    pub json: bool,

    /// Print the definitions as this provider accepts them, for the `tools` of a request; what had to be changed goes to
    /// standard error
    #[arg(long, value_enum, value_name = "PROVIDER")]
    pub format: Option<Format>,

    /// Ask for the provider's strict mode, for the tools that can have it
    #[arg(long, requires = "format")]
    pub strict: bool,
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

/// A language with an SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust
    #[value(alias = "rs")]
    Rust,
    /// JavaScript or TypeScript
    #[value(name = "js", aliases = ["javascript", "ts", "typescript"])]
    Js,
    /// Go
    #[value(alias = "golang")]
    Go,
    /// Python
    #[value(alias = "py")]
    Python,
}

#[derive(clap::Args)]
pub struct New {
    /// The language
    #[arg(value_enum)]
    pub language: Language,

    /// The plugin's name and the folder that is made: a-z, 0-9 and -, beginning with a letter
    pub name: String,

    /// A policy hook instead of a tool
    #[arg(long)]
    pub hook: bool,
}

#[derive(clap::Args)]
pub struct Build {
    /// The project
    #[arg(default_value = ".")]
    pub dir: PathBuf,
}

const CHECK_EXIT: &str = "Exit codes:
  0    nothing is wrong
  1    there are problems
  2    wrong arguments or toolgate.toml
  3    the component could not be loaded";

#[derive(clap::Args)]
#[command(after_help = CHECK_EXIT)]
pub struct Check {
    /// The component. With --config it is loaded with the settings and limits that toolgate.toml has for this file, else
    /// with the defaults; the trial calls get no grants in either case
    pub file: PathBuf,

    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,

    /// Only look: call no tool
    #[arg(long)]
    pub no_calls: bool,
}

const TEST_EXIT: &str = "Exit codes:
  0    every case passed
  1    a case failed
  2    wrong arguments, cases or settings
  3    the component could not be loaded";

#[derive(clap::Args)]
#[command(after_help = TEST_EXIT)]
pub struct Test {
    /// A project's folder, a component or a file of cases; what is not named is looked for beside it
    #[arg(default_value = ".")]
    pub path: PathBuf,

    /// The cases [default: cases.json beside the component]
    #[arg(long, value_name = "FILE")]
    pub cases: Option<PathBuf>,

    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}
