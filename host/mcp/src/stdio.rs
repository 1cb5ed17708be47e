//! MCP over standard input and output, or any other pair of streams: one message a line.
//!
//! Not rmcp's own line transport: that one drops a line that is too long without a word, reads on without bound while
//! answers wait to be written, answers only the first of two requests with one id, and ends running calls five seconds
//! after the end of the input.

use std::collections::HashSet;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServiceExt as _};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::handler::Handler;
use crate::input;
use crate::server::Server;

/// Requests of a connection that may be unanswered; then no more are read until one is. More than calls that run at
/// once, so that cancellations get through.
const MAX_OPEN: usize = 1_024;

/// How long the last answers may take to be written, once nothing runs any more.
const LAST: Duration = Duration::from_secs(5);

/// Why a connection could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client did not begin as MCP clients do.
    #[error("the client did not open an MCP session: {0}")]
    Opening(String),
    /// The server itself failed.
    #[error("the server failed: {0}")]
    Failed(#[from] tokio::task::JoinError),
}

/// Serves one client over standard input and output, until the input ends or `stop` does. Nothing else may write to
/// standard output. A read of standard input may still be pending at the end: leave the process by
/// [`std::process::exit`].
///
/// # Errors
///
/// The client speaks no MCP.
pub async fn serve_stdio(server: Server, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
    let (read, write) = rmcp::transport::stdio_pipes();
    serve_connection(server, read, write, stop).await
}

/// Serves one client over a pair of streams.
///
/// # Errors
///
/// As for [`serve_stdio`].
pub async fn serve_connection(
    server: Server,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let cancel = CancellationToken::new();
    let lines = Lines::new(server.clone(), read, write);
    let input_over = lines.over.clone();
    let serve = async {
        let service = match Handler::new(server.clone()).serve_with_ct(lines, cancel.clone()).await {
            Ok(service) => service,
            // It left, or was told to stop, before it said anything.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_))
            | Err(rmcp::service::ServerInitializeError::Cancelled) => return Ok(()),
            Err(error) => return Err(ServeError::Opening(error.to_string().chars().take(500).collect())),
        };
        service.waiting().await?;
        Ok(())
    };
    let stopped = async {
        stop.await;
        server.finish().await;
        cancel.cancel();
        tokio::time::sleep(LAST).await;
    };
    // A client that has stopped reading must not keep the server: its answers wait for it for ever.
    let gone = async {
        input_over.cancelled().await;
        tokio::time::sleep(LAST).await;
    };
    tokio::select! {
        served = serve => served,
        () = stopped => Ok(()),
        () = gone => Ok(()),
        never = server.sweep() => match never {},
    }
}

/// The transport.
struct Lines<R, W> {
    server: Server,
    read: BufReader<R>,
    line: Vec<u8>,
    /// The rest of a line that is too long is being skipped.
    skipping: bool,
    /// Calls are let end, since the input has.
    ending: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Cancelled when they have.
    over: CancellationToken,
    write: Arc<tokio::sync::Mutex<Option<W>>>,
    open: Arc<Open>,
    /// An answer of the transport's own, on its way.
    reply: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

/// Requests that are unanswered.
struct Open {
    ids: Mutex<HashSet<RequestId>>,
    count: watch::Sender<usize>,
}

impl Open {
    fn change(&self, change: impl FnOnce(&mut HashSet<RequestId>) -> bool) -> bool {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut ids);
        self.count.send_replace(ids.len());
        changed
    }
}

/// What a line holds.
enum Line {
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing that needs an answer.
    Nothing,
    Refused(Option<RequestId>, ErrorData),
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    fn new(server: Server, read: R, write: W) -> Self {
        Self {
            server,
            read: BufReader::new(read),
            line: Vec::new(),
            skipping: false,
            ending: None,
            over: CancellationToken::new(),
            write: Arc::new(tokio::sync::Mutex::new(Some(write))),
            open: Arc::new(Open { ids: Mutex::default(), count: watch::Sender::new(0) }),
            reply: None,
        }
    }

    /// Reads up to the next end of a line. None: the input has ended. Loses nothing where it is dropped.
    async fn next_line(&mut self) -> Option<Line> {
        let limit = self.server.0.options.message_bytes;
        loop {
            let available = match self.read.fill_buf().await {
                Ok(available) => available,
                Err(error) => {
                    tracing::warn!(%error, "the input cannot be read any further");
                    return None;
                }
            };
            // A last line may lack its end.
            let (taken, is_whole) = match available.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (available.len(), available.is_empty()),
            };
            if available.is_empty() && self.line.is_empty() && !self.skipping {
                return None;
            }
            if self.line.len().saturating_add(taken) > limit.saturating_add(1) {
                self.skipping = true;
                self.line = Vec::new();
            } else if !self.skipping {
                self.line.extend_from_slice(available.get(..taken).unwrap_or_default());
            }
            self.read.consume(taken);
            if is_whole {
                if std::mem::take(&mut self.skipping) {
                    let text = format!("a message of more than {limit} bytes is not read; send less at once");
                    return Some(Line::Refused(None, ErrorData::invalid_request(text, None)));
                }
                let line = std::mem::take(&mut self.line);
                return Some(parse(&line));
            }
        }
    }

    /// Takes a message up, or refuses it.
    fn admit(&self, message: ClientJsonRpcMessage) -> Line {
        match &message {
            JsonRpcMessage::Request(request) => {
                let id = request.id.clone();
                if !self.open.change(|ids| ids.insert(id.clone())) {
                    let text = "a request with this id is not answered yet; give each its own";
                    return Line::Refused(Some(id), ErrorData::invalid_request(text, None));
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // It gets no answer.
                    self.open.change(|ids| ids.remove(id));
                }
            }
            _ => {}
        }
        Line::Message(Box::new(message))
    }

    fn write(
        &self,
        message: &ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static + use<R, W> {
        let line = serde_json::to_vec(message).map(|mut line| {
            line.push(b'\n');
            line
        });
        let write = self.write.clone();
        async move {
            let line = line?;
            let mut write = write.lock().await;
            let Some(write) = write.as_mut() else {
                return Err(io::Error::new(io::ErrorKind::NotConnected, "the connection is closed"));
            };
            write.write_all(&line).await?;
            write.flush().await
        }
    }
}

/// Reads one line.
fn parse(line: &[u8]) -> Line {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Line::Nothing;
    }
    if let Err(reason) = input::check(line) {
        return Line::Refused(None, ErrorData::invalid_request(reason.to_string(), None));
    }
    let error = match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
        Ok(message) => return Line::Message(Box::new(message)),
        Err(error) => error,
    };
    match serde_json::from_slice::<Envelope>(line) {
        // A notification that MCP does not know, or the answer to nothing: neither has an answer.
        Ok(Envelope { id: None, method: Some(_) }) | Ok(Envelope { method: None, id: Some(_) }) => {
            tracing::debug!(%error, "a message is not MCP's and is not looked at");
            Line::Nothing
        }
        Ok(Envelope { id, .. }) => {
            let id = id.and_then(|id| serde_json::from_value(id).ok());
            Line::Refused(id, ErrorData::invalid_request("not a JSON-RPC 2.0 message of MCP", None))
        }
        Err(error) if error.is_data() => {
            Line::Refused(None, ErrorData::invalid_request("not a JSON-RPC 2.0 message of MCP", None))
        }
        Err(error) => {
            let text = format!("not JSON: {error}");
            Line::Refused(None, ErrorData::new(ErrorCode::PARSE_ERROR, text, None))
        }
    }
}

/// What there is of a message that is none.
#[derive(serde::Deserialize)]
struct Envelope {
    id: Option<serde_json::Value>,
    method: Option<serde_json::Value>,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Lines<R, W> {
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let (write, open) = (self.write(&message), self.open.clone());
        async move {
            let written = write.await;
            if let Some(id) = answered {
                open.change(|ids| ids.remove(&id));
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(reply) = &mut self.reply {
                let replied = reply.await;
                self.reply = None;
                replied.ok()?;
            }
            if let Some(ending) = &mut self.ending {
                ending.await;
                self.over.cancel();
                return None;
            }
            // Who does not read answers is not read from.
            self.open.count.subscribe().wait_for(|open| *open < MAX_OPEN).await.ok()?;
            let line = match self.next_line().await {
                Some(Line::Message(message)) => self.admit(*message),
                Some(line) => line,
                None => {
                    let (server, mut open) = (self.server.clone(), self.open.count.subscribe());
                    self.ending = Some(Box::pin(async move {
                        server.drain();
                        let grace = async {
                            // Calls of a client that has said all it wants may wait for what is still being loaded.
                            server.0.host.all_loaded().await;
                            tokio::time::sleep(server.0.options.grace).await;
                        };
                        let answered = async { open.wait_for(|open| *open == 0).await.is_ok() };
                        tokio::select! {
                            _ = answered => {}
                            () = grace => server.cancel().await,
                        }
                    }));
                    continue;
                }
            };
            match line {
                Line::Message(message) => return Some(*message),
                Line::Nothing => {}
                Line::Refused(id, error) => {
                    self.reply = Some(Box::pin(self.write(&ServerJsonRpcMessage::error(error, id))));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.write.lock().await.take();
        Ok(())
    }
}
