//! A record of what batches have done, so that a host that is killed loses nothing that was finished.
//!
//! A journal is a file of JSON lines: a header, and for each call a line when it begins to execute and one when it has
//! settled. Each is written before anybody else learns of it: before the tool's code runs, and before other sinks see the
//! end event. So after a `kill -9` the file says of every call of a batch whether it had settled (and with what message),
//! had begun, or had not begun, and [`Batch::resume`](crate::pipeline::Batch::resume) makes of that a batch which runs
//! only what is left. How much outlives the machine too is for [`Fsync`] to say.
//!
//! ```
//! # async fn example(host: toolgate::Host, message: toolgate::model::AssistantMessage) -> Result<(), Box<dyn std::error::Error>> {
//! use toolgate::journal::{Fsync, Journal};
//! use toolgate::pipeline::Batch;
//!
//! let (journal, mut recorded) = Journal::resume("run.journal", Fsync::Always)?;
//! // Batches are told apart by a name of the embedder's: the first message of this conversation.
//! let earlier = recorded.take("1", &message)?;
//! let sink = journal.batch("1", &message);
//! host.run(Batch::new(message).resume(earlier).sink(sink.clone())).await;
//! assert!(sink.is_complete());
//! # Ok(())
//! # }
//! ```
//!
//! A journal holds what tools answered, in the clear, and what stands in it is believed: it is made readable and writable
//! for its owner alone.
//!
//! Not in it: what plugins keep in their state. After a resume, hooks that count begin anew.

mod error;
mod read;
mod record;
mod sink;
mod write;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::JournalError;
pub use read::{Recorded, Torn, read};
pub use sink::BatchJournal;

use crate::model::AssistantMessage;
use write::Writer;

/// When what was written is forced to the disk. A record outlives the process in any case; this is about a machine that
/// loses power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fsync {
    /// With every record, before the batch goes on. Records of calls that run side by side share one.
    #[default]
    Always,
    /// When the last call of a batch has settled.
    Batch,
    /// When the operating system likes to.
    Never,
}

/// A journal that is open for writing; no other process can open it. Cheap to clone. The file is closed with the last
/// clone and the last [`BatchJournal`].
#[derive(Clone)]
pub struct Journal(Arc<Inner>);

struct Inner {
    writer: Writer,
    fsync: Fsync,
}

impl Journal {
    /// Begins a journal.
    ///
    /// # Errors
    ///
    /// The file can't be written, is in use, or holds records of an earlier run or anything else.
    pub fn create(file: impl AsRef<Path>, fsync: Fsync) -> Result<Self, JournalError> {
        Self::open(file.as_ref(), fsync, false).map(|(journal, _)| journal)
    }

    /// Goes on with a journal, and says what stands in it. A file that does not exist is begun. A torn last line is cut
    /// off, see [`Recorded::torn`].
    ///
    /// # Errors
    ///
    /// The file can't be read or written, is in use, is no journal, or is damaged. It is left as it was then.
    pub fn resume(file: impl AsRef<Path>, fsync: Fsync) -> Result<(Self, Recorded), JournalError> {
        Self::open(file.as_ref(), fsync, true)
    }

    /// One or the other: [`resume`](Self::resume), or [`create`](Self::create).
    ///
    /// # Errors
    ///
    /// As theirs.
    pub fn open(path: &Path, fsync: Fsync, resume: bool) -> Result<(Self, Recorded), JournalError> {
        let failed = |action: &'static str| move |source| JournalError::io(path, action, source);
        let mut file = open(path).map_err(failed("open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::InUse { file: path.to_owned() }),
            // A file system without locks: the operator sees to it that there is one writer.
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed("lock")(error)),
        }
        file.seek(SeekFrom::Start(0)).map_err(failed("read"))?;
        let recorded = read::records(path, &file)?;
        if !resume && !recorded.is_empty() {
            return Err(JournalError::NotEmpty { file: path.to_owned() });
        }
        let mut writer = Writer::new(file, recorded.good_bytes);
        if recorded.torn.is_some() {
            writer.cut().map_err(failed("cut the torn last line off"))?;
        }
        if recorded.good_bytes == 0 {
            writer.append(record::header().as_bytes(), fsync != Fsync::Never).map_err(failed("write to"))?;
            if fsync != Fsync::Never {
                sync_name(path).map_err(failed("make room for"))?;
            }
        }
        let writer = writer.start().map_err(failed("start a thread for"))?;
        Ok((Self(Arc::new(Inner { writer, fsync })), recorded))
    }

    /// The sink of one batch: give it to the batch that runs this message. The name tells the batches of a journal
    /// apart, and is what [`Recorded::take`] finds them by.
    pub fn batch(&self, name: impl Into<Arc<str>>, message: &AssistantMessage) -> Arc<BatchJournal> {
        Arc::new(BatchJournal::new(self.clone(), name.into(), message))
    }
}

/// Largest journal that is read: 1 GiB. Its results are all held in memory when a run is resumed.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Whether it is a file of its own, and one that can be read to its end.
fn check(file: &File) -> std::io::Result<()> {
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    if meta.len() > MAX_FILE_BYTES {
        return Err(std::io::Error::other(format!("it has more than {MAX_FILE_BYTES} bytes")));
    }
    Ok(())
}

fn open(path: &Path) -> std::io::Result<File> {
    if path.exists() {
        // Before it is opened: a FIFO may block there.
        crate::files::open(path)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    check(&file)?;
    Ok(file)
}

/// The name of a new file is the directory's to keep.
fn sync_name(path: &Path) -> std::io::Result<()> {
    if cfg!(unix) {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.map_or_else(|| PathBuf::from("."), Path::to_owned))?.sync_all()?;
    }
    Ok(())
}
