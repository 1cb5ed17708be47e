//! Writes a document that was changed in parts: whatever is unchanged stays as its author wrote it. The JSON library
//! reads `1e400` and writes `1e+400`, so a document that is written anew as a whole would lose more than the change.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::Json;

/// The text of `after`, taken from `text` (which is `before`) where the two are equal.
pub(super) fn rewritten(text: &str, before: &Value, after: &Value) -> String {
    let mut out = String::with_capacity(text.len());
    write(text, before, after, &mut out);
    out
}

fn write(text: &str, before: &Value, after: &Value, out: &mut String) {
    if before == after {
        return out.push_str(text.trim());
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            if let Ok(texts) = serde_json::from_str::<HashMap<String, &RawValue>>(text) {
                let members = new.iter().map(|(key, value)| {
                    let known = old.get(key).zip(texts.get(key).map(|raw| raw.get()));
                    (Some(key), known, value)
                });
                return list('{', members, '}', out);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            if let Ok(texts) = serde_json::from_str::<Vec<&RawValue>>(text) {
                let items = old.iter().zip(texts).zip(new);
                return list('[', items.map(|((old, raw), new)| (None, Some((old, raw.get())), new)), ']', out);
            }
        }
        // A number as text, spelled as it was.
        (Value::Number(old), Value::String(new)) if *new == old.to_string() => {
            return out.push_str(&Value::String(text.trim().to_owned()).to_string());
        }
        // What a string held.
        (Value::String(inner), Value::Object(_) | Value::Array(_) | Value::Number(_)) => {
            if let Ok(held) = Json::parse(inner.as_str())
                && std::mem::discriminant(held.value()) == std::mem::discriminant(after)
            {
                return write(inner, held.value(), after, out);
            }
        }
        (_, Value::Array(new)) if !before.is_array() && new.len() == 1 => {
            return list('[', new.iter().map(|new| (None, Some((before, text)), new)), ']', out);
        }
        _ => {}
    }
    out.push_str(&after.to_string());
}

type Part<'a> = (Option<&'a String>, Option<(&'a Value, &'a str)>, &'a Value);

fn list<'a>(open: char, parts: impl Iterator<Item = Part<'a>>, close: char, out: &mut String) {
    out.push(open);
    for (at, (key, known, value)) in parts.enumerate() {
        if at > 0 {
            out.push(',');
        }
        if let Some(key) = key {
            out.push_str(&Value::String(key.clone()).to_string());
            out.push(':');
        }
        match known {
            Some((before, text)) => write(text, before, value, out),
            None => out.push_str(&value.to_string()),
        }
    }
    out.push(close);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::model::Json;

    fn changed(text: &str, to: &str) -> String {
        let after = serde_json::from_str(to).unwrap();
        let json = Json::parse(text).unwrap().changed_to(after);
        assert_eq!(json.value(), &serde_json::from_str::<serde_json::Value>(json.text()).unwrap());
        json.text().to_owned()
    }

    #[test]
    fn what_is_unchanged_stays_as_it_was_written() {
        assert_eq!(changed(r#"{"n":1e400, "s":"1"}"#, r#"{"n":1e400,"s":1}"#), r#"{"n":1e400,"s":1}"#);
        assert_eq!(
            changed(
                r#"{"a":[ 1E5 , {"b" : 2e-7,"c":"x"} ],"d":null,"\u0065":1e1}"#,
                r#"{"a":[1e5,{"b":2e-7,"c":["x"]}],"e":1e1}"#
            ),
            r#"{"a":[1E5,{"b":2e-7,"c":["x"]}],"e":1e1}"#
        );
        // A key that is there twice counts with its last value.
        assert_eq!(changed(r#"{"a":1e1,"b":0,"a":1E2}"#, r#"{"a":1e2,"b":"0"}"#), r#"{"a":1E2,"b":"0"}"#);
    }

    #[test]
    fn what_a_string_held_keeps_its_digits() {
        assert_eq!(changed(r#"{"n":" 1e400\n"}"#, r#"{"n":1e400}"#), r#"{"n":1e400}"#);
        assert_eq!(
            changed(r#"{"o":"{\"n\":1E+4,\"m\":\"2e3\"}"}"#, r#"{"o":{"n":1e4,"m":2e3}}"#),
            r#"{"o":{"n":1E+4,"m":2e3}}"#
        );
        assert_eq!(changed(r#"["3.0"]"#, "[3]"), "[3]");
        assert_eq!(changed("[1e400]", "[[1e400]]"), "[[1e400]]");
    }

    #[test]
    fn what_has_nothing_in_common_is_written_anew() {
        assert_eq!(changed(r#"{"a":1e5}"#, "[1,2]"), "[1,2]");
        assert_eq!(changed("[1,2]", "[1]"), "[1]");
        assert_eq!(changed(r#""[1e5""#, "[1]"), "[1]");
    }
}
