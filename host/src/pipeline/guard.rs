//! What stands between the pipeline and code that is not its own: panics are caught, and a cancellation gives one grace
//! period.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;

/// The code panicked. The panic hook has reported it; the model is told no more than that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panicked;

/// How an entry into foreign code ended early.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stopped {
    /// The grace period after a cancellation was over.
    Cancelled,
    /// It panicked.
    Panicked,
}

/// Runs foreign code and turns a panic into a value. Nothing that the code leaves half-changed is looked at again
/// except through its own methods.
pub(crate) async fn guarded<F: Future>(entry: impl FnOnce() -> F) -> Result<F::Output, Panicked> {
    AssertUnwindSafe(async { entry().await }).catch_unwind().await.map_err(|_| Panicked)
}

/// Runs foreign code that is told of a cancellation by its context. From the cancellation, or from its own start where
/// the batch was cancelled before, it has `grace` to finish in; then it is dropped.
pub(crate) async fn with_grace<F: Future>(
    cancel: &CancellationToken,
    grace: Duration,
    entry: impl FnOnce() -> F,
) -> Result<F::Output, Stopped> {
    let mut running = std::pin::pin!(guarded(entry));
    tokio::select! {
        biased;
        ended = &mut running => return ended.map_err(|Panicked| Stopped::Panicked),
        () = cancel.cancelled() => {}
    }
    match tokio::time::timeout(grace, running).await {
        Ok(ended) => ended.map_err(|Panicked| Stopped::Panicked),
        Err(_) => Err(Stopped::Cancelled),
    }
}
