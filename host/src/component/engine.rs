//! The process-wide engine: its configuration, the linker that serves every plugin, slots, ticker, compile cache.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::bindings::v0_1 as bindings;
use super::cache::{CacheError, CompileCache};
use super::compile::{self, Compilers, compatibility};
use super::http::{self, HttpClient};
use super::instance::CallState;
use super::limiter::{MAX_INSTANCES, MAX_MEMORIES, MAX_TABLES};
use super::ticker::Ticker;
use super::wasi;
use crate::model::ErrorKind;
use crate::pipeline::ToolError;

/// What is fixed for all plugins of a process.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineSettings {
    /// Live instances at once, tools and hooks together; more wait in the queue. Default 128: at 64 MiB each the most
    /// that 8 GiB could hold.
    pub instances: u32,
    /// Entries that may wait for an instance. Default 1 024. One more is `unavailable`.
    pub queue_length: usize,
    /// How long one may wait. Default 30 s. Longer is `unavailable`.
    pub queue_wait: Duration,
    /// Where compiled code is kept; `None` compiles at every load. The directory is made private to the user.
    pub cache_dir: Option<PathBuf>,
    /// Bytes the cache may take. Default 1 GiB; the files longest unused go first.
    pub cache_bytes: u64,
    /// Largest table any plugin's `table-elements` may name. Default 100 000.
    pub max_table_elements: usize,
    /// How long loading waits for a component to be compiled. Default 600 s: the largest language runtime takes
    /// half a minute of processor time, and the machine may be busy with other things. Then it is a load error; the
    /// compiler itself cannot be stopped and goes on.
    pub compile_time: Duration,
    /// Threads that compile, and as many for components under 2 MiB, so that those do not queue behind a large one.
    /// Default: one for each core.
    pub compile_threads: Option<usize>,
    /// How long a call may wait for code that is still being compiled. Default 300 s, several times what the largest
    /// language runtime takes. Longer is `unavailable`.
    pub compile_wait: Duration,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            instances: 128,
            queue_length: 1_024,
            queue_wait: Duration::from_secs(30),
            cache_dir: None,
            cache_bytes: 1 << 30,
            max_table_elements: 100_000,
            compile_time: Duration::from_secs(600),
            compile_threads: None,
            compile_wait: Duration::from_secs(300),
        }
    }
}

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// wasmtime refused the configuration or the machine.
    #[error("the WebAssembly engine does not start: {0:#}")]
    Engine(wasmtime::Error),
    /// No thread for the ticker.
    #[error("the engine's threads do not start: {0}")]
    Threads(#[from] std::io::Error),
    /// TLS does not start.
    #[error("HTTPS for plugins cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The cache directory cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// The engine. Make one per process: each reserves address space for its pool. Cheap to clone.
#[derive(Clone)]
pub struct Engine(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub wasm: wasmtime::Engine,
    pub linker: Linker<CallState>,
    pub ticker: Ticker,
    pub cache: Option<CompileCache>,
    pub http_client: Arc<HttpClient>,
    pub settings: EngineSettings,
    /// Compilations that nobody waits for any more.
    pub given_up: AtomicUsize,
    pub compilers: Compilers,
    pub codes: compile::Loaded,
    /// What compiled code depends on besides the component.
    pub compatibility: u64,
    slots: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// Bytes of a slot's memory that stay mapped for its next use; a guest that dirties more pays page faults.
const KEEP_RESIDENT: usize = 1 << 20;
/// The same on kernels without `PAGEMAP_SCAN` (before Linux 6.7), where keeping means clearing.
const KEEP_RESIDENT_CLEARED: usize = 128 << 10;
/// A WebAssembly stack; a deeper recursion is a trap.
const MAX_WASM_STACK: usize = 512 << 10;
/// A fiber's stack: the WebAssembly stack, and room for host calls on top.
const ASYNC_STACK: usize = 2 << 20;

impl Engine {
    /// Starts an engine.
    pub fn new(settings: EngineSettings) -> Result<Self, EngineError> {
        let wasm = match wasmtime::Engine::new(&config(&settings, true)) {
            Ok(engine) => engine,
            Err(_) => wasmtime::Engine::new(&config(&settings, false)).map_err(EngineError::Engine)?,
        };
        let linker = linker(&wasm).map_err(EngineError::Engine)?;
        let ticker = Ticker::start(wasm.weak())?;
        let cache = settings.cache_dir.as_ref().map(|dir| CompileCache::open(dir, settings.cache_bytes)).transpose()?;
        let slots = Arc::new(Semaphore::new(settings.instances as usize));
        let http_client = Arc::new(HttpClient::new()?);
        let compilers = Compilers::new(settings.compile_threads);
        Ok(Self(Arc::new(Inner {
            compatibility: compatibility(&wasm),
            compilers,
            codes: compile::Loaded::default(),
            wasm,
            linker,
            ticker,
            cache,
            http_client,
            settings,
            given_up: AtomicUsize::new(0),
            slots,
            waiting: AtomicUsize::new(0),
        })))
    }

    /// Instances that are live or about to be.
    pub fn live_instances(&self) -> usize {
        self.0.settings.instances as usize - self.0.slots.available_permits()
    }

    /// Entries that wait for an instance.
    pub fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }

    /// Waits for a slot, for an entry that is not wanted any more once the batch is cancelled.
    pub(super) async fn slot_unless(&self, cancel: &CancellationToken) -> Result<OwnedSemaphorePermit, ToolError> {
        tokio::select! {
            biased;
            slot = self.slot() => slot,
            () = cancel.cancelled() => Err(ToolError::cancelled()),
        }
    }

    /// Waits for a slot.
    pub(super) async fn slot(&self) -> Result<OwnedSemaphorePermit, ToolError> {
        if let Ok(permit) = self.0.slots.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let settings = &self.0.settings;
        let queued = Queued::enter(&self.0.waiting);
        if queued.place > settings.queue_length {
            return Err(ToolError::of(
                ErrorKind::Unavailable,
                format!(
                    "The tool was not started: {} calls are already waiting. Try again later.",
                    settings.queue_length
                ),
            )
            .with_hint("raise queue-length or instances"));
        }
        match tokio::time::timeout(settings.queue_wait, self.0.slots.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(ToolError::of(
                ErrorKind::Unavailable,
                format!(
                    "The tool was not started: no instance was free within {} ms. Try again later.",
                    settings.queue_wait.as_millis()
                ),
            )
            .with_hint("raise queue-wait-ms or instances")),
        }
    }
}

/// One place in the queue; leaves it when dropped.
struct Queued<'a> {
    waiting: &'a AtomicUsize,
    place: usize,
}

impl<'a> Queued<'a> {
    fn enter(waiting: &'a AtomicUsize) -> Self {
        Self { waiting, place: waiting.fetch_add(1, Ordering::Relaxed) + 1 }
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

fn config(settings: &EngineSettings, pagemap_scan: bool) -> Config {
    let n = settings.instances;
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(n)
        .total_core_instances(n.saturating_mul(MAX_INSTANCES))
        .total_memories(n.saturating_mul(MAX_MEMORIES))
        .total_tables(n.saturating_mul(MAX_TABLES))
        .total_stacks(n)
        .max_core_instances_per_component(MAX_INSTANCES)
        .max_memories_per_component(MAX_MEMORIES)
        .max_tables_per_component(MAX_TABLES)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .table_elements(settings.max_table_elements)
        .max_memory_size(4 << 30)
        .linear_memory_keep_resident(if pagemap_scan { KEEP_RESIDENT } else { KEEP_RESIDENT_CLEARED })
        .table_keep_resident(64 << 10)
        .pagemap_scan(if pagemap_scan { Enabled::Yes } else { Enabled::No });
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .consume_fuel(true)
        .epoch_interruption(true)
        .concurrency_support(false)
        .memory_init_cow(true)
        .max_wasm_stack(MAX_WASM_STACK)
        .async_stack_size(ASYNC_STACK);
    config
}

/// Everything a guest may import, for all plugins alike: what is not granted is refused at use.
fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::new(engine);
    wasi::add_to_linker(&mut linker)?;
    http::add_to_linker(&mut linker)?;
    http::shadow(&mut linker)?;
    let l = &mut linker;
    bindings::progress::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
    bindings::cancellation::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
    bindings::log::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
    bindings::state::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
    bindings::config::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
    bindings::batch::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
    bindings::types::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
    bindings::cancellation_event::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
    Ok(linker)
}
