//! The page and its stream of changes, for browsers on this machine that know the address.
//!
//! The address holds a random token; what is asked for without it is not there. The `Host` header has to name this
//! machine, so that a page elsewhere cannot reach in by a name that resolves here. The page may run only its own script.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use toolgate::Host;

use crate::batches::Batch;
use crate::plugins::{Loaded, loaded};
use crate::{Dashboard, PluginCard};

/// Pages that may be open at once.
const MAX_PAGES: usize = 16;

/// The least time between two messages to a page: a busy host must not keep a browser, or itself, busy with drawing.
const PACE: Duration = Duration::from_millis(100);

const PAGE: &str = include_str!("page.html");

/// What the page has instead of its nonce until it is sent.
const NONCE: &str = "NONCE";

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The address is not of this machine alone.
    #[error(
        "the dashboard shows arguments and results to whoever reaches it: it listens on a loopback address only, not on {0}"
    )]
    NotLoopback(SocketAddr),
    /// The address can't be listened on.
    #[error("the dashboard can't listen on {address}: {source}")]
    Io {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The system has no random numbers.
    #[error("the dashboard can't make a secret address: {0}")]
    Random(getrandom::Error),
}

/// A dashboard that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    site: Arc<Site>,
}

struct Site {
    dashboard: Dashboard,
    host: Host,
    cards: Vec<PluginCard>,
    token: String,
    hosts: [String; 3],
    pages: Arc<Semaphore>,
    stop: CancellationToken,
}

fn random() -> Result<String, BindError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(BindError::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Server {
    /// Listens on a loopback address; port 0 is any that is free.
    ///
    /// # Errors
    ///
    /// The address is not a loopback address, or can't be listened on.
    pub async fn bind(
        dashboard: Dashboard,
        host: Host,
        cards: Vec<PluginCard>,
        address: SocketAddr,
    ) -> Result<Self, BindError> {
        if !address.ip().is_loopback() {
            return Err(BindError::NotLoopback(address));
        }
        let failed = |source| BindError::Io { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let port = address.port();
        let site = Site {
            dashboard,
            host,
            cards,
            token: random()?,
            hosts: [address.to_string(), format!("localhost:{port}"), format!("127.0.0.1:{port}")],
            pages: Arc::new(Semaphore::new(MAX_PAGES)),
            stop: CancellationToken::new(),
        };
        Ok(Self { listener, address, site: Arc::new(site) })
    }

    /// Where the page is. Who has this sees everything.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.site.token)
    }

    /// Serves until the future is dropped.
    pub async fn serve(self) {
        let _stop = self.site.stop.clone().drop_guard();
        let router = Router::new()
            .route("/{token}/", get(page))
            .route("/{token}/changes", get(changes))
            .fallback(|| async { StatusCode::NOT_FOUND })
            .with_state(self.site);
        if let Err(error) = axum::serve(self.listener, router).await {
            tracing::error!(%error, "the dashboard has stopped");
        }
    }
}

impl Site {
    /// Whether a request may be answered.
    fn admit(&self, token: &str, headers: &HeaderMap) -> Result<(), StatusCode> {
        if headers.get_all(header::HOST).iter().count() > 1 {
            return Err(StatusCode::BAD_REQUEST);
        }
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        if !self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
            return Err(StatusCode::MISDIRECTED_REQUEST);
        }
        // Takes the same time wherever the first difference is.
        let same = token.len() == self.token.len()
            && token.bytes().zip(self.token.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0;
        if same { Ok(()) } else { Err(StatusCode::NOT_FOUND) }
    }
}

async fn page(State(site): State<Arc<Site>>, Path(token): Path<String>, headers: HeaderMap) -> Response {
    if let Err(status) = site.admit(&token, &headers) {
        return status.into_response();
    }
    let Ok(nonce) = random() else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let Ok(policy) = HeaderValue::from_str(&policy) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    (safe([(header::CONTENT_SECURITY_POLICY, policy)]), Html(PAGE.replace(NONCE, &nonce))).into_response()
}

/// What every answer says to browsers.
fn safe(more: impl IntoIterator<Item = (HeaderName, HeaderValue)>) -> HeaderMap {
    let always = [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    always.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).chain(more).collect()
}

/// What one message to a page holds.
#[derive(Serialize)]
struct Message<'a> {
    /// The batches that are still kept.
    kept: Vec<u64>,
    /// Those that have changed.
    batches: Vec<&'a Batch>,
    /// All plugins, where they have changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    plugins: Option<Vec<Loaded<'a>>>,
}

/// One open page.
struct Page {
    site: Arc<Site>,
    sent: u64,
    plugins: Option<u64>,
    _place: OwnedSemaphorePermit,
}

async fn changes(State(site): State<Arc<Site>>, Path(token): Path<String>, headers: HeaderMap) -> Response {
    if let Err(status) = site.admit(&token, &headers) {
        return status.into_response();
    }
    let Ok(place) = site.pages.clone().try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many pages are open").into_response();
    };
    let page = Page { site, sent: 0, plugins: None, _place: place };
    let stream = stream::unfold(page, |mut page| async move {
        let message = page.next().await?;
        Some((Ok::<_, Infallible>(Event::default().data(message)), page))
    });
    (safe([]), Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))).into_response()
}

impl Page {
    /// The next message, when something has changed and the page has had time for the last one.
    async fn next(&mut self) -> Option<String> {
        let mut batches = self.site.dashboard.changes();
        let mut registry = self.site.host.changes();
        if self.plugins.is_some() {
            let wait = async {
                tokio::time::sleep(PACE).await;
                let changed = batches.wait_for(|revision| *revision > self.sent);
                let plugins = self.plugins;
                tokio::select! {
                    changed = changed => drop(changed),
                    changed = registry.wait_for(|count| Some(*count) != plugins) => drop(changed),
                }
            };
            tokio::select! {
                () = wait => {}
                () = self.site.stop.cancelled() => return None,
            }
        }
        let count = *registry.borrow();
        let snapshot = self.site.host.tools();
        let plugins = (self.plugins != Some(count)).then(|| loaded(&snapshot, &self.site.cards));
        self.plugins = Some(count);
        let mut batches = self.site.dashboard.batches();
        let kept = batches.numbers();
        let revision = batches.revision();
        let message = Message { kept, batches: batches.since(self.sent), plugins };
        self.sent = revision;
        serde_json::to_string(&message).ok()
    }
}
