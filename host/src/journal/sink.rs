//! The sink that keeps a batch's books.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::record::{self, Kind, Line, Outcome};
use super::{Fsync, Journal};
use crate::model::{AssistantMessage, Event, StopReason, ToolCall, unix_ms};
use crate::pipeline::{EventSink, SinkError, Step};

/// The records of one batch. One that fails, or is too slow, is cut off like any sink, and the batch goes on without:
/// see [`is_complete`](Self::is_complete).
pub struct BatchJournal {
    journal: Journal,
    name: Arc<str>,
    calls: Vec<Known>,
    /// Calls that were handed to the writer, which the lock keeps in the order of the counts.
    settled: Mutex<usize>,
    written: AtomicUsize,
    expected: usize,
}

struct Known {
    call: ToolCall,
    arguments_sha256: String,
}

impl BatchJournal {
    pub(super) fn new(journal: Journal, name: Arc<str>, message: &AssistantMessage) -> Self {
        let known = |call: &ToolCall| Known { arguments_sha256: record::arguments_sha256(call), call: call.clone() };
        let expected = match message.stop_reason {
            StopReason::Error | StopReason::Aborted => 0,
            _ => message.calls.len(),
        };
        let calls = message.calls.iter().map(known).collect();
        Self { journal, name, calls, settled: Mutex::default(), written: AtomicUsize::new(0), expected }
    }

    /// Whether the journal has the result of every call. Where it does not when the batch is over, a batch that is begun
    /// nevertheless might be run again without need.
    pub fn is_complete(&self) -> bool {
        self.written.load(Ordering::Acquire) >= self.expected
    }

    fn line(&self, record: Kind, position: u32, outcome: Option<Outcome<'_>>) -> Result<Vec<u8>, SinkError> {
        let known = usize::try_from(position).ok().and_then(|at| self.calls.get(at));
        let Known { call, arguments_sha256 } =
            known.ok_or_else(|| format!("the batch it was made for has no call {position}"))?;
        let mut line = serde_json::to_vec(&Line {
            record,
            batch: &self.name,
            position,
            tool_call_id: &call.id,
            tool_name: &call.name,
            arguments_sha256,
            outcome,
        })?;
        if line.len() > record::MAX_LINE {
            let (id, most) = (&call.id, record::MAX_LINE);
            return Err(format!("what call {id:?} answered is {} bytes of JSON, at most {most} fit", line.len()).into());
        }
        line.push(b'\n');
        Ok(line)
    }

    async fn settled(&self, line: Vec<u8>) -> Result<(), SinkError> {
        let done = {
            let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
            *settled += 1;
            let sync = match self.journal.0.fsync {
                Fsync::Always => true,
                Fsync::Batch => *settled == self.expected,
                Fsync::Never => false,
            };
            self.journal.0.writer.write(line, sync)
        };
        done.await?;
        self.written.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

#[async_trait]
impl EventSink for BatchJournal {
    fn name(&self) -> &str {
        "journal"
    }

    fn is_ahead(&self) -> bool {
        true
    }

    async fn step(&self, position: u32, step: &Step) -> Result<(), SinkError> {
        if !matches!(step, Step::Executing) {
            return Ok(());
        }
        let line = self.line(Kind::Begun, position, None)?;
        let sync = self.journal.0.fsync == Fsync::Always;
        Ok(self.journal.0.writer.write(line, sync).await?)
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        match event {
            // It is in the file already.
            Event::ToolExecutionEnd { replayed: true, .. } => self.settled(Vec::new()).await,
            Event::ToolExecutionEnd { position, result, is_error, error, .. } => {
                let error = error.as_ref();
                let outcome = Outcome { result, is_error: *is_error, error, timestamp: unix_ms() };
                self.settled(self.line(Kind::Settled, *position, Some(outcome))?).await
            }
            _ => Ok(()),
        }
    }
}
