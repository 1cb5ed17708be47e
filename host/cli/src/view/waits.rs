//! How long people were waited for: no tool's fault, so it is told apart from a call's duration.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Cheap to clone.
#[derive(Clone, Default)]
pub struct Waits(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    by_call: HashMap<Arc<str>, Duration>,
    /// Questions that are open, and since when there is any.
    open: usize,
    since: Option<Instant>,
    total: Duration,
}

/// A question that is open as long as this lives.
pub struct Waiting {
    waits: Waits,
    call: Arc<str>,
    started: Instant,
}

impl Waits {
    fn state(&self) -> MutexGuard<'_, State> {
        // Plain data that is still usable after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call waits for a person from now on.
    pub fn begin(&self, call: &Arc<str>) -> Waiting {
        let started = Instant::now();
        let mut state = self.state();
        state.open += 1;
        state.since.get_or_insert(started);
        Waiting { waits: self.clone(), call: call.clone(), started }
    }

    /// How long this call has waited; forgets it.
    pub fn take(&self, call: &str) -> Duration {
        self.state().by_call.remove(call).unwrap_or_default()
    }

    /// How long any question was open since the last time this was asked.
    pub fn take_total(&self) -> Duration {
        std::mem::take(&mut self.state().total)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.waits.state();
        *state.by_call.entry(self.call.clone()).or_default() += self.started.elapsed();
        state.open -= 1;
        if state.open == 0
            && let Some(since) = state.since.take()
        {
            state.total += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_its_own_wait_and_overlapping_ones_count_once() {
        let waits = Waits::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let (first, second) = (waits.begin(&a), waits.begin(&b));
        std::thread::sleep(Duration::from_millis(20));
        drop(second);
        drop(first);
        let (a, b, total) = (waits.take("a"), waits.take("b"), waits.take_total());
        assert!(a >= b && b >= Duration::from_millis(20), "{a:?} {b:?}");
        assert!(total >= a && total < a + b, "{total:?} {a:?} {b:?}");
        assert_eq!((waits.take("a"), waits.take_total()), (Duration::ZERO, Duration::ZERO));
    }
}
