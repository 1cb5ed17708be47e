//! What people see: `text` makes foreign text harmless, `lines` words an event, `outcome` colours it, `watch` is the
//! sink that shows running calls, `prompt` asks, `waits` knows what of the time was a person's.

pub mod lines;
pub mod outcome;
pub mod prompt;
pub mod text;
mod waits;
pub mod watch;

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::Style;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal;
use waits::Waits;

/// The terminal below the last line: bars of running calls, which anything printed goes above. Nothing is drawn before
/// [`Screen::draw`]. Cheap to clone.
#[derive(Clone)]
pub struct Screen {
    bars: MultiProgress,
    on_stderr: Arc<AtomicBool>,
    line: prompt::Line,
    /// The time that calls have waited for a person.
    pub waits: Waits,
}

/// While it lives nothing is drawn.
pub struct Paused<'a>(&'a Screen);

impl Screen {
    pub fn new() -> Self {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
        Self { bars, on_stderr: Arc::default(), line: prompt::Line::default(), waits: Waits::default() }
    }

    /// Draws on standard output from here on.
    pub fn draw(&self) {
        terminal::echo_off();
        let stderr = self.on_stderr.load(Ordering::Relaxed);
        self.bars.set_draw_target(if stderr { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::stdout() });
    }

    /// Draws on standard error from here on.
    pub fn draw_on_stderr(&self) {
        self.on_stderr.store(true, Ordering::Relaxed);
        self.draw();
    }

    /// A bar of its own for something that runs.
    pub fn bar(&self) -> ProgressBar {
        let bar = self.bars.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{spinner:.cyan} {wide_msg} {elapsed:.dim}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(std::time::Duration::from_millis(100));
        bar
    }

    /// Prints to standard output, above the bars. (indicatif's own `println` pads each line to the terminal's width.)
    pub fn print(&self, lines: &str) {
        self.hidden(|| {
            let mut stdout = std::io::stdout().lock();
            // A closed terminal leaves nobody to show it to.
            let _ = writeln!(stdout, "{lines}").and_then(|()| stdout.flush());
        });
    }

    /// Prints whole lines: above the bars, or the prompt that is open.
    pub fn hidden<R>(&self, f: impl FnOnce() -> R) -> R {
        self.bars.suspend(|| self.line.above(f))
    }

    /// Asks on a line of its own; the bars are to be away.
    pub fn prompt(&self, text: String) -> prompt::Prompt {
        self.line.open(text)
    }

    /// Takes the bars away for a conversation.
    pub fn pause(&self) -> Option<Paused<'_>> {
        if self.bars.is_hidden() {
            return None;
        }
        let _ = self.bars.clear();
        self.bars.set_draw_target(ProgressDrawTarget::hidden());
        terminal::echo_on();
        Some(Paused(self))
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.0.draw();
    }
}

/// Whether and how standard output is painted.
#[derive(Clone, Copy)]
pub struct Paint {
    colour: bool,
    /// How many columns a line has.
    pub columns: usize,
}

/// The width where there is no terminal to ask.
const COLUMNS: usize = 120;

impl Paint {
    /// As standard output and the environment (`NO_COLOR` and the like) want it.
    pub fn of_stdout() -> Self {
        let stdout = std::io::stdout();
        let colour = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
        let columns = if stdout.is_terminal() { console::Term::stdout().size().1.into() } else { COLUMNS };
        Self { colour, columns }
    }

    /// Text in a style.
    pub fn style(self, style: Style, text: impl std::fmt::Display) -> String {
        let text = text.to_string();
        if self.colour && !text.is_empty() { format!("{style}{text}{style:#}") } else { text }
    }

    /// Text that steps back.
    pub fn dim(self, text: impl std::fmt::Display) -> String {
        self.style(Style::new().dimmed(), text)
    }

    /// Text that stands out.
    pub fn bold(self, text: impl std::fmt::Display) -> String {
        self.style(Style::new().bold(), text)
    }
}

#[cfg(test)]
impl Paint {
    pub fn plain(columns: usize) -> Self {
        Self { colour: false, columns }
    }
}
