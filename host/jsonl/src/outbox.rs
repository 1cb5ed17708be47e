//! What waits to be written, bounded in bytes, in the order it was given.

use std::io;
use std::sync::Arc;

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::serve::Late;

/// The side that has something to say.
pub(crate) struct Outbox {
    lines: mpsc::UnboundedSender<Line>,
    /// Taken by who waits for room, so that lines keep the order in which they were given.
    turn: Mutex<()>,
    room: Arc<Semaphore>,
    bytes: u32,
    closed: CancellationToken,
    late: Late,
}

/// The side that writes.
pub(crate) struct Written {
    lines: mpsc::UnboundedReceiver<Line>,
    closed: CancellationToken,
}

struct Line {
    bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

/// Nobody reads any more.
#[derive(Debug, thiserror::Error)]
#[error("the client is gone")]
pub(crate) struct Closed;

/// Both sides; at most about so many bytes wait between them.
pub(crate) fn open(bytes: usize, late: Late) -> (Outbox, Written) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let bytes = u32::try_from(bytes.clamp(1, Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
    let closed = CancellationToken::new();
    let outbox = Outbox {
        lines: sender,
        turn: Mutex::default(),
        room: Arc::new(Semaphore::new(bytes as usize)),
        bytes,
        closed: closed.clone(),
        late,
    };
    (outbox, Written { lines: receiver, closed })
}

fn text(message: &impl Serialize) -> Vec<u8> {
    // What is sent are plain structs and checked documents; they serialize.
    let mut bytes = serde_json::to_vec(message).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

impl Outbox {
    /// Waits for room, and behind whoever waits already.
    pub(crate) async fn send(&self, message: &impl Serialize) -> Result<(), Closed> {
        let wait = async {
            let _turn = self.turn.lock().await;
            // Only now: who waits for its turn holds no copy.
            let bytes = text(message);
            let wanted = u32::try_from(bytes.len()).unwrap_or(u32::MAX).min(self.bytes);
            let room = self.room.clone().acquire_many_owned(wanted).await.map_err(|_| Closed)?;
            self.lines.send(Line { bytes, _room: Some(room) }).map_err(|_| Closed)
        };
        tokio::select! {
            biased;
            () = self.closed.cancelled() => Err(Closed),
            sent = wait => sent,
            () = self.late.wait() => Err(Closed),
        }
    }

    /// Gives a line only where there is room now; says whether it did.
    pub(crate) fn try_send(&self, message: &impl Serialize) -> bool {
        let bytes = text(message);
        let wanted = u32::try_from(bytes.len()).unwrap_or(u32::MAX).min(self.bytes);
        match self.room.clone().try_acquire_many_owned(wanted) {
            Ok(room) => self.lines.send(Line { bytes, _room: Some(room) }).is_ok(),
            Err(_) => false,
        }
    }

    /// For short words of which there are only as many as something else that is bounded.
    pub(crate) fn push(&self, message: &impl Serialize) {
        // An error means that nobody reads, which `closed` says.
        let _ = self.lines.send(Line { bytes: text(message), _room: None });
    }

    /// Nobody reads any more.
    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.closed
    }
}

impl Written {
    /// Writes until every [`Outbox`] is gone or nobody reads.
    pub(crate) async fn write_to(mut self, mut output: impl AsyncWrite + Unpin) -> io::Result<()> {
        let _closed = self.closed.clone().drop_guard();
        while let Some(mut line) = self.lines.recv().await {
            loop {
                output.write_all(&line.bytes).await?;
                match self.lines.try_recv() {
                    Ok(next) => line = next,
                    Err(_) => break,
                }
            }
            output.flush().await?;
        }
        output.flush().await
    }
}
