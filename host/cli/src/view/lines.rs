//! Words for calls and results, in a bounded number of bounded lines.

use serde_json::Value;
use toolgate::model::{Content, ErrorInfo, ErrorKind, Json, ResourceBody, ToolResult};

use super::Paint;
use super::outcome::Outcome;
use super::text::{bytes, clean_line, clean_lines, duration, fit};

/// Lines of one result that are shown.
const RESULT_LINES: usize = 8;
/// The same of an error, which one wants to read.
const ERROR_LINES: usize = 16;

/// `read path="notes.md" limit=5`: name and arguments in one line.
pub fn call(name: &str, arguments: &Json, columns: usize) -> String {
    let mut line = clean_line(name);
    match arguments.value() {
        Value::Object(members) => {
            for (key, value) in members {
                // Enough for a line; the rest would be cut anyway.
                if line.len() > 4 * columns {
                    break;
                }
                line.push_str(&format!(" {}={}", clean_line(key), clean_line(&brief(value))));
            }
        }
        other => line.push_str(&format!(" {}", clean_line(&brief(other)))),
    }
    fit(&line, columns)
}

fn brief(value: &Value) -> String {
    const MOST: usize = 60;
    match value {
        Value::String(text) => {
            let head: String = text.chars().take(MOST).collect();
            let dots = if head.len() < text.len() { "…" } else { "" };
            format!("\"{head}{dots}\"")
        }
        Value::Array(items) if items.len() > 4 => format!("[{} items]", items.len()),
        Value::Object(members) if members.len() > 4 => format!("{{{} members}}", members.len()),
        other => fit(&other.to_string(), MOST),
    }
}

/// One block in one or more lines of text.
pub fn block(content: &Content) -> String {
    match content {
        Content::Text { text, .. } => text.clone(),
        Content::Image { data, mime_type, .. } => format!("[image {mime_type}, {}]", bytes(data.len() as u64)),
        Content::Audio { data, mime_type, .. } => format!("[audio {mime_type}, {}]", bytes(data.len() as u64)),
        Content::ResourceLink { uri, name, .. } => format!("[link {name}: {uri}]"),
        Content::Resource { uri, body: ResourceBody::Text(text), .. } => format!("[resource {uri}]\n{text}"),
        Content::Resource { uri, body: ResourceBody::Blob(data), .. } => {
            format!("[resource {uri}, {}]", bytes(data.len() as u64))
        }
    }
}

/// The newest line of a partial result.
pub fn progress(partial: &ToolResult) -> Option<String> {
    let text = partial.content.iter().rev().find_map(Content::as_text)?;
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(clean_line(line.get(..line.len().min(2_000)).unwrap_or(line)))
}

/// A settled call: a headline, and the beginning of what it answered.
pub fn settled(
    paint: Paint,
    call: &str,
    result: &ToolResult,
    is_error: bool,
    error: Option<&ErrorInfo>,
    duration_ms: f64,
) -> String {
    let outcome = Outcome::of(is_error, error);
    let kind = match error {
        Some(error) if is_error => format!("  {}", error.kind.as_str()),
        _ => String::new(),
    };
    let mut time = duration(duration_ms);
    time.insert_str(0, "  ");
    let room = paint.columns.saturating_sub(2 + kind.len() + time.len());
    let mut shown = format!(
        "{} {}{}{}",
        paint.style(outcome.style(), outcome.sign()),
        paint.bold(fit(call, room)),
        paint.style(outcome.style(), kind),
        paint.dim(time)
    );
    let most = if is_error { ERROR_LINES } else { RESULT_LINES };
    let (mut left, mut hidden) = (most, 0);
    for content in &result.content {
        let mut text = block(content);
        if is_error
            && error.is_some_and(|error| error.kind == ErrorKind::InvalidArguments)
            && let Some(end) = text.find("\n\nReceived arguments:\n")
        {
            // The headline shows them.
            text.truncate(end);
        }
        for line in clean_lines(&text) {
            if left == 0 {
                hidden += 1;
                continue;
            }
            left -= 1;
            let line = fit(&line, paint.columns.saturating_sub(2));
            shown.push_str(if line.is_empty() { "\n" } else { "\n  " });
            shown.push_str(&if is_error { paint.style(outcome.style(), line) } else { line });
        }
    }
    if hidden > 0 {
        let lines = if hidden == 1 { "line" } else { "lines" };
        shown.push_str(&format!("\n  {}", paint.dim(format!("… {hidden} more {lines}"))));
    }
    for note in error.into_iter().flat_map(notes) {
        shown.push_str(&format!("\n  {}", paint.dim(fit(&clean_line(&note), paint.columns.saturating_sub(2)))));
    }
    shown
}

/// What the operator should know of an error and the model does not read.
fn notes(error: &ErrorInfo) -> impl Iterator<Item = String> + '_ {
    let by = match (&error.hook, &error.plugin) {
        (Some(hook), Some(plugin)) if hook != plugin => Some(format!("by hook {hook} of plugin {plugin}")),
        (Some(hook), _) => Some(format!("by hook {hook}")),
        _ => None,
    };
    let denial = |denial: &toolgate::model::Denial| {
        format!("denied to {}: {} {}: {}", denial.plugin, denial.capability, denial.subject, denial.rule)
    };
    by.into_iter().chain(error.hint.iter().map(|hint| format!("hint: {hint}"))).chain(error.denials.iter().map(denial))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use toolgate::model::Stage;

    #[test]
    fn a_call_is_one_line_whatever_its_arguments() {
        let json = |text: &str| Json::parse(text).unwrap();
        assert_eq!(
            call("read", &json(r#"{"path":"a.md","n":5,"deep":{"a":[1]}}"#), 80),
            r#"read path="a.md" n=5 deep={"a":[1]}"#
        );
        assert_eq!(call("x\x1b[2J", &json("[1,2,3,4,5]"), 80), "x␛[2J [5 items]");
        assert_eq!(call("w", &json(r#"{"a\nb":"c\nd"}"#), 80), "w a⏎b=\"c⏎d\"");
        let long = call("w", &json(&format!(r#"{{"text":"{}"}}"#, "é".repeat(5_000))), 40);
        assert_eq!((long.chars().count(), long.ends_with('…')), (40, true));
    }

    #[test]
    fn a_result_is_cut_to_some_lines_and_made_harmless() {
        let text: String = (1..=20).map(|n| format!("line {n} \x1b]0;x\x07{}\n", "y".repeat(200))).collect();
        let shown = settled(Paint::plain(40), "read", &ToolResult::text(text), false, None, 12.0);
        assert_eq!(shown.lines().count(), 1 + 8 + 1);
        assert!(shown.starts_with("✓ read  12 ms\n  line 1 ␛]0;x␇yyy"), "{shown}");
        assert!(shown.ends_with("… 12 more lines"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 40 && !line.contains('\x1b')), "{shown}");
    }

    #[test]
    fn an_error_names_its_kind_its_hook_and_its_hint() {
        let error = ErrorInfo::new(ErrorKind::Blocked, Stage::Prepare)
            .with_plugin(Some("gate".into()))
            .with_hook("gate".into())
            .with_hint("allow it in \x1b[1mtoolgate.toml");
        let shown = settled(Paint::plain(80), "write", &ToolResult::error("not here"), true, Some(&error), 0.5);
        assert_eq!(
            shown,
            "⊘ write  blocked  0.5 ms\n  not here\n  by hook gate\n  hint: allow it in ␛[1mtoolgate.toml"
        );
    }

    #[test]
    fn refused_arguments_are_not_repeated() {
        let text = "Validation failed for tool \"w\":\n  - n: wrong\n\nReceived arguments:\n{\n  \"n\": 1\n}";
        let error = |kind| ErrorInfo::new(kind, Stage::Prepare);
        let shown = |kind| settled(Paint::plain(80), "w", &ToolResult::error(text), true, Some(&error(kind)), 1.0);
        let refused = shown(ErrorKind::InvalidArguments);
        assert!(refused.ends_with("\n    - n: wrong"), "{refused}");
        assert!(shown(ErrorKind::ToolFailed).ends_with("}"));
    }

    #[test]
    fn progress_is_the_newest_line() {
        assert_eq!(progress(&ToolResult::text("a\nb\x07\n\n")), Some("b␇".into()));
        assert_eq!(progress(&ToolResult::default()), None);
    }
}
