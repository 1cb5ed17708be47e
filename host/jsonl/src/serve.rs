//! One client from its first line to its last.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use toolgate::Host;

use crate::connection::Connection;
use crate::lines::{Line, Lines};
use crate::outbox;
use crate::wire::{Code, Empty, Refusal, Request};

/// Bounds of one connection.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Longest line that is read. Default 32 MiB: a result of 16 MiB, the default limit, in base64 and to spare.
    pub line_bytes: usize,
    /// Batches in flight. Default 64.
    pub batches: usize,
    /// How much may wait to be written before batches wait. Default 8 MiB; one longer line alone always finds room.
    pub queue_bytes: usize,
    /// How long a hook of the client's may take. Default 30 s. Then it has failed.
    pub hook_timeout: Duration,
    /// How long the client may take to read what is left when the server was stopped. Default 5 s.
    pub farewell: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            line_bytes: 32 << 20,
            batches: 64,
            queue_bytes: 8 << 20,
            hook_timeout: Duration::from_secs(30),
            farewell: Duration::from_secs(5),
        }
    }
}

/// Serves one client until it has sent its last line and every batch is over, or until `stop` is cancelled: then the
/// batches are cancelled, each gets its grace period, and their results are still written. Where the client stops
/// reading for good, its batches are cancelled too.
///
/// # Errors
///
/// Reading or writing failed for another reason than that the client is gone.
pub async fn serve(
    host: Host,
    settings: Settings,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    stop: CancellationToken,
) -> io::Result<()> {
    let late = Late { stop: stop.clone(), farewell: settings.farewell };
    let (outbox, written) = outbox::open(settings.queue_bytes, late.clone());
    let connection = Connection::new(host, settings, outbox);
    let over = CancellationToken::new();
    let reading = async {
        let read = read(&connection, input, &stop).await;
        connection.withdraw();
        // With it goes what keeps the writer waiting for more.
        drop(connection);
        over.cancel();
        read
    };
    let writing = async {
        tokio::select! {
            biased;
            wrote = written.write_to(output) => wrote,
            () = async { over.cancelled().await; late.wait().await } => Ok(()),
        }
    };
    let (read, wrote) = tokio::join!(reading, writing);
    let gone = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof
        )
    };
    [read, wrote].into_iter().find(|done| done.as_ref().is_err_and(|error| !gone(error))).unwrap_or(Ok(()))
}

/// When it is too late for a client that does not read: some time after the server was stopped.
#[derive(Clone)]
pub(crate) struct Late {
    stop: CancellationToken,
    farewell: Duration,
}

impl Late {
    pub(crate) async fn wait(&self) {
        self.stop.cancelled().await;
        tokio::time::sleep(self.farewell).await;
    }
}

/// Reads until the input ends, the client is gone or the server is stopped, and then waits for what is in flight.
async fn read(connection: &Arc<Connection>, input: impl AsyncRead + Unpin, stop: &CancellationToken) -> io::Result<()> {
    let mut lines = Lines::new(BufReader::with_capacity(1 << 16, input), connection.settings.line_bytes);
    let mut changes = connection.host.changes();
    let mut running = JoinSet::new();
    let closed = connection.outbox.closed().clone();
    let ended = loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break Ok(()),
            () = closed.cancelled() => break Ok(()),
            Some(_) = running.join_next() => {}
            Ok(()) = changes.changed() => {
                if connection.capabilities().tools_changed {
                    connection.outbox.push(&Request::new(None, "tools_changed", Empty {}));
                }
            }
            line = lines.next() => {
                let line = match line {
                    Ok(Some(line)) => line,
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                };
                let taken = async {
                    match line {
                        Line::Text(line) => connection.line(&line, &mut running).await,
                        Line::TooLong => {
                            let most = connection.settings.line_bytes;
                            let why = format!("a line was longer than {most} bytes and was passed over");
                            connection.refuse(Refusal::new(Code::InvalidRequest, why)).await
                        }
                    }
                };
                tokio::select! {
                    biased;
                    taken = taken => if taken.is_err() { break Ok(()) },
                    () = stop.cancelled() => break Ok(()),
                }
            }
        }
    };
    connection.deaf();
    let wait = async { while running.join_next().await.is_some() {} };
    let mut wait = std::pin::pin!(wait);
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = closed.cancelled() => {}
        () = &mut wait => return ended,
    }
    connection.cancel_all();
    wait.await;
    ended
}
