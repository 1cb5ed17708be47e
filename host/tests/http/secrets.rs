//! Secrets go to their hosts, and never to the guest.

use http::Request;
use http_body_util::BodyExt;
use toolgate::sandbox::http::SecretGrant;

use crate::support::{Client, Server, body, grant};

const SECRET: &str = "s3cr3t/Token-value";

fn secret_for(server: &Server) -> SecretGrant {
    SecretGrant::new("token", SECRET, [format!("http://127.0.0.1:{}", server.port)]).unwrap()
}

#[tokio::test]
async fn a_secret_is_set_for_its_host_whatever_the_guest_sets() {
    let own = Server::saying("HTTP/1.1 200 OK\r\n\r\n").await;
    let other = Server::saying("HTTP/1.1 200 OK\r\n\r\n").await;
    let mut client = Client::with_secrets(vec![grant(&own), grant(&other)], vec![secret_for(&own)]);
    for server in [&own, &other] {
        let request = Request::get(server.url("/"))
            .header("authorization", "Bearer guest")
            .header("Authorization", "Bearer twice")
            .body(body(""))
            .unwrap();
        client.send(request).await.unwrap();
    }
    let head = own.head();
    assert!(head.contains(&format!("authorization: Bearer {SECRET}\r\n")), "{head}");
    assert_eq!(head.to_lowercase().matches("authorization").count(), 1, "{head}");
    assert!(!other.head().contains(SECRET) && other.head().contains("Bearer guest"), "{}", other.head());
}

#[tokio::test]
async fn what_a_server_sends_back_in_headers_and_trailers_is_redacted() {
    let server = Server::saying(format!(
        "HTTP/1.1 302 Found\r\nx-echo: Bearer {SECRET}\r\nx-two: {SECRET},{SECRET}\r\nx-clean: yes\r\n\
         location: /next?t=s3cr3t%2FToken-value\r\ntransfer-encoding: chunked\r\n\
         trailer: x-last\r\n\r\n2\r\nhi\r\n0\r\nx-last: {SECRET}\r\n\r\n"
    ))
    .await;
    let mut client = Client::with_secrets(vec![grant(&server)], vec![secret_for(&server)]);
    let answer = client.get(&server.url("/")).await.unwrap();
    assert_eq!(answer.headers["x-echo"], "Bearer [redacted]");
    assert_eq!(answer.headers["x-two"], "[redacted],[redacted]");
    assert_eq!(answer.headers["location"], "/next?t=[redacted]");
    assert_eq!(answer.headers["x-clean"], "yes");
    let collected = answer.body.collect().await.unwrap();
    assert_eq!(collected.trailers().unwrap()["x-last"], "[redacted]");
    assert_eq!(collected.to_bytes(), "hi");
}

#[tokio::test]
async fn a_header_named_like_a_secret_is_dropped() {
    let server = Server::saying("HTTP/1.1 200 OK\r\nx-token-in-name-1234: a\r\nx-clean: b\r\n\r\n").await;
    let secret = SecretGrant::new("t", "Token-In-Name-1234", [server.url("")]).unwrap();
    let mut client = Client::with_secrets(vec![grant(&server)], vec![secret]);
    let answer = client.get(&server.url("/")).await.unwrap();
    assert!(answer.headers.contains_key("x-clean"));
    assert!(!answer.headers.contains_key("x-token-in-name-1234"));
}

#[tokio::test]
async fn no_denial_holds_a_secret() {
    let server = Server::saying(format!("HTTP/1.1 200 OK\r\nx: {SECRET}{}\r\n\r\n", "x".repeat(100_000))).await;
    let mut client = Client::with_secrets(vec![grant(&server)], vec![secret_for(&server)]);
    let error = client.get(&server.url("/")).await.err().expect("too many header bytes");
    let told = format!("{error} {error:?} {:?}", client.denials());
    assert!(told.contains("http-header-bytes") && !told.contains(SECRET), "{told}");
}
