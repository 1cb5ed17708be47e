//! `just bench`: what a call costs beside wasmtime used directly, measured side by side in one run. The method and a
//! run's results are in docs/performance.md.

mod calls;
mod count;
mod extism;
mod floor;
mod growth;
mod languages;
mod large;
mod load;
mod measure;
mod memory;
mod product;
mod report;
mod svg;
mod throughput;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

use crate::measure::Effort;
use crate::report::Report;

/// Whatever goes wrong ends the run.
pub type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Parser)]
#[command(about = "What a call costs beside the engine's own floor")]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Only these parts
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// A tenth of the rounds
    #[arg(long)]
    quick: bool,
    /// Where the numbers go
    #[arg(long, default_value = "target/bench/results.json")]
    json: PathBuf,
    /// Where the plots go
    #[arg(long, default_value = "target/bench")]
    svg: PathBuf,
    /// The guest, as scripts/build-guests.sh leaves it
    #[arg(long, default_value = "target/guests/components/bench-guest.wasm")]
    guest: PathBuf,
    /// Components made of the guest in other languages: quickjs.wasm, starlingmonkey.wasm
    #[arg(long, default_value = "target/bench/languages")]
    languages: PathBuf,
    /// The `toolgate` command
    #[arg(long, default_value = "target/release/toolgate")]
    toolgate: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Instructions per call, counted by valgrind: the same on a busy machine
    Count {
        /// Calls in the longer run
        #[arg(long, default_value_t = 300)]
        calls: usize,
    },
    /// Runs one case so many times; what `count` has counted
    #[command(hide = true)]
    Once {
        case: String,
        calls: usize,
        #[arg(long)]
        cache: PathBuf,
    },
}

/// A part of the run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// One call, by what is around it.
    Calls,
    /// Calls at once.
    Throughput,
    /// From a file to a first result.
    Load,
    /// Megabytes, and many updates.
    Large,
    /// Against numbers of tools, hooks, calls, messages.
    Growth,
    /// Of a live instance.
    Memory,
    /// QuickJS and StarlingMonkey.
    Languages,
}

/// What every part needs.
pub struct Bench {
    /// The guest.
    pub guest: PathBuf,
    /// Guests in other languages.
    pub languages: PathBuf,
    /// The command.
    pub toolgate: PathBuf,
    /// Compiled code of this run.
    pub cache: tempfile::TempDir,
    /// Rounds of the finest measurements.
    pub effort: Effort,
    /// Where plots go.
    pub svg: PathBuf,
    /// Whether it is to be short.
    pub quick: bool,
}

fn main() -> Fallible<()> {
    let args = Args::parse();
    if !args.guest.is_file() {
        return Err(format!("{} is missing; scripts/build-guests.sh bench-guest makes it", args.guest.display()).into());
    }
    // As the command has it, for bare calls too.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().global_queue_interval(8).build()?;
    match args.command {
        Some(Command::Count { calls }) => return count::run(&args.guest, calls),
        Some(Command::Once { case, calls, cache }) => {
            let one = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            return one.block_on(count::once(&args.guest, &cache, &case, calls));
        }
        None => {}
    }
    let bench = Bench {
        guest: args.guest,
        languages: args.languages,
        toolgate: args.toolgate,
        cache: tempfile::tempdir()?,
        effort: Effort { rounds: if args.quick { 30 } else { 300 }, slice: Duration::from_millis(2) },
        svg: args.svg,
        quick: args.quick,
    };
    std::fs::create_dir_all(&bench.svg)?;
    let only = args.only;
    let wanted = move |part| only.is_empty() || only.contains(&part);
    let report = runtime.block_on(run(bench, wanted))?;
    let results = report.finish();
    write(&args.json, &serde_json::to_string_pretty(&results)?)?;
    println!("\n{} has the numbers", args.json.display());
    Ok(())
}

async fn run(bench: Bench, wanted: impl Fn(Part) -> bool) -> Fallible<Report> {
    let mut report = Report::default();
    report.keep("machine", &machine());
    if wanted(Part::Calls) {
        calls::run(&bench, &mut report).await?;
    }
    if wanted(Part::Throughput) {
        throughput::run(&bench, &mut report).await?;
    }
    if wanted(Part::Languages) {
        languages::run(&bench, &mut report).await?;
    }
    if wanted(Part::Load) {
        load::run(&bench, &mut report).await?;
    }
    if wanted(Part::Memory) {
        memory::run(&bench, &mut report).await?;
    }
    if wanted(Part::Large) {
        large::run(&bench, &mut report).await?;
    }
    if wanted(Part::Growth) {
        growth::run(&bench, &mut report).await?;
    }
    Ok(report)
}

/// Writes a file and the folder it is in.
pub fn write(file: &Path, text: &str) -> Fallible<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(std::fs::write(file, text)?)
}

fn machine() -> serde_json::Value {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let cpu = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim().to_owned()));
    serde_json::json!({
        "cpu": cpu,
        "threads": std::thread::available_parallelism().map_or(0, usize::from),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "load": read("/proc/loadavg").trim(),
    })
}
