//! Exit codes, and errors that end the program.

use std::fmt;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done, every call ended well.
    Ok,
    /// A call ended as an error result.
    CallFailed,
    /// Bad arguments, bad input, bad toolgate.toml.
    Usage,
    /// A plugin could not be loaded.
    Load,
    /// Standard output could not be written.
    Output,
    /// Cancelled by Ctrl-C.
    Cancelled,
    /// Cancelled by SIGTERM.
    Terminated,
}

impl Exit {
    pub fn code(self) -> i32 {
        match self {
            Self::Ok => 0,
            Self::CallFailed => 1,
            Self::Usage => 2,
            Self::Load => 3,
            Self::Output => 4,
            Self::Cancelled => 130,
            Self::Terminated => 143,
        }
    }
}

/// For `--help`.
pub const HELP: &str = "Exit codes:
  0    everything was done, every call ended well
  1    a call ended as an error result; a check or a case of an author's failed
  2    wrong arguments, input or toolgate.toml; what a build needs is missing
  3    a plugin could not be loaded, or not be built
  4    standard output was closed or could not be written
  130  cancelled by Ctrl-C
  143  cancelled by SIGTERM";

/// An error that ends the program.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    pub fn usage(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string() }
    }

    pub fn load(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Load, message: message.to_string() }
    }

    pub fn output(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Output, message: message.to_string() }
    }

    /// Writes the message to standard error.
    pub fn report(self) -> Exit {
        use std::io::Write as _;
        let style = anstyle::AnsiColor::Red.on_default().bold();
        let mut err = anstream::stderr().lock();
        for (at, line) in crate::view::text::clean_lines(&self.message).enumerate() {
            // A closed standard error leaves nobody to tell.
            let _ = if at == 0 { writeln!(err, "{style}error:{style:#} {line}") } else { writeln!(err, "{line}") };
        }
        self.exit
    }
}
