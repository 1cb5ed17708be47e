//! Standard output, written by a thread of its own: a slow reader (a pager, a full pipe) holds no thread of the runtime,
//! and a closed pipe is no panic. What waits to be written is bounded: producers of events wait for room.

use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use tokio::sync::{Mutex, Notify};
use tokio_util::sync::CancellationToken;
use toolgate::model::Event;
use toolgate::pipeline::{EventSink, SinkError};

use crate::exit::Failure;

/// Bytes that may wait before a producer does: enough for bursts. One event more is held while it waits.
const MAX_WAITING: usize = 8 << 20;

/// A handle on standard output.
#[derive(Clone)]
pub struct Out {
    lines: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    waiting: AtomicUsize,
    drained: Notify,
    closed: CancellationToken,
}

/// Waits until everything is written.
pub struct Writer(JoinHandle<std::io::Result<()>>);

/// Starts the writer.
pub fn open() -> (Out, Writer) {
    let (lines, receiver) = mpsc::channel::<Vec<u8>>();
    let shared = Arc::new(Shared::default());
    let out = Out { lines, shared: shared.clone() };
    let thread = std::thread::spawn(move || {
        let mut stdout = BufWriter::new(anstream::AutoStream::auto(std::io::stdout()));
        while let Ok(first) = receiver.recv() {
            let mut next = Some(first);
            let mut wrote = Ok(());
            // What waits already goes out together.
            while let (Ok(()), Some(bytes)) = (&wrote, next) {
                wrote = stdout.write_all(&bytes);
                shared.written(bytes.len());
                next = receiver.try_recv().ok();
            }
            if let Err(error) = wrote.and_then(|()| stdout.flush()) {
                shared.closed.cancel();
                return Err(error);
            }
        }
        Ok(())
    });
    (out, Writer(thread))
}

impl Shared {
    fn written(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        self.drained.notify_waiters();
    }
}

impl Writer {
    /// Call it after every [`Out`] is gone. Fails where something could not be written.
    pub fn finish(self) -> Result<(), Failure> {
        match self.0.join() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(Failure::output(
                "standard output was closed before everything was written",
            )),
            Ok(Err(error)) => Err(Failure::output(format!("standard output: {error}"))),
            Err(_) => Err(Failure::output("standard output: its writer panicked")),
        }
    }
}

impl Out {
    /// Writes bytes as they are. Does not wait: for what there is little of, or after [`room`](Self::room).
    pub fn write(&self, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        self.shared.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
        // An error means that standard output is closed, which the writer reports.
        let _ = self.lines.send(bytes);
    }

    /// Writes one document and a line break.
    pub fn json(&self, value: &impl Serialize) -> Result<(), serde_json::Error> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.write(line);
        Ok(())
    }

    /// Waits until there is room for more. Answers whether anybody reads.
    pub async fn room(&self) -> bool {
        loop {
            let drained = self.shared.drained.notified();
            if self.closed() {
                return false;
            }
            if self.shared.waiting.load(Ordering::Relaxed) < MAX_WAITING {
                return true;
            }
            tokio::select! {
                () = drained => {}
                () = self.shared.closed.cancelled() => {}
            }
        }
    }

    /// Whether nobody reads any more.
    pub fn closed(&self) -> bool {
        self.shared.closed.is_cancelled()
    }

    /// Cancels what is done for a reader who is gone.
    pub async fn cancel_when_closed(self, cancel: CancellationToken) {
        self.shared.closed.cancelled().await;
        cancel.cancel();
    }
}

/// How long a reader that takes nothing may hold up a run that was cancelled.
const AFTER_CANCEL: Duration = Duration::from_secs(5);

/// Writes every event as one line of JSON.
pub struct JsonLines {
    pub out: Out,
    cancel: CancellationToken,
    /// Only one event at a time is written out while it waits for room.
    turn: Mutex<()>,
}

impl JsonLines {
    pub fn new(out: Out, cancel: CancellationToken) -> Self {
        Self { out, cancel, turn: Mutex::new(()) }
    }
}

/// Waits for room as long as it takes, after a cancellation only for a while.
pub async fn room(out: &Out, cancel: &CancellationToken) -> Result<(), SinkError> {
    let too_long = async {
        cancel.cancelled().await;
        tokio::time::sleep(AFTER_CANCEL).await;
    };
    tokio::select! {
        biased;
        open = out.room() => if open { Ok(()) } else { Err("standard output is closed".into()) },
        () = too_long => Err("nobody reads standard output".into()),
    }
}

#[async_trait]
impl EventSink for JsonLines {
    fn name(&self) -> &str {
        "stdout"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        let _turn = self.turn.lock().await;
        room(&self.out, &self.cancel).await?;
        Ok(self.out.json(event)?)
    }

    fn is_patient(&self) -> bool {
        true
    }
}
