//! The terminal as an input: no echo while running calls are drawn, and nothing that was typed ahead answers a question.
//! There is one per process, so its state is the process's.

use std::fs::File;
use std::io::{IsTerminal as _, Read};
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
pub use unix::{discard_input, echo_off, echo_on};

/// The terminal is as it was when this is gone, also after a panic.
pub struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        echo_on();
    }
}

/// Whether messages are typed on the terminal.
static HOLDS_MESSAGES: AtomicBool = AtomicBool::new(false);

/// Says that standard input, a terminal, is read for messages or arguments: keys belong there from now on.
pub fn give_to_messages() {
    HOLDS_MESSAGES.store(true, Ordering::Relaxed);
}

/// Whether messages are typed on the terminal, so that nobody can be asked on it.
pub fn holds_messages() -> bool {
    HOLDS_MESSAGES.load(Ordering::Relaxed)
}

/// What a person types on, also where standard input is a file.
pub fn keyboard() -> Option<Box<dyn Read + Send>> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() { Some(Box::new(stdin)) } else { Some(Box::new(File::open("/dev/tty").ok()?)) }
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::IsTerminal as _;
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use rustix::termios::{LocalModes, OptionalActions, QueueSelector, Termios};

    /// The terminal and its modes before its echo was turned off.
    static BEFORE: Mutex<Option<(OwnedFd, Termios)>> = Mutex::new(None);

    fn before() -> MutexGuard<'static, Option<(OwnedFd, Termios)>> {
        // One assignment: still usable after a panic.
        BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn terminal() -> Option<OwnedFd> {
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            return stdin.as_fd().try_clone_to_owned().ok();
        }
        File::open("/dev/tty").ok().map(OwnedFd::from)
    }

    /// Keys no longer appear between the lines that are drawn, which would leave some of those behind.
    pub fn echo_off() {
        let mut before = before();
        if before.is_some() || super::holds_messages() {
            return;
        }
        let Some(terminal) = terminal() else { return };
        // A background process that changes the terminal is stopped.
        if rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group != rustix::process::getpgrp()) {
            return;
        }
        let Ok(modes) = rustix::termios::tcgetattr(&terminal) else { return };
        let mut silent = modes.clone();
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
        if rustix::termios::tcsetattr(&terminal, OptionalActions::Now, &silent).is_ok() {
            *before = Some((terminal, modes));
        }
    }

    /// As it was before [`echo_off`].
    pub fn echo_on() {
        if let Some((terminal, modes)) = before().take() {
            // A terminal that is gone shows nothing anyway.
            let _ = rustix::termios::tcsetattr(&terminal, OptionalActions::Now, &modes);
        }
    }

    /// Drops what was typed and not read yet.
    pub fn discard_input() {
        if let Some(terminal) = terminal() {
            // Only a terminal that is gone can't be flushed.
            let _ = rustix::termios::tcflush(&terminal, QueueSelector::IFlush);
        }
    }
}

#[cfg(not(unix))]
mod other {
    pub fn echo_off() {}
    pub fn echo_on() {}
    pub fn discard_input() {}
}
#[cfg(not(unix))]
pub use other::{discard_input, echo_off, echo_on};
