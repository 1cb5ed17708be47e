//! Failures of the network in WASI's words.

use std::error::Error as _;
use std::io;

use wasmtime_wasi_http::Error;

pub(super) fn from_hyper(error: &hyper::Error) -> Error {
    if error.is_timeout() {
        Error::ConnectionReadTimeout
    } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        Error::HttpResponseIncomplete
    } else if error.source().is_some_and(|source| source.is::<io::Error>()) {
        Error::ConnectionTerminated
    } else {
        Error::HttpProtocolError
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
