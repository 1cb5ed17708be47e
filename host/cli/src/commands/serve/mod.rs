//! `toolgate serve`: the tools and the pipeline for other programs, one file per protocol.

pub mod mcp;

use tokio_util::sync::CancellationToken;

use crate::args::{Serve, Shared};
use crate::exit::{Exit, Failure};

pub fn run(shared: &Shared, serve: Serve) -> Result<Exit, Failure> {
    match serve {
        Serve::Mcp(args) => mcp::run(shared, &args),
    }
}

/// Ends on Ctrl-C or, where there is one, a request to terminate; a second one quits at once. Call it within the runtime.
fn stop() -> CancellationToken {
    let token = CancellationToken::new();
    let stop = token.clone();
    tokio::spawn(async move {
        signal().await;
        tracing::warn!("stopping: running calls get a moment to finish; once more quits at once");
        stop.cancel();
        signal().await;
        std::process::exit(Exit::Cancelled.code());
    });
    token
}

#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return interrupt().await;
    };
    tokio::select! {
        () = interrupt() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn signal() {
    interrupt().await;
}

async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        tracing::warn!("Ctrl-C can't be caught here; it will end the program at once");
        std::future::pending::<()>().await;
    }
}
