//! Log lines of the host and of guests, to standard error and never to standard output.

use std::io::{self, IsTerminal as _, Write};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use toolgate::telemetry::otel::{self, Exporting};

use crate::exit::Failure;
use crate::view::Screen;

/// Starts logging, and sending traces where the environment names a collector: until what it returns is dropped.
pub fn start(level: &str, screen: Screen) -> Result<Option<Exporting>, Failure> {
    // Not `EnvFilter`: it compiles regular expressions at every start.
    let wrong = |why: String| {
        let accepted = "off, error, warn, info, debug, trace, or targets as in warn,toolgate::guest=debug";
        Failure::usage(format!("--log {level:?}: {why}; accepted: {accepted}"))
    };
    // A bare word that is no level would be read as a target, and nothing else would be logged.
    if let Some(word) = level.split(',').find(|part| !part.contains('=') && part.parse::<LevelFilter>().is_err()) {
        return Err(wrong(format!("{word:?} is no level")));
    }
    let targets: Targets = level.parse().map_err(|error| wrong(format!("{error}")))?;
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(Above(screen))
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    let registry = tracing_subscriber::registry().with(layer.with_filter(targets));
    if !otel::is_configured() {
        registry.try_init().map_err(Failure::usage)?;
        return Ok(None);
    }
    let (traces, exporting) = otel::start().map_err(Failure::usage)?;
    registry.with(traces).try_init().map_err(Failure::usage)?;
    Ok(Some(exporting))
}

/// Writes above the live view, which is drawn again below.
struct Above(Screen);

impl<'a> MakeWriter<'a> for Above {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { screen: self.0.clone(), bytes: Vec::new() }
    }
}

struct Line {
    screen: Screen,
    bytes: Vec<u8>,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // A closed standard error leaves nobody to tell.
        self.screen.hidden(|| {
            let _ = io::stderr().lock().write_all(&self.bytes);
        });
    }
}
