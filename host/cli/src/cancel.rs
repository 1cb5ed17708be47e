//! Ctrl-C and SIGTERM: the first cancels the batch, the second quits.

use std::sync::Arc;
use std::sync::OnceLock;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
