//! Lines from a stream, so that a huge file is never held in memory.

use std::io::{self, BufRead};

/// How a line was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// There is none.
    End,
    /// With its line feed, if it has one.
    Whole,
    /// The first bytes only; the rest is unread.
    Cut,
}

/// Appends the next line to `out`, at most `cap` bytes of it.
pub fn read_line(reader: &mut impl BufRead, out: &mut Vec<u8>, cap: usize) -> io::Result<Line> {
    let mut left = cap;
    let mut read_any = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(if read_any { Line::Whole } else { Line::End });
        }
        if left == 0 {
            return Ok(Line::Cut);
        }
        let window = buffer.get(..left).unwrap_or(buffer);
        let end = memchr::memchr(b'\n', window);
        let taken = end.map_or(window.len(), |at| at + 1);
        out.extend_from_slice(window.get(..taken).unwrap_or_default());
        reader.consume(taken);
        read_any = true;
        left -= taken;
        if end.is_some() {
            return Ok(Line::Whole);
        }
    }
}

/// Skips `count` line feeds and what is before them. Returns how many there were and how many bytes came after the
/// last one at the end of the stream. `tick` is called for each piece read and may stop it.
pub fn skip_lines<E: From<io::Error>>(
    reader: &mut impl BufRead,
    count: u64,
    mut tick: impl FnMut() -> Result<(), E>,
) -> Result<Skipped, E> {
    let mut skipped = Skipped { line_feeds: 0, unfinished: false };
    while skipped.line_feeds < count {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(skipped);
        }
        let missing = usize::try_from(count - skipped.line_feeds).unwrap_or(usize::MAX);
        let mut taken = buffer.len();
        let mut found = 0;
        for at in memchr::memchr_iter(b'\n', buffer).take(missing) {
            found += 1;
            if found == missing {
                taken = at + 1;
            }
        }
        skipped.line_feeds += found as u64;
        skipped.unfinished = buffer.get(taken - 1) != Some(&b'\n');
        reader.consume(taken);
        tick()?;
    }
    Ok(skipped)
}

/// What [`skip_lines`] passed over.
#[derive(Debug, PartialEq, Eq)]
pub struct Skipped {
    pub line_feeds: u64,
    /// A last line without a line feed came after them.
    pub unfinished: bool,
}

impl Skipped {
    /// Lines that begin in what was passed over, if it began at the start of a line.
    pub fn lines(&self) -> u64 {
        self.line_feeds + u64::from(self.unfinished)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::BufReader;

    use super::*;

    /// Tiny buffers, so that lines span them.
    fn reader(text: &str) -> BufReader<&[u8]> {
        BufReader::with_capacity(3, text.as_bytes())
    }

    fn skip(text: &str, count: u64) -> (Skipped, String) {
        let mut reader = reader(text);
        let skipped = skip_lines(&mut reader, count, || Ok::<_, io::Error>(())).unwrap();
        (skipped, io::read_to_string(reader).unwrap())
    }

    #[test]
    fn lines_come_whole_with_their_line_feeds() {
        let mut reader = reader("one\n\ntwo three");
        let mut lines = Vec::new();
        loop {
            let mut line = Vec::new();
            if read_line(&mut reader, &mut line, 100).unwrap() == Line::End {
                break;
            }
            lines.push(String::from_utf8(line).unwrap());
        }
        assert_eq!(lines, ["one\n", "\n", "two three"]);
    }

    #[test]
    fn a_long_line_is_cut_and_the_rest_is_still_there() {
        let mut reader = reader("0123456789\nnext");
        let mut line = Vec::new();
        assert_eq!(read_line(&mut reader, &mut line, 5).unwrap(), Line::Cut);
        assert_eq!(line, b"01234");
        assert_eq!(io::read_to_string(reader).unwrap(), "56789\nnext");
    }

    #[test]
    fn a_line_of_exactly_the_cap_is_whole() {
        let mut line = Vec::new();
        assert_eq!(read_line(&mut reader("01234"), &mut line, 5).unwrap(), Line::Whole);
    }

    #[test]
    fn skipping_stops_after_the_line_asked_for() {
        assert_eq!(skip("a\nbcdef\ng\n", 2), (Skipped { line_feeds: 2, unfinished: false }, "g\n".into()));
    }

    #[test]
    fn skipping_counts_a_last_line_without_line_feed() {
        let (skipped, rest) = skip("a\nbcdefg", 9);
        assert_eq!((skipped.lines(), rest.as_str()), (2, ""));
        assert_eq!(skip("a\n", 9).0.lines(), 1);
        assert_eq!(skip("", 9).0.lines(), 0);
    }
}
