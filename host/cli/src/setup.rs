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
    let engine = config.engine().map_err(Failure::load)?;
    Ok(Loader::new(engine).with_logs(Arc::new(TracingLogs)))
}

/// A host with all plugins.
pub async fn host(config: &Config, approver: Option<Arc<dyn Approver>>) -> Result<Host, Failure> {
    let mut builder = config.host();
    if let Some(approver) = approver {
        builder = builder.approver(approver);
    }
    let host = builder.build();
    config.load_plugins(&host, &loader(config)?).await.map_err(all)?;
    Ok(host)
}

/// All errors of one kind as one failure.
pub fn all(errors: Vec<impl std::fmt::Display>) -> Failure {
    Failure::load(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}
