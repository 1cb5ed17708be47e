//! Standard output, written by a thread of its own: a slow reader (a pager, a full pipe) slows no guest down and gets
//! no consumer cut off, and a closed pipe is no panic.

use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use async_trait::async_trait;
use serde::Serialize;
use toolgate::model::Event;
use toolgate::pipeline::{EventSink, SinkError};

/// A handle on standard output.
#[derive(Clone)]
pub struct Out {
    lines: mpsc::Sender<Vec<u8>>,
    closed: Arc<AtomicBool>,
}

/// Waits until everything is written.
pub struct Writer(JoinHandle<()>);

/// Starts the writer.
pub fn open() -> (Out, Writer) {
    let (lines, receiver) = mpsc::channel::<Vec<u8>>();
    let closed = Arc::new(AtomicBool::new(false));
    let out = Out { lines, closed: closed.clone() };
    let thread = std::thread::spawn(move || {
        let mut stdout = BufWriter::new(anstream::AutoStream::auto(std::io::stdout()));
        while let Ok(first) = receiver.recv() {
            // What waits already goes out in one write.
            let wrote = std::iter::once(first)
                .chain(receiver.try_iter())
                .try_for_each(|bytes| stdout.write_all(&bytes))
                .and_then(|()| stdout.flush());
            if let Err(error) = wrote {
                closed.store(true, Ordering::Relaxed);
                if error.kind() != std::io::ErrorKind::BrokenPipe {
                    tracing::error!("standard output: {error}");
                }
                return;
            }
        }
    });
    (out, Writer(thread))
}

impl Writer {
    /// Call it after every [`Out`] is gone.
    pub fn finish(self) {
        // The thread does not panic.
        let _ = self.0.join();
    }
}

impl Out {
    /// Writes bytes as they are.
    pub fn write(&self, bytes: impl Into<Vec<u8>>) {
        // An error means that standard output is closed, which `closed` says.
        let _ = self.lines.send(bytes.into());
    }

    /// Writes one document and a line break.
    pub fn json(&self, value: &impl Serialize) -> Result<(), serde_json::Error> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.write(line);
        Ok(())
    }

    /// Whether nobody reads any more.
    pub fn closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}

/// Writes every event as one line of JSON.
pub struct JsonLines(pub Out);

#[async_trait]
impl EventSink for JsonLines {
    fn name(&self) -> &str {
        "stdout"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        if self.0.closed() {
            return Err("standard output is closed".into());
        }
        Ok(self.0.json(event)?)
    }
}
