//! wasi:http for guests: every request is checked against the plugin's policy, goes to exactly the address that was
//! checked, and ends with the call.

mod body;
mod connect;
mod error;
mod fields;

use std::future::{Future, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView,
    WasiHttpHooks, WasiHttpView,
};

use crate::sandbox::http::{Denied, HttpLimits, HttpPolicy, Permit};
use crate::telemetry::TraceParent;
use body::ResponseBody;
pub(super) use fields::shadow;
pub use connect::{HttpClient, Resolve, SystemResolver};

/// Most that a guest hands over in one write to a request's body; two such pieces are held at once.
const REQUEST_CHUNK: usize = 64 << 10;

/// Where a request belongs in a distributed trace (W3C Trace Context).
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// Puts `wasi:http/types` and `outgoing-handler` into a linker that has WASI's other interfaces already.
pub fn add_to_linker<T: WasiHttpView + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)
}

/// What a request was denied, or which limit ended it.
pub type Deny = Arc<dyn Fn(Denied) + Send + Sync>;

/// One guest entry's HTTP: lives in its store, and every connection ends with it.
pub struct HttpCtx {
    ctx: WasiHttpCtx,
    hooks: Hooks,
}

impl HttpCtx {
    /// HTTP under a policy. `deny` hears of each denial, at once.
    pub fn new(policy: Arc<HttpPolicy>, client: Arc<HttpClient>, deny: Deny) -> Self {
        let slots = Arc::new(Semaphore::new(policy.limits().connections));
        Self { ctx: WasiHttpCtx::new(), hooks: Hooks { policy, client, deny, slots, trace_parent: None } }
    }

    /// Requests carry on this trace, unless the guest sets a `traceparent` of its own.
    pub fn with_trace_parent(mut self, trace_parent: Option<TraceParent>) -> Self {
        self.hooks.trace_parent = trace_parent;
        self
    }

    /// What [`WasiHttpView::http`] returns.
    pub fn view<'a>(&'a mut self, table: &'a mut ResourceTable) -> WasiHttpCtxView<'a> {
        WasiHttpCtxView { hooks: &mut self.hooks, table, ctx: &mut self.ctx }
    }

    /// Sends a request as a guest would.
    pub async fn send(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<(Response<WasiBody>, Worker), Error> {
        Pin::from(self.hooks.send_request(request, options, Box::new(ready(Ok(()))))).await
    }
}

/// Drives a connection while its response is read.
pub type Worker = Box<dyn Future<Output = Result<(), Error>> + Send>;

type Sent = Result<(Response<WasiBody>, Worker), Error>;

struct Hooks {
    policy: Arc<HttpPolicy>,
    client: Arc<HttpClient>,
    deny: Deny,
    slots: Arc<Semaphore>,
    trace_parent: Option<TraceParent>,
}

impl WasiHttpHooks for Hooks {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_forbidden)
    }

    /// Every scheme gets as far as the policy, which has words for it.
    fn is_supported_scheme(&mut self, _scheme: &http::uri::Scheme) -> bool {
        true
    }

    /// The checked target is what goes there, not the guest's spelling of it.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        // Decided here and not when the future is polled: a guest that never waits for it is denied all the same.
        match self.admit(request) {
            Ok((exchange, request)) => {
                let times = Times::new(options, self.policy.limits());
                Box::new(async move { exchange.run(request, times).await })
            }
            Err(error) => Box::new(ready(Err(error))),
        }
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        REQUEST_CHUNK
    }
}

/// Headers about the connection and the message's framing: the host's alone. Refused from a guest, dropped from a
/// response. `content-length` is not among them, since HTTP libraries set it: it is checked, and the encoder holds the
/// body to it.
fn is_forbidden(name: &HeaderName) -> bool {
    DEFAULT_FORBIDDEN_HEADERS.contains(name) || name == header::TE || name == header::TRAILER
}

impl Hooks {
    fn admit(&self, request: Request<WasiBody>) -> Result<(Exchange, Request<WasiBody>), Error> {
        let (mut parts, body) = request.into_parts();
        let uri = std::mem::take(&mut parts.uri);
        let authority = uri.authority().map_or("", |a| a.as_str());
        let path = uri.path_and_query().map_or("/", |p| if p.as_str().is_empty() { "/" } else { p.as_str() });
        let scheme = uri.scheme_str().unwrap_or_default();
        let permit = self.policy.check_request(parts.method.as_str(), scheme, authority, path).map_err(|denied| {
            (self.deny)(denied);
            Error::HttpRequestDenied
        })?;
        let Ok(slot) = self.slots.clone().try_acquire_owned() else {
            let most = self.policy.limits().connections;
            (self.deny)(permit.denied(format!("more than limits.http-connections = {most} at once; raise it")));
            return Err(Error::ConnectionLimitReached);
        };
        if let Err(error) = check_headers(&parts.headers) {
            (self.deny)(permit.denied("its headers would change how the message is framed".to_owned()));
            return Err(error);
        }
        // To an origin server the target is the path alone.
        parts.uri = Uri::builder().path_and_query(path).build().map_err(|_| Error::HttpRequestUriInvalid)?;
        parts.version = http::Version::HTTP_11;
        let host = permit.target.authority().parse().map_err(|_| Error::HttpRequestUriInvalid)?;
        parts.headers.insert(header::HOST, host);
        if let Some(trace) = &self.trace_parent
            && !parts.headers.contains_key(TRACE_PARENT)
        {
            let value = HeaderValue::from_str(trace.as_str()).map_err(|_| Error::ConfigurationError)?;
            parts.headers.insert(TRACE_PARENT, value);
        }
        for (name, value) in self.policy.secret_headers(&permit.target) {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| Error::ConfigurationError)?;
            let mut value = HeaderValue::from_str(&value).map_err(|_| Error::ConfigurationError)?;
            value.set_sensitive(true);
            parts.headers.insert(name, value);
        }
        let Self { policy, client, deny, .. } = self;
        let exchange =
            Exchange { policy: policy.clone(), client: client.clone(), deny: deny.clone(), permit, _slot: slot };
        Ok((exchange, Request::from_parts(parts, body)))
    }
}

/// The guest's headers were checked one by one as they were set; this holds for whoever sends without a guest.
fn check_headers(headers: &HeaderMap) -> Result<(), Error> {
    if let Some(name) = headers.keys().find(|name| is_forbidden(name)) {
        return Err(Error::HttpRequestHeaderSize { field_name: Some(name.to_string()), field_size: None });
    }
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    let digits = |v: &HeaderValue| !v.is_empty() && v.as_bytes().iter().all(u8::is_ascii_digit);
    if lengths.next().is_some_and(|length| !digits(length)) || lengths.next().is_some() {
        return Err(Error::HttpProtocolError);
    }
    Ok(())
}

/// The guest's times, none longer than the operator's.
#[derive(Clone, Copy)]
struct Times {
    connect: Time,
    first_byte: Time,
    between_bytes: Time,
}

/// How long something may take.
#[derive(Clone, Copy)]
struct Time {
    most: Duration,
    /// Where the operator's limit is the shorter one: its key.
    key: Option<&'static str>,
}

impl Times {
    fn new(options: Option<RequestOptions>, limits: &HttpLimits) -> Self {
        let RequestOptions { connect_timeout, first_byte_timeout, between_bytes_timeout } = options.unwrap_or_default();
        let time = |guest: Option<Duration>, operator: Duration, key| match guest {
            Some(guest) if guest < operator => Time { most: guest, key: None },
            _ => Time { most: operator, key: Some(key) },
        };
        Self {
            connect: time(connect_timeout, limits.connect, "http-connect-ms"),
            first_byte: time(first_byte_timeout, limits.first_byte, "http-first-byte-ms"),
            between_bytes: time(between_bytes_timeout, limits.between_bytes, "http-between-bytes-ms"),
        }
    }
}

/// One granted request and its response.
struct Exchange {
    policy: Arc<HttpPolicy>,
    client: Arc<HttpClient>,
    deny: Deny,
    permit: Permit,
    /// Held until the response is read or dropped.
    _slot: OwnedSemaphorePermit,
}

impl Exchange {
    async fn run(self, request: Request<WasiBody>, times: Times) -> Sent {
        let connected = self.client.connect(&self.permit, times.connect.most, &*self.deny).await;
        let stream = connected.inspect_err(|error| {
            if matches!(error, Error::ConnectionTimeout | Error::DnsTimeout) {
                self.too_slow(times.connect);
            }
        })?;
        // Below 8 KiB hyper panics.
        let header_bytes = self.policy.limits().header_bytes.max(8 << 10);
        let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
            .max_buf_size(header_bytes)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|e| self.hyper_error(&e))?;
        let mut connection = Some(Box::pin(connection));
        let mut response = pin!(sender.send_request(request));
        let answered = poll_fn(|cx| {
            if let Poll::Ready(answer) = response.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            // The connection passes what ended it on to the request, so its own result says nothing more.
            if connection.as_mut().is_some_and(|c| c.as_mut().poll(cx).is_ready()) {
                connection = None;
            }
            response.as_mut().poll(cx)
        });
        let response = match timeout(times.first_byte.most, answered).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.hyper_error(&error)),
            Err(_) => {
                self.too_slow(times.first_byte);
                return Err(Error::ConnectionReadTimeout);
            }
        };
        let (mut parts, incoming) = response.into_parts();
        // hyper looks only when it needs to read on, and lets up to twice as much through.
        if parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>() > header_bytes
        {
            return Err(self.headers_too_large());
        }
        redact(&self.policy, &mut parts.headers);
        let body = ResponseBody::new(incoming, times.between_bytes, self).boxed_unsync();
        let worker = async move {
            if let Some(connection) = connection
                && let Err(error) = connection.await
            {
                // The reader of the body hears of it there.
                tracing::debug!(%error, "a connection ended early");
            }
            Ok(())
        };
        Ok((Response::from_parts(parts, body), Box::new(worker)))
    }

    /// A failure of the exchange in WASI's words.
    fn hyper_error(&self, error: &hyper::Error) -> Error {
        if error.is_parse_too_large() { self.headers_too_large() } else { error::from_hyper(error) }
    }

    /// Notes a limit of the operator's that passed; one the guest chose is its own affair.
    fn too_slow(&self, time: Time) {
        if let Some(key) = time.key {
            let rule = format!("it took longer than limits.{key} = {}; raise it", time.most.as_millis());
            (self.deny)(self.permit.denied(rule));
        }
    }

    fn headers_too_large(&self) -> Error {
        let most = self.policy.limits().header_bytes;
        let rule =
            format!("the response's headers are more than limits.http-header-bytes = {most}, or too many; raise it");
        (self.deny)(self.permit.denied(rule));
        Error::HttpResponseHeaderSectionSize(u32::try_from(most).ok())
    }
}

/// Takes this plugin's secrets out of what comes back.
fn redact(policy: &HttpPolicy, headers: &mut HeaderMap) {
    let mut clean = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers.iter() {
        if policy.redact(name.as_str().as_bytes()).is_some() {
            continue;
        }
        match policy.redact(value.as_bytes()).map(|redacted| HeaderValue::from_bytes(&redacted)) {
            None => clean.append(name, value.clone()),
            Some(Ok(redacted)) => clean.append(name, redacted),
            Some(Err(_)) => continue,
        };
    }
    *headers = clean;
}
