//! What a component costs before it does anything, for its author.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout_at;

use super::compile::{self, News, Pending};
use super::failure::Failure;
use super::instance::Entry;
use super::known::look;
use super::load::{Loader, PluginSpec};
use super::load_error::{LoadError, LoadErrorReason};
use super::plugin::{Loaded, PluginInfo};
use crate::pipeline::{HookEvent, LogSink, NoLogs};

/// Instances that are made; the median is given.
const ROUNDS: usize = 15;

/// The costs, and what its hooks subscribe to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Probe {
    /// Compiling it, or finding it in the cache.
    pub compile: Duration,
    /// Making one instance of it and throwing it away; the median of several.
    pub instantiate: Duration,
    /// Linear memories and tables of a new instance.
    pub memory_bytes: u64,
    /// Events its hooks want and, of each, the tools; `None` is every tool.
    pub subscriptions: Vec<(HookEvent, Option<Vec<String>>)>,
}

impl Loader {
    /// Loads a component and makes some instances, without calling a tool.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load), and where it can't be instantiated.
    pub async fn probe(&self, spec: PluginSpec) -> Result<Probe, LoadError> {
        let plugin = spec.name.clone();
        self.probe_inner(spec).await.map_err(|reason| LoadError { plugin, reason })
    }

    async fn probe_inner(&self, spec: PluginSpec) -> Result<Probe, LoadErrorReason> {
        let engine = self.engine().clone();
        let work = move || {
            let found = look(&spec.source, engine.0.cache.as_ref())?;
            let imports_wasi = found.info.imports.iter().any(|name| name.starts_with("wasi:"));
            let started = Instant::now();
            let code = compile::code(&engine, &spec.source, found, &News { plugin: &spec.name, watcher: None })?;
            Ok((spec, imports_wasi, code, started.elapsed()))
        };
        let (spec, imports_wasi, code, compile) = self.aside(work).await?;
        let PluginSpec { name, limits, grants, config, .. } = spec;
        let info = Arc::new(PluginInfo { name, limits, grants, config, imports_wasi });
        let loaded = Loaded { engine: self.engine().clone(), info, code: Pending::ready(code) };
        let code = loaded.code.get().map_err(Failure::of_tool_error)?;
        let quiet: Arc<dyn LogSink> = Arc::new(NoLogs);
        let mut times = Vec::with_capacity(ROUNDS);
        let mut memory = 0;
        for _ in 0..ROUNDS {
            let started = Instant::now();
            let mut entry = Entry::new(&loaded.engine, &loaded.info, None, &quiet)?;
            let outcome = timeout_at(entry.deadline, async { entry.instantiate(&code.pre).await.map(|_| ()) }).await;
            memory = entry.peak_memory();
            entry.finish(outcome)?;
            times.push(started.elapsed());
        }
        times.sort_unstable();
        let subscriptions = loaded.describe(&quiet).await?.subscriptions;
        Ok(Probe {
            compile,
            instantiate: times.get(times.len() / 2).copied().unwrap_or_default(),
            memory_bytes: memory as u64,
            subscriptions,
        })
    }
}
