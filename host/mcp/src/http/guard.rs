//! What a request must pass before rmcp sees it: path, token, size, an id of its own. Which
//! `Host` and `Origin` are accepted is rmcp's to check.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpService;
use serde::de::IgnoredAny;
use tokio_util::sync::CancellationToken;

use super::PATH;
use super::sessions::Sessions;
use super::token::BearerToken;
use crate::conversation::Conversation;
use crate::handler::{Connection, Handler};
use crate::input::{self, Unreadable};
use crate::server::Server;

/// How long a request's body may take to arrive.
const BODY: Duration = Duration::from_secs(30);

pub(super) type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// The endpoint.
pub(super) struct Endpoint {
    pub server: Server,
    pub token: Option<BearerToken>,
    pub sessions: Arc<Sessions>,
    pub service: StreamableHttpService<Handler, Sessions>,
}

impl Endpoint {
    /// Answers one request of a connection.
    pub(super) async fn answer(
        &self,
        connection: Arc<Conversation>,
        let_in: &CancellationToken,
        request: Request<Incoming>,
    ) -> HttpResponse {
        match self.admit(connection, let_in, request).await {
            Ok(request) => self.service.handle(request).await,
            Err(refused) => *refused,
        }
    }

    async fn admit(
        &self,
        connection: Arc<Conversation>,
        let_in: &CancellationToken,
        request: Request<Incoming>,
    ) -> Result<Request<Full<Bytes>>, Box<HttpResponse>> {
        if request.uri().path() != PATH {
            return Err(refuse(StatusCode::NOT_FOUND, &format!("Not Found: the MCP endpoint is {PATH}")));
        }
        if let Some(token) = &self.token {
            let given = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
            if !token.is_in(given) {
                let mut refused = refuse(StatusCode::UNAUTHORIZED, "Unauthorized: this server asks for a bearer token");
                refused.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                return Err(refused);
            }
        }
        // Which of two is meant is for nobody to guess.
        let several = |name| request.headers().get_all(name).iter().count() > 1;
        if several(header::HOST) || several(header::ORIGIN) || request.uri().authority().is_some() {
            return Err(refuse(StatusCode::BAD_REQUEST, "Bad Request: say once, in Host, which server is meant"));
        }
        let_in.cancel();
        let is_post = request.method() == Method::POST;
        if is_post && self.server.0.draining.is_cancelled() {
            return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable: the server is about to stop"));
        }
        if is_post && opens_session(&request) && self.sessions.is_full().await {
            let text = "Service Unavailable: the server has as many sessions as it takes; end one, or try again later";
            return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, text));
        }
        let (mut parts, body) = request.into_parts();
        let limit = self.server.0.options.message_bytes;
        let body = match tokio::time::timeout(BODY, Limited::new(body, limit).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let text = format!("Payload Too Large: a message has at most {limit} bytes");
                return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &text));
            }
            Ok(Err(_)) => return Err(refuse(StatusCode::BAD_REQUEST, "Bad Request: the body broke off")),
            Err(_) => {
                return Err(refuse(StatusCode::REQUEST_TIMEOUT, "Request Timeout: the body did not arrive in time"));
            }
        };
        match input::check(&body) {
            Ok(()) => {}
            Err(reason @ Unreadable::TooMany) => {
                return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &format!("Payload Too Large: {reason}")));
            }
            Err(reason) => return Err(refuse(StatusCode::BAD_REQUEST, &format!("Bad Request: {reason}"))),
        }
        if let Some(session) = parts.headers.get("mcp-session-id").and_then(|session| session.to_str().ok())
            && let Ok(Numbered { id: Some(id), method: Some(_) }) = serde_json::from_slice(&body)
            && self.sessions.is_open(session, &id)
        {
            let text = "a request with this id is not answered yet; give each its own";
            let error = ErrorData::invalid_request(text, None);
            let body = serde_json::to_vec(&ServerJsonRpcMessage::error(error, Some(id))).unwrap_or_default();
            let mut refused = Response::new(Full::new(Bytes::from(body)).boxed());
            *refused.status_mut() = StatusCode::BAD_REQUEST;
            refused.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            return Err(Box::new(refused));
        }
        parts.extensions.insert(Connection(connection));
        Ok(Request::from_parts(parts, Full::new(body)))
    }
}

/// What of a message tells a request.
#[derive(serde::Deserialize)]
struct Numbered {
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
}

/// Whether a request could open a session: it names none, and its revision has them.
fn opens_session(request: &Request<Incoming>) -> bool {
    let version = request.headers().get("mcp-protocol-version").and_then(|version| version.to_str().ok());
    !request.headers().contains_key("mcp-session-id") && version.is_none_or(|version| version < "2026-07-28")
}

fn refuse(status: StatusCode, text: &str) -> Box<HttpResponse> {
    let mut response = Response::new(Full::new(Bytes::from(text.to_owned())).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    // What of the request is unread is not read any more.
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    Box::new(response)
}
