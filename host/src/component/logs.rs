//! One guest entry's log lines, from the contract's `log` and from what it prints: bounded, then handed on.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::pipeline::{LogLevel, LogLine, LogSink};
use crate::sandbox::Limits;

/// Longest printed line; a longer one is broken here, at a character.
const MAX_LINE: usize = 8 << 10;
/// Longest panic message that is kept for the model.
const MAX_PANIC: usize = 2 << 10;

/// Where one guest entry writes to. Cheap to clone.
#[derive(Clone)]
pub struct GuestLog(Arc<Inner>);

struct Inner {
    plugin: Arc<str>,
    call: Option<Arc<str>>,
    sink: Arc<dyn LogSink>,
    state: Mutex<State>,
}

struct State {
    lines_left: u64,
    bytes_left: usize,
    dropped: u64,
    panic: Option<String>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl GuestLog {
    /// A log with the plugin's budget.
    pub fn new(plugin: Arc<str>, call: Option<Arc<str>>, sink: Arc<dyn LogSink>, limits: &Limits) -> Self {
        let state = State {
            lines_left: limits.log_lines,
            bytes_left: limits.log_bytes,
            dropped: 0,
            panic: None,
            stdout: Vec::new(),
            stderr: Vec::new(),
        };
        Self(Arc::new(Inner { plugin, call, sink, state: Mutex::new(state) }))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one line, or drops it whole and counts it.
    pub fn write(&self, stream: &'static str, level: LogLevel, message: &str) {
        {
            let mut state = self.state();
            state.note_panic(message);
            if state.lines_left == 0 || message.len() > state.bytes_left {
                state.dropped += 1;
                return;
            }
            state.lines_left -= 1;
            state.bytes_left -= message.len();
        }
        // Outside the lock: the sink is foreign code.
        self.0.sink.log(&LogLine {
            plugin: &self.0.plugin,
            tool_call_id: self.0.call.as_deref(),
            stream,
            level,
            message,
        });
    }

    /// Lines that were dropped.
    pub fn dropped(&self) -> u64 {
        self.state().dropped
    }

    /// The message of a panic that was written here.
    pub fn panic(&self) -> Option<String> {
        self.state().panic.clone()
    }

    /// Hands on what was printed without a line end.
    pub fn flush(&self) {
        {
            let state = self.state();
            if state.stdout.is_empty() && state.stderr.is_empty() {
                return;
            }
        }
        for stream in [Stream::Stdout, Stream::Stderr] {
            let rest = std::mem::take(stream.buffer(&mut self.state()));
            if !rest.is_empty() {
                self.line(stream, &rest);
            }
        }
    }

    fn line(&self, stream: Stream, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        self.write(stream.name(), stream.level(), text);
    }

    fn print(&self, stream: Stream, bytes: &[u8]) {
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            let mut state = self.state();
            let buffer = stream.buffer(&mut state);
            let room = MAX_LINE.saturating_sub(buffer.len());
            buffer.extend_from_slice(&part[..part.len().min(room)]);
            let full = buffer.ends_with(b"\n") || buffer.len() >= MAX_LINE;
            let line = if full { std::mem::take(buffer) } else { Vec::new() };
            drop(state);
            if !line.is_empty() {
                self.line(stream, &line);
            }
        }
    }
}

impl State {
    /// The SDK writes `panicked at FILE:LINE:COL: MESSAGE`; std prints `thread '…' panicked at FILE:LINE:COL:` and the
    /// message on the next line.
    fn note_panic(&mut self, message: &str) {
        let cut = |text: &str| {
            let end = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= MAX_PANIC).last();
            text[..end.unwrap_or(0)].to_owned()
        };
        if message.starts_with("panicked at ") {
            self.panic = Some(cut(message));
        } else if message.starts_with("thread '") && message.contains(" panicked at ") && self.panic.is_none() {
            let at = message.find("panicked at ").unwrap_or(0);
            self.panic = Some(cut(&message[at..]));
        } else if let Some(panic) = &mut self.panic
            && panic.ends_with(':')
        {
            panic.push(' ');
            panic.push_str(&cut(message));
        }
    }
}

#[derive(Clone, Copy)]
enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    fn buffer(self, state: &mut State) -> &mut Vec<u8> {
        match self {
            Self::Stdout => &mut state.stdout,
            Self::Stderr => &mut state.stderr,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }

    fn level(self) -> LogLevel {
        match self {
            Self::Stdout => LogLevel::Debug,
            Self::Stderr => LogLevel::Info,
        }
    }
}

/// A guest's stdout or stderr, ending in its log.
#[derive(Clone)]
pub struct Printed {
    log: GuestLog,
    stream: Stream,
}

impl Printed {
    /// The guest's stdout.
    pub fn stdout(log: GuestLog) -> Self {
        Self { log, stream: Stream::Stdout }
    }

    /// The guest's stderr.
    pub fn stderr(log: GuestLog) -> Self {
        Self { log, stream: Stream::Stderr }
    }
}

impl IsTerminal for Printed {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printed {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 asks for this form, and it is not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for Printed {
    async fn ready(&mut self) {}
}

impl OutputStream for Printed {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.log.print(self.stream, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}
