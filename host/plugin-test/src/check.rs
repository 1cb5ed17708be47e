//! Runs cases and says where a result differs from what was expected.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use toolgate::model::Json;

use crate::{Case, Cases, Done, LogLine, PluginTest, TestError};

/// Lines of a difference that are shown.
const MOST_LINES: usize = 60;
/// Bytes of a text of which the difference is worked out line by line.
const MOST_BYTES: usize = 256 << 10;

/// What came of all cases.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// One per case, in order.
    pub cases: Vec<CaseReport>,
}

/// What came of one case.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// The tool.
    pub tool: String,
    /// Everything was as expected.
    pub passed: bool,
    /// What was not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// What the plugin logged, where the case failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogLine>,
    /// From start to end.
    pub duration_ms: f64,
}

/// One thing that is not as expected.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// Which part of the result.
    pub part: &'static str,
    /// What was expected.
    pub expected: Value,
    /// What came.
    pub got: Value,
    /// Line by line: `-` was expected, `+` came.
    pub diff: String,
}

impl Report {
    /// Whether every case passed.
    pub fn passed(&self) -> bool {
        self.cases.iter().all(|case| case.passed)
    }
}

impl Cases {
    /// Loads the component with the cases' settings and runs them.
    ///
    /// # Errors
    ///
    /// The component or the settings are refused.
    pub fn run(&self, component: &Path) -> Result<Report, TestError> {
        let folder = self.file.parent().unwrap_or(Path::new(""));
        let mut builder = PluginTest::new(component).settings(self.plugin.clone()).base(folder);
        for (tool, answer) in &self.tools {
            builder = builder.stand_in(tool, answer.clone());
        }
        let plugin = builder.load()?;
        let run = |(at, case): (usize, &Case)| {
            let done = plugin.call_as(&format!("case-{at}"), &case.tool, case.arguments.clone(), case.approve);
            let differences = case.differences(&done);
            CaseReport {
                name: case.name.clone(),
                tool: case.tool.clone(),
                passed: differences.is_empty(),
                logs: if differences.is_empty() { Vec::new() } else { done.logs.clone() },
                duration_ms: (done.duration_ms() * 1_000.0).round() / 1_000.0,
                differences,
            }
        };
        Ok(Report { cases: self.cases.iter().enumerate().map(run).collect() })
    }
}

impl Case {
    /// Everything in which the result is not as expected.
    pub fn differences(&self, done: &Done) -> Vec<Difference> {
        let expect = &self.expect;
        let text = done.text();
        let mut found = Vec::new();
        if expect.is_error != done.is_error() {
            // Why it failed, or what it answered instead, is what one wants to know.
            let word = |is_error: bool| if is_error { "an error" } else { "no error" };
            let kind = done.error_kind().map(|kind| format!(" ({})", kind.as_str())).unwrap_or_default();
            let diff = format!("- {}\n+ {}{kind}: {}\n", word(expect.is_error), word(done.is_error()), cut(&text));
            let (expected, got) = (expect.is_error.into(), done.is_error().into());
            found.push(Difference { part: "isError", expected, got, diff });
        }
        if let Some(kind) = expect.error_kind
            && done.error_kind() != Some(kind)
        {
            let got = done.error_kind().map(|kind| kind.as_str());
            let diff = format!("- {}\n+ {}\n", kind.as_str(), got.unwrap_or("no error"));
            found.push(Difference { part: "errorKind", expected: kind.as_str().into(), got: got.into(), diff });
        }
        if let Some(expected) = &expect.text
            && *expected != text
        {
            let diff = lines(expected, &text);
            found.push(Difference { part: "text", expected: expected.clone().into(), got: text.clone().into(), diff });
        }
        for part in expect.text_contains.iter().filter(|part| !text.contains(part.as_str())) {
            let diff = format!("- contains {part:?}\n+ {}\n", cut(&text));
            found.push(Difference {
                part: "textContains",
                expected: part.clone().into(),
                got: text.clone().into(),
                diff,
            });
        }
        let result = &done.message.result;
        let content = Json::of(&result.content).ok();
        for (part, expected, got) in [
            ("content", &expect.content, &content),
            ("structuredContent", &expect.structured_content, &result.structured_content),
            ("details", &expect.details, &result.details),
        ] {
            if let Some(expected) = expected
                && got.as_ref() != Some(expected)
            {
                let nothing = "(none)".to_owned();
                let diff = lines(&pretty(expected), &got.as_ref().map_or(nothing, pretty));
                let got = got.as_ref().map_or(Value::Null, |got| got.value().clone());
                found.push(Difference { part, expected: expected.value().clone(), got, diff });
            }
        }
        found
    }
}

fn pretty(json: &Json) -> String {
    serde_json::to_string_pretty(json.value()).unwrap_or_else(|_| json.text().to_owned())
}

fn cut(text: &str) -> String {
    let mut short: String = text.chars().take(500).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Both texts as one, line by line, with what is equal in both around each difference.
fn lines(expected: &str, got: &str) -> String {
    if expected.len() > MOST_BYTES || got.len() > MOST_BYTES {
        return format!("- {} bytes: {}\n+ {} bytes: {}\n", expected.len(), cut(expected), got.len(), cut(got));
    }
    let diff = TextDiff::from_lines(expected, got);
    let mut text = String::new();
    let mut shown = 0;
    for group in diff.grouped_ops(2) {
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            shown += 1;
            if shown > MOST_LINES {
                text.push_str("  …\n");
                return text;
            }
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let line = change.value();
            text.push_str(&format!("{sign} {}\n", cut(line.strip_suffix('\n').unwrap_or(line))));
        }
    }
    text
}
