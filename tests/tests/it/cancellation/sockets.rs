//! Cancelled while guests wait for a server that drips: their connections are closed.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use toolgate::model::ExecutionMode;
use toolgate::sandbox::{HttpGrant, HttpLimits, HttpPolicy};
use toolgate_tests::guests::{batch, run_one};

use super::*;

/// A server on loopback whose answers never end; it counts the connections that are open.
struct Drip {
    port: u16,
    open: Arc<AtomicUsize>,
    dripping: Arc<AtomicUsize>,
}

impl Drip {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let drip = Self { port, open: Arc::default(), dripping: Arc::default() };
        let (open, dripping) = (drip.open.clone(), drip.dripping.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (open, dripping) = (open.clone(), dripping.clone());
                open.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    serve(stream, &dripping).await;
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        drip
    }

    fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    fn dripping(&self) -> usize {
        self.dripping.load(Ordering::SeqCst)
    }
}

/// Drips until the other side is gone, by whichever sign of it comes first.
async fn serve(mut stream: TcpStream, dripping: &AtomicUsize) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let begun = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nx").await;
    dripping.fetch_add(1, Ordering::SeqCst);
    let (mut read, mut write) = stream.split();
    let gone = async { while read.read_u8().await.is_ok() {} };
    let drip = async {
        while begun.is_ok() && write.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = gone => {}
        () = drip => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_cancelled_calls_are_closed() {
    let engine = WIDE.lock().await;
    for (mode, at_once) in [(ExecutionMode::Parallel, 2), (ExecutionMode::Sequential, 1)] {
        let server = Drip::start().await;
        let grant =
            HttpGrant::new("127.0.0.1").and_then(|grant| grant.schemes(["http"])?.ports([server.port])).unwrap();
        let mut fetch = unbounded(guests::spec("http-fetch"));
        fetch.grants.http = Some(Arc::new(HttpPolicy::new(vec![grant], Vec::new(), HttpLimits::default())));
        let watch = Watch::new(When::Before, 0);
        let host = host(&engine, SHORT, &watch, vec![fetch]).await;
        let call = || ("http-fetch", json!({"url": format!("http://127.0.0.1:{}/", server.port)}));
        let calls = batch([call(), call()]).mode(mode).cancel(watch.cancel.clone()).sink(watch.clone());
        let (outcome, ()) = tokio::join!(soon(host.run(calls)), async {
            until("the guests wait for the server", || server.dripping() == at_once).await;
            assert_eq!((server.open(), engine.live_instances()), (at_once, at_once));
            watch.cancel();
        });
        assert_eq!((engine.live_instances(), engine.waiting()), (0, 0), "{mode:?}");
        assert_answered("dripping", &watch, &outcome, &["c1", "c2"]);
        assert_eq!(kinds(&outcome), ["aborted"; 2], "{mode:?}");
        until("the server sees that they are gone", || server.open() == 0).await;
        assert_eq!(server.dripping(), at_once, "nobody came afterwards");
        assert_eq!(run_one(&host, "now", json!({})).await.kind(), "ok");
    }
}
