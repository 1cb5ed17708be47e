//! Reads assistant messages from a file or standard input, one JSON document after another, each as soon as it is
//! complete: a program may write the next message after it has read the results of the last.

use std::cell::Cell;
use std::io::{BufReader, IsTerminal as _, Read};
use std::path::Path;
use std::rc::Rc;

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use toolgate::model::AssistantMessage;

use crate::exit::Failure;
use crate::terminal;

/// Largest message: 64 MiB, sixteen calls with the largest arguments that are accepted by default.
const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// A message, or why there are no more.
pub type Next = Result<AssistantMessage, Failure>;

/// Opens and reads the messages, on a thread that reads ahead by one. Opening waits too, where the file is a FIFO.
pub fn messages(file: &Path) -> mpsc::Receiver<Next> {
    let (sender, receiver) = mpsc::channel(1);
    let file = file.to_owned();
    let is_stdin = file == Path::new("-");
    if is_stdin && std::io::stdin().is_terminal() {
        typed("messages, one JSON document after another; `toolgate run FILE` reads a file");
    }
    // Not a task of the runtime: a read from a terminal can't be cancelled.
    std::thread::spawn(move || {
        let name = if is_stdin { "standard input".to_owned() } else { file.display().to_string() };
        let reader: Box<dyn Read> = if is_stdin {
            Box::new(std::io::stdin())
        } else {
            match std::fs::File::open(&file) {
                Ok(file) => Box::new(file),
                Err(error) => {
                    // Nobody waits for it where the run was cancelled.
                    let _ = sender.blocking_send(Err(Failure::usage(format!("{name}: {error}"))));
                    return;
                }
            }
        };
        read(BufReader::new(reader), &name, |next| sender.blocking_send(next).is_ok());
    });
    receiver
}

fn read(reader: impl Read, name: &str, mut give: impl FnMut(Next) -> bool) {
    let left = Rc::new(Cell::new(MAX_MESSAGE_BYTES));
    let reader = Bounded { reader, left: left.clone() };
    let documents = serde_json::Deserializer::from_reader(reader).into_iter::<Box<RawValue>>();
    for (at, document) in documents.enumerate() {
        left.set(MAX_MESSAGE_BYTES);
        let next = match document {
            Ok(document) => AssistantMessage::parse(document.get())
                .map_err(|error| Failure::usage(format!("{name}, message {}: {error}", at + 1))),
            Err(error) => Err(Failure::usage(format!("{name}, message {}: not a JSON document: {error}", at + 1))),
        };
        let last = next.is_err();
        if !give(next) || last {
            return;
        }
    }
}

/// A reader that fails where one message does not end.
struct Bounded<R> {
    reader: R,
    left: Rc<Cell<usize>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(buffer)?;
        match self.left.get().checked_sub(read) {
            Some(left) => self.left.set(left),
            None => return Err(std::io::Error::other(format!("a message is larger than {MAX_MESSAGE_BYTES} bytes"))),
        }
        Ok(read)
    }
}

/// Says on a terminal what is waited for.
fn typed(what: &str) {
    terminal::give_to_messages();
    use std::io::Write as _;
    // A closed standard error leaves nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "Reading from the terminal: {what}. Ctrl-D ends the input.");
}

/// All of standard input: the arguments of one call, no more than a message may have.
pub fn stdin_text() -> Result<String, Failure> {
    if std::io::stdin().is_terminal() {
        typed("the arguments, a JSON object");
    }
    let mut text = String::new();
    let most = MAX_MESSAGE_BYTES as u64;
    let read = std::io::stdin().lock().take(most + 1).read_to_string(&mut text);
    match read {
        Err(error) => Err(Failure::usage(format!("standard input: {error}"))),
        Ok(bytes) if bytes as u64 > most => Err(Failure::usage(format!("standard input has more than {most} bytes"))),
        Ok(_) => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> (Vec<String>, bool) {
        let (mut names, mut failed) = (Vec::new(), false);
        read(text.as_bytes(), "x", |next| {
            match next {
                Ok(message) => names.extend(message.calls.iter().map(|call| call.name.to_string())),
                Err(_) => failed = true,
            }
            true
        });
        (names, failed)
    }

    #[test]
    fn documents_may_share_a_line_or_span_several() {
        let text = "[{\"id\":\"1\",\"name\":\"a\"}]\n\n{\n \"content\": [\n {\"type\":\"toolCall\",\"id\":\"2\",\"name\":\"b\"}]}[{\"id\":\"3\",\"name\":\"c\"}]";
        assert_eq!(names(text), (vec!["a".into(), "b".into(), "c".into()], false));
    }

    #[test]
    fn a_message_that_does_not_end_is_refused() {
        let endless = std::io::repeat(b'[');
        let mut failed = None;
        read(BufReader::new(endless), "x", |next| {
            failed = next.err().map(|failure| format!("{failure:?}"));
            false
        });
        assert!(failed.is_some_and(|text| text.contains("larger than 67108864 bytes")));
    }

    #[test]
    fn nothing_is_read_after_a_bad_document() {
        assert_eq!(
            names("[{\"id\":\"1\",\"name\":\"a\"}] nonsense [{\"id\":\"2\",\"name\":\"b\"}]"),
            (vec!["a".into()], true)
        );
        assert_eq!(names("5 [{\"id\":\"2\",\"name\":\"b\"}]"), (vec![], true));
        assert_eq!(names(""), (vec![], false));
    }
}
