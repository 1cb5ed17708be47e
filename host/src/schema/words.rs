//! The small words of messages: excerpts of values and texts that are safe in one line and never long.

use serde_json::Value;

use super::limits;

/// The first `limit` characters of `text`, with a mark where something is missing.
pub(super) fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// `text` as a quoted JSON string: control characters can't break out of the line.
pub(super) fn excerpt(text: &str) -> String {
    Value::String(shorten(text, limits::MAX_EXCERPT_CHARS)).to_string()
}

/// A value as a noun with its beginning: `string "abc"`, `number 3.7`, `an array of 3 items`.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(verdict) => format!("boolean {verdict}"),
        Value::Number(number) => format!("number {}", shorten(number.as_str(), limits::MAX_EXCERPT_CHARS)),
        Value::String(text) => format!("string {}", excerpt(text)),
        Value::Array(items) => match items.len() {
            0 => "an empty array".to_owned(),
            1 => "an array of 1 item".to_owned(),
            count => format!("an array of {count} items"),
        },
        Value::Object(map) if map.is_empty() => "an empty object".to_owned(),
        Value::Object(map) => format!("an object with {}", list(map.keys().map(|key| excerpt(key)), "and", 6)),
    }
}

/// A value short enough to be one of several: scalars as JSON, the rest described.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if text.chars().nth(limits::MAX_EXCERPT_CHARS).is_none() { text } else { describe(value) }
        }
        Value::String(text) => excerpt(text),
        _ => shorten(&value.to_string(), limits::MAX_EXCERPT_CHARS),
    }
}

/// `a, b and c`, or the first `limit` and how many more there are.
pub(super) fn list(members: impl ExactSizeIterator<Item = String>, conjunction: &str, limit: usize) -> String {
    let count = members.len();
    let shown: Vec<String> = members.take(limit).collect();
    if count > limit {
        return format!("{} {conjunction} {} more", shown.join(", "), count - limit);
    }
    match shown.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} {conjunction} {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// `1 item`, `2 items`.
pub(super) fn count(number: u64, noun: &str) -> String {
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        _ => format!("{number} {noun}s"),
    }
}

/// A property name as a segment of a path: plain where it can be, quoted where it would break the line.
pub(super) fn segment(name: &str) -> String {
    if name.is_empty() || name.chars().any(char::is_control) {
        return excerpt(name);
    }
    shorten(name, limits::MAX_EXCERPT_CHARS)
}

/// `a.b.0.c`, or `root`.
pub(super) fn path(segments: &[String]) -> String {
    if segments.is_empty() { "root".to_owned() } else { segments.join(".") }
}
