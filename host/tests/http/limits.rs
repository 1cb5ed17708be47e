//! What ends a request: bytes, times, connections.

use std::time::Duration;

use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use toolgate::component::http::{HttpClient, Resolve};
use toolgate::sandbox::http::{HttpGrant, HttpLimits, HttpPolicy};
use wasmtime_wasi_http::{Error, RequestOptions};

use crate::support::{Client, PATIENCE, Server, get};

const SHORT: Duration = Duration::from_millis(150);
const LONG: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_body_over_the_cap_is_an_error_and_noted() {
    let server = Server::start(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
    })
    .await;
    let mut client = Client::limited(&server, |limits| limits.response_bytes = 100_000);
    let mut answer = client.get(&server.url("/endless")).await.unwrap();
    let mut read = 0;
    let error = loop {
        match answer.body.frame().await.expect("an error before the end") {
            Ok(frame) => read += frame.data_ref().map_or(0, |data| data.len()),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::HttpResponseBodySize(Some(100_000))), "{error}");
    assert!(read <= 100_000);
    assert!(answer.body.frame().await.is_none());
    let rule = &client.denials()[0].rule;
    assert!(rule.contains("limits.http-response-bytes = 100000"), "{rule}");
}

#[tokio::test]
async fn a_body_at_the_cap_is_whole() {
    let server = Server::saying(format!("HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{}", "x".repeat(5000))).await;
    let mut client = Client::limited(&server, |limits| limits.response_bytes = 5000);
    assert_eq!(client.get(&server.url("/")).await.unwrap().text().await.unwrap().len(), 5000);
    assert!(client.denials().is_empty());
}

#[tokio::test]
async fn headers_over_the_cap_are_an_error_and_noted() {
    let one = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(20_000));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(2000));
    for response in [one, many] {
        let server = Server::saying(response).await;
        let mut client = Client::limited(&server, |limits| limits.header_bytes = 10_000);
        let error = client.get(&server.url("/")).await.err();
        assert!(matches!(error, Some(Error::HttpResponseHeaderSectionSize(Some(10_000)))), "{error:?}");
        let rule = &client.denials()[0].rule;
        assert!(rule.contains("limits.http-header-bytes = 10000"), "{rule}");
    }
}

#[tokio::test]
async fn headers_that_never_end_are_bounded_too() {
    let server = Server::start(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
        while stream.write_all(b"x: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n").await.is_ok() {}
    })
    .await;
    let mut client = Client::limited(&server, |_| {});
    let error = client.get(&server.url("/")).await.err();
    assert!(matches!(error, Some(Error::HttpResponseHeaderSectionSize(_))), "{error:?}");
}

#[tokio::test]
async fn a_silent_server_runs_into_the_first_byte_time() {
    let server = Server::start(|mut stream| async move {
        let _ = stream.read_u8().await;
    })
    .await;
    // The operator's time holds where the guest names none or a longer one; the guest's where it is shorter.
    let longer = RequestOptions { first_byte_timeout: Some(LONG), ..Default::default() };
    let shorter = RequestOptions { first_byte_timeout: Some(SHORT), ..Default::default() };
    for (options, limit) in [(None, SHORT), (Some(longer), SHORT), (Some(shorter), LONG)] {
        let mut client = Client::limited(&server, |limits| limits.first_byte = limit);
        let error = client.send_with(get(&server.url("/")), options).await.err();
        assert!(matches!(error, Some(Error::ConnectionReadTimeout)), "{error:?}");
        // The operator's limit is named, the guest's own is not.
        let rules: Vec<_> = client.denials().iter().map(|denied| denied.rule.clone()).collect();
        let named = rules.iter().filter(|rule| rule.contains("longer than limits.http-first-byte-ms = ")).count();
        assert_eq!((rules.len(), named), if limit == SHORT { (1, 1) } else { (0, 0) }, "{rules:?}");
    }
}

/// zeroclaw #9255: a server that drips keeps a request alive. Here the call's deadline ends it by dropping the store;
/// what is to be seen is that the connection goes with it.
#[tokio::test]
async fn a_dripping_body_ends_with_its_reader() {
    let (closed, mut on_close) = mpsc::unbounded_channel();
    let server = Server::start(move |mut stream| {
        let closed = closed.clone();
        async move {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let _ = closed.send(());
        }
    })
    .await;
    let mut client = Client::limited(&server, |_| {});
    let mut answer = client.get(&server.url("/drip")).await.unwrap();
    for _ in 0..3 {
        assert!(answer.body.frame().await.unwrap().is_ok());
    }
    drop(answer);
    tokio::time::timeout(PATIENCE, on_close.recv()).await.expect("the server sees the connection close");
}

#[tokio::test]
async fn a_request_that_is_dropped_before_its_answer_closes_the_connection() {
    let (closed, mut on_close) = mpsc::unbounded_channel();
    let server = Server::start(move |mut stream| {
        let closed = closed.clone();
        async move {
            let _ = stream.read_u8().await;
            let _ = closed.send(());
        }
    })
    .await;
    let mut client = Client::limited(&server, |_| {});
    let url = server.url("/");
    assert!(tokio::time::timeout(SHORT, client.get(&url)).await.is_err());
    tokio::time::timeout(PATIENCE, on_close.recv()).await.expect("the server sees the connection close");
}

#[tokio::test]
async fn a_stalled_body_runs_into_the_time_between_bytes() {
    let server = Server::start(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nabc").await;
        let _ = stream.read_u8().await;
    })
    .await;
    let mut client = Client::limited(&server, |limits| limits.between_bytes = SHORT);
    let mut answer = client.get(&server.url("/")).await.unwrap();
    // Time the guest takes is not the server's.
    tokio::time::sleep(SHORT * 2).await;
    assert_eq!(answer.body.frame().await.unwrap().unwrap().into_data().unwrap(), "abc");
    let error = answer.text().await.err();
    assert!(matches!(error, Some(Error::ConnectionReadTimeout)), "{error:?}");
    assert!(client.denials()[0].rule.contains("longer than limits.http-between-bytes-ms = "));
}

#[tokio::test]
async fn a_body_cut_short_is_an_error() {
    let server = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc").await;
    let mut client = Client::limited(&server, |_| {});
    let error = client.get(&server.url("/")).await.unwrap().text().await.err();
    assert!(matches!(error, Some(Error::HttpResponseIncomplete)), "{error:?}");
}

#[tokio::test]
async fn no_server_and_no_http_are_told_apart() {
    let port = Server::saying("").await.port;
    let grant = HttpGrant::new("127.0.0.1").and_then(|g| g.schemes(["http"])?.ports([port])).unwrap();
    // The server is gone by now, its port free.
    let mut client = Client::granted(vec![grant]);
    let url = format!("http://127.0.0.1:{port}/");
    let error = loop {
        match client.get(&url).await.err() {
            // Its task may still be about to end.
            Some(Error::HttpResponseIncomplete | Error::ConnectionTerminated) => tokio::task::yield_now().await,
            other => break other,
        }
    };
    assert!(matches!(error, Some(Error::ConnectionRefused)), "{error:?}");

    let server = Server::saying("SSH-2.0-OpenSSH\r\n\r\n").await;
    let error = Client::limited(&server, |_| {}).get(&server.url("/")).await.err();
    assert!(matches!(error, Some(Error::HttpProtocolError)), "{error:?}");

    let server = Server::saying("").await;
    let error = Client::limited(&server, |_| {}).get(&server.url("/")).await.err();
    assert!(matches!(error, Some(Error::HttpResponseIncomplete)), "{error:?}");
}

#[tokio::test]
async fn a_look_up_that_hangs_runs_into_the_connect_time() {
    struct Never;
    #[async_trait::async_trait]
    impl Resolve for Never {
        async fn resolve(&self, _name: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
            std::future::pending().await
        }
    }
    let mut limits = HttpLimits::default();
    limits.connect = SHORT;
    let policy = HttpPolicy::new(vec![HttpGrant::new("a.example").unwrap()], Vec::new(), limits);
    let client = HttpClient::new().unwrap().with_resolver(std::sync::Arc::new(Never));
    let mut client = Client::new(policy, client);
    let error = client.get("https://a.example/").await.err();
    assert!(matches!(error, Some(Error::DnsTimeout)), "{error:?}");
    assert!(client.denials()[0].rule.contains("longer than limits.http-connect-ms = "));
}

#[tokio::test]
async fn open_connections_are_counted_until_their_body_is_gone() {
    let server = Server::start(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nabc").await;
        let _ = stream.read_u8().await;
    })
    .await;
    let mut client = Client::limited(&server, |limits| limits.connections = 2);
    let first = client.get(&server.url("/1")).await.unwrap();
    let _second = client.get(&server.url("/2")).await.unwrap();
    assert!(matches!(client.get(&server.url("/3")).await, Err(Error::ConnectionLimitReached)));
    let rule = &client.denials()[0].rule;
    assert!(rule.contains("limits.http-connections = 2"), "{rule}");
    drop(first);
    assert!(client.get(&server.url("/4")).await.is_ok());
}
