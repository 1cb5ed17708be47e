//! The sink for people: on a terminal a bar for each running call, and for each settled one a few lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use indicatif::ProgressBar;
use tokio_util::sync::CancellationToken;
use toolgate::model::Event;
use toolgate::pipeline::{EventSink, SinkError};

use super::outcome::Outcome;
use super::text::{clean_line, duration, fit};
use super::{Paint, Screen, lines};
use crate::output::{self, Out};

/// Bars at a time; more would push the answers off the screen.
const BARS: usize = 12;

/// Where settled calls are shown.
pub enum Show {
    /// On a terminal, above bars.
    Live(Screen),
    /// Line by line, until it is cancelled.
    Lines(Out, CancellationToken),
}

/// The sink.
pub struct Watch {
    show: Show,
    paint: Paint,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Vec<Running>,
    counts: BTreeMap<usize, usize>,
}

struct Running {
    id: Arc<str>,
    name: Arc<str>,
    call: String,
    bar: Option<ProgressBar>,
}

impl Watch {
    pub fn new(show: Show, paint: Paint) -> Self {
        if let Show::Live(screen) = &show {
            screen.draw();
        }
        Self { show, paint, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Plain data that is still usable after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn print(&self, text: &str) {
        match &self.show {
            Show::Live(screen) => screen.print(text),
            Show::Lines(out, _) => out.write(format!("{text}\n")),
        }
    }

    fn note(&self, sign: char, text: &str) {
        self.print(&self.paint.dim(fit(&format!("{sign} {}", clean_line(text)), self.paint.columns)));
    }

    /// Begins a message of several.
    pub fn turn(&self, number: usize) {
        self.print(&self.paint.dim(format!("── turn {number}")));
    }

    /// The very last line after a signal.
    pub fn cancelled(&self, by: &str) {
        self.print(&self.paint.style(Outcome::Aborted.style(), format!("cancelled by {by}")));
    }

    /// The last line: what there was, in which time.
    pub fn summary(&self, started: Instant, terminate: bool) {
        let counts = std::mem::take(&mut self.state().counts);
        let mut line = String::new();
        for (at, outcome) in Outcome::ALL.into_iter().enumerate() {
            if let Some(count) = counts.get(&at) {
                let part = self.paint.style(outcome.style(), format!("{count} {}", outcome.word()));
                let comma = if line.is_empty() { "" } else { ", " };
                let _ = write!(line, "{comma}{part}");
            }
        }
        if line.is_empty() {
            line.push_str("no calls");
        }
        let time = duration(millis(started.elapsed()));
        let waited = match &self.show {
            Show::Live(screen) => screen.waits.take_total(),
            Show::Lines(..) => Duration::ZERO,
        };
        let asking = if waited.as_millis() == 0 {
            String::new()
        } else {
            format!(", a question open for {}", duration(millis(waited)))
        };
        let stop = if terminate { ", the run may stop here" } else { "" };
        self.print(&format!("{line}{}", self.paint.dim(format!(" in {time}{asking}{stop}"))));
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

impl State {
    /// The first of that id and name; ids are not unique.
    fn find(&self, id: &str, name: &str) -> Option<usize> {
        self.running.iter().position(|running| &*running.id == id && &*running.name == name)
    }

    /// Gives a bar to the next call without one.
    fn refill(&mut self, screen: &Screen) {
        let drawn = self.running.iter().filter(|running| running.bar.is_some()).count();
        for running in self.running.iter_mut().filter(|running| running.bar.is_none()).take(BARS.saturating_sub(drawn))
        {
            let bar = screen.bar();
            bar.set_message(running.call.clone());
            running.bar = Some(bar);
        }
    }
}

#[async_trait]
impl EventSink for Watch {
    fn name(&self) -> &str {
        "terminal"
    }

    fn is_patient(&self) -> bool {
        true
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        if let Show::Lines(out, cancel) = &self.show {
            output::room(out, cancel).await?;
        }
        match event {
            Event::ToolExecutionStart { tool_call_id, tool_name, args, .. } => {
                let call = lines::call(tool_name, args, self.paint.columns);
                let mut state = self.state();
                state.running.push(Running { id: tool_call_id.clone(), name: tool_name.clone(), call, bar: None });
                if let Show::Live(screen) = &self.show {
                    state.refill(screen);
                }
            }
            Event::ToolExecutionUpdate { tool_call_id, tool_name, partial_result, .. } => {
                let state = self.state();
                let running = state.find(tool_call_id, tool_name).and_then(|at| state.running.get(at));
                if let Some(Running { call, bar: Some(bar), .. }) = running
                    && let Some(progress) = lines::progress(partial_result)
                {
                    let call = fit(call, self.paint.columns / 2);
                    bar.set_message(format!("{call} · {progress}"));
                }
            }
            Event::ToolExecutionEnd {
                tool_call_id, tool_name, result, is_error, error, duration_ms, replayed, ..
            } => {
                let settled = {
                    let mut state = self.state();
                    let outcome = Outcome::of(*is_error, error.as_ref());
                    *state.counts.entry(outcome as usize).or_default() += 1;
                    let at = state.find(tool_call_id, tool_name);
                    let settled = at.map(|at| state.running.remove(at));
                    if let Some(bar) = settled.as_ref().and_then(|settled| settled.bar.as_ref()) {
                        bar.finish_and_clear();
                    }
                    if let Show::Live(screen) = &self.show {
                        state.refill(screen);
                    }
                    settled
                };
                let mut call = settled.map_or_else(|| clean_line(tool_name), |settled| settled.call);
                if *replayed {
                    call.insert_str(0, "(from the journal) ");
                }
                let waited = match &self.show {
                    Show::Live(screen) => millis(screen.waits.take(tool_call_id)),
                    Show::Lines(..) => 0.0,
                };
                let duration_ms = (duration_ms - waited).max(0.0);
                self.print(&lines::settled(self.paint, &call, result, *is_error, error.as_ref(), duration_ms));
            }
            Event::HookSkipped { tool_name, hook, message, .. } => {
                self.note('!', &format!("hook {hook} failed on {tool_name} and was skipped: {message}"));
            }
            Event::ArgumentsCoerced { tool_name, paths, .. } => {
                self.note('~', &format!("{tool_name}: read as the types its schema wants: {}", paths.join(", ")));
            }
            Event::SinkCut { sink, reason } => {
                self.note('!', &format!("{sink} gets no more events: {reason}"));
            }
            // The end event has shown it.
            _ => {}
        }
        Ok(())
    }
}

/// The sink of one call: a bar on standard error, the answer is printed elsewhere.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub fn new(screen: Screen) -> Self {
        screen.draw_on_stderr();
        Self { bar: screen.bar() }
    }
}

#[async_trait]
impl EventSink for Progress {
    fn name(&self) -> &str {
        "terminal"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        match event {
            Event::ToolExecutionStart { tool_name, args, .. } => {
                self.bar.set_message(lines::call(tool_name, args, 80));
            }
            Event::ToolExecutionUpdate { partial_result, .. } => {
                if let Some(progress) = lines::progress(partial_result) {
                    self.bar.set_message(progress);
                }
            }
            Event::ToolExecutionEnd { .. } => self.bar.finish_and_clear(),
            _ => {}
        }
        Ok(())
    }
}
