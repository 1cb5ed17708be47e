//! `toolgate call`: one call, its text on standard output; of the tools of toolgate.toml, or of a component alone.

use std::io::IsTerminal as _;
use std::path::Path;
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
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let (component, tool, arguments) = parse(&words)?;
    if let Some(other) = args.approve.approve.iter().find(|approved| *approved != tool) {
        return Err(Failure::usage(format!("--approve {other}: only {tool} is called here")));
    }
    let config = setup::config_or_component(shared, component)?;
    let arguments = match arguments {
        "-" => input::stdin_text()?,
        text => text.to_owned(),
    };
    let arguments = Json::parse(arguments).map_err(|error| Failure::usage(format!("the arguments are {error}")))?;
    let runtime = setup::small_runtime()?;
    let (out, writer) = output::open();
    let done = runtime.block_on(call(&config, &args, tool, arguments, screen, out));
    runtime.shutdown_background();
    let written = writer.finish();
    done.and_then(|exit| written.map(|()| exit))
}

/// `[FILE.wasm] TOOL [JSON]`. No tool's name has a dot in it.
fn parse<'a>(words: &[&'a str]) -> Result<(Option<&'a Path>, &'a str, &'a str), Failure> {
    let is_component = |word: &str| Path::new(word).extension().is_some_and(|kind| kind.eq_ignore_ascii_case("wasm"));
    let (component, words) = match words {
        [file, rest @ ..] if is_component(file) => (Some(Path::new(*file)), rest),
        all => (None, all),
    };
    match *words {
        [tool] => Ok((component, tool, "{}")),
        [tool, arguments] => Ok((component, tool, arguments)),
        [] => {
            let file = component.unwrap_or(Path::new("FILE.wasm")).display();
            Err(Failure::usage(format!("which tool of {file}? `toolgate tools {file}` lists them")))
        }
        [_, _, ref more @ ..] => Err(Failure::usage(format!(
            "{:?} is one word too many; put the arguments into quotes: toolgate call [FILE.wasm] TOOL '{{\"key\": \"value\"}}'",
            more.join(" ")
        ))),
    }
}

async fn call(
    config: &Config,
    args: &Call,
    tool: &str,
    arguments: Json,
    screen: Screen,
    out: Out,
) -> Result<Exit, Failure> {
    let signals = cancel::on_signals();
    let cancel = signals.token.clone();
    let approver = Arc::new(CommandLine::new(&args.approve, screen.clone()));
    let host = tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(signals.exit().unwrap_or(Exit::Cancelled)),
        host = setup::host_for(tool, config, approver) => host?,
    };
    let message = AssistantMessage::of_calls([ToolCall::new("call-1", tool, arguments)]);
    // The operator calls what is there, whatever a conversation would have unlocked.
    let mut batch = Batch::new(message).cancel(cancel.clone()).active(ActiveTools::only([tool]));
    batch.trace_parent = setup::trace_parent();
    if std::io::stderr().is_terminal() {
        let progress: Arc<dyn EventSink> = Arc::new(Progress::new(screen));
        batch = batch.sink(progress);
    }
    let outcome = host.run(batch).await;
    let failed = outcome.messages.iter().any(|message| message.is_error);
    let exit = signals.exit().unwrap_or(if failed { Exit::CallFailed } else { Exit::Ok });
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
