//! Delivery of one call's partial results while its tool goes on.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{Semaphore, mpsc};

use super::sinks::Sinks;
use crate::model::{Event, ToolCall, ToolResult};

/// Updates of one call that may be pending; the next one waits. Enough for a burst, few enough that a slow sink is felt.
pub(crate) const MAX_PENDING: usize = 64;

/// How often the end looks for what a tool's own tasks are just handing over.
const MAX_LOOKS: usize = 1_000;

type Delivery = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The tool's side.
pub(crate) struct Updates {
    sinks: Arc<Sinks>,
    room: Arc<Semaphore>,
    started: mpsc::UnboundedSender<Delivery>,
}

/// The pipeline's side: drives what was started to its end.
pub(crate) struct Deliveries {
    room: Arc<Semaphore>,
    started: mpsc::UnboundedReceiver<Delivery>,
    pending: FuturesUnordered<Delivery>,
}

/// Both sides, for one call.
pub(crate) fn channel(sinks: Arc<Sinks>) -> (Arc<Updates>, Deliveries) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(MAX_PENDING));
    let updates = Updates { sinks, room: room.clone(), started: sender };
    (Arc::new(updates), Deliveries { room, started: receiver, pending: FuturesUnordered::new() })
}

impl Updates {
    /// Starts the delivery of one update: when this returns, every sink has been given it, and an earlier one before
    /// it. Only the sinks' answers are left to the other side.
    pub(crate) async fn deliver(&self, position: u32, call: &ToolCall, partial: ToolResult) {
        if self.sinks.is_silent() {
            return;
        }
        let Ok(place) = self.room.clone().acquire_owned().await else { return };
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
        let sinks = self.sinks.clone();
        // Were tokio's budget for this task used up, the first poll would stop short of the sinks, and a later update
        // might reach them first.
        let mut delivery: Delivery = Box::pin(tokio::task::unconstrained(async move {
            sinks.emit(&event).await;
            drop(place);
        }));
        let first = std::future::poll_fn(|cx| Poll::Ready(delivery.as_mut().poll(cx))).await;
        if first.is_pending() {
            // The other side outlives the tool's code; were it gone, nobody would wait for the answers.
            let _ = self.started.send(delivery);
        }
    }
}

impl Deliveries {
    /// Drives what is pending; to be polled while the tool runs. Never ends by itself.
    pub(crate) async fn drive(&mut self) -> std::convert::Infallible {
        loop {
            tokio::select! {
                biased;
                Some(delivery) = self.started.recv() => self.pending.push(delivery),
                Some(()) = self.pending.next(), if !self.pending.is_empty() => {}
                else => std::future::pending().await,
            }
        }
    }

    /// Lets no further update begin and waits until every one that was started is delivered.
    pub(crate) async fn finish(mut self) {
        self.room.close();
        for _ in 0..MAX_LOOKS {
            while let Ok(delivery) = self.started.try_recv() {
                self.pending.push(delivery);
            }
            while self.pending.next().await.is_some() {}
            // A place that is still taken is in the hands of a task that the tool left behind: between taking it and
            // handing its delivery over, where it does not wait, or promised to one that may never come back for it.
            if self.room.available_permits() == MAX_PENDING {
                return;
            }
            tokio::task::yield_now().await;
        }
    }
}
