//! HTTP as a real guest has it: http-fetch against servers on loopback.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use toolgate::Host;
use toolgate::component::PluginSpec;
use toolgate::sandbox::{HttpGrant, HttpLimits, HttpPolicy, SecretGrant};
use toolgate_tests::guests::{self, Answer, Events, Lines, batch, run_one};

/// Longer than anything here takes: a test that hangs fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server on loopback. Every connection gets `answer`, after its request's head was read.
struct Server {
    port: u16,
    connections: Arc<AtomicUsize>,
    heads: Arc<Mutex<String>>,
}

impl Server {
    async fn start<F, Fut>(answer: F) -> Self
    where
        F: Fn(TcpStream, String) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { port, connections: Arc::default(), heads: Arc::default() };
        let (connections, heads) = (server.connections.clone(), server.heads.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(byte) = stream.read_u8().await else { break };
                    head.push(byte);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                heads.lock().unwrap().push_str(&head);
                tokio::spawn(answer(stream, head));
            }
        });
        server
    }

    async fn saying(response: impl Into<String>) -> Self {
        let response: String = response.into();
        Self::start(move |mut stream, _| {
            let response = response.clone();
            async move {
                let _ = stream.write_all(response.as_bytes()).await;
            }
        })
        .await
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn grant(&self) -> HttpGrant {
        HttpGrant::new("127.0.0.1").and_then(|g| g.schemes(["http"])?.ports([self.port])).unwrap()
    }
}

async fn fetcher(grants: Vec<HttpGrant>, change: impl FnOnce(&mut PluginSpec, &mut HttpLimits)) -> Host {
    let mut spec = guests::spec("http-fetch");
    let mut limits = HttpLimits::default();
    change(&mut spec, &mut limits);
    spec.grants.http = Some(Arc::new(HttpPolicy::new(grants, Vec::new(), limits)));
    guests::host(Host::builder(), [spec]).await
}

async fn fetch(host: &Host, url: &str) -> Answer {
    tokio::time::timeout(PATIENCE, run_one(host, "http-fetch", json!({"url": url}))).await.expect("an answer")
}

fn denials(answer: &Answer) -> Vec<Value> {
    answer.json()["error"]["denials"].as_array().cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_granted_page_comes_back_as_text() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=iso-8859-1\r\ncontent-length: 40\r\n\r\n\
                <title>T</title><h1>Caf&eacute;</h1><p>x";
    let server = Server::saying(page).await;
    let host = fetcher(vec![server.grant()], |_, _| {}).await;
    let answer = fetch(&host, &server.url("/a?b=c")).await;
    assert_eq!((answer.kind(), answer.text().as_str()), ("ok", "Title: T\n\n# Caf\u{e9}\n\nx"));
    let details = &answer.json()["details"];
    assert_eq!(details["status"], 200);
    assert_eq!(details["finalUrl"], server.url("/a?b=c"));
    let head = server.heads.lock().unwrap().clone();
    assert!(head.starts_with("GET /a?b=c HTTP/1.1\r\n") && head.contains("accept-encoding: identity\r\n"), "{head}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_carries_on_the_callers_trace() {
    let server = Server::saying("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nx").await;
    let host = fetcher(vec![server.grant()], |_, _| {}).await;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let call = batch([("http-fetch", json!({"url": server.url("/")}))]);
    host.run(call.trace_parent(trace.parse().unwrap())).await;
    fetch(&host, &server.url("/")).await;
    let heads = server.heads.lock().unwrap().clone();
    assert_eq!(heads.matches(&format!("traceparent: {trace}\r\n")).count(), 1, "{heads}");
    assert_eq!(heads.matches("traceparent").count(), 1, "{heads}");
}

/// extism pdk.rs, openfang #1060: the target of a redirect was not checked.
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_to_what_is_not_granted_is_denied_and_listed() {
    let inner = Server::saying("HTTP/1.1 200 OK\r\n\r\ninner").await;
    let outer = Server::saying(format!("HTTP/1.1 302 Found\r\nlocation: {}\r\n\r\n", inner.url("/x?token=1"))).await;
    let host = fetcher(vec![outer.grant()], |_, _| {}).await;
    let answer = fetch(&host, &outer.url("/")).await;
    assert_eq!(answer.kind(), "tool-failed", "{}", answer.text());
    assert!(
        answer.text().contains("redirects to") && answer.text().contains("may not be fetched"),
        "{}",
        answer.text()
    );
    let denials = denials(&answer);
    assert_eq!(denials.len(), 1, "{denials:?}");
    assert_eq!(denials[0]["plugin"], "http-fetch");
    assert_eq!(denials[0]["capability"], "http");
    assert_eq!(denials[0]["subject"], format!("GET {}", inner.url("/x")));
    assert!(denials[0]["rule"].as_str().unwrap().contains("plugins.NAME.http"), "{denials:?}");
    assert_eq!(inner.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_spelling_of_a_private_address_gets_through() {
    let server = Server::saying("HTTP/1.1 200 OK\r\n\r\ninner").await;
    let everything = HttpGrant::new("*").and_then(|g| g.any_port().schemes(["http", "https"])).unwrap();
    let open = fetcher(vec![everything], |_, _| {}).await;
    let closed = fetcher(Vec::new(), |_, _| {}).await;
    for name in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:169.254.169.254]", "localhost", "0.0.0.0"]
        .into_iter()
        .chain(["2130706433", "0177.0.0.1", "0x7f.1", "127.1"])
    {
        for host in [&open, &closed] {
            let answer = fetch(host, &format!("http://{name}:{}/", server.port)).await;
            assert_eq!(answer.kind(), "tool-failed", "{name}: {}", answer.text());
            assert_eq!(denials(&answer).len(), 1, "{name}: {}", answer.text());
        }
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 0);
}

/// zeroclaw #9255: one byte now and then kept a call alive past its deadline.
#[tokio::test(flavor = "multi_thread")]
async fn a_dripping_server_is_cut_off_at_the_deadline() {
    let (closed, mut on_close) = mpsc::unbounded_channel();
    let server = Server::start(move |mut stream, head| {
        let closed = closed.clone();
        async move {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n").await;
            if !head.starts_with("GET /drip") {
                let _ = stream.write_all(b"whole").await;
                return;
            }
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let _ = closed.send(());
        }
    })
    .await;
    let host = fetcher(vec![server.grant()], |spec, _| spec.limits.deadline = Duration::from_secs(1)).await;
    let started = Instant::now();
    let answer = fetch(&host, &server.url("/drip")).await;
    assert_eq!(answer.kind(), "deadline", "{}", answer.text());
    assert!(started.elapsed() < Duration::from_secs(5));
    tokio::time::timeout(PATIENCE, on_close.recv()).await.expect("the connection is closed");
    assert_eq!(fetch(&host, &server.url("/")).await.text(), "whole");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_body_ends_at_the_cap() {
    let server = Server::start(|mut stream, _| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n").await;
        while stream.write_all(&[b'x'; 8192]).await.is_ok() {}
    })
    .await;
    // The tool's own cap is 4 MiB, and it says so.
    let host = fetcher(vec![server.grant()], |_, _| {}).await;
    let answer = fetch(&host, &server.url("/")).await;
    assert_eq!(answer.kind(), "ok", "{}", answer.text());
    assert!(answer.text().contains("larger than 4194304 bytes"), "{}", answer.text().len());
    // The operator's comes first where it is lower.
    let host = fetcher(vec![server.grant()], |_, limits| limits.response_bytes = 1 << 20).await;
    let answer = fetch(&host, &server.url("/")).await;
    assert_eq!(answer.kind(), "tool-failed", "{}", answer.text());
    let denials = denials(&answer);
    assert!(denials[0]["rule"].as_str().unwrap().contains("limits.http-response-bytes = 1048576"), "{denials:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_reaches_its_server_and_nothing_else() {
    const SECRET: &str = "s3cr3t-Token-value";
    let server = Server::start(|mut stream, head| async move {
        let response = if head.starts_with("GET /next") {
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\ndone".to_owned()
        } else {
            format!("HTTP/1.1 302 Found\r\nlocation: /next?token={SECRET}\r\n\r\n")
        };
        let _ = stream.write_all(response.as_bytes()).await;
    })
    .await;
    let secret = SecretGrant::new("token", SECRET, [server.url("")]).unwrap();
    let lines = Arc::new(Lines::default());
    let events = Arc::new(Events::default());
    let mut spec = guests::spec("http-fetch");
    let policy = HttpPolicy::new(vec![server.grant()], vec![secret], HttpLimits::default());
    spec.grants.http = Some(Arc::new(policy));
    let host = guests::host(Host::builder().logs(lines.clone()), [spec]).await;
    let call = json!({"url": server.url("/")});
    let outcome = host.run(batch([("http-fetch", call)]).sink(events.clone())).await;
    let heads = server.heads.lock().unwrap().clone();
    assert_eq!(heads.matches(&format!("authorization: Bearer {SECRET}\r\n")).count(), 2, "{heads}");
    let told = format!("{}{:?}{:?}", serde_json::to_string(&outcome.messages).unwrap(), events.all(), lines.all());
    assert!(told.contains("done") && told.contains("redacted"), "{told}");
    assert!(!told.contains(SECRET), "{told}");
}
