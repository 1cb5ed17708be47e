//! The line on which a person is asked: what is printed meanwhile goes above it.

use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The text of the prompt that is open, if one is. Cheap to clone.
#[derive(Clone, Default)]
pub struct Line(Arc<Mutex<Option<String>>>);

/// An open prompt. It ends its line when the question is withdrawn.
pub struct Prompt(Line);

impl Line {
    fn text(&self) -> MutexGuard<'_, Option<String>> {
        // One assignment: still usable after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn open(&self, text: String) -> Prompt {
        let mut line = self.text();
        write(&text);
        *line = Some(text);
        Prompt(self.clone())
    }

    /// Does something that prints whole lines.
    pub fn above<R>(&self, f: impl FnOnce() -> R) -> R {
        let line = self.text();
        let Some(text) = &*line else { return f() };
        write("\n");
        let done = f();
        write(text);
        done
    }
}

impl Prompt {
    /// The answer's own line break has ended the line.
    pub fn answered(self) {
        *self.0.text() = None;
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        if self.0.text().take().is_some() {
            write("\n");
        }
    }
}

/// Writes to standard error as it is.
pub fn write(text: &str) {
    let mut err = std::io::stderr().lock();
    // A closed standard error means that nobody answers either.
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
