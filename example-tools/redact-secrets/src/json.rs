//! Rewrites the strings of a JSON document and leaves every other byte as it is: order, spacing, digits.

use toolgate_sdk::serde_json;

/// `json` with each string `replace` answers for replaced, or `None` where there is none or the document is broken.
/// `replace` is given the key that the string is a value of (also as an item of a list below the key), and the string.
pub fn rewrite(json: &str, mut replace: impl FnMut(Option<&str>, &str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    let mut key: Option<String> = None;
    while let Some(gap) = json.get(at..).and_then(|rest| rest.find('"')) {
        let start = at + gap;
        // Whatever opens or closes an object, or closes a list, ends what the last key stands for.
        if json.get(at..start)?.contains(['{', '}', ']']) {
            key = None;
        }
        let end = end_of_string(json, start)?;
        let text: String = serde_json::from_str(json.get(start..end)?).ok()?;
        let is_key = json.get(end..)?.trim_start().starts_with(':');
        let governing = if is_key { None } else { key.as_deref() };
        if let Some(replaced) = replace(governing, &text) {
            out.push_str(json.get(copied..start)?);
            out.push_str(&serde_json::to_string(&replaced).ok()?);
            copied = end;
        }
        if is_key {
            key = Some(text);
        }
        at = end;
    }
    if copied == 0 {
        return None;
    }
    out.push_str(json.get(copied..)?);
    Some(out)
}

/// Behind the closing quote of the string whose opening quote is at `start`.
fn end_of_string(json: &str, start: usize) -> Option<usize> {
    let mut bytes = json.bytes().enumerate().skip(start + 1);
    loop {
        match bytes.next()? {
            (_, b'\\') => {
                bytes.next()?;
            }
            (at, b'"') => return Some(at + 1),
            _ => {}
        }
    }
}

/// An object with one more member at its end; `None` where it is no object or has that member.
pub fn with_member(object: &str, name: &str, value: usize) -> Option<String> {
    use std::collections::BTreeMap;
    use toolgate_sdk::serde::de::IgnoredAny;
    let members: BTreeMap<String, IgnoredAny> = serde_json::from_str(object).ok()?;
    if members.contains_key(name) {
        return None;
    }
    let open = object.trim_end().strip_suffix('}')?;
    let comma = if members.is_empty() { "" } else { "," };
    Some(format!("{open}{comma}\"{name}\":{value}}}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn upper(_: Option<&str>, text: &str) -> Option<String> {
        text.contains('x').then(|| text.to_uppercase())
    }

    #[test]
    fn only_the_strings_that_change_are_rewritten() {
        let json = r#"{ "b": 1.50, "a":["x\u00e9\"y", "n", 12345678901234567890123],"x":{"":"ax"} ,"e":"\/"}"#;
        let expected = r#"{ "b": 1.50, "a":["XÉ\"Y", "n", 12345678901234567890123],"X":{"":"AX"} ,"e":"\/"}"#;
        assert_eq!(rewrite(json, upper).unwrap(), expected);
        assert_eq!(rewrite(r#"{"a":"n"}"#, upper), None);
        assert_eq!(rewrite("17", upper), None);
        assert_eq!(rewrite("\"x\"", upper).unwrap(), "\"X\"");
        assert_eq!(rewrite("{\"x", upper), None);
    }

    #[test]
    fn a_string_knows_its_key() {
        let mut seen = Vec::new();
        let json = r#"{"a":"1","b" : ["2",3,"4"],"c":{"d":"5"},"e":[{"f":"6"},"7"],"g":null,"h":"8"}"#;
        rewrite(json, |key, text| {
            if text.parse::<u8>().is_ok() {
                seen.push(format!("{}{text}", key.unwrap_or("-")));
            }
            None
        });
        assert_eq!(seen, ["a1", "b2", "b4", "d5", "f6", "-7", "h8"]);
    }

    #[test]
    fn a_member_is_added_at_the_end() {
        assert_eq!(with_member("{}", "n", 2).unwrap(), r#"{"n":2}"#);
        assert_eq!(with_member("{ \"a\": 1.0 }\n", "n", 2).unwrap(), r#"{ "a": 1.0 ,"n":2}"#);
        assert_eq!(with_member(r#"{"n":1}"#, "n", 2), None);
        assert_eq!(with_member("[]", "n", 2), None);
        assert_eq!(with_member("null", "n", 2), None);
    }
}
