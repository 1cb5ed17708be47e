//! https: the certificate is for the name that was granted, and from someone who is trusted.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use toolgate::component::http::HttpClient;
use toolgate::sandbox::http::{HttpGrant, HttpLimits, HttpPolicy};
use wasmtime_wasi_http::Error;

use crate::support::{Client, Names};

fn cert(pem: &[u8]) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem).unwrap()
}

/// A server for `server.example`, certified until 2126 by the CA beside it.
async fn start() -> u16 {
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("server-key.pem")).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert(include_bytes!("server.pem"))], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            if let Ok(mut tls) = acceptor.accept(tcp).await {
                let _ = tls.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecure").await;
                let _ = tls.shutdown().await;
            }
        }
    });
    port
}

fn client(host: &str, port: u16, trusted: bool) -> Client {
    let grant = HttpGrant::new(host).and_then(|g| g.ports([port])).unwrap().private(true);
    let mut http = HttpClient::new().unwrap().with_resolver(Names::all_at(&["127.0.0.1"]));
    if trusted {
        let mut roots = RootCertStore::empty();
        roots.add(cert(include_bytes!("ca.pem"))).unwrap();
        http = http.with_roots(roots).unwrap();
    }
    Client::new(HttpPolicy::new(vec![grant], Vec::new(), HttpLimits::default()), http)
}

#[tokio::test]
async fn a_certificate_for_the_name_from_a_trusted_root_is_taken() {
    let port = start().await;
    let mut answer =
        client("server.example", port, true).get(&format!("https://Server.Example:{port}/")).await.unwrap();
    assert_eq!(answer.text().await.unwrap(), "secure");
}

#[tokio::test]
async fn any_other_certificate_is_an_error() {
    let port = start().await;
    for (host, trusted) in [("other.example", true), ("127.0.0.1", true), ("server.example", false)] {
        let error = client(host, port, trusted).get(&format!("https://{host}:{port}/")).await.err();
        assert!(matches!(error, Some(Error::TlsCertificateError)), "{host}: {error:?}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            let _ = tcp.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            let _ = tcp.read_to_end(&mut Vec::new()).await;
        }
    });
    let error = client("127.0.0.1", port, true).get(&format!("https://127.0.0.1:{port}/")).await.err();
    assert!(matches!(error, Some(Error::TlsProtocolError)), "{error:?}");
}
