//! Connections: accepted, counted, and ended in good order.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::guard::Endpoint;
use super::sessions::Sessions;
use super::{HttpError, HttpOptions, PATH};
use crate::handler::Handler;
use crate::server::Server;

/// How long a connection may be without a whole request head, idle time included.
const IDLE: Duration = Duration::from_secs(300);

/// How long a connection may be without a request that is let in: who is not does not take a place for long.
const STRANGER: Duration = Duration::from_secs(10);

/// Bytes of a request head.
const HEAD: usize = 64 << 10;

/// How long connections get to write their last answers once everything that ran over them has ended.
const LAST: Duration = Duration::from_secs(1);

/// A server that listens.
pub struct HttpServer {
    server: Server,
    listener: TcpListener,
    address: SocketAddr,
    options: HttpOptions,
}

impl HttpServer {
    /// Listens on an address; port 0 takes any that is free.
    ///
    /// # Errors
    ///
    /// Others could reach it and there is no token, or not the names it is reached by; or it is not to be had.
    pub async fn bind(server: Server, address: SocketAddr, options: HttpOptions) -> Result<Self, HttpError> {
        if !address.ip().is_loopback() && options.token.is_none() {
            return Err(HttpError::NoToken(address));
        }
        if address.ip().is_unspecified() && options.hosts.is_empty() {
            return Err(HttpError::NoHosts(address));
        }
        let bind = |source| HttpError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        Ok(Self { server, listener, address, options })
    }

    /// The endpoint, for clients on this machine.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Serves until `stop` ends. Then nothing more is accepted, running calls get the grace of the server's options, and
    /// all connections are closed.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { server, listener, address, options } = self;
        let streams = CancellationToken::new();
        let sessions = Sessions::new(options.sessions, options.session_idle);
        let config = config(address, &options, &server, &streams);
        let of = server.clone();
        let service = StreamableHttpService::new(move || Ok(Handler::new(of.clone())), sessions.clone(), config);
        let endpoint = Arc::new(Endpoint { server: server.clone(), token: options.token, sessions, service });
        let places = Arc::new(Semaphore::new(options.connections.clamp(1, Semaphore::MAX_PERMITS)));
        let mut connections = JoinSet::new();
        let accept = async {
            loop {
                // Never closed.
                let Ok(place) = places.clone().acquire_owned().await else { return };
                let stream = accepted(&listener).await;
                while connections.try_join_next().is_some() {}
                let connection = connection(endpoint.clone(), stream);
                connections.spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
        };
        tokio::select! {
            () = accept => {}
            () = stop => {}
            never = server.sweep() => match never {},
        }
        drop(listener);
        server.finish().await;
        // Answers are on their way; streams that only wait for news end when they are told to.
        let is_over = all_ended(&mut connections).await;
        streams.cancel();
        if !is_over && !all_ended(&mut connections).await {
            connections.shutdown().await;
        }
    }
}

/// Whether all connections end in a moment.
async fn all_ended(connections: &mut JoinSet<()>) -> bool {
    let ended = async { while connections.join_next().await.is_some() {} };
    tokio::time::timeout(LAST, ended).await.is_ok()
}

/// A page in a browser may call this server only where it comes from the server's own address or was named.
fn config(
    address: SocketAddr,
    options: &HttpOptions,
    server: &Server,
    streams: &CancellationToken,
) -> StreamableHttpServerConfig {
    let port = address.port();
    let mut own = vec![format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
    if !address.ip().is_loopback() && !address.ip().is_unspecified() {
        own.push(match address.ip() {
            IpAddr::V4(ip) => format!("{ip}:{port}"),
            IpAddr::V6(ip) => format!("[{ip}]:{port}"),
        });
    }
    let origins = own.iter().map(|host| format!("http://{host}")).chain(options.origins.iter().cloned());
    StreamableHttpServerConfig::default()
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_allowed_hosts(own.iter().chain(&options.hosts).cloned())
        .with_max_request_body_bytes(server.0.options.message_bytes)
        .with_cancellation_token(streams.clone())
}

async fn accepted(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                // The client has gone again, or the process has no more files.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Serves one connection, which is a conversation for requests that belong to no session.
async fn connection(endpoint: Arc<Endpoint>, stream: TcpStream) {
    // Small messages, each waited for.
    let _ = stream.set_nodelay(true);
    let conversation = Arc::new(endpoint.server.conversation());
    let draining = endpoint.server.0.draining.clone();
    let known = CancellationToken::new();
    let let_in = known.clone();
    let service = service_fn(move |request| {
        let (endpoint, conversation, let_in) = (endpoint.clone(), conversation.clone(), let_in.clone());
        async move { Ok::<_, Infallible>(endpoint.answer(conversation, &let_in, request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_header_size(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = pin!(served);
    let stranger = async {
        if tokio::time::timeout(STRANGER, known.cancelled()).await.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = stranger => return,
        () = draining.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended badly");
    }
}
