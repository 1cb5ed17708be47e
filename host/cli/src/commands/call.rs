//! `toolgate call`: one call, its text on standard output.

use std::io::IsTerminal as _;
use std::sync::Arc;

use toolgate::config::Config;
use toolgate::model::{AssistantMessage, Json, ToolCall, ToolResultMessage};
use toolgate::pipeline::{Batch, EventSink};
use toolgate::registry::ActiveTools;

use crate::approve::CommandLine;
use crate::args::{Call, Output, Shared};
use crate::exit::{Exit, Failure};
use crate::output::Out;
use crate::view::text::clean_lines;
use crate::view::watch::Progress;
use crate::view::{Screen, lines};
use crate::{cancel, input, output, setup};

pub fn run(shared: &Shared, args: Call, screen: Screen) -> Result<Exit, Failure> {
    let config = setup::config(shared)?;
    let arguments = match args.arguments.as_str() {
        "-" => input::stdin_text()?,
        text => text.to_owned(),
    };
    let arguments = Json::parse(arguments).map_err(|error| Failure::usage(format!("the arguments are {error}")))?;
    let runtime = setup::small_runtime()?;
    let (out, writer) = output::open();
    let done = runtime.block_on(call(&config, &args, arguments, screen, out));
    runtime.shutdown_background();
    writer.finish();
    done
}

async fn call(config: &Config, args: &Call, arguments: Json, screen: Screen, out: Out) -> Result<Exit, Failure> {
    let cancel = cancel::on_ctrl_c();
    let approver = Arc::new(CommandLine::new(&args.approve, screen.clone()));
    let host = tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(Exit::Cancelled),
        host = setup::host_for(&args.tool, config, approver) => host?,
    };
    let message = AssistantMessage::of_calls([ToolCall::new("call-1", args.tool.as_str(), arguments)]);
    // The operator calls what is there, whatever a conversation would have unlocked.
    let mut batch = Batch::new(message).cancel(cancel.clone()).active(ActiveTools::only([args.tool.as_str()]));
    if std::io::stderr().is_terminal() {
        let progress: Arc<dyn EventSink> = Arc::new(Progress::new(screen));
        batch = batch.sink(progress);
    }
    let outcome = host.run(batch).await;
    let exit = match outcome.messages.iter().any(|message| message.is_error) {
        _ if cancel.is_cancelled() => Exit::Cancelled,
        true => Exit::CallFailed,
        false => Exit::Ok,
    };
    for message in &outcome.messages {
        match args.output {
            Output::Json => out.json(message).map_err(Failure::load)?,
            Output::Text => print(message, &out),
        }
    }
    Ok(exit)
}

/// The result's text: as it is where a program reads it, made harmless where a terminal shows it.
fn print(message: &ToolResultMessage, out: &Out) {
    let blocks: Vec<String> = message.result.content.iter().map(lines::block).collect();
    let mut text = blocks.join("\n");
    let terminal = if message.is_error { std::io::stderr().is_terminal() } else { std::io::stdout().is_terminal() };
    if terminal {
        text = clean_lines(&text).collect::<Vec<_>>().join("\n");
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if message.is_error {
        use std::io::Write as _;
        // A closed standard error leaves nobody to tell.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    } else {
        out.write(text);
    }
}
