//! Ties a host's one approver and one log sink to the MCP calls they concern.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use toolgate::model::ToolResult;
use toolgate::pipeline::{Approval, ApprovalRequest, Approver, LogLevel, LogLine, LogSink};

/// Notes of one call that may wait for a slow client; then log lines are dropped and progress waits.
const WAITING_NOTES: usize = 64;

/// Give it to the host's builder as approver and as log sink, and to the [`Server`](crate::Server).
#[derive(Clone)]
pub struct Bridge(Arc<Ports>);

struct Ports {
    logs: Arc<dyn LogSink>,
    calls: Mutex<HashMap<Arc<str>, Port>>,
    next: AtomicU64,
}

/// What one running call is reached by.
#[derive(Clone)]
struct Port {
    notes: mpsc::Sender<Note>,
    asks: mpsc::Sender<Ask>,
    level: Arc<Level>,
    dropped: Arc<AtomicU64>,
}

/// What a client is told while a call runs.
pub(crate) enum Note {
    /// The tool reported a partial result.
    Progress(Arc<ToolResult>),
    /// A log line of a plugin.
    Log { plugin: String, level: LogLevel, message: String },
    /// Everything before it has been sent.
    Flush(oneshot::Sender<()>),
}

/// A hook's question, waiting for an answer.
pub(crate) struct Ask {
    pub request: ApprovalRequest,
    pub reply: oneshot::Sender<Approval>,
}

impl Ask {
    pub(crate) fn answer(self, approval: Approval) {
        // Nobody waits any more where the call was cancelled or the time is over.
        let _ = self.reply.send(approval);
    }
}

/// The least grave line a client wants, as MCP ranks them; may change while calls run.
pub(crate) struct Level(AtomicU8);

impl Level {
    const OFF: u8 = u8::MAX;

    /// `None` wants no lines.
    pub(crate) fn new(rank: Option<u8>) -> Self {
        Self(AtomicU8::new(rank.unwrap_or(Self::OFF)))
    }

    pub(crate) fn set(&self, rank: u8) {
        self.0.store(rank, Ordering::Relaxed);
    }

    fn wants(&self, level: LogLevel) -> bool {
        // Ranks of debug, info, warning, error among MCP's eight.
        let rank = match level {
            LogLevel::Trace | LogLevel::Debug => 0,
            LogLevel::Info => 1,
            LogLevel::Warn => 3,
            LogLevel::Error => 4,
        };
        rank >= self.0.load(Ordering::Relaxed)
    }
}

/// A call's place in the bridge, given up when this is dropped.
pub(crate) struct Registered {
    bridge: Bridge,
    pub id: Arc<str>,
    pub notes: mpsc::Sender<Note>,
    dropped: Arc<AtomicU64>,
}

impl Registered {
    /// Log lines that found no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.bridge.calls().remove(&self.id);
    }
}

impl Bridge {
    /// Log lines go to the client of their call and to `logs`.
    pub fn new(logs: Arc<dyn LogSink>) -> Self {
        Self(Arc::new(Ports { logs, calls: Mutex::default(), next: AtomicU64::new(1) }))
    }

    fn calls(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<str>, Port>> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new call's id and its ends: MCP clients' request ids are not unique over connections.
    pub(crate) fn register(&self, level: Arc<Level>) -> (Registered, mpsc::Receiver<Note>, mpsc::Receiver<Ask>) {
        let id: Arc<str> = format!("mcp-{}", self.0.next.fetch_add(1, Ordering::Relaxed)).into();
        let (notes, noted) = mpsc::channel(WAITING_NOTES);
        let (asks, asked) = mpsc::channel(1);
        let dropped = Arc::<AtomicU64>::default();
        let port = Port { notes: notes.clone(), asks, level, dropped: dropped.clone() };
        self.calls().insert(id.clone(), port);
        (Registered { bridge: self.clone(), id, notes, dropped }, noted, asked)
    }
}

#[async_trait]
impl Approver for Bridge {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        let asks = self.calls().get(&request.call.id).map(|port| port.asks.clone());
        let (reply, answer) = oneshot::channel();
        if let Some(asks) = asks
            && asks.send(Ask { request, reply }).await.is_ok()
            && let Ok(approval) = answer.await
        {
            return approval;
        }
        Approval::Declined { reason: Some("nobody was there to answer".into()) }
    }
}

impl LogSink for Bridge {
    fn log(&self, line: &LogLine<'_>) {
        self.0.logs.log(line);
        let port = line.tool_call_id.and_then(|id| self.calls().get(id).cloned());
        if let Some(port) = port
            && port.level.wants(line.level)
        {
            let (plugin, message) = (line.plugin.to_owned(), line.message.to_owned());
            // The guest must not wait for a client that does not read.
            if port.notes.try_send(Note::Log { plugin, level: line.level, message }).is_err() {
                port.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
