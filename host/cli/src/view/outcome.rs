//! How a call ended, in a sign, a word and a colour.

use anstyle::{AnsiColor, Style};
use toolgate::model::{ErrorInfo, ErrorKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    Ok,
    Error,
    /// A hook or a person refused it.
    Blocked,
    Aborted,
}

impl Outcome {
    pub const ALL: [Self; 4] = [Self::Ok, Self::Error, Self::Blocked, Self::Aborted];

    pub fn of(is_error: bool, error: Option<&ErrorInfo>) -> Self {
        match error.map(|error| error.kind) {
            _ if !is_error => Self::Ok,
            Some(ErrorKind::Blocked | ErrorKind::Declined) => Self::Blocked,
            Some(ErrorKind::Aborted) => Self::Aborted,
            _ => Self::Error,
        }
    }

    pub fn sign(self) -> char {
        match self {
            Self::Ok => '✓',
            Self::Error => '✗',
            Self::Blocked => '⊘',
            Self::Aborted => '■',
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "failed",
            Self::Blocked => "blocked",
            Self::Aborted => "aborted",
        }
    }

    pub fn style(self) -> Style {
        match self {
            Self::Ok => AnsiColor::Green,
            Self::Error => AnsiColor::Red,
            Self::Blocked => AnsiColor::Yellow,
            Self::Aborted => AnsiColor::Magenta,
        }
        .on_default()
    }
}
