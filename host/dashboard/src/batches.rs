//! The last batches, as the page shows them, within bounds.

use std::collections::VecDeque;
use std::time::Instant;

use serde::Serialize;
use toolgate::model::{ErrorInfo, Event, Metrics, ToolResult};
use toolgate::pipeline::{BatchInfo, HookAnswer, HookEvent, Step};

/// Batches that are kept; of those that are over the oldest goes first.
const MAX_BATCHES: usize = 50;

/// Calls of a batch that are shown; the rest is counted.
const MAX_CALLS: usize = 100;

/// Hook answers of a call that are shown.
const MAX_HOOKS: usize = 32;

/// Times of updates of a call that are shown; all are counted.
const MAX_TICKS: usize = 64;

/// Characters of arguments, results and updates that are shown.
const MAX_CHARS: usize = 1_000;

/// Characters of a name that are shown.
const MAX_NAME: usize = 100;

/// All that is kept.
#[derive(Default)]
pub(crate) struct Batches {
    next: u64,
    revision: u64,
    all: VecDeque<Batch>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Batch {
    number: u64,
    /// Counts changes to anything here.
    #[serde(skip)]
    revision: u64,
    #[serde(skip)]
    began: Instant,
    turn: String,
    conversation: String,
    size: u32,
    over: bool,
    /// Milliseconds since the batch began, as are all times of its calls.
    elapsed: f64,
    calls: Vec<Call>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Call {
    position: u32,
    id: String,
    tool: String,
    args: String,
    started: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    asking: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prepared: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    executing: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    executed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<f64>,
    hooks: Vec<HookCall>,
    updates: u64,
    ticks: Vec<f64>,
    last_update: String,
    is_error: bool,
    replayed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Metrics>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookCall {
    hook: String,
    event: HookEvent,
    answer: HookAnswer,
    at: f64,
    duration: f64,
}

#[derive(Serialize)]
struct Failure {
    kind: &'static str,
    stage: &'static str,
    plugin: String,
    hook: String,
    hint: String,
    denials: Vec<String>,
}

fn cut(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn words(result: &ToolResult) -> String {
    let mut text = String::new();
    for block in &result.content {
        if text.len() > 4 * MAX_CHARS {
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        match block.as_text() {
            Some(words) => text.extend(words.chars().take(MAX_CHARS + 1)),
            None => text.push_str(&format!("[{} bytes of other content]", block.size())),
        }
    }
    cut(&text, MAX_CHARS)
}

impl Failure {
    fn of(error: &ErrorInfo) -> Self {
        let name = |name: &Option<std::sync::Arc<str>>| cut(name.as_deref().unwrap_or_default(), MAX_NAME);
        let denial = |denial: &toolgate::model::Denial| {
            cut(&format!("{}: {} ({})", denial.capability, denial.subject, denial.rule), MAX_CHARS)
        };
        Self {
            kind: error.kind.as_str(),
            stage: error.stage.as_str(),
            plugin: name(&error.plugin),
            hook: name(&error.hook),
            hint: cut(error.hint.as_deref().unwrap_or_default(), MAX_CHARS),
            denials: error.denials.iter().take(8).map(denial).collect(),
        }
    }
}

impl Batches {
    /// A batch begins; the number is its name here.
    pub(crate) fn begin(&mut self, info: &BatchInfo) -> u64 {
        if self.all.len() >= MAX_BATCHES {
            let oldest = self.all.iter().position(|batch| batch.over).unwrap_or(0);
            self.all.remove(oldest);
        }
        self.next += 1;
        self.revision += 1;
        self.all.push_back(Batch {
            number: self.next,
            revision: self.revision,
            began: Instant::now(),
            turn: cut(&info.turn, MAX_NAME),
            conversation: cut(&info.conversation, MAX_NAME),
            size: info.size,
            over: false,
            elapsed: 0.0,
            calls: Vec::new(),
        });
        self.next
    }

    fn change(&mut self, number: u64, change: impl FnOnce(&mut Batch, f64)) {
        self.revision += 1;
        if let Some(batch) = self.all.iter_mut().find(|batch| batch.number == number) {
            batch.revision = self.revision;
            batch.elapsed = batch.began.elapsed().as_secs_f64() * 1e3;
            let now = batch.elapsed;
            change(batch, now);
        }
    }

    fn change_call(&mut self, number: u64, position: u32, change: impl FnOnce(&mut Call, f64)) {
        self.change(number, |batch, now| {
            if let Some(call) = batch.calls.iter_mut().find(|call| call.position == position) {
                change(call, now);
            }
        });
    }

    pub(crate) fn end(&mut self, number: u64) {
        self.change(number, |batch, _| batch.over = true);
    }

    pub(crate) fn event(&mut self, number: u64, event: &Event) {
        match event {
            Event::ToolExecutionStart { position, tool_call_id, tool_name, args, replayed } => {
                self.change(number, |batch, now| {
                    if batch.calls.len() < MAX_CALLS {
                        batch.calls.push(Call {
                            position: *position,
                            id: cut(tool_call_id, MAX_NAME),
                            tool: cut(tool_name, MAX_NAME),
                            args: cut(args.text(), MAX_CHARS),
                            started: now,
                            replayed: *replayed,
                            ..Call::default()
                        });
                    }
                });
            }
            Event::ToolExecutionUpdate { position, partial_result, .. } => {
                self.change_call(number, *position, |call, now| {
                    call.updates += 1;
                    if call.ticks.len() < MAX_TICKS {
                        call.ticks.push(now);
                    }
                    call.last_update = words(partial_result);
                });
            }
            Event::ToolExecutionEnd { position, result, is_error, error, metrics, .. } => {
                self.change_call(number, *position, |call, now| {
                    call.ended = Some(now);
                    call.is_error = *is_error;
                    call.error = error.as_ref().map(Failure::of);
                    call.text = words(result);
                    call.metrics = Some(*metrics);
                });
            }
            _ => {}
        }
    }

    pub(crate) fn step(&mut self, number: u64, position: u32, step: &Step) {
        self.change_call(number, position, |call, now| match step {
            Step::Hook { hook, event, answer, duration } if call.hooks.len() < MAX_HOOKS => {
                let (hook, event, answer) = (cut(hook, MAX_NAME), *event, *answer);
                call.hooks.push(HookCall { hook, event, answer, at: now, duration: duration.as_secs_f64() * 1e3 });
            }
            Step::Asking => call.asking = Some(now),
            Step::Prepared => call.prepared = Some(now),
            Step::Executing => call.executing = Some(now),
            Step::Executed => call.executed = Some(now),
            _ => {}
        });
    }

    /// How often anything has changed.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The batches that have changed since a revision, oldest first.
    pub(crate) fn since(&mut self, revision: u64) -> Vec<&Batch> {
        for batch in self.all.iter_mut().filter(|batch| !batch.over) {
            batch.elapsed = batch.began.elapsed().as_secs_f64() * 1e3;
        }
        self.all.iter().filter(|batch| batch.revision > revision).collect()
    }

    /// The numbers of all batches that are kept.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.all.iter().map(|batch| batch.number).collect()
    }
}
