//! Ctrl-C: the first cancels the batch, the second quits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

use crate::exit::Exit;

/// A token that the first Ctrl-C cancels. Call it within the runtime.
pub fn on_ctrl_c() -> CancellationToken {
    let token = CancellationToken::new();
    let cancel = token.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_err() {
            tracing::warn!("Ctrl-C can't be caught here; it will end the program at once");
            return;
        }
        cancel.cancel();
        tracing::warn!("cancelled: running calls get `grace-ms` to finish; Ctrl-C again quits at once");
        if tokio::signal::ctrl_c().await.is_ok() {
            crate::terminal::echo_on();
            std::process::exit(Exit::Cancelled.code());
        }
    });
    token
}

/// What tells a server to stop.
pub struct Stop {
    pub token: CancellationToken,
    interrupted: Arc<AtomicBool>,
}

impl Stop {
    /// How the program ends: SIGTERM is how servers are stopped, Ctrl-C cancels.
    pub fn exit(&self) -> Exit {
        if self.interrupted.load(Ordering::Relaxed) { Exit::Cancelled } else { Exit::Ok }
    }
}

/// A token that the first Ctrl-C or SIGTERM cancels; a second one quits. Call it within the runtime.
pub fn on_stop() -> Stop {
    let (token, interrupted) = (CancellationToken::new(), Arc::new(AtomicBool::new(false)));
    let stop = Stop { token: token.clone(), interrupted: interrupted.clone() };
    tokio::spawn(async move {
        let Some(mut terminated) = Terminated::new() else { return };
        for first in [true, false] {
            let by_hand = tokio::select! {
                pressed = tokio::signal::ctrl_c() => pressed.is_ok(),
                () = terminated.next() => false,
            };
            if !first {
                std::process::exit(Exit::Cancelled.code());
            }
            interrupted.store(by_hand, Ordering::Relaxed);
            token.cancel();
        }
    });
    stop
}

#[cfg(unix)]
struct Terminated(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Terminated {
    fn new() -> Option<Self> {
        let caught = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
        caught.inspect_err(|error| tracing::warn!(%error, "signals can't be caught here")).ok().map(Self)
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}

#[cfg(not(unix))]
struct Terminated;

#[cfg(not(unix))]
impl Terminated {
    fn new() -> Option<Self> {
        Some(Self)
    }

    async fn next(&mut self) {
        std::future::pending().await
    }
}
