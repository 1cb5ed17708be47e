//! `grep`: lines by a regular expression or a text.

use std::collections::VecDeque;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use regex::bytes::{Regex, RegexBuilder};
use toolgate_sdk::prelude::*;

use crate::glob::Glob;
use crate::kind::{self, Kind};
use crate::lines::{Line, read_line, skip_lines};
use crate::paths::{Roots, Target};
use crate::truncate::{self, Limits, MAX_BYTES, MAX_GREP_LINE, format_size};
use crate::walk::Walk;
use crate::watch::Watch;

const DEFAULT_LIMIT: usize = 100;
/// More lines around a match than this are for `read`.
const MAX_CONTEXT: u32 = 50;
/// Files up to this size are read at once; what is longer is streamed.
const AT_ONCE: usize = 1024 * 1024;
/// Asked for in one read. Each read is a call to the host, so most files should need but one.
const CHUNK: usize = 64 * 1024;
/// Of a longer line only the start is searched.
const MAX_SEARCHED_LINE: usize = 1024 * 1024;
/// Compiled patterns, which a repetition can blow up.
const MAX_REGEX: usize = 4 * 1024 * 1024;
/// Lines of one file between two looks at the clock.
const LINES_PER_TICK: u64 = 4096;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Args {
    /// A regular expression (no look-around, no back-references), matched against one line at a time; or a text, with
    /// `literal`.
    pattern: String,
    /// The file or directory to search, relative to the first granted directory (the default) or absolute.
    path: Option<String>,
    /// Which files to search: `*.rs` is a name at any depth, `src/**/*.rs` a path from the searched directory.
    glob: Option<String>,
    /// Take upper and lower case as the same.
    ignore_case: Option<bool>,
    /// Take the pattern as a text, not as a regular expression.
    literal: Option<bool>,
    /// Lines to show before and after each match; default 0, at most 50.
    context: Option<u32>,
    /// Matching lines to return at most; default 100.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

/// Searches files for lines that match a pattern. Returns `path:line: text`, lines around a match as
/// `path-line- text`. Hidden files are searched; binary files, `.git` and what a `.gitignore` excludes are not. At
/// most 100 matches or 50 KB, long lines cut after 500 characters. Without a match it fails with `No matches found`.
///
/// A call that needs the matches belongs in a later turn.
#[tool(label = "Search in files", read_only, idempotent, open_world = false)]
pub fn grep(args: Args, cx: &ToolContext) -> Result<ToolResult, ToolError> {
    run(&args, &Roots::granted(cx), &mut Watch::new(cx))
}

fn run(args: &Args, roots: &Roots, watch: &mut Watch) -> Result<ToolResult, ToolError> {
    let mut search = Search::new(args)?;
    let glob = args.glob.as_deref().map(Glob::new).transpose()?;
    let target = roots.resolve_or_first(args.path.as_deref())?;
    let metadata = fs::metadata(&target.real).map_err(|error| target.io(error))?;
    if metadata.is_dir() {
        let mut walk = Walk::new(roots.root_of(&target.real), &target.real).map_err(|error| target.io(error))?;
        for entry in walk.by_ref() {
            let wanted = glob.as_ref().is_none_or(|glob| glob.matches(&entry.relative, false));
            if entry.file_type.is_file() && wanted {
                match search.file(&entry.path, &target.below(&entry.relative), watch) {
                    Ok(_) => {}
                    Err(Stop::Io(_)) => search.unreadable += 1,
                    Err(Stop::Cancelled(error)) => return Err(error),
                }
            }
            watch.file_done(|| search.progress())?;
            if search.done() {
                break;
            }
        }
        search.unreadable += walk.unreadable;
    } else if metadata.is_file() {
        match search.file(&target.real, &target.below(""), watch) {
            Ok(Searched::Text) => {}
            Ok(Searched::Binary) => return Err(target.error("is a binary file, and grep searches text only")),
            Err(Stop::Io(error)) => return Err(target.io(error)),
            Err(Stop::Cancelled(error)) => return Err(error),
        }
    } else {
        return Err(target.error("is neither a file nor a directory"));
    }
    Ok(search.result(&target))
}

struct Search {
    pattern: Regex,
    /// A file that has no match as a whole has none in a line either. Not so with an anchor to the ends of the text.
    whole_first: bool,
    context: usize,
    limit: usize,
    /// The start of the file being searched.
    buffer: Vec<u8>,
    out: String,
    matches: usize,
    files_searched: u64,
    files_matched: u64,
    unreadable: u64,
    lines_cut: bool,
    /// A match beyond the limit was seen.
    more: bool,
}

enum Searched {
    Text,
    Binary,
}

/// Why a file was not searched to its end.
enum Stop {
    Io(io::Error),
    Cancelled(ToolError),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ToolError> for Stop {
    fn from(error: ToolError) -> Self {
        Self::Cancelled(error)
    }
}

impl Search {
    fn new(args: &Args) -> Result<Self, ToolError> {
        let literal = args.literal.unwrap_or(false);
        let source = if literal { regex::escape(&args.pattern) } else { args.pattern.clone() };
        // In multi-line and CRLF mode a line means the same by itself as within its file.
        let pattern = RegexBuilder::new(&source)
            .case_insensitive(args.ignore_case.unwrap_or(false))
            .multi_line(true)
            .crlf(true)
            .size_limit(MAX_REGEX)
            .build()
            .map_err(|error| {
                ToolError::new(format_args!(
                    "The pattern is no regular expression that grep knows: {error}\nTo search for it as a text, set \
                     literal to true"
                ))
            })?;
        let anchored = ["\\A", "\\z", "(?"].iter().any(|anchor| args.pattern.contains(anchor));
        Ok(Self {
            pattern,
            whole_first: literal || !anchored,
            context: args.context.map_or(0, |context| usize::try_from(context.min(MAX_CONTEXT)).unwrap_or(0)),
            limit: args.limit.map_or(DEFAULT_LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX)),
            buffer: Vec::new(),
            out: String::new(),
            matches: 0,
            files_searched: 0,
            files_matched: 0,
            unreadable: 0,
            lines_cut: false,
            more: false,
        })
    }

    fn file(&mut self, path: &Path, shown: &str, watch: &mut Watch) -> Result<Searched, Stop> {
        let mut file = File::open(path)?;
        let mut buffer = std::mem::take(&mut self.buffer);
        let length = fill(&mut file, &mut buffer)?;
        let start = buffer.get(..length).unwrap_or_default();
        let searched = if kind::kind(start) == Kind::Text {
            self.files_searched += 1;
            self.text(start, file, shown, watch).map(|()| Searched::Text)
        } else {
            Ok(Searched::Binary)
        };
        self.buffer = buffer;
        searched
    }

    /// Searches `start`, and what is left in `file` after it.
    fn text(&mut self, start: &[u8], file: File, shown: &str, watch: &mut Watch) -> Result<(), Stop> {
        let before = self.matches;
        let searched = if start.len() == AT_ONCE {
            self.lines(start.chain(BufReader::with_capacity(CHUNK, file)), shown, watch)
        } else if self.whole_first && !self.pattern.is_match(start) {
            Ok(())
        } else {
            self.lines(start, shown, watch)
        };
        self.files_matched += u64::from(self.matches > before);
        searched
    }

    fn lines(&mut self, mut reader: impl BufRead, shown: &str, watch: &mut Watch) -> Result<(), Stop> {
        let mut before: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
        let mut last_shown = 0;
        let mut after = 0;
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            match read_line(&mut reader, &mut line, MAX_SEARCHED_LINE)? {
                Line::End => break,
                Line::Whole => {}
                Line::Cut => {
                    skip_lines::<Stop>(&mut reader, 1, || Ok(watch.check()?))?;
                }
            }
            if number % LINES_PER_TICK == 0 {
                watch.tick(|| self.progress())?;
            }
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            if self.pattern.is_match(text) {
                if self.matches == self.limit {
                    self.more = true;
                    break;
                }
                self.matches += 1;
                let first = before.front().map_or(number, |(first, _)| *first);
                if self.context > 0 && !self.out.is_empty() && (last_shown == 0 || first > last_shown + 1) {
                    self.out.push_str("--\n");
                }
                for (number, text) in before.drain(..) {
                    self.show(shown, number, '-', &text);
                }
                self.show(shown, number, ':', text);
                last_shown = number;
                after = self.context;
            } else if after > 0 {
                self.show(shown, number, '-', text);
                last_shown = number;
                after -= 1;
            } else if self.context > 0 {
                if before.len() == self.context {
                    before.pop_front();
                }
                before.push_back((number, text.to_owned()));
            }
            if self.out.len() > MAX_BYTES {
                break;
            }
        }
        Ok(())
    }

    fn show(&mut self, path: &str, number: u64, mark: char, text: &[u8]) {
        let (text, cut) = truncate::line(&String::from_utf8_lossy(text), MAX_GREP_LINE);
        self.lines_cut |= cut;
        // Writing to a String can't fail.
        let _ = writeln!(self.out, "{path}{mark}{number}{mark} {text}");
    }

    fn done(&self) -> bool {
        self.more || self.out.len() > MAX_BYTES
    }

    fn progress(&self) -> ToolResult {
        ToolResult::text(format!("Searched {} files, {} matches so far", self.files_searched, self.matches))
            .details(json!({"filesSearched": self.files_searched, "matches": self.matches}))
    }

    fn result(self, target: &Target) -> ToolResult {
        let kept = truncate::head(&self.out, Limits { max_lines: usize::MAX, max_bytes: MAX_BYTES });
        let mut notes = Vec::new();
        if kept.truncated {
            notes.push(format!("Stopped at {}. Narrow the search.", format_size(MAX_BYTES as u64)));
        } else if self.more {
            notes.push(format!("Stopped at {} matches. Narrow the search, or use a larger limit.", self.limit));
        }
        if self.lines_cut {
            notes.push(format!("Lines are cut after {MAX_GREP_LINE} characters; read shows them whole."));
        }
        if self.unreadable > 0 {
            notes.push(format!("{} files or directories could not be read.", self.unreadable));
        }
        let none = self.matches == 0;
        let text = if none { "No matches found".to_owned() } else { kept.content };
        let result = ToolResult::text(truncate::annotate(text, &notes)).details(json!({
            "path": target.written,
            "matches": self.matches,
            "filesMatched": self.files_matched,
            "filesSearched": self.files_searched,
            "limitReached": self.more || kept.truncated,
            "linesTruncated": self.lines_cut,
        }));
        // An error, so that the operator can decide with a hook what a search without a match is.
        if none { result.error() } else { result }
    }
}

/// Reads up to [`AT_ONCE`] bytes into `buffer`, which only grows. Returns how many.
fn fill(file: &mut File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    while length < AT_ONCE {
        let end = (length + CHUNK).min(AT_ONCE);
        if buffer.len() < end {
            buffer.resize(end, 0);
        }
        match file.read(buffer.get_mut(length..end).unwrap_or_default()) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use toolgate_sdk::testing;

    use super::*;
    use crate::testing::{details, tree};

    fn grep_in<B: AsRef<[u8]>>(files: &[(&str, B)], args: Value) -> Result<ToolResult, ToolError> {
        let dir = tree(files);
        run(&serde_json::from_value(args).unwrap(), &Roots::new([dir.path()]), &mut Watch::silent())
    }

    fn text<B: AsRef<[u8]>>(files: &[(&str, B)], args: Value) -> String {
        grep_in(files, args).unwrap().joined_text()
    }

    const CODE: &[(&str, &str)] =
        &[("src/a.rs", "fn one() {}\nfn two() {}\n"), ("src/b.txt", "fn three\n"), ("top.rs", "FN four\n")];

    #[test]
    fn matches_come_with_path_and_line() {
        let result = grep_in(CODE, json!({"pattern": r"fn \w+"})).unwrap();
        assert_eq!(result.joined_text(), "src/a.rs:1: fn one() {}\nsrc/a.rs:2: fn two() {}\nsrc/b.txt:1: fn three\n");
        assert_eq!(
            details(&result),
            json!({"path": ".", "matches": 3, "filesMatched": 2, "filesSearched": 3, "limitReached": false,
                "linesTruncated": false})
        );
    }

    #[test]
    fn the_search_can_be_narrowed() {
        for (args, expected) in [
            (json!({"pattern": "fn", "glob": "*.txt"}), "src/b.txt:1: fn three\n"),
            (json!({"pattern": "t[wh]", "path": "src/a.rs"}), "src/a.rs:2: fn two() {}\n"),
            (json!({"pattern": "fn", "path": "src", "glob": "b.*"}), "src/b.txt:1: fn three\n"),
            (json!({"pattern": "four", "ignoreCase": true, "glob": "*.rs"}), "top.rs:1: FN four\n"),
            (json!({"pattern": "fn FOUR", "ignoreCase": true}), "top.rs:1: FN four\n"),
            (json!({"pattern": "one() {", "literal": true}), "src/a.rs:1: fn one() {}\n"),
        ] {
            assert_eq!(text(CODE, args.clone()), expected, "{args}");
        }
    }

    #[test]
    fn context_is_shown_once_and_groups_are_separated() {
        let lines: String = (1..=12).map(|line| format!("{line}\n")).collect();
        let shown = text(&[("a", lines.as_str()), ("b", "9\n")], json!({"pattern": "^(2|4|9)$", "context": 1}));
        assert_eq!(shown, "a-1- 1\na:2: 2\na-3- 3\na:4: 4\na-5- 5\n--\na-8- 8\na:9: 9\na-10- 10\n--\nb:1: 9\n");
    }

    #[test]
    fn no_match_is_an_error_with_details() {
        let result = grep_in(CODE, json!({"pattern": "nowhere"})).unwrap();
        assert!(result.is_error);
        assert_eq!(result.joined_text(), "No matches found");
        assert_eq!(details(&result)["filesSearched"], 3);
    }

    #[test]
    fn the_limit_is_said_only_where_there_is_more() {
        let files = [("a", "x\nx\n"), ("b", "x\n")];
        assert_eq!(text(&files, json!({"pattern": "x", "limit": 3})), "a:1: x\na:2: x\nb:1: x\n");
        let some = text(&files, json!({"pattern": "x", "limit": 2}));
        assert!(some.starts_with("a:1: x\na:2: x\n\n[Stopped at 2 matches."), "{some}");
    }

    #[test]
    fn long_lines_are_cut_and_it_is_said() {
        let result = grep_in(&[("a", format!("x{}", "y".repeat(500)))], json!({"pattern": "x"})).unwrap();
        let expected = format!(
            "a:1: x{}... [truncated]\n\n[Lines are cut after 500 characters; read shows them whole.]",
            "y".repeat(499)
        );
        assert_eq!(result.joined_text(), expected);
        assert_eq!(details(&result)["linesTruncated"], true);
    }

    #[test]
    fn output_ends_at_fifty_kilobytes() {
        let result =
            grep_in(&[("a", format!("{}\n", "x".repeat(400)).repeat(500))], json!({"pattern": "x", "limit": 999}));
        let text = result.unwrap().joined_text();
        assert!(text.len() < MAX_BYTES + 100);
        assert!(text.ends_with("x\n\n[Stopped at 50.0KB. Narrow the search.]"));
    }

    #[test]
    fn binary_files_are_passed_over_and_refused_when_named() {
        let files: &[(&str, &[u8])] = &[("a.bin", b"x\0x"), ("a.txt", b"caf\xe9 x\n")];
        assert_eq!(text(files, json!({"pattern": "x"})), "a.txt:1: caf\u{fffd} x\n");
        let error = grep_in(files, json!({"pattern": "x", "path": "a.bin"})).unwrap_err();
        assert_eq!(error.to_string(), "a.bin: is a binary file, and grep searches text only");
    }

    #[test]
    fn anchors_mean_the_line() {
        let files = [("a", "one two\r\nthree one\r\n")];
        for (pattern, line) in [("^one", 1), ("one$", 2), (r"\Aone", 1), (r"one\z", 2), ("(?-m)^three", 2)] {
            let found = text(&files, json!({"pattern": pattern}));
            assert!(found.starts_with(&format!("a:{line}: ")) && found.lines().count() == 1, "{pattern}: {found}");
        }
        // What only matches across lines is no match.
        assert!(grep_in(&files, json!({"pattern": r"two\s+three"})).unwrap().is_error);
    }

    #[test]
    fn a_large_file_is_searched_to_its_end() {
        let mut large = "filler filler\n".repeat(200_000);
        large.push_str("needle\n");
        assert_eq!(text(&[("a", large)], json!({"pattern": "needle"})), "a:200001: needle\n");
    }

    #[test]
    fn a_malformed_pattern_is_explained() {
        let error = grep_in(CODE, json!({"pattern": "fn ("})).unwrap_err().to_string();
        assert!(error.contains("unclosed group") && error.ends_with("set literal to true"), "{error}");
        let huge = grep_in(CODE, json!({"pattern": "(\\w{1000}){1000}"})).unwrap_err().to_string();
        assert!(huge.contains("size limit"), "{huge}");
    }

    #[test]
    fn ten_thousand_files_give_updates_and_can_be_stopped() {
        let dir = tempfile::tempdir().unwrap();
        for directory in 0..100 {
            let directory = dir.path().join(format!("{directory}"));
            fs::create_dir(&directory).unwrap();
            for file in 0..100 {
                fs::write(directory.join(format!("{file}")), "some text\n").unwrap();
            }
        }
        let args = json!({"pattern": "needle", "path": dir.path().to_str().unwrap()});
        testing::call(&grep {}, args.clone()).unwrap();
        let updates = testing::updates();
        assert!(updates.len() >= 4, "{}", updates.len());
        assert!(updates.iter().is_sorted_by_key(|update| details(update)["filesSearched"].as_u64()));

        testing::set_cancelled(true);
        assert!(testing::call(&grep {}, args).unwrap_err().is_cancelled());
    }
}
