//! `read`: text with a hint where to go on, images as images, never more of a huge file than is shown.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use toolgate_sdk::prelude::*;

use crate::kind::{self, Kind};
use crate::lines::{Line, read_line, skip_lines};
use crate::paths::{Roots, Target};
use crate::truncate::{self, CutBy, Limits, MAX_BYTES, MAX_LINES, format_size};
use crate::watch::Watch;

/// Up to this size the lines of a file are counted to its end.
const COUNTED: u64 = 8 * 1024 * 1024;
/// Model providers take 5 MB of base64.
const MAX_IMAGE: u64 = 3_750_000;
/// The longest character, so that a cut at the byte limit finds a boundary.
const CHARACTER: usize = 4;

#[derive(Deserialize, JsonSchema)]
pub struct Args {
    /// The file, relative to the first granted directory or absolute.
    path: String,
    /// The first line to read, from 1. Negative: the last lines, -50 for 50 of them.
    offset: Option<i64>,
    /// Lines to read at most.
    limit: Option<u32>,
}

/// Reads a file. Text comes in pieces of at most 2000 lines or 50 KB, whichever is less, with a note that says how to
/// read on. Images (png, jpeg, gif, webp) are shown as images. Other binary files are refused.
///
/// Reading several files in one turn is fine. A call that depends on what another one writes or finds belongs in a
/// later turn.
#[tool(label = "Read file", read_only, idempotent, open_world = false, exclusive(path("/path", read)))]
pub fn read(args: Args, cx: &ToolContext) -> Result<ToolResult, ToolError> {
    run(&args, &Roots::granted(cx), &Watch::new(cx))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Details<'a> {
    path: &'a str,
    size_bytes: u64,
    /// From 1; unknown for the end of a huge file.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u64>,
    /// Unknown for a huge file.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated_by: Option<CutBy>,
}

fn run(args: &Args, roots: &Roots, watch: &Watch) -> Result<ToolResult, ToolError> {
    let target = roots.resolve(&args.path)?;
    let metadata = fs::metadata(&target.real).map_err(|error| target.io(error))?;
    if metadata.is_dir() {
        return Err(target.error("is a directory. List it with ls"));
    }
    if !metadata.is_file() {
        return Err(target.error("is neither a file nor a directory"));
    }
    let file = File::open(&target.real).map_err(|error| target.io(error))?;
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let start = reader.fill_buf().map_err(|error| target.io(error))?;
    match kind::kind(start) {
        Kind::Image(mime) => image(&target, reader, metadata.len(), mime),
        Kind::Binary(name) => Err(target
            .error(format_args!("is {name} ({}), and read shows only text and images", format_size(metadata.len())))),
        Kind::Text => match args.offset {
            Some(offset) if offset < 0 => {
                let lines = usize::try_from(offset.unsigned_abs()).unwrap_or(MAX_LINES);
                last_lines(&target, reader, metadata.len(), lines, watch)
            }
            offset => {
                let first = offset.unwrap_or(1).max(1).unsigned_abs();
                let limit = args.limit.map_or(MAX_LINES, |limit| usize::try_from(limit).unwrap_or(MAX_LINES));
                from_line(&target, reader, metadata.len(), first, limit.clamp(1, MAX_LINES), watch)
            }
        },
    }
}

fn image(target: &Target, reader: impl Read, size: u64, mime: &'static str) -> Result<ToolResult, ToolError> {
    if size > MAX_IMAGE {
        return Err(target.error(format_args!(
            "this image ({mime}) has {}, and at most {} can be shown",
            format_size(size),
            format_size(MAX_IMAGE)
        )));
    }
    let mut bytes = Vec::new();
    reader.take(MAX_IMAGE).read_to_end(&mut bytes).map_err(|error| target.io(error))?;
    Ok(ToolResult::text(format!("Image {} ({mime}, {})", target.written, format_size(size)))
        .content(Content::image(bytes, mime))
        .details(json!({"path": target.written, "sizeBytes": size, "mimeType": mime})))
}

fn from_line(
    target: &Target,
    mut reader: impl BufRead,
    size: u64,
    first: u64,
    limit: usize,
    watch: &Watch,
) -> Result<ToolResult, ToolError> {
    let io_error = |error| target.io(error);
    let skipped = skip(target, &mut reader, first - 1, watch)?;
    if first > 1 && reader.fill_buf().map_err(io_error)?.is_empty() {
        return Err(target.error(format_args!("offset {first} is beyond the end of the file ({skipped} lines)")));
    }

    let mut bytes = Vec::new();
    let mut lines = 0_u64;
    let mut cut = false;
    while lines < limit as u64 && bytes.len() <= MAX_BYTES && !cut {
        let room = MAX_BYTES + CHARACTER - bytes.len();
        match read_line(&mut reader, &mut bytes, room).map_err(io_error)? {
            Line::End => break,
            Line::Whole => lines += 1,
            Line::Cut => {
                lines += 1;
                cut = true;
            }
        }
    }
    let (mut text, not_utf8) = decode(&bytes);
    if first == 1 && text.starts_with('\u{feff}') {
        text.remove(0);
    }
    let kept = truncate::head(&text, Limits { max_lines: limit, max_bytes: MAX_BYTES });

    let total = if size <= COUNTED {
        Some(first - 1 + lines - u64::from(cut) + skip(target, &mut reader, u64::MAX, watch)?)
    } else {
        None
    };
    let shown = if kept.first_line_exceeds_limit { 1 } else { kept.output_lines as u64 };
    let next = first + shown;
    let more = match total {
        Some(total) => next <= total,
        None => shown < lines || cut || !reader.fill_buf().map_err(io_error)?.is_empty(),
    };

    let mut notes = Vec::new();
    let mut content = kept.content;
    if kept.first_line_exceeds_limit {
        content = truncate::start_of(&text, MAX_BYTES).to_owned();
        notes.push(format!("Line {first} is longer than {}: only its start is shown.", limit_text()));
    } else if kept.total_lines == 0 {
        notes.push("The file is empty.".to_owned());
    }
    if more {
        let of = total.map_or_else(|| format!("a file of {}", format_size(size)), |total| total.to_string());
        let why = match kept.truncated_by {
            Some(CutBy::Bytes) => format!(" ({} limit)", limit_text()),
            _ => String::new(),
        };
        notes.push(format!("Showing lines {first}-{} of {of}{why}. Use offset={next} to continue.", next - 1));
    }
    notes.extend(not_utf8.then(not_utf8_note));
    let details = Details {
        path: &target.written,
        size_bytes: size,
        start_line: Some(first),
        end_line: Some(next - 1),
        total_lines: total,
        next_offset: more.then_some(next),
        truncated_by: kept.truncated_by.or((more && shown == MAX_LINES as u64).then_some(CutBy::Lines)),
    };
    Ok(ToolResult::text(truncate::annotate(content, &notes)).details(details))
}

fn last_lines(
    target: &Target,
    mut reader: BufReader<File>,
    size: u64,
    lines: usize,
    watch: &Watch,
) -> Result<ToolResult, ToolError> {
    let io_error = |error| target.io(error);
    let total = if size <= COUNTED { Some(skip(target, &mut reader, u64::MAX, watch)?) } else { None };
    // One character more than may be shown: where the piece begins inside a line, that line does not fit.
    let window = (MAX_BYTES + CHARACTER) as u64;
    reader.seek(SeekFrom::Start(size.saturating_sub(window))).map_err(io_error)?;
    let mut bytes = Vec::new();
    reader.take(window).read_to_end(&mut bytes).map_err(io_error)?;
    let (text, not_utf8) = decode(&bytes);
    let limits = Limits { max_lines: lines.min(MAX_LINES), max_bytes: MAX_BYTES };
    let kept = truncate::tail(text.trim_start_matches('\u{feff}'), limits);

    let shown = kept.output_lines as u64;
    let mut notes = Vec::new();
    if kept.last_line_partial {
        notes.push(format!("The last line is longer than {}: only its end is shown.", limit_text()));
    } else if kept.total_lines == 0 {
        notes.push("The file is empty.".to_owned());
    } else if kept.truncated || total.is_some_and(|total| total > shown) {
        let of = total.map_or_else(|| format!("a file of {}", format_size(size)), |total| format!("{total} lines"));
        let why = if shown < lines as u64 && kept.truncated_by == Some(CutBy::Bytes) {
            format!(" ({} limit)", limit_text())
        } else {
            String::new()
        };
        notes.push(format!("Showing the last {shown} of {of}{why}."));
    }
    notes.extend(not_utf8.then(not_utf8_note));
    let details = Details {
        path: &target.written,
        size_bytes: size,
        start_line: total.map(|total| (total + 1).saturating_sub(shown)),
        end_line: total,
        total_lines: total,
        next_offset: None,
        truncated_by: kept.truncated_by,
    };
    Ok(ToolResult::text(truncate::annotate(kept.content, &notes)).details(details))
}

/// Skips lines and returns how many there were.
fn skip(target: &Target, reader: &mut impl BufRead, count: u64, watch: &Watch) -> Result<u64, ToolError> {
    enum Stop {
        Io(io::Error),
        Cancelled(ToolError),
    }
    impl From<io::Error> for Stop {
        fn from(error: io::Error) -> Self {
            Self::Io(error)
        }
    }
    match skip_lines(reader, count, || watch.check().map_err(Stop::Cancelled)) {
        Ok(skipped) => Ok(skipped.lines()),
        Err(Stop::Io(error)) => Err(target.io(error)),
        Err(Stop::Cancelled(error)) => Err(error),
    }
}

/// The flag tells of bytes that are no UTF-8; a character cut off at the end does not count.
fn decode(bytes: &[u8]) -> (String, bool) {
    let invalid = std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_some());
    (String::from_utf8_lossy(bytes).into_owned(), invalid)
}

fn not_utf8_note() -> String {
    "Not valid UTF-8: the bytes that are none show as \u{fffd}. Don't edit this file as text.".to_owned()
}

fn limit_text() -> String {
    format_size(MAX_BYTES as u64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;

    use toolgate_sdk::testing;

    use super::*;
    use crate::testing::{details, tree};

    fn try_read(content: impl AsRef<[u8]>, args: Value) -> Result<ToolResult, ToolError> {
        let dir = tree(&[("file", content)]);
        let args: Args = serde_json::from_value(merge(json!({"path": "file"}), args)).unwrap();
        run(&args, &Roots::new([dir.path()]), &Watch::silent())
    }

    fn merge(mut base: Value, more: Value) -> Value {
        base.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        base
    }

    fn text(content: impl AsRef<[u8]>, args: Value) -> String {
        try_read(content, args).unwrap().joined_text()
    }

    fn error(content: impl AsRef<[u8]>, args: Value) -> String {
        try_read(content, args).unwrap_err().to_string()
    }

    fn numbered(lines: usize) -> String {
        (1..=lines).map(|line| format!("line {line}\n")).collect()
    }

    #[test]
    fn a_small_file_comes_as_it_is() {
        assert_eq!(text("a\r\nb\n\n", json!({})), "a\r\nb\n\n");
        assert_eq!(text("no end", json!({})), "no end");
        assert_eq!(text("", json!({})), "[The file is empty.]");
        assert_eq!(text("\u{feff}a\n", json!({})), "a\n");
    }

    #[test]
    fn a_piece_says_where_to_go_on() {
        let result = try_read(numbered(10), json!({"offset": 3, "limit": 2})).unwrap();
        assert_eq!(result.joined_text(), "line 3\nline 4\n\n[Showing lines 3-4 of 10. Use offset=5 to continue.]");
        assert_eq!(
            details(&result),
            json!({"path": "file", "sizeBytes": 71, "startLine": 3, "endLine": 4, "totalLines": 10, "nextOffset": 5})
        );
    }

    #[test]
    fn the_last_piece_says_nothing() {
        assert_eq!(text(numbered(3), json!({"offset": 2, "limit": 2})), "line 2\nline 3\n");
        assert_eq!(text("a\nb", json!({"offset": 2})), "b");
    }

    #[test]
    fn following_the_offsets_reads_every_line_once() {
        let content: String = (1..=9000).map(|line| format!("{line} {}\n", "x".repeat(line % 90))).collect();
        let dir = tree(&[("file", &content)]);
        let (mut read, mut offset, mut pieces) = (String::new(), Some(1), 0);
        while let Some(from) = offset {
            let args = Args { path: "file".into(), offset: Some(from), limit: None };
            let result = run(&args, &Roots::new([dir.path()]), &Watch::silent()).unwrap();
            let piece = result.joined_text();
            let piece = piece.split("\n\n[Showing").next().unwrap().trim_end_matches('\n').to_owned();
            read.push_str(&piece);
            read.push('\n');
            offset = details(&result)["nextOffset"].as_i64();
            pieces += 1;
        }
        assert_eq!(read, content);
        assert!(pieces > 4, "{pieces}");
    }

    #[test]
    fn two_thousand_lines_are_the_limit() {
        let result = try_read(numbered(2500), json!({"limit": 9999})).unwrap();
        assert!(
            result.joined_text().ends_with("line 2000\n\n[Showing lines 1-2000 of 2500. Use offset=2001 to continue.]")
        );
        assert_eq!(details(&result)["truncatedBy"], "lines");
    }

    #[test]
    fn fifty_kilobytes_are_the_limit() {
        let result = try_read("0123456789\n".repeat(6000), json!({"offset": 1001})).unwrap();
        let text = result.joined_text();
        assert!(text.starts_with("0123456789\n0123"));
        assert!(text.ends_with("\n\n[Showing lines 1001-3000 of 6000. Use offset=3001 to continue.]"), "{text}");
        let result = try_read(format!("{}\n", "x".repeat(99)).repeat(600), json!({})).unwrap();
        assert!(
            result
                .joined_text()
                .ends_with("x\n\n[Showing lines 1-512 of 600 (50.0KB limit). Use offset=513 to continue.]")
        );
        assert_eq!(details(&result)["truncatedBy"], "bytes");
    }

    #[test]
    fn of_a_line_over_the_limit_the_start_is_shown() {
        let text = text(format!("{}\nnext\n", "é".repeat(30_000)), json!({}));
        assert!(text.starts_with(&"é".repeat(25_600)) && !text.contains('\u{fffd}'));
        assert!(text.ends_with(
            "[Line 1 is longer than 50.0KB: only its start is shown. Showing lines 1-1 of 2 (50.0KB limit). \
             Use offset=2 to continue.]"
        ));
    }

    #[test]
    fn an_offset_beyond_the_end_is_an_error_with_the_length() {
        assert_eq!(error("a\nb\n", json!({"offset": 3})), "file: offset 3 is beyond the end of the file (2 lines)");
        assert_eq!(error("a\nb", json!({"offset": 9})), "file: offset 9 is beyond the end of the file (2 lines)");
        assert_eq!(error("", json!({"offset": 2})), "file: offset 2 is beyond the end of the file (0 lines)");
    }

    #[test]
    fn a_negative_offset_reads_the_end() {
        let result = try_read(numbered(100), json!({"offset": -2})).unwrap();
        assert_eq!(result.joined_text(), "line 99\nline 100\n\n[Showing the last 2 of 100 lines.]");
        assert_eq!(details(&result)["startLine"], 99);
        assert_eq!(text("a\nb\n", json!({"offset": -5})), "a\nb\n");
        let long = text("x".repeat(60_000), json!({"offset": -1}));
        assert!(long.ends_with("x\n\n[The last line is longer than 50.0KB: only its end is shown.]"));
    }

    #[test]
    fn a_huge_file_is_read_in_part() {
        let dir = tempfile::tempdir().unwrap();
        let file = File::create(dir.path().join("file")).unwrap();
        // Sparse: a terabyte that nobody could read whole.
        (&file).write_all(numbered(3000).as_bytes()).unwrap();
        file.set_len(1 << 40).unwrap();
        (&file).seek(SeekFrom::End(-60_000)).unwrap();
        (&file).write_all("the end\n".repeat(7500).as_bytes()).unwrap();
        let read = |offset, limit| {
            let args = Args { path: "file".into(), offset, limit };
            run(&args, &Roots::new([dir.path()]), &Watch::silent()).unwrap()
        };
        let start = read(Some(100), Some(2));
        assert_eq!(
            start.joined_text(),
            "line 100\nline 101\n\n[Showing lines 100-101 of a file of 1048576.0MB. Use offset=102 to continue.]"
        );
        assert_eq!(details(&start)["totalLines"], Value::Null);
        let end = read(Some(-2), None);
        assert_eq!(end.joined_text(), "the end\nthe end\n\n[Showing the last 2 of a file of 1048576.0MB.]");
    }

    #[test]
    fn an_image_is_an_image() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        let result = try_read(png, json!({"offset": 5})).unwrap();
        assert_eq!(result.content.get(1), Some(&Content::image(png.to_vec(), "image/png")));
        assert_eq!(result.joined_text(), "Image file (image/png, 16B)");
        let mut large = png.to_vec();
        large.resize(4_000_000, 1);
        assert_eq!(error(large, json!({})), "file: this image (image/png) has 3.8MB, and at most 3.6MB can be shown");
    }

    #[test]
    fn a_binary_file_is_refused_by_name() {
        assert_eq!(
            error(b"\x7fELF\x02\x01\x01\0\0", json!({})),
            "file: is an ELF program or library (9B), and read shows only text and images"
        );
    }

    #[test]
    fn bytes_that_are_no_utf8_are_shown_and_said() {
        let text = text(b"caf\xe9\n", json!({}));
        assert!(text.starts_with("caf\u{fffd}\n\n[Not valid UTF-8"), "{text}");
    }

    #[test]
    fn directories_and_missing_files_are_errors_with_the_path_as_written() {
        let dir = tree(&[("sub/a", "")]);
        let read = |path: &str| {
            let args = Args { path: path.into(), offset: None, limit: None };
            run(&args, &Roots::new([dir.path()]), &Watch::silent()).unwrap_err().to_string()
        };
        assert_eq!(read("sub"), "sub: is a directory. List it with ls");
        assert!(read("./none").starts_with("./none: No such file"), "{}", read("./none"));
    }

    #[test]
    fn the_definition_holds_the_path_for_reading() {
        let definition = read {}.definition();
        let key = definition.exclusive.first().unwrap();
        assert_eq!((key.pointer.as_str(), key.is_path, key.access), ("/path", true, Access::Read));
        assert!(definition.description.contains("later turn"));
    }

    #[test]
    fn a_cancelled_call_stops() {
        let dir = tree(&[("file", "a\n")]);
        testing::set_cancelled(true);
        let path = dir.path().join("file");
        let error = testing::call(&read {}, json!({"path": path.to_str().unwrap(), "offset": 2})).unwrap_err();
        assert!(error.is_cancelled());
    }
}
