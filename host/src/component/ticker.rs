//! The thread that advances the engine's epoch while guests run, so that each yields once a tick.
//!
//! It is a thread of its own because a timer task on the executor starves when guests keep its workers busy.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

/// A tick: how long a guest may hold a worker thread, and how far a deadline is overshot at most, roughly.
const TICK: Duration = Duration::from_millis(1);
/// Ticks without a guest before the thread goes to sleep: waking it costs a call as much as instantiating does.
const IDLE_TICKS: u32 = 10;

/// The ticker of one engine.
pub struct Ticker {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    running: AtomicUsize,
    /// The thread sleeps, or is about to and holds the lock.
    asleep: AtomicBool,
    closed: AtomicBool,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Ticker {
    /// Starts the thread; it sleeps while no guest runs, and ends with this value.
    pub fn start(engine: wasmtime::EngineWeak) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let weak = Arc::downgrade(&shared);
        std::thread::Builder::new().name("toolgate-ticker".into()).spawn(move || tick(&weak, &engine))?;
        Ok(Self { shared })
    }

    /// Ticks until the guard is dropped.
    pub fn run(&self) -> Running {
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        self.shared.rouse();
        Running(self.shared.clone())
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.shared.rouse();
    }
}

/// While one lives, the ticker ticks.
pub struct Running(Arc<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    /// Wakes the thread where it sleeps. Either this sees that it does, or the thread sees what this side has just
    /// changed: each changes its own flag before it looks at the other's.
    fn rouse(&self) {
        if self.asleep.load(Ordering::SeqCst) {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_one();
        }
    }

    fn is_idle(&self) -> bool {
        self.running.load(Ordering::SeqCst) == 0 && !self.closed.load(Ordering::SeqCst)
    }

    fn sleep(&self) {
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.store(true, Ordering::SeqCst);
        while self.is_idle() {
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.store(false, Ordering::SeqCst);
    }
}

fn tick(shared: &Weak<Shared>, engine: &wasmtime::EngineWeak) {
    let mut idle = 0;
    loop {
        let Some(shared) = shared.upgrade() else { return };
        idle = if shared.is_idle() { idle + 1 } else { 0 };
        if idle > IDLE_TICKS {
            shared.sleep();
            idle = 0;
        }
        if shared.closed.load(Ordering::SeqCst) {
            return;
        }
        drop(shared);
        std::thread::sleep(TICK);
        match engine.upgrade() {
            Some(engine) => engine.increment_epoch(),
            None => return,
        }
    }
}
