//! The recorded validation rows.

use serde_json::Value;
use toolgate::schema::Schema;

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

#[test]
fn all_recorded_rows_hold() {
    let rows: Vec<Value> = serde_json::from_str(include_str!("../../../tests/golden/validation.json")).unwrap();
    assert_eq!(rows.len(), 86);
    let mut wrong = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let (arguments, expect) = (&row["arguments"], &row["expect"]);
        let schema = Schema::compile(&row["schema"]).unwrap();
        match (schema.check(arguments), expect["ok"].as_bool().unwrap()) {
            (Ok(checked), true) => {
                let value = checked.coerced.as_ref().unwrap_or(arguments);
                if !same(value, &expect["value"]) {
                    wrong.push(format!("{index}: {value} instead of {row}"));
                }
            }
            (Err(invalid), false) => {
                let text = invalid.message("echo", arguments);
                let (head, received) = text.split_once("\n\nReceived arguments:\n").unwrap();
                let mut lines = head.lines();
                assert_eq!(lines.next(), Some("Validation failed for tool \"echo\":"));
                let problems: Vec<&str> = lines.collect();
                assert!(
                    !problems.is_empty() && problems.iter().all(|line| line.starts_with("  - ") && line.contains(": ")),
                    "{text}"
                );
                assert_eq!(received, serde_json::to_string_pretty(arguments).unwrap());
            }
            (Ok(checked), false) => wrong.push(format!("{index}: accepted as {checked:?}: {row}")),
            (Err(invalid), true) => wrong.push(format!("{index}: {}: {row}", invalid.message("echo", arguments))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
