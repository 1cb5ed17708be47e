//! What an MCP session is to the pipeline: a conversation with its turns and its active tools.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use toolgate::Host;
use toolgate::registry::{ActiveTools, RegisteredTool};

use crate::bridge::Level;

/// One conversation; what plugins kept in it is forgotten when this is dropped.
pub(crate) struct Conversation {
    host: Host,
    id: Arc<str>,
    window: Duration,
    active: Mutex<Active>,
    turn: Mutex<Option<(Arc<Turn>, Instant)>>,
    turns: AtomicU64,
    unlocked: watch::Sender<u64>,
    /// What `logging/setLevel` set.
    pub level: Arc<Level>,
}

/// Names that results may unlock in one conversation: a plugin could name new ones for ever.
const MAX_UNLOCKED: usize = 4_096;

/// The active tools, and the names that results unlocked, whether or not they have a tool behind them now.
#[derive(Default)]
struct Active {
    tools: ActiveTools,
    names: HashSet<String>,
}

/// One turn; what plugins kept in it is forgotten when the window is over and its last call has ended.
pub(crate) struct Turn {
    host: Host,
    conversation: Arc<str>,
    pub name: Arc<str>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.host.state().end_turn(&self.conversation, &self.name);
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.host.state().end_conversation(&self.id);
    }
}

impl Conversation {
    /// The log rank that a session starts with: info.
    const FIRST_LEVEL: u8 = 1;

    pub(crate) fn new(host: Host, window: Duration) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            host,
            id: format!("mcp-session-{}", NEXT.fetch_add(1, Ordering::Relaxed)).into(),
            window,
            active: Mutex::default(),
            turn: Mutex::default(),
            turns: AtomicU64::new(1),
            unlocked: watch::Sender::new(0),
            level: Arc::new(Level::new(Some(Self::FIRST_LEVEL))),
        }
    }

    pub(crate) fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The turn that a call starting now belongs to: the first call opens a window, later ones within it share it.
    pub(crate) fn turn(&self) -> Arc<Turn> {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match &*turn {
            Some((current, until)) if now < *until => current.clone(),
            _ => {
                let name = format!("turn-{}", self.turns.fetch_add(1, Ordering::Relaxed)).into();
                let (host, conversation) = (self.host.clone(), self.id.clone());
                let opened = Arc::new(Turn { host, conversation, name });
                // A window too long to add is one that never ends.
                let far = now + Duration::from_secs(365 * 24 * 60 * 60);
                *turn = Some((opened.clone(), now.checked_add(self.window).unwrap_or(far)));
                opened
            }
        }
    }

    pub(crate) fn active(&self) -> ActiveTools {
        self.active.lock().unwrap_or_else(PoisonError::into_inner).tools.clone()
    }

    pub(crate) fn is_active(&self, tool: &RegisteredTool) -> bool {
        self.active.lock().unwrap_or_else(PoisonError::into_inner).tools.contains(tool)
    }

    /// Makes active what a result named; tells who watches the list where that changes it.
    pub(crate) fn unlock(&self, names: &[String]) {
        let tools = self.host.tools();
        let mut shown = false;
        {
            let mut active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
            for name in names {
                let fits = name.len() <= 64 && active.names.len() < MAX_UNLOCKED;
                if fits && !active.names.contains(name) {
                    shown |= tools.tool(name).is_some_and(|tool| !active.tools.contains(tool));
                    active.names.insert(name.clone());
                    active.tools.unlock([name]);
                }
            }
        }
        if shown {
            self.unlocked.send_modify(|count| *count += 1);
        }
    }

    /// Wakes when [`unlock`](Self::unlock) changed the list.
    pub(crate) fn unlocked(&self) -> watch::Receiver<u64> {
        self.unlocked.subscribe()
    }
}
