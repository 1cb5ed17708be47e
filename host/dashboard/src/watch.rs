//! From a host's batches to what the page shows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;
use toolgate::model::{Event, ToolCall};
use toolgate::pipeline::{BatchInfo, EventSink, SinkError, Step, Watcher};

use crate::batches::Batches;

/// Keeps what the last batches did. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct Dashboard(Arc<Inner>);

#[derive(Default)]
struct Inner {
    batches: Mutex<Batches>,
    changed: watch::Sender<u64>,
}

impl Dashboard {
    /// One that has seen nothing yet. Give it to [`HostBuilder::watcher`](toolgate::HostBuilder::watcher).
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn batches(&self) -> MutexGuard<'_, Batches> {
        self.0.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes who waits for a change, with the revision.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    fn change<R>(&self, change: impl FnOnce(&mut Batches) -> R) -> R {
        let (done, revision) = {
            let mut batches = self.batches();
            (change(&mut batches), batches.revision())
        };
        self.0.changed.send_replace(revision);
        done
    }
}

impl Watcher for Dashboard {
    fn watch(&self, batch: &Arc<BatchInfo>, _calls: &[ToolCall]) -> Arc<dyn EventSink> {
        let number = self.change(|batches| batches.begin(batch));
        Arc::new(Watched { dashboard: self.clone(), number })
    }
}

/// One batch that is watched, until it is dropped.
struct Watched {
    dashboard: Dashboard,
    number: u64,
}

#[async_trait]
impl EventSink for Watched {
    fn name(&self) -> &str {
        "dashboard"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        self.dashboard.change(|batches| batches.event(self.number, event));
        Ok(())
    }

    async fn step(&self, position: u32, step: &Step) -> Result<(), SinkError> {
        self.dashboard.change(|batches| batches.step(self.number, position, step));
        Ok(())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.dashboard.change(|batches| batches.end(self.number));
    }
}
