//! Watches toolgate.toml and the component files, and loads what changed.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::reload::{Reloaded, Reloader};
use crate::Host;

/// How long files must be still before they are read: builds and copies write in pieces.
const STILL: Duration = Duration::from_millis(300);
/// The longest wait for stillness: something that writes all the time must not keep other changes back.
const AT_MOST: Duration = Duration::from_secs(3);
/// Where the system reports no changes (network file systems, bind mounts) they are looked for this often.
const LOOK: Duration = Duration::from_secs(5);

/// Loads what changes on disk until the future is dropped. Tells of every check that did or refused something.
///
/// Changes are noticed at once where the file system reports them, else within 5 s, and taken up when the files have
/// been still for 300 ms.
pub async fn watch(mut reloader: Reloader, host: &Host, mut tell: impl FnMut(Reloaded)) -> Infallible {
    let (changed, mut changes) = mpsc::channel(1);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading a file is no change of it. A full channel holds a wake-up already.
        if event.is_ok_and(|event| !event.kind.is_access()) {
            let _ = changed.try_send(());
        }
    })
    .inspect_err(|error| tracing::warn!("changes on disk are looked for every {LOOK:?} only: {error}"))
    .ok();
    let mut watched = BTreeSet::new();
    loop {
        if let Some(watcher) = &mut watcher {
            follow(watcher, &mut watched, &reloader);
        }
        let report = reloader.check(host).await;
        let unsettled = report.unsettled;
        if report.changed() || !report.refused.is_empty() || !report.needs_restart.is_empty() {
            tell(report);
        }
        if unsettled {
            sleep(STILL).await;
            continue;
        }
        match timeout(LOOK, changes.recv()).await {
            // Nobody reports: the watcher did not start.
            Ok(None) => sleep(LOOK).await,
            Ok(Some(())) => {
                let still = async { while let Ok(Some(())) = timeout(STILL, changes.recv()).await {} };
                let _ = timeout(AT_MOST, still).await;
            }
            Err(_) => {}
        }
    }
}

/// Watches the folders of all files: a file that is replaced by a rename is another file.
fn follow(watcher: &mut RecommendedWatcher, watched: &mut BTreeSet<PathBuf>, reloader: &Reloader) {
    let folder = |file: &Path| match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let wanted: BTreeSet<PathBuf> = reloader.files().map(folder).collect();
    for gone in watched.difference(&wanted) {
        let _ = watcher.unwatch(gone);
    }
    // One that can't be watched is tried again with every round.
    let before = std::mem::take(watched);
    *watched = wanted
        .into_iter()
        .filter(|folder| before.contains(folder) || watcher.watch(folder, RecursiveMode::NonRecursive).is_ok())
        .collect();
}
