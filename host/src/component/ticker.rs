//! The thread that advances the engine's epoch while guests run, so that each yields once a tick.
//!
//! It is a thread of its own because a timer task on the executor starves when guests keep its workers busy.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

/// A tick: how long a guest may hold a worker thread, and how far a deadline is overshot at most, roughly.
const TICK: Duration = Duration::from_millis(1);

/// The ticker of one engine.
pub struct Ticker {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    running: usize,
    closed: bool,
}

impl Ticker {
    /// Starts the thread; it sleeps while no guest runs, and ends with this value.
    pub fn start(engine: wasmtime::EngineWeak) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::default(), wake: Condvar::new() });
        let weak = Arc::downgrade(&shared);
        std::thread::Builder::new().name("toolgate-ticker".into()).spawn(move || tick(&weak, &engine))?;
        Ok(Self { shared })
    }

    /// Ticks until the guard is dropped.
    pub fn run(&self) -> Running {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.running += 1;
        if state.running == 1 {
            self.shared.wake.notify_one();
        }
        drop(state);
        Running(self.shared.clone())
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.shared.wake.notify_one();
    }
}

/// While one lives, the ticker ticks.
pub struct Running(Arc<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).running -= 1;
    }
}

fn tick(shared: &Weak<Shared>, engine: &wasmtime::EngineWeak) {
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.running == 0 && !state.closed {
            state = shared.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return;
        }
        drop(state);
        drop(shared);
        std::thread::sleep(TICK);
        match engine.upgrade() {
            Some(engine) => engine.increment_epoch(),
            None => return,
        }
    }
}
