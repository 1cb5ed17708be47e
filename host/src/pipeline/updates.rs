//! Delivery of one call's partial results while its tool goes on.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{Notify, Semaphore};

use super::sinks::Sinks;
use crate::model::{Event, ToolCall, ToolResult};

/// Updates of one call that may be pending; the next one waits. Enough for a burst, few enough that a slow sink is felt.
pub(crate) const MAX_PENDING: usize = 64;

/// How often the end looks for what a tool's own tasks are just handing over.
const MAX_LOOKS: usize = 1_000;

type Delivery = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The tool's side. One allocation: most calls have no updates.
pub(crate) struct Updates {
    sinks: Arc<Sinks>,
    room: Semaphore,
    /// Deliveries under way that the other side has not taken over yet.
    started: Mutex<Vec<Delivery>>,
    more: Notify,
}

/// The pipeline's side: drives what was started to its end.
pub(crate) struct Deliveries {
    updates: Arc<Updates>,
    /// Made with the first one.
    pending: Option<FuturesUnordered<Delivery>>,
}

/// A place among those pending, until dropped.
struct Place(Arc<Updates>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.room.add_permits(1);
    }
}

/// Both sides, for one call.
pub(crate) fn channel(sinks: Arc<Sinks>) -> (Arc<Updates>, Deliveries) {
    let room = Semaphore::new(MAX_PENDING);
    let updates = Arc::new(Updates { sinks, room, started: Mutex::default(), more: Notify::new() });
    (updates.clone(), Deliveries { updates, pending: None })
}

impl Updates {
    /// Starts the delivery of one update: when this returns, every sink has been given it, and an earlier one before
    /// it. Only the sinks' answers are left to the other side.
    pub(crate) async fn deliver(self: &Arc<Self>, position: u32, call: &ToolCall, partial: ToolResult) {
        if self.sinks.is_silent() {
            return;
        }
        let Ok(permit) = self.room.acquire().await else { return };
        permit.forget();
        let place = Place(self.clone());
        // One that was promised a place before the end, and comes back for it after.
        if self.room.is_closed() {
            return;
        }
        let event = Event::ToolExecutionUpdate {
            position,
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: call.arguments.clone(),
            partial_result: Arc::new(partial),
        };
        // Were tokio's budget for this task used up, the first poll would stop short of the sinks, and a later update
        // might reach them first.
        let mut delivery: Delivery = Box::pin(tokio::task::unconstrained(async move {
            place.0.sinks.emit_in_place(&event).await;
        }));
        let first = std::future::poll_fn(|cx| Poll::Ready(delivery.as_mut().poll(cx))).await;
        if first.is_pending() {
            // The other side outlives the tool's code; were it gone, nobody would wait for the answers.
            self.started.lock().unwrap_or_else(PoisonError::into_inner).push(delivery);
            self.more.notify_one();
        }
    }
}

impl Deliveries {
    /// Takes over what was started.
    fn take_over(&mut self) {
        let started = std::mem::take(&mut *self.updates.started.lock().unwrap_or_else(PoisonError::into_inner));
        if !started.is_empty() {
            self.pending.get_or_insert_default().extend(started);
        }
    }

    /// Waits for one of those pending; at once where there is none.
    async fn one(pending: &mut Option<FuturesUnordered<Delivery>>) -> Option<()> {
        pending.as_mut()?.next().await
    }

    /// Drives what is pending; to be polled while the tool runs. Never ends by itself.
    pub(crate) async fn drive(&mut self) -> std::convert::Infallible {
        loop {
            self.take_over();
            let is_pending = self.pending.as_ref().is_some_and(|pending| !pending.is_empty());
            tokio::select! {
                biased;
                () = self.updates.more.notified() => {}
                _ = Self::one(&mut self.pending), if is_pending => {}
            }
        }
    }

    /// Lets no further update begin and waits until every one that was started is delivered.
    pub(crate) async fn finish(mut self) {
        self.updates.room.close();
        for _ in 0..MAX_LOOKS {
            self.take_over();
            while Self::one(&mut self.pending).await.is_some() {}
            // A place that is still taken is in the hands of a task that the tool left behind: between taking it and
            // handing its delivery over, where it does not wait, or promised to one that may never come back for it.
            if self.updates.room.available_permits() == MAX_PENDING {
                return;
            }
            tokio::task::yield_now().await;
        }
    }
}
