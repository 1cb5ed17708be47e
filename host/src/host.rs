//! The upper API: a host holds plugins and runs batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::loading::Waits;
use crate::model::ExecutionMode;
use crate::pipeline::batch::{self, Run, Settings};
use crate::pipeline::keys::Keys;
use crate::pipeline::sinks::Sinks;
use crate::pipeline::{Approver, Batch, BatchInfo, BatchOutcome, DEFAULT_CONVERSATION, LogSink, TracingLogs, Watcher};
use crate::registry::{Plugin, Registry, RegistryError, Snapshot, Update};
use crate::state::StateStore;

/// Runs batches of tool calls on the plugins it holds. Cheap to clone; all clones are one host.
#[derive(Clone)]
pub struct Host(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    settings: Arc<Settings>,
    registry: Registry,
    state: Arc<StateStore>,
    keys: Arc<Keys>,
    pub(crate) waits: Waits,
    batches: AtomicU64,
    /// [`DEFAULT_CONVERSATION`], shared.
    conversation: Arc<str>,
}

impl Host {
    /// A host with everything at its default.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts from the defaults.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Adds a plugin, all of it or nothing. Batches that run already do not see it.
    ///
    /// # Errors
    ///
    /// A name that is taken, a tool that another plugin offers, a definition or a schema that is not accepted.
    pub fn load(&self, plugin: Plugin) -> Result<(), RegistryError> {
        self.0.registry.load(plugin)
    }

    /// Puts a plugin in the place of the one with its name. Batches that run already go on with the old one.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load), and where there is no plugin of that name. The old one stays then.
    pub fn replace(&self, plugin: Plugin) -> Result<(), RegistryError> {
        self.0.registry.replace(plugin)
    }

    /// Takes a plugin out. Batches that run already go on with it.
    ///
    /// # Errors
    ///
    /// There is no plugin of that name.
    pub fn unload(&self, plugin: &str) -> Result<(), RegistryError> {
        self.0.registry.unload(plugin)
    }

    /// Makes several changes as one, all of them or none. Batches that run already go on with what they began with.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load) and [`unload`](Self::unload); nothing has changed then.
    pub fn update(&self, update: Update) -> Result<(), RegistryError> {
        self.0.registry.update(update)
    }

    /// Counts the changes to what is loaded, and wakes whoever waits for one.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.registry.changes()
    }

    /// What is loaded now.
    pub fn tools(&self) -> Arc<Snapshot> {
        self.0.registry.snapshot()
    }

    /// Where plugins' log lines go, for a batch's own log sink to pass them on to.
    pub fn logs(&self) -> Arc<dyn LogSink> {
        self.0.settings.logs.clone()
    }

    /// What plugins keep between calls; the embedder ends turns and conversations here.
    pub fn state(&self) -> &StateStore {
        &self.0.state
    }

    /// Runs one batch. It never fails: whatever goes wrong is an error result. Dropping the future stops everything the
    /// batch had running, without results.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with time enabled.
    pub async fn run(&self, batch: Batch) -> BatchOutcome {
        let Batch { message, turn, conversation, cancel, mut sinks, mode, active, earlier, .. } = batch;
        let Batch { approver, logs, tag, trace_parent, .. } = batch;
        let host = &*self.0;
        let conversation = conversation.unwrap_or_else(|| host.conversation.clone());
        let mut own_turn = None;
        let turn = turn.unwrap_or_else(|| {
            let number = host.batches.fetch_add(1, Ordering::Relaxed);
            let name: Arc<str> = format!("toolgate-batch-{number}").into();
            let (state, conversation) = (host.state.clone(), conversation.clone());
            own_turn = Some(OwnTurn { state, conversation, turn: name.clone() });
            name
        });
        let info = BatchInfo {
            size: u32::try_from(message.calls.len()).unwrap_or(u32::MAX),
            turn,
            conversation,
            message: message.raw.clone(),
            tag,
        };
        let info = Arc::new(info);
        for watcher in &host.settings.watchers {
            let watch = || watcher.watch(&info, &message.calls);
            match std::panic::catch_unwind(std::panic::AssertUnwindSafe(watch)) {
                Ok(sink) => sinks.push(sink),
                Err(_) => tracing::error!("a watcher panicked; it does not see this batch"),
            }
        }
        let loading = self.ready(&message.calls, &cancel).await;
        let run = Run {
            loading,
            registry: host.registry.snapshot(),
            active,
            earlier,
            trace_parent,
            sinks: Arc::new(Sinks::new(sinks, host.settings.sink_timeout)),
            approver: approver.or_else(|| host.settings.approver.clone()),
            logs: logs.unwrap_or_else(|| host.settings.logs.clone()),
            cancel,
            info,
            keys: host.keys.clone(),
            result_bytes_left: AtomicUsize::new(host.settings.batch_result_bytes),
            state: host.state.clone(),
            settings: host.settings.clone(),
        };
        let outcome = batch::run(run, &message, mode.unwrap_or(host.settings.mode)).await;
        drop(own_turn);
        outcome
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

/// A turn that nobody named: its state ends with its batch, also with one that is dropped.
struct OwnTurn {
    state: Arc<StateStore>,
    conversation: Arc<str>,
    turn: Arc<str>,
}

impl Drop for OwnTurn {
    fn drop(&mut self) {
        self.state.end_turn(&self.conversation, &self.turn);
    }
}

/// What is fixed for the life of a host.
pub struct HostBuilder {
    settings: Settings,
    hook_order: Vec<String>,
    state: Arc<StateStore>,
    waits: Waits,
}

impl Default for HostBuilder {
    fn default() -> Self {
        let settings = Settings {
            mode: ExecutionMode::Parallel,
            grace: Duration::from_secs(5),
            approval_timeout: Duration::from_secs(120),
            sink_timeout: Duration::from_secs(5),
            key_timeout: Duration::from_secs(300),
            batch_result_bytes: 64 << 20,
            approver: None,
            logs: Arc::new(TracingLogs),
            watchers: Vec::new(),
            trace_content: false,
        };
        Self { settings, hook_order: Vec::new(), state: Arc::default(), waits: Waits::default() }
    }
}

impl HostBuilder {
    /// The mode of batches that do not say theirs. Default: parallel.
    pub fn mode(mut self, mode: ExecutionMode) -> Self {
        self.settings.mode = mode;
        self
    }

    /// How long running code may go on after a cancellation. Default 5 s: enough to finish a file, short for a person
    /// who waits.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.settings.grace = grace;
        self
    }

    /// How long an approver may think. Default 120 s. No answer declines.
    pub fn approval_timeout(mut self, timeout: Duration) -> Self {
        self.settings.approval_timeout = timeout;
        self
    }

    /// How long a sink may hold one event. Default 5 s. Then it is cut off.
    pub fn sink_timeout(mut self, timeout: Duration) -> Self {
        self.settings.sink_timeout = timeout;
        self
    }

    /// How long a call may wait for its exclusive keys. Default 300 s: ten calls of 30 s before it. Then it is
    /// `unavailable`.
    pub fn key_timeout(mut self, timeout: Duration) -> Self {
        self.settings.key_timeout = timeout;
        self
    }

    /// How long a call may wait for plugins that are still being loaded; see [`Loading`](crate::Loading). Default 300 s.
    /// Then it is `unavailable`.
    pub fn load_wait(mut self, wait: Duration) -> Self {
        self.waits.call = wait;
        self
    }

    /// How long a front end may keep somebody waiting who lists the tools while plugins are still being loaded. Default
    /// 20 s: clients give a server 30 or 60 s to start, and many list its tools only then.
    pub fn list_wait(mut self, wait: Duration) -> Self {
        self.waits.list = wait;
        self
    }

    /// What the results of one batch may take together, as [`result_bytes`](crate::sandbox::Limits::result_bytes) counts.
    /// Default 64 MiB, four of the largest results. What does not fit any more becomes an error result,
    /// `output-limit`.
    pub fn batch_result_bytes(mut self, bytes: usize) -> Self {
        self.settings.batch_result_bytes = bytes;
        self
    }

    /// Who answers when a hook asks. Default: nobody, which declines.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.settings.approver = Some(approver);
        self
    }

    /// Where plugins' log lines go. Default: `tracing`.
    pub fn logs(mut self, logs: Arc<dyn LogSink>) -> Self {
        self.settings.logs = logs;
        self
    }

    /// Adds somebody who watches every batch, whoever runs it.
    pub fn watcher(mut self, watcher: Arc<dyn Watcher>) -> Self {
        self.settings.watchers.push(watcher);
        self
    }

    /// Whether spans hold the calls' arguments and results (at most 32 KiB of each): they may be private. Default: no.
    pub fn trace_content(mut self, content: bool) -> Self {
        self.settings.trace_content = content;
        self
    }

    /// The order hooks are called in, by plugin name. Those not named follow in the order they were loaded.
    pub fn hook_order(mut self, plugins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hook_order = plugins.into_iter().map(Into::into).collect();
        self
    }

    /// Shares a state store with other hosts.
    pub fn state(mut self, state: Arc<StateStore>) -> Self {
        self.state = state;
        self
    }

    /// The host, without plugins.
    pub fn build(self) -> Host {
        Host(Arc::new(Inner {
            settings: Arc::new(self.settings),
            registry: Registry::new(self.hook_order),
            state: self.state,
            keys: Arc::default(),
            waits: self.waits,
            batches: AtomicU64::new(0),
            conversation: DEFAULT_CONVERSATION.into(),
        }))
    }
}
