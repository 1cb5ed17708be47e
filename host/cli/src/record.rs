//! `--journal` and `--resume`.

use std::path::PathBuf;
use std::sync::Arc;

use toolgate::journal::{self, BatchJournal, Journal, Recorded};
use toolgate::model::AssistantMessage;
use toolgate::pipeline::Batch;

use crate::args::{Fsync, Record};
use crate::exit::Failure;

/// What is recorded, and what was.
pub struct Records {
    file: PathBuf,
    journal: Journal,
    recorded: Recorded,
}

impl Records {
    /// Opens the journal, if one is wanted.
    pub fn open(args: &Record) -> Result<Option<Self>, Failure> {
        let Some(file) = args.journal.clone() else { return Ok(None) };
        let fsync = match args.fsync {
            Fsync::Always => journal::Fsync::Always,
            Fsync::Batch => journal::Fsync::Batch,
            Fsync::Never => journal::Fsync::Never,
        };
        let name = file.display();
        if args.resume && !file.exists() {
            tracing::warn!("journal {name}: there is none yet; everything runs");
        }
        let (journal, recorded) = Journal::open(&file, fsync, args.resume).map_err(Failure::usage)?;
        if let Some(torn) = recorded.torn {
            let (line, bytes) = (torn.line, torn.bytes);
            tracing::warn!("journal {name}, line {line}: it was not complete; its {bytes} bytes were cut off");
        }
        Ok(Some(Self { file, journal, recorded }))
    }

    /// Has a batch recorded, and gives it what is known of it.
    pub fn attach(
        &mut self,
        turn: usize,
        message: &AssistantMessage,
        batch: Batch,
    ) -> Result<(Batch, Arc<BatchJournal>), Failure> {
        let name = turn.to_string();
        let earlier = self.recorded.take(&name, message).map_err(Failure::usage)?;
        let sink = self.journal.batch(name, message);
        Ok((batch.resume(earlier).sink(sink.clone()), sink))
    }

    /// The run must not go on where a record is missing: resumed, it would run a call twice.
    pub fn check(&self, turn: usize, sink: &BatchJournal) -> Result<(), Failure> {
        if sink.is_complete() {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "journal {}: results of message {turn} could not be recorded, and no further message is run; the log says why",
            self.file.display()
        )))
    }

    /// After the last message.
    pub fn finish(&self) {
        let left = self.recorded.batches().count();
        if left > 0 {
            tracing::warn!("journal {}: it has records of {left} more messages than came", self.file.display());
        }
    }
}
