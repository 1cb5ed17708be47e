//! `toolgate run`: messages in, events out, turn by turn.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::config::Config;
use toolgate::model::ToolResultMessage;
use toolgate::pipeline::{Batch, DEFAULT_CONVERSATION, EventSink};
use toolgate::registry::ActiveTools;
use toolgate_formats::Message;

use crate::approve::CommandLine;
use crate::args::{Output, Run, Shared};
use crate::cancel::Cancel;
use crate::exit::{Exit, Failure};
use crate::output::{JsonLines, Out};
use crate::record::Records;
use crate::view::watch::{Show, Watch};
use crate::view::{Paint, Screen};
use crate::{cancel, input, output, setup};

pub fn run(shared: &Shared, args: Run, screen: Screen) -> Result<Exit, Failure> {
    let config = setup::config(shared)?;
    let runtime = setup::runtime(None)?;
    let (out, writer) = output::open();
    let done = runtime.block_on(turns(&config, &args, screen, out));
    // A thread of the pool may still wait for a file.
    runtime.shutdown_background();
    // What was lost matters more than how the calls ended; a failure of its own matters more than that.
    let written = writer.finish();
    done.and_then(|exit| written.map(|()| exit))
}

async fn turns(config: &Config, args: &Run, screen: Screen, out: Out) -> Result<Exit, Failure> {
    let signals = cancel::on_signals();
    let cancel = signals.token.clone();
    let reader_gone = tokio::spawn(out.clone().cancel_when_closed(cancel.clone()));
    let outcome = load_and_run(config, args, screen, &out, &signals).await;
    // It holds a handle on standard output.
    reader_gone.abort();
    let _ = reader_gone.await;
    outcome
}

async fn load_and_run(
    config: &Config,
    args: &Run,
    screen: Screen,
    out: &Out,
    signals: &Cancel,
) -> Result<Exit, Failure> {
    let cancel = signals.token.clone();
    let approver = Arc::new(CommandLine::new(&args.approve, screen.clone()));
    let (host, loader) = tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(signals.exit().unwrap_or(Exit::Output)),
        loaded = setup::host_and_loader(config, Some(approver)) => loaded?,
    };
    setup::check_approved(&args.approve, &host)?;
    setup::watching(args.watch, config, &host, loader, all_turns(&host, signals, args, screen, out)).await
}

async fn all_turns(host: &Host, signals: &Cancel, args: &Run, screen: Screen, out: &Out) -> Result<Exit, Failure> {
    let cancel = &signals.token;
    let mut messages = input::messages(&args.file, args.format.map(Into::into));
    let mut records = Records::open(&args.record)?;
    let watcher = Watcher::new(args, screen, out.clone(), cancel.clone());
    let mut active = ActiveTools::initial();
    let mut exit = Exit::Ok;
    let mut turn = 0;
    while let Some(message) = next(&mut messages, cancel).await {
        let input::Incoming { message, provider } = message?;
        turn += 1;
        let started = Instant::now();
        watcher.begin(turn);
        let name: Arc<str> = turn.to_string().into();
        let mut batch = Batch::new(message.clone()).turn(name.clone()).cancel(cancel.clone());
        batch = batch.active(active.clone());
        if let Some(sink) = watcher.sink() {
            batch = batch.sink(sink);
        }
        batch.trace_parent = setup::trace_parent();
        let mut recording = None;
        if let Some(records) = &mut records {
            let (recorded, sink) = records.attach(turn, &message, batch)?;
            (batch, recording) = (recorded, Some(sink));
        }
        let outcome = host.run(batch).await;
        host.state().end_turn(DEFAULT_CONVERSATION, &name);
        for message in &outcome.messages {
            active.unlock(message.added_tool_names());
            if message.is_error {
                exit = Exit::CallFailed;
            }
        }
        watcher.end(turn, started, outcome.terminate);
        if let Some(provider) = provider {
            answer(&provider, &outcome.messages, out)?;
        }
        if let (Some(records), Some(sink)) = (&records, recording) {
            records.check(turn, &sink)?;
        }
        if out.closed() {
            break;
        }
    }
    if let Some(by) = signals.exit() {
        watcher.cancelled(by);
        return Ok(by);
    }
    if let Some(records) = records.filter(|_| !out.closed()) {
        records.finish();
    }
    if turn == 0 && !out.closed() {
        return Err(Failure::usage("there is no message in the input"));
    }
    Ok(exit)
}

async fn next(
    messages: &mut tokio::sync::mpsc::Receiver<input::Next>,
    cancel: &CancellationToken,
) -> Option<input::Next> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        next = messages.recv() => next,
    }
}

/// Writes what goes back to a provider's model, or null where nothing does: whoever reads waits for a line.
fn answer(provider: &Message, results: &[Arc<ToolResultMessage>], out: &Out) -> Result<(), Failure> {
    let (reply, lost) = provider.reply(results);
    for lost in lost {
        tracing::warn!("{lost}");
    }
    out.json(&reply).map_err(Failure::load)
}

/// Either form of output.
enum Watcher {
    /// The answers alone go out.
    Silent,
    People(Arc<Watch>),
    Programs(Arc<JsonLines>),
}

/// The line after a turn's events.
#[derive(Serialize)]
#[serde(tag = "type", rename = "turn_end")]
struct TurnEnd {
    turn: usize,
    terminate: bool,
}

impl Watcher {
    fn new(args: &Run, screen: Screen, out: Out, cancel: CancellationToken) -> Self {
        if args.format.is_some() {
            return Self::Silent;
        }
        let terminal = std::io::stdout().is_terminal();
        let output = args.output.unwrap_or(if terminal { Output::Text } else { Output::Json });
        match output {
            Output::Json => Self::Programs(Arc::new(JsonLines::new(out, cancel))),
            Output::Text => {
                let show = if terminal { Show::Live(screen) } else { Show::Lines(out, cancel) };
                Self::People(Arc::new(Watch::new(show, Paint::of_stdout())))
            }
        }
    }

    fn sink(&self) -> Option<Arc<dyn EventSink>> {
        match self {
            Self::Silent => None,
            Self::People(watch) => Some(watch.clone()),
            Self::Programs(lines) => Some(lines.clone()),
        }
    }

    fn begin(&self, turn: usize) {
        if let (Self::People(watch), 2..) = (self, turn) {
            watch.turn(turn);
        }
    }

    fn cancelled(&self, by: Exit) {
        // Programs read the exit code.
        if let Self::People(watch) = self {
            watch.cancelled(if by == Exit::Terminated { "SIGTERM" } else { "Ctrl-C" });
        }
    }

    fn end(&self, turn: usize, started: Instant, terminate: bool) {
        match self {
            Self::Silent => {}
            Self::People(watch) => watch.summary(started, terminate),
            Self::Programs(lines) => {
                // It serializes: two plain fields.
                let _ = lines.out.json(&TurnEnd { turn, terminate });
            }
        }
    }
}
