//! What a component costs before it does anything, for its author.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout_at;

use super::compile::Pending;
use super::instance::Entry;
use super::load::{LoadError, LoadErrorReason, Loader, PluginSpec};
use super::plugin::{Loaded, PluginInfo};
use crate::pipeline::{HookEvent, LogSink, NoLogs};

/// Instances that are made; the median is given.
const ROUNDS: usize = 15;

/// The costs, and what its hooks subscribe to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Probe {
    /// Reading and compiling it, or finding it in the cache.
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
        let started = Instant::now();
        let (spec, info, _, code) = self.clone().at_once().look_and_compile(spec).await?;
        let compile = started.elapsed();
        let code = code.map_err(|_| LoadErrorReason::Compile("it is still being compiled".into()))?;
        let loaded = Loaded {
            engine: self.engine().clone(),
            info: Arc::new(PluginInfo {
                name: spec.name,
                limits: spec.limits,
                grants: spec.grants,
                config: spec.config,
                imports_wasi: info.imports.iter().any(|name| name.starts_with("wasi:")),
            }),
            code: Pending::ready(code.clone()),
        };
        let quiet: Arc<dyn LogSink> = Arc::new(NoLogs);
        let failed = |failure: super::failure::Failure| LoadErrorReason::Describe(failure.message);
        let mut times = Vec::with_capacity(ROUNDS);
        let mut memory = 0;
        for _ in 0..ROUNDS {
            let started = Instant::now();
            let mut entry = Entry::new(&loaded.engine, &loaded.info, None, &quiet).map_err(failed)?;
            let outcome = timeout_at(entry.deadline, async { entry.instantiate(&code.pre).await.map(|_| ()) }).await;
            memory = entry.peak_memory();
            entry.finish(outcome).map_err(failed)?;
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
