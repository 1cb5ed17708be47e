//! Where guests' log lines go.

use serde::Serialize;

/// How grave a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// The finest.
    Trace,
    /// For the plugin's author.
    Debug,
    /// Worth knowing.
    Info,
    /// Something is off.
    Warn,
    /// Something failed.
    Error,
}

/// One line. `message` comes from a guest: untrusted, may hold control characters.
#[derive(Clone, Copy, Debug)]
pub struct LogLine<'a> {
    /// The plugin that wrote it.
    pub plugin: &'a str,
    /// The call it was written in; none at load.
    pub tool_call_id: Option<&'a str>,
    /// `log` for the contract's own interface, `stdout` or `stderr` for what a guest printed.
    pub stream: &'static str,
    /// How grave.
    pub level: LogLevel,
    /// The line.
    pub message: &'a str,
}

/// A consumer of log lines, called before the guest goes on: keep it quick.
pub trait LogSink: Send + Sync {
    /// Takes one line.
    fn log(&self, line: &LogLine<'_>);
}

/// Forgets every line.
pub struct NoLogs;

impl LogSink for NoLogs {
    fn log(&self, _line: &LogLine<'_>) {}
}

/// Hands lines to `tracing`, target `toolgate::guest`. Control characters are escaped.
pub struct TracingLogs;

impl LogSink for TracingLogs {
    fn log(&self, line: &LogLine<'_>) {
        let LogLine { plugin, tool_call_id, stream, message, .. } = *line;
        macro_rules! emit {
            ($level:ident) => {
                tracing::$level!(target: "toolgate::guest", plugin, tool_call_id, stream, "{}", message.escape_debug())
            };
        }
        match line.level {
            LogLevel::Trace => emit!(trace),
            LogLevel::Debug => emit!(debug),
            LogLevel::Info => emit!(info),
            LogLevel::Warn => emit!(warn),
            LogLevel::Error => emit!(error),
        }
    }
}
