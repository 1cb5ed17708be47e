//! Recorded rows of a schema, arguments and the verdict on them, checked against the host's own validation.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use toolgate::model::Json;
use toolgate::schema::{Invalid, Schema};

/// One row.
#[derive(Deserialize)]
pub struct Row {
    /// What it is called; rows without one are known by their number.
    pub name: Option<String>,
    schema: Value,
    arguments: Value,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    ok: bool,
    /// The arguments that would run.
    value: Option<Value>,
}

/// Reads a file of rows.
///
/// # Errors
///
/// It can't be read, or holds something else.
pub fn load(file: &Path) -> Result<Vec<Row>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: not rows of validation: {error}", file.display()))
}

/// The first difference. `None` is "the same".
pub fn difference(row: &Row) -> Option<String> {
    let schema = match Schema::compile(&row.schema) {
        Ok(schema) => schema,
        Err(error) => return Some(format!("the schema does not compile: {error}")),
    };
    let arguments = Json::from_value(row.arguments.clone());
    match (schema.check(&arguments), row.expect.ok) {
        (Ok(checked), true) => {
            let expected = row.expect.value.as_ref()?;
            let value = checked.coerced.as_ref().unwrap_or(&arguments).value();
            (!same(value, expected)).then(|| format!("expected {expected}, got {value}"))
        }
        (Err(invalid), false) => frame(&invalid, &arguments),
        (Ok(checked), false) => {
            let value = checked.coerced.as_ref().unwrap_or(&arguments);
            Some(format!("expected a refusal, got {value}"))
        }
        (Err(invalid), true) => {
            let problems = invalid.problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message));
            Some(format!("expected to be accepted, got a refusal: {}", problems.collect::<Vec<_>>().join("; ")))
        }
    }
}

/// What a refusal's text must have whatever its words: the first line, a path at least, the arguments as received.
fn frame(invalid: &Invalid, arguments: &Json) -> Option<String> {
    let text = invalid.message("echo", arguments);
    let received = serde_json::to_string_pretty(arguments.value()).unwrap_or_default();
    let problems = text
        .strip_prefix("Validation failed for tool \"echo\":\n")
        .and_then(|rest| rest.strip_suffix(&format!("\n\nReceived arguments:\n{received}")));
    let names_paths = problems.is_some_and(|problems| {
        problems.lines().all(|line| line.strip_prefix("  - ").is_some_and(|line| line.contains(": ")))
    });
    (!names_paths).then(|| format!("the refusal is worded in another form: {text:?}"))
}

/// Equality with numbers compared by value, since that is how the rows were recorded.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn all_recorded_rows_hold() {
        let rows = load(&crate::validation_rows()).unwrap();
        assert_eq!(rows.len(), 86);
        let different = rows.iter().enumerate().filter_map(|(at, row)| Some((at + 1, difference(row)?)));
        assert_eq!(different.collect::<Vec<_>>(), []);
    }

    #[test]
    fn a_row_that_does_not_hold_is_told_in_one_line() {
        let differs = |arguments: Value, expect: Value| {
            let schema = json!({"type": "object", "properties": {"n": {"type": "number"}}});
            let row = json!({"schema": schema, "arguments": arguments, "expect": expect});
            difference(&serde_json::from_value(row).unwrap()).unwrap_or_default()
        };
        assert_eq!(differs(json!({"n": "1.0"}), json!({"ok": true, "value": {"n": 1}})), "");
        assert_eq!(
            differs(json!({"n": "2"}), json!({"ok": true, "value": {"n": 1}})),
            r#"expected {"n":1}, got {"n":2}"#
        );
        assert_eq!(differs(json!({"n": 1}), json!({"ok": false})), r#"expected a refusal, got {"n":1}"#);
        let refused = differs(json!({"n": "a\nb"}), json!({"ok": true}));
        assert!(refused.starts_with("expected to be accepted, got a refusal: n: "), "{refused}");
    }
}
