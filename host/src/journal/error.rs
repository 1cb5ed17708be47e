//! Why a journal can't be used.

use std::path::{Path, PathBuf};

/// Names the file, and the line where there is one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The system's word.
    #[error("journal {}: can't {action} it: {source}", file.display())]
    Io {
        /// The journal.
        file: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// Another process, or another [`Journal`](super::Journal) of this one, writes to it.
    #[error("journal {}: another run is writing to it; wait for its end, or take another file", file.display())]
    InUse {
        /// The journal.
        file: PathBuf,
    },
    /// A new run must not be mixed with an earlier one.
    #[error("journal {}: it holds the records of an earlier run; resume that, or take another file", file.display())]
    NotEmpty {
        /// The journal.
        file: PathBuf,
    },
    /// It can't be believed.
    #[error("journal {}, line {line}: {what}", file.display())]
    Damaged {
        /// The journal.
        file: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// What is to be resumed is not what was recorded.
    #[error(
        "journal {}, line {line}: batch {batch}, call {position}: {what}; resume with the messages that the journal was written for, or take another file", file.display()
    )]
    Differs {
        /// The journal.
        file: PathBuf,
        /// From 1.
        line: usize,
        /// The batch's name.
        batch: String,
        /// Place of the call in its batch, from 1.
        position: u64,
        /// What differs.
        what: String,
    },
}

impl JournalError {
    pub(super) fn io(file: &Path, action: &'static str, source: std::io::Error) -> Self {
        Self::Io { file: file.to_owned(), action, source }
    }

    pub(super) fn damaged(file: &Path, line: usize, what: impl Into<String>) -> Self {
        Self::Damaged { file: file.to_owned(), line, what: what.into() }
    }
}
