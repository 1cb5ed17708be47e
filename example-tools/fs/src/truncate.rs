//! Keeps tool output within what a model can use: whole lines from the head or the tail, by lines and by bytes.

use serde::Serialize;

/// Lines of output that a model gets at most.
pub const MAX_LINES: usize = 2000;
/// Bytes of output that a model gets at most.
pub const MAX_BYTES: usize = 50 * 1024;
/// Characters of one line in the output of `grep`.
pub const MAX_GREP_LINE: usize = 500;

/// What output may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub max_lines: usize,
    pub max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_lines: MAX_LINES, max_bytes: MAX_BYTES }
    }
}

/// The limit that cut the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CutBy {
    Lines,
    Bytes,
}

/// What was kept of a text, and how much there was.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncation {
    #[serde(skip)]
    pub content: String,
    pub truncated: bool,
    pub truncated_by: Option<CutBy>,
    pub total_lines: usize,
    pub total_bytes: usize,
    pub output_lines: usize,
    pub output_bytes: usize,
    /// Only of `tail`: the last line alone is over the limit, and its end is what is kept.
    pub last_line_partial: bool,
    /// Only of `head`: the first line alone is over the limit, so nothing is kept.
    pub first_line_exceeds_limit: bool,
    pub max_lines: usize,
    pub max_bytes: usize,
}

/// Keeps whole lines from the start. A text that is cut loses its last line feed.
pub fn head(text: &str, limits: Limits) -> Truncation {
    let lines = lines(text);
    let (kept, cut_by) = fit(lines.iter(), limits);
    let mut result = report(text, lines.len(), limits);
    if !result.truncated {
        return result;
    }
    result.truncated_by = Some(cut_by);
    result.first_line_exceeds_limit = kept == 0 && !lines.is_empty();
    result.keep(lines.iter().take(kept).copied().collect::<Vec<_>>().join("\n"), kept);
    result
}

/// Keeps whole lines from the end; of a last line over the byte limit its end, from a character's boundary.
pub fn tail(text: &str, limits: Limits) -> Truncation {
    let lines = lines(text);
    let (kept, cut_by) = fit(lines.iter().rev(), limits);
    let mut result = report(text, lines.len(), limits);
    if !result.truncated {
        return result;
    }
    result.truncated_by = Some(cut_by);
    match lines.last() {
        Some(last) if kept == 0 && limits.max_lines > 0 => {
            result.last_line_partial = true;
            result.keep(end_of(last, limits.max_bytes).to_owned(), 1);
        }
        _ => result.keep(lines.iter().skip(lines.len() - kept).copied().collect::<Vec<_>>().join("\n"), kept),
    }
    result
}

impl Truncation {
    fn keep(&mut self, content: String, lines: usize) {
        self.output_lines = lines;
        self.output_bytes = content.len();
        self.content = content;
    }
}

/// The report of a text that fits, or the frame of one that doesn't.
fn report(text: &str, total_lines: usize, limits: Limits) -> Truncation {
    Truncation {
        content: text.to_owned(),
        truncated: total_lines > limits.max_lines || text.len() > limits.max_bytes,
        truncated_by: None,
        total_lines,
        total_bytes: text.len(),
        output_lines: total_lines,
        output_bytes: text.len(),
        last_line_partial: false,
        first_line_exceeds_limit: false,
        max_lines: limits.max_lines,
        max_bytes: limits.max_bytes,
    }
}

/// How many lines fit, joined by line feeds, and which limit stops the next one.
fn fit<'a>(lines: impl Iterator<Item = &'a &'a str>, limits: Limits) -> (usize, CutBy) {
    let (mut kept, mut bytes) = (0, 0);
    for line in lines {
        if kept == limits.max_lines {
            return (kept, CutBy::Lines);
        }
        bytes += line.len() + usize::from(kept > 0);
        if bytes > limits.max_bytes {
            return (kept, CutBy::Bytes);
        }
        kept += 1;
    }
    (kept, CutBy::Bytes)
}

/// A line feed at the end ends the last line and starts none.
fn lines(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return Vec::new();
    }
    text.strip_suffix('\n').unwrap_or(text).split('\n').collect()
}

/// At most `max` bytes from the start, whole characters.
pub fn start_of(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}

fn end_of(text: &str, max: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(max))..).unwrap_or("")
}

/// Cuts one line after `max` characters and says so in it. The flag tells whether it did.
pub fn line(text: &str, max: usize) -> (String, bool) {
    match text.char_indices().nth(max) {
        Some((end, _)) => (format!("{}... [truncated]", text.get(..end).unwrap_or(text)), true),
        None => (text.to_owned(), false),
    }
}

/// Adds what a model should know beside the text, in brackets below it.
pub fn annotate(mut text: String, notes: &[String]) -> String {
    if notes.is_empty() {
        return text;
    }
    if !text.is_empty() {
        text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
    }
    text.push('[');
    text.push_str(&notes.join(" "));
    text.push(']');
    text
}

/// `1.5KB` and the like, for people and models.
pub fn format_size(bytes: u64) -> String {
    const KB: f64 = 1024.0;
    #[allow(clippy::cast_precision_loss, reason = "rounded to one decimal")]
    let size = bytes as f64;
    if size < KB {
        format!("{bytes}B")
    } else if size < KB * KB {
        format!("{:.1}KB", size / KB)
    } else {
        format!("{:.1}MB", size / (KB * KB))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use serde_json::Value;
    use sha2::{Digest, Sha256};

    use super::*;

    fn table() -> Value {
        serde_json::from_str(include_str!("../tests/truncation.json")).unwrap()
    }

    /// The table gives long texts by their hash, length and ends.
    fn assert_is(text: &str, expected: &Value, case: &str) {
        if let Some(literal) = expected["text"].as_str() {
            assert_eq!(text, literal, "{case}");
            return;
        }
        assert_eq!(text.len() as u64, expected["utf8Bytes"].as_u64().unwrap(), "{case}");
        let hash: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, expected["sha256"].as_str().unwrap(), "{case}");
    }

    fn check(truncation: &Truncation, expected: &Value, case: &str) {
        assert_is(&truncation.content, &expected["content"], case);
        let mut expected = expected.clone();
        expected.as_object_mut().unwrap().remove("content");
        assert_eq!(serde_json::to_value(truncation).unwrap(), expected, "{case}");
    }

    #[test]
    fn every_case_of_the_table_holds() {
        let table = table();
        let cases = table["cases"].as_array().unwrap();
        assert!(cases.len() >= 20, "{} cases", cases.len());
        for case in cases {
            let name = case["name"].as_str().unwrap();
            let part = |part: &Value| {
                let times = part["times"].as_u64().unwrap_or(1);
                part["text"].as_str().unwrap().repeat(usize::try_from(times).unwrap())
            };
            let input: String = case["parts"].as_array().unwrap().iter().map(part).collect();
            assert_is(&input, &case["input"], name);
            let option = |key: &str, default: usize| {
                case["options"][key].as_u64().map_or(default, |value| usize::try_from(value).unwrap())
            };
            let limits = Limits { max_lines: option("maxLines", MAX_LINES), max_bytes: option("maxBytes", MAX_BYTES) };
            check(&head(&input, limits), &case["head"], &format!("head: {name}"));
            check(&tail(&input, limits), &case["tail"], &format!("tail: {name}"));
        }
    }

    #[test]
    fn the_numbers_are_those_of_the_table() {
        let defaults = &table()["defaults"];
        assert_eq!(defaults["maxLines"], MAX_LINES);
        assert_eq!(defaults["maxBytes"], MAX_BYTES);
        assert_eq!(defaults["grepMaxLineLength"], MAX_GREP_LINE);
    }

    #[test]
    fn lines_are_cut_as_in_the_table() {
        let table = table();
        let rows = table["truncateLine"].as_array().unwrap();
        assert!(!rows.is_empty());
        for row in rows {
            let length = usize::try_from(row["length"].as_u64().unwrap()).unwrap();
            let (cut, was_cut) = line(&"x".repeat(length), MAX_GREP_LINE);
            assert_eq!(was_cut, row["wasTruncated"].as_bool().unwrap());
            assert_eq!(cut.len() as u64, row["outLength"].as_u64().unwrap());
        }
        assert_eq!(line(&"é".repeat(501), 500).0, format!("{}... [truncated]", "é".repeat(500)));
    }

    #[test]
    fn sizes_read_as_in_the_table() {
        let table = table();
        let rows = table["formatSize"].as_array().unwrap();
        assert!(!rows.is_empty());
        for row in rows {
            assert_eq!(format_size(row[0].as_u64().unwrap()), row[1].as_str().unwrap());
        }
    }

    #[test]
    fn a_final_line_feed_over_the_limit_costs_no_line() {
        let limits = Limits { max_lines: 9, max_bytes: 2 };
        let kept = head("ab\n", limits);
        assert_eq!((kept.content.as_str(), kept.truncated_by), ("ab", Some(CutBy::Bytes)));
        assert_eq!(tail("ab\n", limits).content, "ab");
    }
}
