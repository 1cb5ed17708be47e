//! Arguments against a schema, both from bytes.

use arbitrary::Unstructured;
use serde_json::{Number, Value};
use toolgate::model::Json;
use toolgate::schema::{Invalid, Schema};

use super::schema::{document, value};

/// Longest text of a refusal: 32 lines of a few hundred bytes, and the head of what was received.
const MAX_MESSAGE: usize = 64 << 10;

/// Checks arguments against a schema, given as a JSON object `{"schema", "arguments"}`, or made of the bytes: whatever is
/// accepted is valid, nothing was lost on the way, and a second check has nothing left to do. Answers what became of them.
///
/// # Panics
///
/// Where it is otherwise.
pub fn validate(data: &[u8]) -> Vec<&'static str> {
    if data.first() == Some(&b'{') {
        let Ok(Value::Object(mut pair)) = serde_json::from_slice(data) else { return Vec::new() };
        let mut take = |key: &str| pair.remove(key).unwrap_or_default();
        vec![check(&take("schema"), &take("arguments"))]
    } else {
        let mut bytes = Unstructured::new(data);
        match (document(&mut bytes), value(&mut bytes, 4)) {
            (Ok(schema), Ok(arguments)) => vec![check(&schema, &arguments)],
            _ => Vec::new(),
        }
    }
}

fn check(document: &Value, arguments: &Value) -> &'static str {
    let schema = match Schema::compile(document) {
        Ok(schema) => schema,
        Err(error) => {
            assert!(!error.message.is_empty());
            return "no schema";
        }
    };
    let received = Json::from_value(arguments.clone());
    let plain = schema.is_valid(&received);
    match schema.check(&received) {
        Ok(checked) => match &checked.coerced {
            None => {
                assert!(plain && checked.paths.is_empty(), "valid as it stands: {arguments} by {document}");
                "valid"
            }
            Some(coerced) => {
                let what = || format!("{arguments} became {coerced} by {document}");
                assert!(!plain && !checked.paths.is_empty(), "{}", what());
                assert!(schema.is_valid(coerced), "{}", what());
                let value = coerced.value();
                assert_eq!(std::mem::discriminant(value), std::mem::discriminant(arguments), "{}", what());
                assert!(is_lossless(arguments, value), "{}", what());
                let again = schema.check(coerced).ok().and_then(|again| again.coerced);
                assert_eq!(again, None, "{}", what());
                assert_eq!(serde_json::from_str::<Value>(coerced.text()).ok().as_ref(), Some(value), "{}", what());
                "coerced"
            }
        },
        Err(invalid) => {
            assert!(!plain, "refused though valid: {arguments} by {document}");
            explained(&invalid, &received);
            "refused"
        }
    }
}

fn explained(invalid: &Invalid, arguments: &Json) {
    assert!(!invalid.problems.is_empty());
    assert!(invalid.problems.iter().all(|problem| !problem.path.is_empty() && !problem.message.is_empty()));
    let text = invalid.message("t", arguments);
    assert!(text.starts_with("Validation failed for tool \"t\":\n  - "), "{text}");
    assert!(text.contains("\n\nReceived arguments:\n") && text.len() <= MAX_MESSAGE, "{} bytes", text.len());
}

/// Whether `after` says what `before` said.
fn is_lossless(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            new.keys().all(|key| old.contains_key(key))
                && old.iter().all(|(key, old)| new.get(key).map_or(old.is_null(), |new| is_lossless(old, new)))
        }
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_lossless(old, new))
        }
        (Value::Number(old), Value::Number(new)) => decimal(old.as_str()) == decimal(new.as_str()),
        (Value::Number(old), Value::String(new)) => old.as_str() == new,
        (Value::Bool(old), Value::String(new)) => old.to_string() == *new,
        (Value::String(old), Value::Bool(new)) => *old == new.to_string(),
        (Value::String(old), Value::Number(new)) => {
            let text = old.trim();
            text.parse::<Number>().is_ok() && decimal(text) == decimal(new.as_str())
        }
        (Value::String(old), Value::Array(_) | Value::Object(_))
            if serde_json::from_str::<Value>(old).is_ok_and(|held| is_lossless(&held, after)) =>
        {
            true
        }
        (old, Value::Array(new)) if !old.is_array() && new.len() == 1 => is_lossless(old, &new[0]),
        _ => before == after,
    }
}

/// A JSON number by value: sign, digits without outer zeros, and the power of ten of the last one.
fn decimal(text: &str) -> Option<(bool, String, i128)> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_negative = whole.starts_with('-');
    let all = format!("{}{fraction}", whole.trim_start_matches('-'));
    let digits = all.trim_start_matches('0').trim_end_matches('0');
    if digits.is_empty() {
        return Some((is_negative, String::new(), 0));
    }
    let dropped = all.len() - all.trim_end_matches('0').len();
    // Of exponents beyond any reason only equal ones are taken for equal.
    let exponent = exponent.parse::<i128>().ok()?;
    Some((is_negative, digits.to_owned(), exponent.checked_add(dropped as i128)? - fraction.len() as i128))
}
