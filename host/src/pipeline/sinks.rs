//! Delivery of one batch's events: every live sink at once, each watched by a clock.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::guard::{Panicked, guarded};
use super::{EventSink, SinkError, Step};
use crate::model::Event;

/// The sinks of one batch.
pub(crate) struct Sinks {
    watched: Vec<Watched>,
    timeout: Duration,
}

/// What sinks are told.
#[derive(Clone, Copy)]
enum Word<'a> {
    Event(&'a Event),
    Step(u32, &'a Step),
}

struct Watched {
    sink: Arc<dyn EventSink>,
    is_ahead: bool,
    is_patient: bool,
    is_cut: AtomicBool,
    /// Wakes the deliveries that are under way when the sink is cut.
    cut: CancellationToken,
    held: Mutex<Held>,
}

/// The events a sink is holding, oldest first, each with the time since when it has nothing older to finish.
#[derive(Default)]
struct Held {
    next: u64,
    since: VecDeque<(u64, Instant)>,
}

impl Sinks {
    pub(crate) fn new(sinks: Vec<Arc<dyn EventSink>>, timeout: Duration) -> Self {
        let asked = |ask: &dyn Fn() -> bool| std::panic::catch_unwind(AssertUnwindSafe(ask)).unwrap_or(false);
        let watch = |sink: Arc<dyn EventSink>| Watched {
            is_ahead: asked(&|| sink.is_ahead()),
            is_patient: asked(&|| sink.is_patient()),
            sink,
            is_cut: AtomicBool::new(false),
            cut: CancellationToken::new(),
            held: Mutex::default(),
        };
        Self { watched: sinks.into_iter().map(watch).collect(), timeout }
    }

    /// Whether nobody listens (any more).
    pub(crate) fn is_silent(&self) -> bool {
        self.watched.iter().all(|watched| watched.is_cut.load(Ordering::Relaxed))
    }

    /// Delivers an event, which is made only where somebody listens, to every live sink and waits for all of them. A sink
    /// that is cut on the way is made known to the others before this returns.
    pub(crate) async fn emit(&self, event: impl FnOnce() -> Event) {
        if !self.is_silent() {
            // Boxed: it is large, and every stage would carry room for it, and move it, where nobody listens too.
            Box::pin(async { self.emit_in_place(&event()).await }).await;
        }
    }

    /// The same for a caller that is on the heap already. On the first poll each sink has been given an update.
    pub(crate) async fn emit_in_place(&self, event: &Event) {
        self.tell(Word::Event(event)).await;
    }

    /// Says how far a call is.
    pub(crate) async fn step(&self, position: u32, step: Step) {
        if !self.is_silent() {
            Box::pin(self.tell(Word::Step(position, &step))).await;
        }
    }

    async fn tell(&self, word: Word<'_>) {
        let mut news = self.deliver(word).await;
        while let Some(cut) = news.pop() {
            news.extend(self.deliver(Word::Event(&cut)).await);
        }
    }

    async fn deliver(&self, word: Word<'_>) -> Vec<Event> {
        if self.is_silent() {
            return Vec::new();
        }
        let is_update = matches!(word, Word::Event(Event::ToolExecutionUpdate { .. }));
        let mut news = Vec::new();
        if !is_update && self.watched.iter().any(|watched| watched.is_ahead) {
            news = self.deliver_to(|watched| watched.is_ahead, word).await;
        }
        news.extend(self.deliver_to(|watched| is_update || !watched.is_ahead, word).await);
        news
    }

    async fn deliver_to(&self, wanted: impl Fn(&Watched) -> bool, word: Word<'_>) -> Vec<Event> {
        if let [only] = &self.watched[..] {
            return if wanted(only) { Vec::from_iter(only.deliver(word, self.timeout).await) } else { Vec::new() };
        }
        let wanted = self.watched.iter().filter(|watched| wanted(watched));
        join_all(wanted.map(|watched| watched.deliver(word, self.timeout))).await.into_iter().flatten().collect()
    }
}

impl Watched {
    /// Hands one thing over. Answers the news where this delivery is the one that got the sink cut.
    async fn deliver(&self, word: Word<'_>, timeout: Duration) -> Option<Event> {
        if self.is_cut.load(Ordering::Relaxed) {
            return None;
        }
        let mut delivery = std::pin::pin!(guarded(|| async {
            match word {
                Word::Event(event) => self.sink.event(event).await,
                Word::Step(position, step) => self.sink.step(position, step).await,
            }
        }));
        // Most events are taken at once, and then there is no clock to watch.
        if let Poll::Ready(taken) = std::future::poll_fn(|cx| Poll::Ready(delivery.as_mut().poll(cx))).await {
            return self.taken(taken);
        }
        let holding = Holding::begin(&self.held);
        loop {
            let deadline = holding.since() + timeout;
            tokio::select! {
                biased;
                taken = &mut delivery => return self.taken(taken),
                () = self.cut.cancelled() => return None,
                () = tokio::time::sleep_until(deadline), if !self.is_patient => {
                    // The clock starts anew whenever the sink finishes something older.
                    if holding.since() + timeout <= Instant::now() {
                        return self.cut(format!("it held one event longer than {timeout:?}"));
                    }
                }
            }
        }
    }

    fn taken(&self, taken: Result<Result<(), SinkError>, Panicked>) -> Option<Event> {
        match taken {
            Ok(Ok(())) => None,
            Ok(Err(error)) => self.cut(format!("it failed: {error}")),
            Err(Panicked) => self.cut("it panicked".into()),
        }
    }

    fn cut(&self, reason: String) -> Option<Event> {
        if self.is_cut.swap(true, Ordering::Relaxed) {
            return None;
        }
        self.cut.cancel();
        let sink: Arc<str> = self.sink.name().into();
        tracing::error!(target: "toolgate::sink", sink = &*sink, reason, "an event sink was cut off; the batch goes on");
        Some(Event::SinkCut { sink, reason })
    }
}

struct Holding<'a> {
    held: &'a Mutex<Held>,
    number: u64,
}

impl<'a> Holding<'a> {
    fn begin(held: &'a Mutex<Held>) -> Self {
        let mut all = held.lock().unwrap_or_else(PoisonError::into_inner);
        let number = all.next;
        all.next += 1;
        all.since.push_back((number, Instant::now()));
        Self { held, number }
    }

    fn since(&self) -> Instant {
        let all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        all.since.iter().find(|(number, _)| *number == self.number).map_or_else(Instant::now, |(_, since)| *since)
    }
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(at) = all.since.binary_search_by_key(&self.number, |(number, _)| *number) else { return };
        all.since.remove(at);
        let now = Instant::now();
        for (_, since) in all.since.iter_mut().skip(at) {
            *since = now;
        }
    }
}
