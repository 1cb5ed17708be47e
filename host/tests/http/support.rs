//! Servers that say exactly what they are told to, a client that tells what happened, names that resolve as wished.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use toolgate::component::http::{HttpClient, HttpCtx, Resolve, Worker};
use toolgate::sandbox::http::{Denied, HttpGrant, HttpLimits, HttpPolicy, SecretGrant};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// Longer than anything here takes: a test that hangs fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A server on loopback. Every connection gets `answer`, after its request's head was read.
pub struct Server {
    pub port: u16,
    pub heads: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Server {
    pub async fn start<F, Fut>(answer: F) -> Self
    where
        F: Fn(TcpStream) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let seen = heads.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let head = read_head(&mut stream).await;
                seen.lock().unwrap().push(head);
                connections.spawn(answer(stream));
            }
        });
        Self { port, heads, task }
    }

    /// One that always says the same.
    pub async fn saying(response: impl Into<String>) -> Self {
        let response: String = response.into();
        Self::start(move |mut stream| {
            let response = response.clone();
            async move {
                let _ = stream.write_all(response.as_bytes()).await;
                let _ = stream.shutdown().await;
                let mut rest = Vec::new();
                let _ = stream.read_to_end(&mut rest).await;
            }
        })
        .await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn head(&self) -> String {
        self.heads.lock().unwrap().last().cloned().unwrap_or_default()
    }

    pub fn connections(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// Names that resolve to what the test says; counts how often it was asked.
pub struct Names {
    addrs: Vec<IpAddr>,
    pub asked: AtomicUsize,
}

impl Names {
    pub fn all_at(addrs: &[&str]) -> Arc<Self> {
        Arc::new(Self { addrs: addrs.iter().map(|a| a.parse().unwrap()).collect(), asked: AtomicUsize::new(0) })
    }
}

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(self.addrs.clone())
    }
}

/// A plugin's side of it.
pub struct Client {
    ctx: HttpCtx,
    denials: Arc<Mutex<Vec<Denied>>>,
}

/// What came back, its body still to read.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: WasiBody,
    /// Ends the connection when it is dropped, as it does in a store.
    #[expect(dead_code, reason = "held for its drop")]
    pub worker: tokio_util::task::AbortOnDropHandle<()>,
}

impl Client {
    pub fn new(policy: HttpPolicy, client: HttpClient) -> Self {
        let denials = Arc::<Mutex<Vec<Denied>>>::default();
        let noted = denials.clone();
        let deny = Arc::new(move |denied| noted.lock().unwrap().push(denied));
        Self { ctx: HttpCtx::new(Arc::new(policy), Arc::new(client), deny), denials }
    }

    /// One with these grants and nothing else special.
    pub fn granted(grants: Vec<HttpGrant>) -> Self {
        Self::new(HttpPolicy::new(grants, Vec::new(), HttpLimits::default()), HttpClient::new().unwrap())
    }

    pub fn limited(server: &Server, change: impl FnOnce(&mut HttpLimits)) -> Self {
        let mut limits = HttpLimits::default();
        change(&mut limits);
        Self::new(HttpPolicy::new(vec![grant(server)], Vec::new(), limits), HttpClient::new().unwrap())
    }

    pub fn with_secrets(grants: Vec<HttpGrant>, secrets: Vec<SecretGrant>) -> Self {
        Self::new(HttpPolicy::new(grants, secrets, HttpLimits::default()), HttpClient::new().unwrap())
    }

    pub async fn send(&mut self, request: Request<WasiBody>) -> Result<Answer, Error> {
        self.send_with(request, None).await
    }

    pub async fn send_with(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Answer, Error> {
        let sent = tokio::time::timeout(PATIENCE, self.ctx.send(request, options)).await.expect("an answer");
        sent.map(|(response, worker): (_, Worker)| {
            let (parts, body) = response.into_parts();
            let worker = tokio::spawn(async move { std::pin::Pin::from(worker).await.unwrap_or_default() });
            let worker = tokio_util::task::AbortOnDropHandle::new(worker);
            Answer { status: parts.status, headers: parts.headers, body, worker }
        })
    }

    pub async fn get(&mut self, url: &str) -> Result<Answer, Error> {
        self.send(get(url)).await
    }

    pub fn denials(&self) -> Vec<Denied> {
        self.denials.lock().unwrap().clone()
    }
}

impl Answer {
    pub async fn text(&mut self) -> Result<String, Error> {
        let mut all = Vec::new();
        while let Some(frame) = tokio::time::timeout(PATIENCE, self.body.frame()).await.expect("a frame") {
            all.extend_from_slice(frame?.data_ref().unwrap_or(&Bytes::new()));
        }
        Ok(String::from_utf8(all).unwrap())
    }
}

pub fn body(text: &str) -> WasiBody {
    Full::new(Bytes::from(text.to_owned())).map_err(|never| match never {}).boxed_unsync()
}

pub fn get(url: &str) -> Request<WasiBody> {
    Request::get(url).body(body("")).unwrap()
}

/// A grant of exactly this server.
pub fn grant(server: &Server) -> HttpGrant {
    HttpGrant::new("127.0.0.1").and_then(|g| g.schemes(["http"])?.ports([server.port])?.methods(["*"])).unwrap()
}
