//! GET over wasi:http. The host decides what is reached; this only asks and translates its answers.

use std::io::{self, Read};

use wasip2::http::outgoing_handler;
use wasip2::http::types::{ErrorCode, Fields, IncomingBody, IncomingResponse, Method, OutgoingRequest, Scheme};
use wasip2::io::streams::{InputStream, StreamError};

use crate::fetch::{Client, Failure, Response};
use crate::url::Url;

/// Some servers refuse requests without one.
const USER_AGENT: &str = concat!("toolgate-http-fetch/", env!("CARGO_PKG_VERSION"));
const ACCEPT: &str = "text/html, application/xhtml+xml, text/*, application/json, application/xml;q=0.9, */*;q=0.1";

pub struct Wasi;

impl Client for Wasi {
    fn get(&self, url: &Url) -> Result<Response, Failure> {
        let other = |what: &str| Failure::Other(format!("{what} was refused"));
        let headers = [("user-agent", USER_AGENT), ("accept", ACCEPT), ("accept-encoding", "identity")]
            .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
        let request = OutgoingRequest::new(Fields::from_list(&headers).map_err(|e| Failure::Other(e.to_string()))?);
        let scheme = if url.is_https() { Scheme::Https } else { Scheme::Http };
        request.set_method(&Method::Get).map_err(|()| other("the method"))?;
        request.set_scheme(Some(&scheme)).map_err(|()| other("the scheme"))?;
        request.set_authority(Some(url.authority())).map_err(|()| other("the host"))?;
        request.set_path_with_query(Some(&url.target())).map_err(|()| other("the path"))?;
        let pending = outgoing_handler::handle(request, None).map_err(failure)?;
        pending.subscribe().block();
        let response = match pending.get() {
            Some(Ok(answer)) => answer.map_err(failure)?,
            _ => return Err(Failure::Other("no answer came".into())),
        };
        let fields = response.headers();
        let header = |name: &str| {
            let value = fields.get(name).into_iter().next()?;
            Some(String::from_utf8_lossy(&value).into_owned())
        };
        let (content_type, content_encoding) = (header("content-type"), header("content-encoding"));
        let location = header("location");
        drop(fields);
        Ok(Response {
            status: response.status(),
            content_type,
            content_encoding,
            location,
            body: Box::new(Body::new(response)?),
        })
    }
}

/// The fields go in this order: a stream is its body's child, a body its response's.
struct Body {
    stream: InputStream,
    _body: IncomingBody,
    _response: IncomingResponse,
}

impl Body {
    fn new(response: IncomingResponse) -> Result<Self, Failure> {
        let none = |()| Failure::Other("the answer has no body".into());
        let body = response.consume().map_err(none)?;
        Ok(Self { stream: body.stream().map_err(none)?, _body: body, _response: response })
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stream.blocking_read(u64::try_from(buffer.len()).unwrap_or(u64::MAX)) {
            Ok(bytes) => {
                let size = bytes.len().min(buffer.len());
                for (to, from) in buffer.iter_mut().zip(bytes) {
                    *to = from;
                }
                Ok(size)
            }
            Err(StreamError::Closed) => Ok(0),
            Err(StreamError::LastOperationFailed(error)) => Err(io::Error::other(error.to_debug_string())),
        }
    }
}

fn failure(code: ErrorCode) -> Failure {
    match code {
        ErrorCode::HttpRequestDenied => Failure::Denied,
        ErrorCode::DestinationIpProhibited | ErrorCode::DestinationIpUnroutable => Failure::Address,
        ErrorCode::DnsError(why) => Failure::Name(why.rcode.unwrap_or_else(|| "no such name".into())),
        ErrorCode::DestinationNotFound => Failure::Name("no address".into()),
        ErrorCode::DnsTimeout => Failure::Timeout("looking up the host"),
        ErrorCode::ConnectionTimeout => Failure::Timeout("connecting"),
        ErrorCode::ConnectionReadTimeout | ErrorCode::HttpResponseTimeout => Failure::Timeout("the answer"),
        ErrorCode::ConnectionRefused => Failure::Connection("the server refused the connection".into()),
        ErrorCode::DestinationUnavailable => Failure::Connection("the server can't be reached".into()),
        ErrorCode::ConnectionTerminated | ErrorCode::HttpResponseIncomplete => {
            Failure::Connection("the server closed the connection".into())
        }
        ErrorCode::TlsCertificateError => Failure::Tls("its certificate is not valid for it".into()),
        ErrorCode::TlsProtocolError | ErrorCode::TlsAlertReceived(_) => Failure::Tls("TLS failed".into()),
        other => Failure::Other(other.to_string()),
    }
}
