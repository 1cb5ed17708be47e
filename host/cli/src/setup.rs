//! From the command line to a host with its plugins loaded.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use toolgate::Host;
use toolgate::component::Loader;
use toolgate::config::Config;
use toolgate::pipeline::{Approver, TracingLogs};

use crate::args::Shared;
use crate::exit::Failure;

/// Reads toolgate.toml and logs what it warns about.
pub fn config(shared: &Shared) -> Result<Config, Failure> {
    let config = Config::load(&shared.config).map_err(Failure::usage)?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    Ok(config)
}

/// A runtime of one thread: starts at once, enough for one call.
pub fn small_runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread().enable_all().build().map_err(Failure::load)
}

/// A runtime on which calls run side by side.
pub fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread().enable_all().build().map_err(Failure::load)
}

/// Compiles with the config's engine; guests may log while they are read.
pub fn loader(config: &Config) -> Result<Loader, Failure> {
    let hint = "where address space is short, a smaller `instances` in toolgate.toml helps";
    let engine = config.engine().map_err(|error| Failure::load(format!("{error}\n{hint}")))?;
    Ok(Loader::new(engine).with_logs(Arc::new(TracingLogs)))
}

/// A host with all plugins.
pub async fn host(config: &Config, approver: Option<Arc<dyn Approver>>) -> Result<Host, Failure> {
    let host = empty(config, approver);
    config.load_plugins(&host, &loader(config)?).await.map_err(all)?;
    Ok(host)
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
    let tools = host.tools();
    let names: Vec<&str> = tools.tools().map(|tool| tool.name()).collect();
    let names = if names.is_empty() { "none".into() } else { names.join(", ") };
    Err(Failure::usage(format!("there is no tool {tool:?}; there are: {names}")))
}

fn empty(config: &Config, approver: Option<Arc<dyn Approver>>) -> Host {
    let builder = config.host();
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
