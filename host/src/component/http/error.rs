//! Failures of the network in WASI's words.

use std::error::Error as _;
use std::io;

use wasmtime_wasi_http::Error;

pub(super) fn from_hyper(error: &hyper::Error) -> Error {
    if error.is_timeout() {
        return Error::ConnectionReadTimeout;
    }
    if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        return Error::HttpResponseIncomplete;
    }
    match error.source().and_then(|source| source.downcast_ref::<io::Error>()).map(io::Error::kind) {
        Some(io::ErrorKind::UnexpectedEof) => Error::HttpResponseIncomplete,
        // Chunks that are none.
        Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) | None => Error::HttpProtocolError,
        Some(_) => Error::ConnectionTerminated,
    }
}

pub(super) fn from_connect(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Error::ConnectionRefused,
        io::ErrorKind::TimedOut => Error::ConnectionTimeout,
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => Error::ConnectionTerminated,
        _ => Error::DestinationUnavailable,
    }
}

pub(super) fn from_dns(error: &io::Error) -> Error {
    Error::DnsError { rcode: Some(error.to_string()), info_code: None }
}

pub(super) fn from_tls(error: &io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_)) => Error::TlsCertificateError,
        Some(rustls::Error::AlertReceived(alert)) => {
            Error::TlsAlertReceived { alert_id: Some(u8::from(*alert)), alert_message: Some(format!("{alert:?}")) }
        }
        Some(_) => Error::TlsProtocolError,
        None => Error::ConnectionTerminated,
    }
}
