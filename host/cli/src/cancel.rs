//! Ctrl-C: the first cancels the batch, the second quits.

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
