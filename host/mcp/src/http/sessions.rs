//! rmcp's sessions in memory, as many as there may be.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};

/// The sessions.
pub(crate) struct Sessions {
    inner: LocalSessionManager,
    max: usize,
    open: Arc<Open>,
}

/// Requests that are not answered yet. rmcp keeps one stream for each id of a session: a second request with an id would
/// get the answer of the first.
type Open = Mutex<HashSet<(SessionId, RequestId)>>;

/// A stream that answers a request.
struct Answer<S> {
    stream: Pin<Box<S>>,
    request: Option<(Arc<Open>, (SessionId, RequestId))>,
}

impl<S: Stream> Stream for Answer<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.as_mut().poll_next(cx)
    }
}

/// No stream yet.
struct Nothing;

impl Answer<Nothing> {
    fn of<S>(mut self, stream: Pin<Box<S>>) -> Answer<S> {
        Answer { stream, request: self.request.take() }
    }
}

impl<S> Drop for Answer<S> {
    fn drop(&mut self) {
        if let Some((open, request)) = self.request.take() {
            open.lock().unwrap_or_else(PoisonError::into_inner).remove(&request);
        }
    }
}

/// Why a session cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionsError {
    #[error("there are {0} sessions already; end one")]
    Full(usize),
    #[error("a request with this id is not answered yet; give each its own")]
    Repeated,
    #[error(transparent)]
    Inner(#[from] LocalSessionManagerError),
}

impl Sessions {
    pub(crate) fn new(max: usize, idle: Duration) -> Arc<Self> {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(idle);
        Arc::new(Self { inner, max, open: Arc::default() })
    }

    /// Whether a session has an unanswered request with this id.
    pub(crate) fn is_open(&self, session: &str, id: &RequestId) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.contains(&(SessionId::from(session), id.clone()))
    }

    pub(crate) async fn is_full(&self) -> bool {
        self.inner.sessions.read().await.len() >= self.max
    }
}

/// Everything but the limit is rmcp's.
impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        if self.is_full().await {
            return Err(SessionsError::Full(self.max));
        }
        Ok(self.inner.create_session().await?)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionsError> {
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        Ok(self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl futures_core::Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let request = match &message {
            JsonRpcMessage::Request(request) => {
                let request = (id.clone(), request.id.clone());
                if !self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(request.clone()) {
                    return Err(SessionsError::Repeated);
                }
                Some((self.open.clone(), request))
            }
            _ => None,
        };
        // Given back where no stream comes of it, too.
        let held = Answer { stream: Box::pin(Nothing), request };
        let stream = Box::pin(self.inner.create_stream(id, message).await?);
        Ok(held.of(stream))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), SessionsError> {
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl futures_core::Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(self.inner.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl futures_core::Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(self.inner.resume(id, last_event_id).await?)
    }
}
