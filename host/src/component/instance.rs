//! One guest entry: a fresh store and instance, its limits, its deadline, and what it cost.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use wasmtime::component::{Instance, InstancePre, ResourceTable};
use wasmtime::{Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

use super::engine::Engine;
use super::failure::{DeadlinePassed, Failure};
use super::http::{HttpClient, HttpCtx};
use super::limiter::Limiter;
use super::logs::GuestLog;
use super::plugin::PluginInfo;
use super::ticker::Running;
use super::wasi;
use crate::model::Denial;
use crate::pipeline::{CallContext, LogSink};
use crate::sandbox::http::{Denied, HttpPolicy};

/// Handles one entry may hold at once: files, streams, pollables, header fields.
const MAX_HANDLES: usize = 4_096;

/// Fuel for what a plugin says about itself: a second of work at most.
const DESCRIBE_FUEL: u64 = 1_000_000_000;

/// What a store holds: whose call it is, and what the guest may use.
pub struct CallState {
    pub(super) plugin: Arc<PluginInfo>,
    /// None at load, when definitions are read, and once the entry is over.
    pub(super) cx: Option<CallContext>,
    /// Whether definitions are read.
    pub(super) describes: bool,
    pub(super) limiter: Limiter,
    pub(super) log: GuestLog,
    pub(super) table: ResourceTable,
    pub(super) host_calls: u64,
    /// Partial results are delivered only from `execute`.
    pub(super) updates: Updates,
    /// Made on first use, or at the start where directories are granted. Boxed: as large as all the rest, and most entries
    /// have none.
    wasi: Option<Box<WasiCtx>>,
    /// Made on first use.
    http: Option<HttpCtx>,
    http_client: Arc<HttpClient>,
}

/// The budget of partial results.
pub(super) struct Updates {
    pub open: bool,
    pub left: u64,
    pub bytes_left: usize,
    pub dropped: u64,
}

impl CallState {
    /// Notes that the guest asked for something and was refused. While definitions are read there is no call to note it
    /// with, so that it is only logged.
    pub(super) fn deny(&self, capability: &str, subject: String, rule: impl Into<String>) {
        let plugin = self.plugin.name.clone();
        let denial = Denial { plugin, capability: capability.into(), subject, rule: rule.into() };
        match &self.cx {
            Some(cx) => cx.deny(denial),
            None => tracing::debug!(
                target: "toolgate::denial",
                plugin = &*denial.plugin,
                capability = denial.capability,
                subject = denial.subject,
                rule = denial.rule,
                "denied while definitions were read"
            ),
        }
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let ctx = self.wasi.get_or_insert_with(|| Box::new(wasi::context(&self.plugin.grants, &self.log, false).0));
        WasiCtxView { ctx, table: &mut self.table }
    }
}

impl WasiHttpView for CallState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let http = self.http.get_or_insert_with(|| {
            let policy = match (&self.cx, &self.plugin.grants.http) {
                (Some(_), Some(policy)) => policy.clone(),
                // No grant, or no call yet: every request is denied.
                _ => Arc::new(HttpPolicy::default()),
            };
            let (plugin, cx) = (self.plugin.name.clone(), self.cx.clone());
            let deny = move |Denied { subject, rule }| {
                if let Some(cx) = &cx {
                    cx.deny(Denial { plugin: plugin.clone(), capability: "http".into(), subject, rule });
                }
            };
            let trace_parent = self.cx.as_ref().and_then(|cx| cx.trace_parent.clone());
            HttpCtx::new(policy, self.http_client.clone(), Arc::new(deny)).with_trace_parent(trace_parent)
        });
        http.view(&mut self.table)
    }
}

/// One entry into a guest, from store to drop.
pub struct Entry {
    store: Store<CallState>,
    pub deadline: Instant,
    fuel: u64,
    is_noted: bool,
    _ticking: Running,
}

impl Entry {
    /// A store with all limits armed. The clock starts here.
    pub fn new(
        engine: &Engine,
        plugin: &Arc<PluginInfo>,
        cx: Option<&CallContext>,
        logs: &Arc<dyn LogSink>,
    ) -> Result<Self, Failure> {
        let deadline = Instant::now() + plugin.limits.deadline.min(Duration::from_secs(365 * 86_400));
        Self::until(engine, plugin, cx, logs, deadline, plugin.limits.fuel)
    }

    /// The same without a call, to read what the plugin says about itself.
    pub fn to_describe(
        engine: &Engine,
        plugin: &Arc<PluginInfo>,
        logs: &Arc<dyn LogSink>,
        deadline: Instant,
    ) -> Result<Self, Failure> {
        let fuel = plugin.limits.fuel.map(|fuel| fuel.min(DESCRIBE_FUEL));
        Self::until(engine, plugin, None, logs, deadline, fuel)
    }

    fn until(
        engine: &Engine,
        plugin: &Arc<PluginInfo>,
        cx: Option<&CallContext>,
        logs: &Arc<dyn LogSink>,
        deadline: Instant,
        fuel: Option<u64>,
    ) -> Result<Self, Failure> {
        let limits = &plugin.limits;
        let log = GuestLog::new(plugin.name.clone(), cx.map(|cx| cx.call.id.clone()), logs.clone(), limits);
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        let mut state = CallState {
            plugin: plugin.clone(),
            cx: cx.cloned(),
            describes: cx.is_none(),
            limiter: Limiter::new(limits),
            log,
            table,
            host_calls: 0,
            updates: Updates { open: false, left: limits.updates, bytes_left: limits.update_bytes, dropped: 0 },
            wasi: None,
            http: None,
            http_client: engine.0.http_client.clone(),
        };
        if cx.is_some() && plugin.imports_wasi && !plugin.grants.dirs.is_empty() {
            let (wasi, missing) = wasi::context(&plugin.grants, &state.log, true);
            if let Some(missing) = missing {
                let (subject, rule) = missing.denied();
                state.deny("filesystem", subject, rule);
                return Err(missing.into_failure(&plugin.name));
            }
            state.wasi = Some(Box::new(wasi));
        } else if cx.is_none() && plugin.imports_wasi {
            state.wasi = Some(Box::new(wasi::bare_context(&state.log)));
        }
        let mut store = Store::new(&engine.0.wasm, state);
        store.limiter(|state| &mut state.limiter);
        let fuel = fuel.unwrap_or(u64::MAX);
        // Metering is on in the configuration, so that this cannot fail.
        let _ = store.set_fuel(fuel);
        store.set_hostcall_fuel(limits.hostcall_bytes);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| {
            if Instant::now() >= deadline {
                return Err(DeadlinePassed.into());
            }
            // tokio's own yield lets timers and sockets be looked at first; a plain one would keep a one-thread runtime
            // from them for as many ticks as there are spinning guests times its event interval.
            Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
        });
        Ok(Self { store, deadline, fuel, is_noted: false, _ticking: engine.0.ticker.run() })
    }

    /// Lets partial results through.
    pub fn open_updates(&mut self) {
        self.store.data_mut().updates.open = true;
    }

    /// Instantiates, and hands out what a call needs.
    pub async fn instantiate(
        &mut self,
        pre: &InstancePre<CallState>,
    ) -> wasmtime::Result<(&mut Store<CallState>, Instance)> {
        let instance = pre.instantiate_async(&mut self.store).await?;
        Ok((&mut self.store, instance))
    }

    /// The most memory and table bytes held at once so far.
    pub fn peak_memory(&self) -> usize {
        self.store.data().limiter.peak
    }

    /// Notes what the entry cost, once.
    fn note_cost(&mut self) {
        if std::mem::replace(&mut self.is_noted, true) {
            return;
        }
        let fuel = self.fuel.saturating_sub(self.store.get_fuel().unwrap_or(self.fuel));
        let state = self.store.data_mut();
        state.log.flush();
        if let Some(cx) = state.cx.take() {
            cx.record(|metrics| {
                metrics.fuel += fuel;
                metrics.peak_memory_bytes = metrics.peak_memory_bytes.max(state.limiter.peak as u64);
                metrics.host_calls += state.host_calls;
                metrics.dropped_updates += state.updates.dropped;
                metrics.dropped_log_lines += state.log.dropped();
                metrics.refused_growths += state.limiter.refused_memory + state.limiter.refused_table;
            });
        }
    }

    /// Sorts the entry's error, and drops the store.
    pub fn finish<T>(
        mut self,
        outcome: Result<wasmtime::Result<T>, tokio::time::error::Elapsed>,
    ) -> Result<T, Failure> {
        self.note_cost();
        let state = self.store.data_mut();
        match outcome {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                // The guest's backtrace is for the operator, not for the model. `{:?}` would add the host's own.
                let backtrace = error.downcast_ref::<wasmtime::WasmBacktrace>().map(ToString::to_string);
                tracing::info!(
                    target: "toolgate::guest",
                    plugin = &*state.plugin.name,
                    backtrace = backtrace.as_deref(),
                    "a call was ended: {}",
                    error.root_cause()
                );
                Err(Failure::of(&error, state))
            }
            Err(_) => Err(Failure::deadline(state)),
        }
    }
}

/// One that is stopped from outside, by a cancellation, has a cost too.
impl Drop for Entry {
    fn drop(&mut self) {
        self.note_cost();
    }
}
