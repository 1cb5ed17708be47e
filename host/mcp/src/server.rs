//! What all connections and sessions of one server share.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use toolgate::Host;

use crate::bridge::Bridge;
use crate::conversation::Conversation;
use crate::parked::Parked;

/// How long cancelled calls are waited for: a little more than the host's own grace by default.
const CANCELLED: Duration = Duration::from_secs(6);

/// How often waiting calls are looked through.
const SWEEP: Duration = Duration::from_secs(1);

/// How a server presents itself, and its limits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The server's name. Default `toolgate`.
    pub name: String,
    /// Its version. Default: this crate's.
    pub version: String,
    /// What a client may put into its model's prompt. Default: nothing.
    pub instructions: Option<String>,
    /// How long a turn lasts, from its first call on: MCP has no turns, and policies count in them. 0 makes each call a
    /// turn of its own. Default 60 s.
    pub turn: Duration,
    /// Tools in one page of `tools/list`. Default 1 000: many clients read only the first page.
    pub page: usize,
    /// Calls that may be in flight in the whole server; one more is answered with an error result. Default 256.
    pub calls: usize,
    /// Bytes of one message from a client. Default 4 MiB.
    pub message_bytes: usize,
    /// How long a call that waits for its client to come back with an answer is kept (revision 2026-07-28). Default 120 s,
    /// the host's own default for approvers.
    pub ask_timeout: Duration,
    /// How long running calls may go on after the client has gone or the server is told to stop. Then they are cancelled.
    /// Default 10 s.
    pub grace: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "toolgate".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            instructions: None,
            turn: Duration::from_secs(60),
            page: 1_000,
            calls: 256,
            message_bytes: 4 << 20,
            ask_timeout: Duration::from_secs(120),
            grace: Duration::from_secs(10),
        }
    }
}

/// An MCP server over a host. Cheap to clone; all clones are one server.
#[derive(Clone)]
pub struct Server(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub host: Host,
    pub bridge: Bridge,
    pub options: Options,
    pub parked: Parked,
    permits: Arc<Semaphore>,
    /// No new work is taken on, subscriptions end.
    pub draining: CancellationToken,
    /// Running calls are cancelled.
    pub closing: CancellationToken,
}

impl Server {
    /// A server of a host whose builder was given `bridge` as approver and log sink. Without that, hooks that ask are
    /// declined and clients see no log lines.
    pub fn new(host: Host, bridge: Bridge, options: Options) -> Self {
        let permits = Arc::new(Semaphore::new(permits(&options) as usize));
        Self(Arc::new(Inner {
            host,
            bridge,
            parked: Parked::default(),
            permits,
            options,
            draining: CancellationToken::new(),
            closing: CancellationToken::new(),
        }))
    }

    pub(crate) fn conversation(&self) -> Conversation {
        Conversation::new(self.0.host.clone(), self.0.options.turn)
    }

    /// A place for one more call, where there is one.
    pub(crate) fn permit(&self) -> Option<OwnedSemaphorePermit> {
        self.0.permits.clone().try_acquire_owned().ok()
    }

    /// Takes on nothing more; calls that wait for their client to come back are declined.
    pub(crate) fn drain(&self) {
        self.0.draining.cancel();
        self.0.parked.expire(Duration::ZERO);
    }

    /// Lets running calls end; what is left after the grace is cancelled.
    pub(crate) async fn finish(&self) {
        self.drain();
        if tokio::time::timeout(self.0.options.grace, self.idle()).await.is_err() {
            self.cancel().await;
        }
    }

    /// Cancels running calls, and gives them a moment to say so.
    pub(crate) async fn cancel(&self) {
        self.0.closing.cancel();
        let _ = tokio::time::timeout(CANCELLED, self.idle()).await;
    }

    /// Ends waiting calls whose time is over, for as long as it is polled.
    pub(crate) async fn sweep(&self) -> Infallible {
        let after = self.0.options.ask_timeout;
        loop {
            tokio::time::sleep(SWEEP.min(after)).await;
            self.0.parked.expire(after);
        }
    }

    /// Ends once no call is in flight.
    async fn idle(&self) {
        // Fails only where the semaphore is closed, which it never is.
        let _ = self.0.permits.acquire_many(permits(&self.0.options)).await;
    }
}

/// As many calls as a semaphore can count and hand out at once.
fn permits(options: &Options) -> u32 {
    u32::try_from(options.calls.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX)
}
