//! Reading a journal: every line is checked, whoever wrote it.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::JournalError;
use super::record::{self, Kind, MAX_LINE, ReadLine};
use crate::model::{AssistantMessage, ToolCall, ToolResultMessage};
use crate::pipeline::Earlier;

/// What stands in a journal.
#[derive(Debug)]
pub struct Recorded {
    file: PathBuf,
    batches: HashMap<Arc<str>, BTreeMap<u32, Entry>>,
    /// The last line, where it is incomplete: the host was stopped while it wrote it. What it was about to say had not
    /// been told to anybody.
    pub torn: Option<Torn>,
    pub(super) good_bytes: u64,
}

/// An incomplete last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Its number, from 1.
    pub line: usize,
    /// Its length.
    pub bytes: usize,
}

/// What is known of one call.
#[derive(Debug)]
struct Entry {
    line: usize,
    tool_call_id: Arc<str>,
    tool_name: Arc<str>,
    arguments_sha256: String,
    earlier: Earlier,
}

/// Reads a journal without changing it, also one that is being written.
///
/// # Errors
///
/// The file can't be read, is no journal, or is damaged.
pub fn read(file: impl AsRef<Path>) -> Result<Recorded, JournalError> {
    let path = file.as_ref();
    let file = crate::files::open(path).and_then(|file| super::check(&file).map(|()| file)).map_err(|source| JournalError::io(path, "open", source))?;
    records(path, &file)
}

pub(super) fn records(path: &Path, file: impl Read) -> Result<Recorded, JournalError> {
    let mut recorded = Recorded { file: path.to_owned(), batches: HashMap::new(), torn: None, good_bytes: 0 };
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let most = MAX_LINE as u64 + 1;
        reader
            .by_ref()
            .take(most)
            .read_until(b'\n', &mut bytes)
            .map_err(|source| JournalError::io(path, "read", source))?;
        let damaged = |what: String| JournalError::damaged(path, line, what);
        match bytes.strip_suffix(b"\n") {
            Some(complete) => {
                let text = std::str::from_utf8(complete).map_err(|error| damaged(format!("not UTF-8: {error}")))?;
                if line == 1 {
                    record::check_header(text).map_err(damaged)?;
                } else {
                    recorded.line(line, text).map_err(damaged)?;
                }
                recorded.good_bytes += bytes.len() as u64;
            }
            None if bytes.is_empty() => break,
            None if bytes.len() > MAX_LINE => {
                return Err(damaged(format!("the line is longer than {MAX_LINE} bytes")));
            }
            // The file is somebody else's, and must not be cut.
            None if line == 1 && !record::header().as_bytes().starts_with(&bytes) => {
                record::check_header(&String::from_utf8_lossy(&bytes)).map_err(damaged)?;
            }
            None => {
                recorded.torn = Some(Torn { line, bytes: bytes.len() });
                break;
            }
        }
    }
    Ok(recorded)
}

impl Recorded {
    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Names of the batches that were not taken, in no order.
    pub fn batches(&self) -> impl Iterator<Item = &Arc<str>> {
        self.batches.keys()
    }

    /// How the calls of a batch stood, for [`Batch::resume`](crate::pipeline::Batch::resume). Nothing is kept of it
    /// here.
    ///
    /// # Errors
    ///
    /// The message is not the one that was recorded: it has fewer calls, or other ones.
    pub fn take(&mut self, batch: &str, message: &AssistantMessage) -> Result<Vec<Earlier>, JournalError> {
        let mut earlier = vec![Earlier::NotBegun; message.calls.len()];
        for (position, entry) in self.batches.remove(batch).unwrap_or_default() {
            let at = usize::try_from(position).unwrap_or(usize::MAX);
            let differs = |what: String| JournalError::Differs {
                file: self.file.clone(),
                line: entry.line,
                batch: batch.to_owned(),
                position: u64::from(position) + 1,
                what,
            };
            let (Some(call), Some(place)) = (message.calls.get(at), earlier.get_mut(at)) else {
                return Err(differs(format!("the message has only {} calls", message.calls.len())));
            };
            entry.is_of(call).map_err(differs)?;
            *place = entry.earlier;
        }
        Ok(earlier)
    }

    fn line(&mut self, line: usize, text: &str) -> Result<(), String> {
        let read: ReadLine = serde_json::from_str(text).map_err(|error| format!("not a record: {error}"))?;
        let earlier = match read.record {
            Kind::Begun => Earlier::Begun,
            Kind::Settled => {
                let missing = |key: &str| format!("not a record: it has no `{key}`");
                Earlier::Settled(Arc::new(ToolResultMessage {
                    tool_call_id: read.tool_call_id.clone(),
                    tool_name: read.tool_name.clone(),
                    result: Arc::new(read.result.ok_or_else(|| missing("result"))?),
                    is_error: read.is_error.ok_or_else(|| missing("isError"))?,
                    error: read.error,
                    timestamp: read.timestamp.ok_or_else(|| missing("timestamp"))?,
                }))
            }
        };
        let entry = Entry {
            line,
            tool_call_id: read.tool_call_id,
            tool_name: read.tool_name,
            arguments_sha256: read.arguments_sha256,
            earlier,
        };
        if let Some(before) = self.batches.entry(read.batch).or_default().insert(read.position, entry)
            && matches!(before.earlier, Earlier::Settled(_))
        {
            return Err(format!("this call had settled already in line {}", before.line));
        }
        Ok(())
    }
}

impl Entry {
    fn is_of(&self, call: &ToolCall) -> Result<(), String> {
        let compare = |what: &str, recorded: &str, given: &str| {
            if recorded == given {
                return Ok(());
            }
            Err(format!("{what} was {recorded:?} and is {given:?} now"))
        };
        compare("its id", &self.tool_call_id, &call.id)?;
        compare("its tool", &self.tool_name, &call.name)?;
        if self.arguments_sha256 != record::arguments_sha256(call) {
            return Err(format!("the arguments of its {:?} are others now", call.name));
        }
        Ok(())
    }
}
