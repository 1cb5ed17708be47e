//! Plays one random batch in several ways and compares.

use std::sync::{Arc, Once};
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;
use toolgate::model::ExecutionMode;
use toolgate::pipeline::{Batch, BatchOutcome};

use super::rules::assert_kept;
use super::spec::{Cancel, Spec};
use super::trace::{Row, Trace};
use super::world::World;

const MODES: [ExecutionMode; 2] = [ExecutionMode::Parallel, ExecutionMode::Sequential];
/// Longer than anything here goes on by itself.
const PATIENT: Duration = Duration::from_secs(60);
/// So short that what sleeps is stopped.
const ABRUPT: Duration = Duration::from_millis(1);
/// Time for what must not happen any more.
const AFTERWARDS: Duration = Duration::from_millis(5);

/// Plays a batch in both modes, once more with other timing, and with native twins of the components: the rules hold and
/// the messages are the same. Answers what became of each call: `error.kind`, or `ok`.
///
/// # Panics
///
/// Where they are not. The batch is printed.
pub fn undisturbed(world: &World, specs: &[Spec]) -> Vec<String> {
    let expected = reference(world, specs);
    let retimed: Vec<_> = specs.iter().enumerate().map(|(at, spec)| spec.retimed(at as u64)).collect();
    for (specs, mode) in [(specs, MODES[0]), (specs, MODES[1]), (&*retimed, MODES[0])] {
        let mut failure = Failure { specs, mode, cancel: None, rows: Vec::new() };
        let (outcome, trace) = play(world, specs, mode, None);
        failure.rows = trace.all();
        assert_kept(specs, mode, &outcome, &failure.rows);
        for (call, (message, expected)) in comparable(&outcome).iter().zip(&expected).enumerate() {
            assert_eq!(message, expected, "the message of c{call}");
        }
        assert_eq!((world.engine.live_instances(), world.engine.waiting()), (0, 0));
    }
    kinds(&expected)
}

fn kinds(messages: &[Value]) -> Vec<String> {
    messages.iter().map(|message| message["error"]["kind"].as_str().unwrap_or("ok").to_owned()).collect()
}

/// Plays a batch that is cancelled on its way: the rules hold, every message is the usual one or tells of the
/// cancellation, and nothing goes on afterwards. Answers what became of each call.
///
/// # Panics
///
/// Where they do not. The batch is printed.
pub fn cancelled(world: &World, specs: &[Spec], is_parallel: bool, cancel: Cancel) -> Vec<String> {
    let expected = reference(world, specs);
    let mode = MODES[usize::from(!is_parallel)];
    let mut failure = Failure { specs, mode, cancel: Some(cancel), rows: Vec::new() };
    let (outcome, trace) = play(world, specs, mode, Some(cancel));
    assert_eq!((world.engine.live_instances(), world.engine.waiting()), (0, 0), "something runs on");
    failure.rows = trace.all();
    assert_kept(specs, mode, &outcome, &failure.rows);
    let messages = comparable(&outcome);
    for ((message, expected), spec) in messages.iter().zip(&expected).zip(specs) {
        let is_told = message["error"]["kind"] == "aborted" && message["content"][0]["text"] == "Operation aborted";
        assert!(
            message == expected || is_told || spec.heeds || spec.is_changed,
            "neither {expected} nor aborted: {message}"
        );
    }
    world.runtime.block_on(async { tokio::time::sleep(AFTERWARDS).await });
    assert_eq!(trace.all(), failure.rows, "something goes on afterwards");
    kinds(&messages)
}

fn play(world: &World, specs: &[Spec], mode: ExecutionMode, cancel: Option<Cancel>) -> (BatchOutcome, Arc<Trace>) {
    quiet();
    let token = CancellationToken::new();
    let trace = Arc::new(match cancel {
        Some(cancel) => Trace::cancelling(cancel.after, token.clone()),
        None => Trace::default(),
    });
    let grace = if cancel.is_some_and(|cancel| cancel.is_abrupt) { ABRUPT } else { PATIENT };
    let batch = Batch::new(Spec::message(specs)).mode(mode).cancel(token).sink(trace.clone());
    (world.runtime.block_on(world.host(grace, &trace).run(batch)), trace)
}

/// The messages as native tools and hooks give them, on a clock that stands still while anything can run.
fn reference(world: &World, specs: &[Spec]) -> Vec<Value> {
    quiet();
    let trace = Arc::new(Trace::default());
    let host = world.native_host(PATIENT, &trace);
    let batch = Batch::new(Spec::message(specs)).sink(trace.clone());
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    let outcome = runtime.unwrap_or_else(|error| panic!("{error}")).block_on(host.run(batch));
    let _failure = Failure { specs, mode: MODES[0], cancel: None, rows: trace.all() };
    assert_kept(specs, MODES[0], &outcome, &trace.all());
    comparable(&outcome)
}

/// What must be the same whenever the same batch runs. How a crash is worded depends on who crashed.
fn comparable(outcome: &BatchOutcome) -> Vec<Value> {
    let one = |message: &Arc<toolgate::model::ToolResultMessage>| {
        let mut message = serde_json::to_value(message).unwrap_or_default();
        if let Some(fields) = message.as_object_mut() {
            fields.remove("timestamp");
        }
        if let Some(error) = message["error"].as_object_mut() {
            error.remove("hint");
        }
        for block in message["content"].as_array_mut().into_iter().flatten() {
            let Some(text) = block["text"].as_str() else { continue };
            let is_crash = text.contains("panicked") || text.contains("crashed");
            block["text"] = if is_crash { "crashed".into() } else { without_times(text).into() };
        }
        message
    };
    outcome.messages.iter().map(one).collect()
}

/// A refusal shows the arguments, and with them how long everybody was to take.
fn without_times(text: &str) -> String {
    let mut parts = text.split("\"ms\": ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Says what was played, where an assertion fails.
struct Failure<'a> {
    specs: &'a [Spec],
    mode: ExecutionMode,
    cancel: Option<Cancel>,
    rows: Vec<Row>,
}

impl Drop for Failure<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:?} {:?} {:#?}", self.mode, self.cancel, Spec::message(self.specs).calls);
            for row in &self.rows {
                eprintln!("  {} {} {}", row.word, row.id, row.detail);
            }
        }
    }
}

/// Crashes of native tools and hooks are part of these batches; their messages would bury a real failure.
fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&"a scripted trap") {
                usual(info);
            }
        }));
    });
}
