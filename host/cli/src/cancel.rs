//! Ctrl-C and SIGTERM: the first cancels the batch, the second quits.

use std::sync::Arc;
use std::sync::OnceLock;

use tokio_util::sync::CancellationToken;

use crate::exit::Exit;

/// A batch's token, and what cancelled it.
#[derive(Clone, Default)]
pub struct Cancel {
    pub token: CancellationToken,
    by: Arc<OnceLock<Exit>>,
}

impl Cancel {
    /// How the program ends where somebody cancelled it.
    pub fn exit(&self) -> Option<Exit> {
        self.by.get().copied()
    }
}

/// Listens from here on. Call it within the runtime.
pub fn on_signals() -> Cancel {
    let cancel = Cancel::default();
    let Some(mut signals) = Signals::new() else {
        tracing::warn!("Ctrl-C can't be caught here; it will end the program at once");
        return cancel;
    };
    let cancelled = cancel.clone();
    tokio::spawn(async move {
        let by = signals.next().await;
        // The first word counts.
        let _ = cancelled.by.set(by);
        cancelled.token.cancel();
        tracing::warn!("cancelled: running calls get `grace-ms` to finish; a second time quits at once");
        let again = signals.next().await;
        crate::terminal::echo_on();
        std::process::exit(again.code());
    });
    cancel
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Option<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let (interrupt, terminate) = (signal(SignalKind::interrupt()).ok()?, signal(SignalKind::terminate()).ok()?);
        Some(Self { interrupt, terminate })
    }

    async fn next(&mut self) -> Exit {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Exit::Cancelled,
            Some(()) = self.terminate.recv() => Exit::Terminated,
            // The runtime ends.
            else => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Option<Self> {
        Some(Self)
    }

    async fn next(&mut self) -> Exit {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Exit::Cancelled,
            Err(_) => std::future::pending().await,
        }
    }
}
