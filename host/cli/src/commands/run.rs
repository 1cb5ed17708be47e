//! `toolgate run`: messages in, events out, turn by turn.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::config::Config;
use toolgate::pipeline::{Batch, DEFAULT_CONVERSATION, EventSink};
use toolgate::registry::ActiveTools;

use crate::approve::CommandLine;
use crate::args::{Output, Run, Shared};
use crate::exit::{Exit, Failure};
use crate::output::{JsonLines, Out};
use crate::record::Records;
use crate::view::watch::{Show, Watch};
use crate::view::{Paint, Screen};
use crate::{cancel, input, output, setup};

pub fn run(shared: &Shared, args: Run, screen: Screen) -> Result<Exit, Failure> {
    let config = setup::config(shared)?;
    let runtime = setup::runtime()?;
    let (out, writer) = output::open();
    let done = runtime.block_on(turns(&config, &args, screen, out));
    // A thread of the pool may still wait for a file.
    runtime.shutdown_background();
    writer.finish();
    done
}

async fn turns(config: &Config, args: &Run, screen: Screen, out: Out) -> Result<Exit, Failure> {
    let cancel = cancel::on_ctrl_c();
    let approver = Arc::new(CommandLine::new(&args.approve, screen.clone()));
    let (host, loader) = tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(Exit::Cancelled),
        loaded = setup::host_and_loader(config, Some(approver)) => loaded?,
    };
    setup::check_approved(&args.approve, &host)?;
    setup::watching(args.watch, config, &host, loader, all_turns(&host, &cancel, args, screen, out)).await
}

async fn all_turns(
    host: &Host,
    cancel: &CancellationToken,
    args: &Run,
    screen: Screen,
    out: Out,
) -> Result<Exit, Failure> {
    let mut messages = input::messages(&args.file)?;
    let mut records = Records::open(&args.record)?;
    let watcher = Watcher::new(args.output, screen, out.clone());
    let mut active = ActiveTools::initial();
    let mut exit = Exit::Ok;
    let mut turn = 0;
    while let Some(message) = next(&mut messages, cancel).await {
        let message = message?;
        turn += 1;
        let started = Instant::now();
        watcher.begin(turn);
        let name: Arc<str> = turn.to_string().into();
        let mut batch = Batch::new(message.clone()).turn(name.clone()).cancel(cancel.clone());
        batch = batch.active(active.clone()).sink(watcher.sink());
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
        if let (Some(records), Some(sink)) = (&records, recording) {
            records.check(turn, &sink)?;
        }
        if out.closed() {
            break;
        }
    }
    if cancel.is_cancelled() {
        watcher.cancelled();
        return Ok(Exit::Cancelled);
    }
    if let Some(records) = records.filter(|_| !out.closed()) {
        records.finish();
    }
    if turn == 0 {
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

/// Either form of output.
enum Watcher {
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
    fn new(output: Option<Output>, screen: Screen, out: Out) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let output = output.unwrap_or(if terminal { Output::Text } else { Output::Json });
        match output {
            Output::Json => Self::Programs(Arc::new(JsonLines(out))),
            Output::Text => {
                let show = if terminal { Show::Live(screen) } else { Show::Lines(out) };
                Self::People(Arc::new(Watch::new(show, Paint::of_stdout())))
            }
        }
    }

    fn sink(&self) -> Arc<dyn EventSink> {
        match self {
            Self::People(watch) => watch.clone(),
            Self::Programs(lines) => lines.clone(),
        }
    }

    fn begin(&self, turn: usize) {
        if let (Self::People(watch), 2..) = (self, turn) {
            watch.turn(turn);
        }
    }

    fn cancelled(&self) {
        // Programs read the exit code.
        if let Self::People(watch) = self {
            watch.cancelled();
        }
    }

    fn end(&self, turn: usize, started: Instant, terminate: bool) {
        match self {
            Self::People(watch) => watch.summary(started, terminate),
            Self::Programs(lines) => {
                // It serializes: two plain fields.
                let _ = lines.0.json(&TurnEnd { turn, terminate });
            }
        }
    }
}
