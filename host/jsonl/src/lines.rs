//! Lines of bounded length.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// What was read.
pub(crate) enum Line {
    /// A line, without its end.
    Text(Vec<u8>),
    /// A line that was longer than it may be, and was passed over.
    TooLong,
}

/// Reads lines; what was read of a line is kept when the future is dropped.
pub(crate) struct Lines<R> {
    input: R,
    most: usize,
    line: Vec<u8>,
    passing_over: bool,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(crate) fn new(input: R, most: usize) -> Self {
        Self { input, most, line: Vec::new(), passing_over: false }
    }

    /// The next line, also a last one without an end; `None` at the end of the input.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let read = self.input.fill_buf().await?;
            if read.is_empty() {
                let rest = !self.line.is_empty() || self.passing_over;
                return Ok(rest.then(|| self.take()));
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = &read[..end.unwrap_or(read.len())];
            let used = part.len() + usize::from(end.is_some());
            if self.line.len() + part.len() > self.most {
                self.passing_over = true;
                self.line = Vec::new();
            }
            if !self.passing_over {
                self.line.extend_from_slice(part);
            }
            self.input.consume(used);
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn take(&mut self) -> Line {
        if std::mem::take(&mut self.passing_over) {
            return Line::TooLong;
        }
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Line::Text(line)
    }
}
