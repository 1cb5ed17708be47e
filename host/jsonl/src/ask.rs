//! Requests to the client, and what becomes of their answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use toolgate::model::ToolResult;

use crate::outbox::Outbox;
use crate::wire::{Failure, GivenUp, Request};

/// Updates of one call that may wait for the pipeline; more are dropped.
const UPDATES: usize = 256;

/// What the client answered: a document, or words.
type Answer = Result<Box<RawValue>, String>;

/// The requests that have no answer yet.
#[derive(Default)]
pub(crate) struct Asks(Mutex<Open>);

#[derive(Default)]
struct Open {
    next: u64,
    /// The client answers nothing any more.
    deaf: bool,
    waiting: HashMap<u64, Waiting>,
}

struct Waiting {
    answer: oneshot::Sender<Answer>,
    updates: mpsc::Sender<ToolResult>,
}

/// Why there is no answer to use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// The client answered with an error.
    #[error("{0}")]
    Error(String),
    /// The client answered something else than it should.
    #[error("the client's answer to {method} can't be read: {why}")]
    Unreadable {
        /// What was asked.
        method: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// There is nobody to ask.
    #[error("the client is gone")]
    Gone,
}

/// A request under way. Dropped without an answer, it is given up, and the client told.
pub(crate) struct Asking {
    asks: Arc<Asks>,
    outbox: Arc<Outbox>,
    method: &'static str,
    id: u64,
    told: bool,
    answer: oneshot::Receiver<Answer>,
    updates: mpsc::Receiver<ToolResult>,
}

impl Asks {
    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request to the client.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        outbox: &Arc<Outbox>,
        method: &'static str,
        params: impl Serialize,
    ) -> Result<Asking, NoAnswer> {
        let (sender, answer) = oneshot::channel();
        let (update, updates) = mpsc::channel(UPDATES);
        let id = {
            let mut open = self.open();
            if open.deaf {
                return Err(NoAnswer::Gone);
            }
            open.next += 1;
            let id = open.next;
            open.waiting.insert(id, Waiting { answer: sender, updates: update });
            id
        };
        let asking = Asking { asks: self.clone(), outbox: outbox.clone(), method, id, told: false, answer, updates };
        outbox.send(&Request::new(Some(id), method, params)).await.map_err(|_| NoAnswer::Gone)?;
        Ok(asking)
    }

    /// Takes the client's answer. Says whether it was waited for: one that comes too late is not.
    pub(crate) fn answered(&self, id: &RawValue, result: Option<&RawValue>, error: Option<Failure>) -> bool {
        let Some(waiting) = number(id.get()).and_then(|id| self.open().waiting.remove(&id)) else { return false };
        let answer = match error {
            Some(failure) => Err(failure.message),
            None => Ok(result.unwrap_or(RawValue::NULL).to_owned()),
        };
        waiting.answer.send(answer).is_ok()
    }

    /// Takes an update. One too many is dropped.
    pub(crate) fn updated(&self, request: &str, partial: ToolResult) {
        let Some(id) = request.strip_prefix('t').and_then(|id| id.parse().ok()) else { return };
        if let Some(waiting) = self.open().waiting.get(&id) {
            // An error means that it is one too many, or that nobody waits.
            let _ = waiting.updates.try_send(partial);
        }
    }

    /// The client answers nothing any more.
    pub(crate) fn close(&self) {
        let waiting = {
            let mut open = self.open();
            open.deaf = true;
            std::mem::take(&mut open.waiting)
        };
        drop(waiting);
    }
}

/// The number in an id of ours, as JSON.
fn number(id: &str) -> Option<u64> {
    id.strip_prefix("\"t")?.strip_suffix('"')?.parse().ok()
}

impl Asking {
    /// What comes next: updates in the order they were sent, all that came before the answer before it.
    pub(crate) async fn next(&mut self) -> Next {
        tokio::select! {
            biased;
            Some(partial) = self.updates.recv() => Next::Update(Box::new(partial)),
            answer = &mut self.answer => {
                self.told = true;
                // The sender of updates is gone with that of the answer, and what it sent is still here.
                let mut rest = Vec::new();
                while let Ok(partial) = self.updates.try_recv() {
                    rest.push(partial);
                }
                Next::Answer(rest, match answer {
                    Ok(Ok(document)) => Ok(document),
                    Ok(Err(message)) => Err(NoAnswer::Error(message)),
                    Err(_) => Err(NoAnswer::Gone),
                })
            }
        }
    }

    /// The answer to a request that has no updates.
    pub(crate) async fn answer<T: DeserializeOwned>(mut self) -> Result<T, NoAnswer> {
        loop {
            if let Next::Answer(_, answer) = self.next().await {
                return self.read(&answer?);
            }
        }
    }

    /// Reads an answer.
    pub(crate) fn read<T: DeserializeOwned>(&self, answer: &RawValue) -> Result<T, NoAnswer> {
        serde_json::from_str(answer.get())
            .map_err(|error| NoAnswer::Unreadable { method: self.method, why: error.to_string() })
    }

    /// Whether the client knows, or need not know, that its answer is not needed.
    pub(crate) fn is_told(&self) -> bool {
        self.told
    }

    /// Tells the client that its answer is not needed any more, or soon not.
    pub(crate) fn give_up(&mut self) {
        if !std::mem::replace(&mut self.told, true) {
            self.outbox.push(&Request::new(None, "cancelled", GivenUp { request: format!("t{}", self.id) }));
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.asks.open().waiting.remove(&self.id);
        self.give_up();
    }
}

/// A sign of life of a request.
pub(crate) enum Next {
    /// A partial result.
    Update(Box<ToolResult>),
    /// The end, and updates that came just before it.
    Answer(Vec<ToolResult>, Answered),
}

/// The document the client answered with.
pub(crate) type Answered = Result<Box<RawValue>, NoAnswer>;
