//! Exact replacements in a text, each found once. Line ends and a byte order mark stay as the file has them.

use std::fmt::Write;

use toolgate_sdk::prelude::*;

use crate::nearest;

const BOM: char = '\u{feff}';
/// Occurrences counted, and those listed with their line.
const COUNTED: usize = 100;
const LISTED: usize = 5;

/// One replacement.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Edit {
    /// The text to replace, exactly as in the file, white space included. It has to occur exactly once: add lines
    /// around it where it is not unique.
    pub old_text: String,
    /// What to put in its place.
    pub new_text: String,
}

/// All edits are matched against `original`, not one after another. The error is for the model.
pub fn apply(original: &str, edits: &[Edit]) -> Result<String, String> {
    if edits.is_empty() {
        return Err("edits is empty: nothing to do".to_owned());
    }
    let (mark, body) = match original.strip_prefix(BOM) {
        Some(body) => (original.get(..BOM.len_utf8()).unwrap_or(""), body),
        None => ("", original),
    };
    let text = Normalized::new(body);

    let mut changes = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let at = locate(&text.text, &edit.old_text, index)?;
        changes.push(Change {
            index,
            start: text.original(at),
            end: text.original(at + to_lf(&edit.old_text).len()),
            new_text: text.with_line_ends(edit.new_text.trim_start_matches(BOM)),
        });
    }
    changes.sort_by_key(|change| change.start);
    for (before, after) in changes.iter().zip(changes.iter().skip(1)) {
        if before.end > after.start {
            return Err(format!(
                "edits[{}] and edits[{}] overlap. Make them one edit, or choose texts that don't touch",
                before.index.min(after.index),
                before.index.max(after.index)
            ));
        }
    }

    let mut result = mark.to_owned();
    let mut done = 0;
    for change in &changes {
        result.push_str(body.get(done..change.start).unwrap_or(""));
        result.push_str(&change.new_text);
        done = change.end;
    }
    result.push_str(body.get(done..).unwrap_or(""));
    if result == original {
        return Err("the edits change nothing: newText is what is there already".to_owned());
    }
    Ok(result)
}

/// A replacement, in bytes of the file after its byte order mark.
struct Change {
    index: usize,
    start: usize,
    end: usize,
    new_text: String,
}

fn locate(text: &str, old_text: &str, index: usize) -> Result<usize, String> {
    let old_text = to_lf(old_text);
    if old_text.is_empty() {
        return Err(format!("oldText of edits[{index}] is empty. To create or replace a whole file use write"));
    }
    let mut found = occurrences(text, &old_text);
    let Some(first) = found.next() else {
        let hint = nearest::hint(text, &old_text)
            .unwrap_or_else(|| "Nothing like it is in the file. Read the file again".to_owned());
        return Err(format!("oldText of edits[{index}] was not found. {hint}"));
    };
    let others: Vec<usize> = found.take(COUNTED - 1).collect();
    if others.is_empty() {
        return Ok(first);
    }
    let count = others.len() + 1;
    let mut message = format!("oldText of edits[{index}] occurs ");
    // Writing to a String can't fail.
    let _ = if count == COUNTED { write!(message, "{count} times or more") } else { write!(message, "{count} times") };
    let lines: Vec<String> =
        std::iter::once(&first).chain(&others).take(LISTED).map(|&at| line_of(text, at).to_string()).collect();
    let rest = if count > LISTED { ", …" } else { "" };
    let _ = write!(
        message,
        " (lines {}{rest}). It has to occur exactly once: add the lines around the one you mean, or give one edit for \
         each",
        lines.join(", ")
    );
    Err(message)
}

/// Those that overlap count as well: either could be meant.
fn occurrences<'a>(text: &'a str, wanted: &'a str) -> impl Iterator<Item = usize> + 'a {
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(wanted)?;
        from = at + step;
        Some(at)
    })
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1
}

fn to_lf(text: &str) -> String {
    text.trim_start_matches(BOM).replace("\r\n", "\n")
}

/// A text with plain line feeds, as models write it, and the way back.
struct Normalized {
    text: String,
    /// Line feeds in `text` that have a carriage return before them in the file.
    returns: Vec<usize>,
    line_feeds: usize,
}

impl Normalized {
    fn new(body: &str) -> Self {
        let mut text = String::with_capacity(body.len());
        let mut returns = Vec::new();
        let mut pieces = body.split("\r\n");
        text.push_str(pieces.next().unwrap_or(""));
        for piece in pieces {
            returns.push(text.len());
            text.push('\n');
            text.push_str(piece);
        }
        let line_feeds = text.bytes().filter(|&byte| byte == b'\n').count();
        Self { text, returns, line_feeds }
    }

    /// Where a place of `text` is in the file. A carriage return belongs to the line feed after it.
    fn original(&self, at: usize) -> usize {
        at + self.returns.partition_point(|&line_feed| line_feed < at)
    }

    /// New text gets the line ends that most lines of the file have.
    fn with_line_ends(&self, new_text: &str) -> String {
        if self.line_feeds == 0 {
            new_text.to_owned()
        } else if self.returns.len() * 2 > self.line_feeds {
            new_text.replace("\r\n", "\n").replace('\n', "\r\n")
        } else {
            new_text.replace("\r\n", "\n")
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn edits(pairs: &[(&str, &str)]) -> Vec<Edit> {
        pairs.iter().map(|(old, new)| Edit { old_text: (*old).into(), new_text: (*new).into() }).collect()
    }

    fn changed(original: &str, pairs: &[(&str, &str)]) -> String {
        apply(original, &edits(pairs)).unwrap()
    }

    fn refused(original: &str, pairs: &[(&str, &str)]) -> String {
        apply(original, &edits(pairs)).unwrap_err()
    }

    #[test]
    fn edits_are_matched_against_the_original_in_any_order() {
        assert_eq!(changed("one two three", &[("three", "two"), ("one", "1"), ("two", "2")]), "1 2 two");
        assert_eq!(changed("ab", &[("a", "b"), ("b", "")]), "b");
    }

    #[test]
    fn line_ends_stay() {
        assert_eq!(changed("a\r\nb\r\nc\r\n", &[("a\nb\n", "x\ny\nz\n")]), "x\r\ny\r\nz\r\nc\r\n");
        assert_eq!(changed("a\r\nb\r\n", &[("a\r\nb", "x\r\ny")]), "x\r\ny\r\n");
        assert_eq!(changed("a\nb\n", &[("a\r\nb", "x\r\ny")]), "x\ny\n");
        // Mixed: what no edit touches keeps its own.
        assert_eq!(changed("a\r\nb\nc\r\nd\r\n", &[("d", "e\nf")]), "a\r\nb\nc\r\ne\r\nf\r\n");
        assert_eq!(changed("a\r\nb\r\n", &[("\nb", "")]), "a\r\n");
        assert_eq!(changed("a\r\nb\r\n", &[("a", "x")]), "x\r\nb\r\n");
        // A carriage return of its own is a character like others.
        assert_eq!(changed("a\rb\n", &[("b", "c")]), "a\rc\n");
    }

    #[test]
    fn a_byte_order_mark_stays() {
        assert_eq!(changed("\u{feff}a\nb\n", &[("a", "x")]), "\u{feff}x\nb\n");
        assert_eq!(changed("\u{feff}a\n", &[("\u{feff}a", "\u{feff}x")]), "\u{feff}x\n");
    }

    #[test]
    fn several_matches_are_counted_with_their_lines() {
        assert_eq!(
            refused("x\ny\nx\n", &[("y", "z"), ("x", "z")]),
            "oldText of edits[1] occurs 2 times (lines 1, 3). It has to occur exactly once: add the lines around the \
             one you mean, or give one edit for each"
        );
        assert!(refused("aaa", &[("aa", "b")]).contains("occurs 2 times"));
        assert!(refused(&"x\n".repeat(300), &[("x", "z")]).contains("100 times or more (lines 1, 2, 3, 4, 5, …)"));
    }

    #[test]
    fn overlapping_edits_are_refused() {
        assert_eq!(
            refused("one two three", &[("two three", "x"), ("one two", "y")]),
            "edits[0] and edits[1] overlap. Make them one edit, or choose texts that don't touch"
        );
        assert_eq!(changed("onetwo", &[("two", "2"), ("one", "1")]), "12");
    }

    #[test]
    fn edits_without_effect_are_refused() {
        assert!(refused("a", &[("a", "a")]).contains("change nothing"));
        assert!(refused("a", &[]).contains("edits is empty"));
        assert!(refused("a", &[("", "x")]).contains("oldText of edits[0] is empty"));
    }

    #[test]
    fn what_is_not_found_is_said_with_a_hint() {
        let error = refused("fn main() {\n    run();\n}\n", &[("fn main() {\n\trun();\n", "")]);
        assert!(error.starts_with("oldText of edits[0] was not found. "), "{error}");
        assert!(error.contains("white space"), "{error}");
        assert!(refused("abc", &[("qqqq", "")]).ends_with("Nothing like it is in the file. Read the file again"));
    }
}
