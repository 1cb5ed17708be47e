//! Whether a replay is the same as the recording, and where it first differs.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Replayed, Scenario};

/// The first difference, or `None`.
pub fn difference(scenario: &Scenario, replayed: &Replayed) -> Option<String> {
    let expect = &scenario.expect;
    let (expected, got) = (normalised(&expect.trace), normalised(&replayed.trace));
    let in_trace = if scenario.cross_call_order {
        first_difference("trace", &sets_of_enters(expected), &sets_of_enters(got))
    } else {
        per_call(&expected, &got)
    };
    in_trace
        .or_else(|| {
            let (expected, got) = (normalised(&expect.tool_results), normalised(&replayed.tool_results));
            first_difference("toolResults", &expected, &got)
        })
        .or_else(|| {
            let (expected, got) = (expect.model_calls, replayed.model_calls);
            (expected != got).then(|| format!("modelCalls: expected {expected}, got {got}"))
        })
}

fn first_difference(what: &str, expected: &[Value], got: &[Value]) -> Option<String> {
    let at = (0..expected.len().max(got.len())).find(|at| expected.get(*at) != got.get(*at))?;
    let show = |rows: &[Value]| rows.get(at).map_or_else(|| "nothing".to_owned(), Value::to_string);
    Some(format!("{what}[{at}]: expected {}, got {}", show(expected), show(got)))
}

/// Calls that are released together enter in any order.
fn sets_of_enters(mut rows: Vec<Value>) -> Vec<Value> {
    for run in rows.chunk_by_mut(|a, b| is_enter(a) && is_enter(b)) {
        run.sort_by_key(Value::to_string);
    }
    rows
}

fn is_enter(row: &Value) -> bool {
    row["probe"] == "execute_enter"
}

/// Calls finish at the same instant: only each call's own order, that of the starts and that of the messages is fixed.
fn per_call(expected: &[Value], got: &[Value]) -> Option<String> {
    let select = |rows: &[Value], wanted: &dyn Fn(&Value) -> bool| -> Vec<Value> {
        rows.iter().filter(|row| wanted(row)).cloned().collect()
    };
    let is = |row: &Value, kind: &str| row["event"]["type"].as_str().is_some_and(|given| given.starts_with(kind));
    let compare = |what: &str, wanted: &dyn Fn(&Value) -> bool| {
        first_difference(what, &select(expected, wanted), &select(got, wanted))
    };
    let mut calls = BTreeMap::new();
    for row in expected.iter().chain(got) {
        calls.entry(call_of(row)).or_insert(());
    }
    calls
        .into_keys()
        .find_map(|call| {
            let what = call.map_or_else(|| "trace without call".to_owned(), |id| format!("trace of {id}"));
            compare(&what, &|row| call_of(row) == call)
        })
        .or_else(|| compare("starts", &|row| is(row, "tool_execution_start")))
        .or_else(|| compare("messages", &|row| is(row, "message_")))
}

fn call_of(row: &Value) -> Option<&str> {
    let event = &row["event"];
    [&row["toolCallId"], &event["toolCallId"], &event["message"]["toolCallId"]].into_iter().find_map(Value::as_str)
}

fn normalised(rows: &[Value]) -> Vec<Value> {
    let mut rows = rows.to_vec();
    rows.iter_mut().for_each(words_of_validation);
    rows
}

/// The words of a validation error are each implementation's own; its first line, that it names a path, and the
/// received arguments are not.
fn words_of_validation(value: &mut Value) {
    match value {
        Value::String(text) if text.starts_with("Validation failed for tool ") => {
            if let Some((problems, received)) = text.split_once("\n\nReceived arguments:\n")
                && let Some((first, paths)) = problems.split_once('\n')
                && paths.lines().any(|line| line.starts_with("  - ") && line.contains(": "))
            {
                *text = format!("{first}\n  - (paths)\n\nReceived arguments:\n{received}");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(words_of_validation),
        Value::Object(fields) => fields.values_mut().for_each(words_of_validation),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn enter(id: &str) -> Value {
        json!({"probe": "execute_enter", "toolCallId": id})
    }

    fn exit(id: &str) -> Value {
        json!({"probe": "execute_exit", "toolCallId": id})
    }

    #[test]
    fn enters_are_sets_and_everything_else_is_ordered() {
        let sorted = |rows: &[Value]| sets_of_enters(rows.to_vec());
        let expected = sorted(&[enter("1"), enter("2"), exit("1"), enter("3")]);
        assert_eq!(expected, sorted(&[enter("2"), enter("1"), exit("1"), enter("3")]));
        assert_ne!(expected, sorted(&[enter("3"), enter("1"), exit("1"), enter("2")]));
        assert_ne!(expected, sorted(&[exit("1"), enter("2"), enter("1"), enter("3")]));
    }

    #[test]
    fn without_cross_call_order_each_calls_own_order_still_counts() {
        let expected = [enter("1"), enter("2"), exit("1"), exit("2")];
        assert_eq!(per_call(&expected, &[enter("2"), exit("2"), enter("1"), exit("1")]), None);
        assert!(per_call(&expected, &[enter("2"), exit("2"), exit("1"), enter("1")]).is_some());
        assert!(per_call(&expected, &[enter("1"), enter("2"), exit("1")]).is_some());
        let messages =
            |ids: [&str; 2]| ids.map(|id| json!({"event": {"type": "message_start", "message": {"toolCallId": id}}}));
        assert!(per_call(&messages(["1", "2"]), &messages(["2", "1"])).is_some());
    }

    #[test]
    fn validation_errors_compare_by_their_frame() {
        let text = |middle: &str, received: &str| {
            let mut text =
                json!(format!("Validation failed for tool \"x\":\n{middle}\n\nReceived arguments:\n{received}"));
            words_of_validation(&mut text);
            text
        };
        assert_eq!(text("  - v: must be string", "{}"), text("  - v: is missing\n  - w: too", "{}"));
        assert_ne!(text("  - v: must be string", "{}"), text("  - v: must be string", "[]"));
        assert_ne!(text("  - v: must be string", "{}"), text("no path", "{}"));
    }
}
