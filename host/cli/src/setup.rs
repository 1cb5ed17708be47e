//! From the command line to a host with its plugins loaded.

use std::convert::Infallible;
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use toolgate::Host;
use toolgate::component::{Loader, Progress};
use toolgate::config::{Config, Reloaded, Reloader, watch};
use toolgate::pipeline::{Approver, TracingLogs};
use toolgate::telemetry::{TraceParent, otel};

use crate::args::{Approve, Shared};
use crate::exit::Failure;

/// Where the config is looked for.
const DEFAULT_CONFIG: &str = "toolgate.toml";

/// Reads toolgate.toml and logs what it warns about.
pub fn config(shared: &Shared) -> Result<Config, Failure> {
    let file = shared.config.as_deref().unwrap_or(Path::new(DEFAULT_CONFIG));
    if shared.config.is_none() && matches!(file.try_exists(), Ok(false)) {
        return Err(Failure::usage(format!(
            "{DEFAULT_CONFIG}: not found in this folder; create it or pass --config FILE. The least it holds:\n
    [plugins.NAME]
    file = \"path/to/component.wasm\"\n
A component alone needs none: toolgate call FILE.wasm TOOL [JSON]"
        )));
    }
    let config = Config::load(file).map_err(Failure::usage)?;
    if config.plugins.is_empty() {
        tracing::warn!("{} has no plugins, so there are no tools; add [plugins.NAME] with `file`", file.display());
    }
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    Ok(config)
}

/// A component alone where one is named, else toolgate.toml.
pub fn config_or_component(shared: &Shared, component: Option<&Path>) -> Result<Config, Failure> {
    let Some(file) = component else { return config(shared) };
    let wrong = |what: &str| Err(Failure::usage(format!("{}: {what}", file.display())));
    match std::fs::metadata(file) {
        _ if shared.config.is_some() => wrong("a component alone is loaded without --config"),
        Ok(found) if !found.is_file() => wrong("is not a file"),
        Ok(_) => Ok(Config::of_component(file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => wrong("not found"),
        Err(error) => wrong(&error.to_string()),
    }
}

/// A runtime of one thread: starts at once, enough for one call.
pub fn small_runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread().enable_all().build().map_err(Failure::load)
}

/// Tasks of its own that a worker runs between two looks at the queue of all. tokio's measure lets hundreds of calls wait
/// there while others go round: at 512 at once the slowest hundredth then takes eight times the median, with this four,
/// and as many calls get done. docs/performance.md has the numbers.
const SHARED_QUEUE_INTERVAL: u32 = 8;

/// A runtime on which calls run side by side, with stacks of so many bytes where the default, 2 MiB, does not do.
pub fn runtime(stack: Option<usize>) -> Result<Runtime, Failure> {
    let mut builder = Builder::new_multi_thread();
    builder.enable_all().global_queue_interval(SHARED_QUEUE_INTERVAL);
    if let Some(stack) = stack {
        builder.thread_stack_size(stack);
    }
    builder.build().map_err(Failure::load)
}

/// Compiles with the config's engine; guests may log while they are read.
pub fn loader(config: &Config) -> Result<Loader, Failure> {
    let hint = "where address space is short, a smaller `instances` in toolgate.toml helps";
    let engine = config.engine().map_err(|error| Failure::load(format!("{error}\n{hint}")))?;
    Ok(Loader::new(engine).with_logs(Arc::new(TracingLogs)).with_progress(Arc::new(progress)))
}

/// Says what takes its time, to a person who waits; small components are compiled before anybody wonders.
fn progress(progress: &Progress) {
    const LARGE: usize = 1 << 20;
    if let Progress::Compiling { plugin, bytes } = progress
        && *bytes >= LARGE
        && std::io::stderr().is_terminal()
    {
        eprintln!("compiling {plugin} ({:.1} MiB), once", *bytes as f64 / (1 << 20) as f64);
    }
}

/// The same for a server, which does not wait for the compiler; what takes its time is logged.
pub fn server_loader(config: &Config) -> Result<Loader, Failure> {
    Ok(loader(config)?.in_background().with_progress(Arc::new(log_progress)))
}

fn log_progress(progress: &Progress) {
    match progress {
        Progress::Compiling { plugin, bytes } => {
            let size = *bytes as f64 / f64::from(1 << 20);
            tracing::info!(target: "toolgate::load", "compiling {plugin} ({size:.1} MiB)");
        }
        Progress::Compiled { plugin, took } => {
            tracing::info!(target: "toolgate::load", "compiled {plugin} in {:.1} s", took.as_secs_f64());
        }
        _ => {}
    }
}

/// A host with all plugins.
pub async fn host(config: &Config, approver: Option<Arc<dyn Approver>>) -> Result<Host, Failure> {
    Ok(host_and_loader(config, approver).await?.0)
}

/// The same with what loads plugins later.
pub async fn host_and_loader(config: &Config, approver: Option<Arc<dyn Approver>>) -> Result<(Host, Loader), Failure> {
    // Plugins whose definitions are known do not wait for a compiler: their calls do, and others answer meanwhile.
    let (host, loader) = (empty(config, approver), loader(config)?.in_background());
    config.load_plugins(&host, &loader).await.map_err(all)?;
    Ok((host, loader))
}

/// Does some work, and meanwhile loads what changes on disk where `--watch` asks for it.
pub async fn watching<T>(
    wanted: bool,
    config: &Config,
    host: &Host,
    loader: Loader,
    work: impl Future<Output = T>,
) -> T {
    if !wanted {
        return work.await;
    }
    tokio::select! {
        biased;
        done = work => done,
        never = reloading(Reloader::new(config.clone(), loader), host) => match never {},
    }
}

/// Loads what changes on disk, and logs it.
pub async fn reloading(reloader: Reloader, host: &Host) -> Infallible {
    watch(reloader, host, tell).await
}

fn tell(report: Reloaded) {
    for why in &report.refused {
        tracing::warn!(target: "toolgate::reload", "{why}");
    }
    for (plugins, what) in [(&report.loaded, "loaded"), (&report.replaced, "replaced"), (&report.unloaded, "unloaded")]
    {
        for plugin in plugins {
            tracing::info!(target: "toolgate::reload", plugin, "{what}");
        }
    }
    if !report.needs_restart.is_empty() {
        let keys = report.needs_restart.join(", ");
        tracing::warn!(target: "toolgate::reload", "toolgate.toml has another value for {keys}: it counts after a restart");
    }
}

/// Where the caller's trace is, as a process is told: in `TRACEPARENT`.
pub fn trace_parent() -> Option<TraceParent> {
    let given = std::env::var("TRACEPARENT").ok()?;
    given.parse().inspect_err(|error| tracing::warn!("TRACEPARENT: {error}")).ok()
}

/// A host with what a call of this tool needs.
pub async fn host_for(tool: &str, config: &Config, approver: Arc<dyn Approver>) -> Result<Host, Failure> {
    let host = empty(config, Some(approver.clone()));
    let loader = loader(config)?;
    config.load_for_tool(tool, &host, &loader).await.map_err(all)?;
    if host.tools().tool(tool).is_some() {
        return Ok(host);
    }
    // To say which tools there are instead.
    let host = empty(config, Some(approver));
    config.load_plugins(&host, &loader).await.map_err(all)?;
    Err(Failure::usage(format!("there is no tool {tool:?}; there are: {}", names(&host))))
}

/// `--approve` of a tool that is not there would approve nothing.
pub fn check_approved(approve: &Approve, host: &Host) -> Result<(), Failure> {
    let tools = host.tools();
    match approve.approve.iter().find(|tool| tools.tool(tool).is_none()) {
        Some(tool) => {
            Err(Failure::usage(format!("--approve {tool}: there is no tool {tool:?}; there are: {}", names(host))))
        }
        None => Ok(()),
    }
}

fn names(host: &Host) -> String {
    let tools = host.tools();
    let names: Vec<&str> = tools.tools().map(|tool| tool.name()).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

fn empty(config: &Config, approver: Option<Arc<dyn Approver>>) -> Host {
    let builder = config.host().trace_content(otel::content_is_wanted());
    match approver {
        Some(approver) => builder.approver(approver),
        None => builder,
    }
    .build()
}

/// All errors of one kind as one failure.
pub fn all(errors: Vec<impl std::fmt::Display>) -> Failure {
    Failure::load(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}
