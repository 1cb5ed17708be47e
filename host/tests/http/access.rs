//! What is reached and what is denied.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use toolgate::component::http::HttpClient;
use toolgate::sandbox::http::{HttpGrant, HttpLimits, HttpPolicy};
use wasmtime_wasi_http::Error;

use crate::support::{Client, Names, Server, body, grant};

#[tokio::test]
async fn a_granted_request_arrives_as_the_guest_made_it() {
    let server = Server::saying("HTTP/1.1 201 Created\r\nx-a: 1\r\nconnection: close\r\n\r\nhello").await;
    let mut client = Client::granted(vec![grant(&server)]);
    let request = Request::put(server.url("/a/b?c=d%20e")).header("x-guest", "yes").body(body("")).unwrap();
    let mut answer = client.send(request).await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.text().await.unwrap().as_str()), (201, "hello"));
    assert_eq!(answer.headers["x-a"], "1");
    let head = server.head();
    assert!(head.starts_with("PUT /a/b?c=d%20e HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("x-guest: yes\r\n"), "{head}");
    assert!(head.contains(&format!("host: 127.0.0.1:{}\r\n", server.port)), "{head}");
    assert!(client.denials().is_empty());
}

/// extism pdk.rs, openfang #1060: the target of a redirect was not checked.
#[tokio::test]
async fn a_redirect_to_another_port_is_a_new_request_and_denied() {
    let inner = Server::saying("HTTP/1.1 200 OK\r\n\r\ninner").await;
    let outer = Server::saying(format!("HTTP/1.1 302 Found\r\nlocation: {}\r\n\r\n", inner.url("/"))).await;
    let mut client = Client::granted(vec![grant(&outer)]);
    let answer = client.get(&outer.url("/")).await.unwrap();
    assert_eq!(answer.status.as_u16(), 302);
    let next = answer.headers["location"].to_str().unwrap();
    assert!(matches!(client.get(next).await, Err(Error::HttpRequestDenied)));
    assert_eq!(inner.connections(), 0);
    let denials = client.denials();
    assert_eq!(denials.len(), 1);
    assert!(denials[0].rule.contains(&format!("add {} to its `ports`", inner.port)), "{denials:?}");
}

#[tokio::test]
async fn other_spellings_of_a_private_address_are_denied() {
    let server = Server::saying("HTTP/1.1 200 OK\r\n\r\n").await;
    let everything = HttpGrant::new("*").and_then(|g| g.any_port().schemes(["http", "https"])).unwrap();
    let mut client = Client::granted(vec![everything]);
    for (host, prohibited) in [
        ("127.0.0.1", true),
        ("127.0.0.1.", true),
        ("[::1]", true),
        ("[::ffff:127.0.0.1]", true),
        ("[::ffff:169.254.169.254]", true),
        ("[64:ff9b::7f00:1]", true),
        ("169.254.169.254", true),
        ("10.0.0.1", true),
        ("0.0.0.0", true),
        ("localhost", true),
        ("2130706433", false),
        ("0177.0.0.1", false),
        ("0x7f.1", false),
        ("127.1", false),
        ("user@127.0.0.1", false),
    ] {
        let before = client.denials().len();
        let error = client.get(&format!("http://{host}:{}/", server.port)).await.err();
        match error {
            Some(Error::DestinationIpProhibited) if prohibited => {}
            Some(Error::HttpRequestDenied) if !prohibited => {}
            other => panic!("{host}: {other:?}"),
        }
        assert_eq!(client.denials().len(), before + 1, "{host}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_every_address_is_checked() {
    let server = Server::saying("HTTP/1.1 200 OK\r\n\r\nhi").await;
    let url = format!("http://rebound.example:{}/", server.port);
    let granted = || HttpGrant::new("rebound.example").and_then(|g| g.schemes(["http"])?.ports([server.port])).unwrap();
    let client = |grant: HttpGrant, names: Arc<Names>| {
        let policy = HttpPolicy::new(vec![grant], Vec::new(), HttpLimits::default());
        Client::new(policy, HttpClient::new().unwrap().with_resolver(names))
    };

    for addrs in [&["127.0.0.1"][..], &["1.1.1.1", "127.0.0.1"], &["::ffff:127.0.0.1"], &["169.254.169.254"]] {
        let mut client = client(granted(), Names::all_at(addrs));
        assert!(matches!(client.get(&url).await, Err(Error::DestinationIpProhibited)), "{addrs:?}");
        assert_eq!(client.denials().len(), 1);
    }
    assert_eq!(server.connections(), 0);

    let names = Names::all_at(&["127.0.0.1"]);
    let mut client = client(granted().private(true), names.clone());
    assert_eq!(client.get(&url).await.unwrap().text().await.unwrap(), "hi");
    assert_eq!(names.asked.load(Ordering::SeqCst), 1);
    assert!(server.head().contains(&format!("host: rebound.example:{}\r\n", server.port)));

    let mut nowhere = Client::new(
        HttpPolicy::new(vec![granted()], Vec::new(), HttpLimits::default()),
        HttpClient::new().unwrap().with_resolver(Names::all_at(&[])),
    );
    assert!(matches!(nowhere.get(&url).await, Err(Error::DestinationNotFound)));
}

#[tokio::test]
async fn a_second_address_is_tried_where_the_first_refuses() {
    let server = Server::saying("HTTP/1.1 200 OK\r\n\r\nhi").await;
    let grant =
        HttpGrant::new("a.example").and_then(|g| g.schemes(["http"])?.ports([server.port])).unwrap().private(true);
    let policy = HttpPolicy::new(vec![grant], Vec::new(), HttpLimits::default());
    let names = Names::all_at(&["127.0.0.2", "127.0.0.1"]);
    let mut client = Client::new(policy, HttpClient::new().unwrap().with_resolver(names));
    assert_eq!(client.get(&format!("http://a.example:{}/", server.port)).await.unwrap().text().await.unwrap(), "hi");
}

#[tokio::test]
async fn headers_about_the_connection_are_refused() {
    let server = Server::saying("HTTP/1.1 200 OK\r\n\r\n").await;
    let mut client = Client::granted(vec![grant(&server)]);
    for (name, value) in [
        ("host", "evil.example"),
        ("connection", "keep-alive"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "websocket"),
        ("te", "trailers"),
        ("trailer", "x"),
        ("proxy-authorization", "x"),
        ("content-length", "+5"),
        ("content-length", "5, 5"),
        ("content-length", ""),
    ] {
        let request = Request::post(server.url("/")).header(name, value).body(body("12345")).unwrap();
        assert!(client.send(request).await.is_err(), "{name}: {value}");
    }
    let twice = Request::post(server.url("/")).header("content-length", "5").header("content-length", "6");
    assert!(client.send(twice.body(body("12345")).unwrap()).await.is_err());
    assert!(client.denials().iter().all(|denied| denied.rule.contains("how the message is framed")));
    assert_eq!((client.denials().len(), server.connections()), (11, 0));
    assert!(Request::get(server.url("/")).header("x", "a\r\nhost: b").body(()).is_err());
}

/// What follows a body whose length is stated must not become a second request.
#[tokio::test]
async fn a_body_longer_than_stated_does_not_reach_the_wire() {
    let server = Server::start(|mut stream| async move {
        let mut body = vec![0; 64];
        let n = stream.read(&mut body).await.unwrap_or(0);
        let text = String::from_utf8_lossy(&body[..n]).into_owned();
        let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{text}").as_bytes()).await;
    })
    .await;
    let mut client = Client::granted(vec![grant(&server)]);
    let smuggled = "12345GET /admin HTTP/1.1\r\nhost: a\r\n\r\n";
    let request = Request::post(server.url("/")).header("content-length", "5").body(body(smuggled)).unwrap();
    match client.send(request).await {
        Ok(mut answer) => assert!(!answer.text().await.unwrap_or_default().contains("admin")),
        Err(error) => assert!(!matches!(error, Error::HttpRequestDenied), "{error}"),
    }
}
