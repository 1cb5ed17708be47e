//! Steps: what a script is made of.

use std::time::Duration;

use serde::Deserialize;
use toolgate_sdk::prelude::{Host, Value, json, serde_json};
use toolgate_sdk::serde_json::Map;

use crate::template::{Values, expand};

/// The steps of a tool, a hook or a preparation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Script(Vec<Step>);

impl Script {
    /// The steps that a document holds at a JSON pointer; none where there is nothing.
    pub fn at(document: &Value, pointer: &str) -> Result<Self, String> {
        let Some(steps) = document.pointer(pointer) else { return Ok(Self::default()) };
        serde_json::from_str(&steps.to_string()).map_err(|error| format!("{pointer}: {error}"))
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
struct Step(Op);

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Op {
    Sleep { ms: u64 },
    SleepOrAbort { ms: u64 },
    ThrowIfAborted { message: String },
    Update { partial: Value },
    SetArg { path: Vec<Value>, value: Value },
    Abort {},
    Throw { message: String },
    Return { value: Value },
    Rename { from: String, to: String },
    WrapInArray { key: String },
    Trap {},
}

// serde's own tagging (`tag = "op"`) buffers the fields, which loses numbers where their precision is arbitrary.
impl TryFrom<Map<String, Value>> for Step {
    type Error = String;

    fn try_from(mut fields: Map<String, Value>) -> Result<Self, String> {
        let Some(Value::String(op)) = fields.remove("op") else { return Err("a step needs an `op`".into()) };
        let mut tagged = Map::new();
        tagged.insert(op, Value::Object(fields));
        // By its text: `from_value` makes 0 of -0.
        serde_json::from_str(&Value::Object(tagged).to_string()).map(Self).map_err(|error| error.to_string())
    }
}

/// What a script runs in.
pub struct Surroundings<'a> {
    /// What templates may name; its `args` are what `setArg` and the operations of `prepareArguments` change.
    pub values: Values,
    /// Who asks, where a step cancels the batch: for example `tool:c1`.
    pub by: String,
    /// Sends a partial result.
    pub update: &'a dyn Fn(&Value) -> Result<(), String>,
}

/// Runs the steps up to the first `return`, whose value it returns, or `throw`, whose message is the error.
pub fn run(script: &Script, in_: &mut Surroundings) -> Result<Option<Value>, String> {
    for Step(op) in &script.0 {
        match op {
            Op::Sleep { ms } => std::thread::sleep(Duration::from_millis(*ms)),
            Op::SleepOrAbort { ms } => {
                let _ = Host.wait(Duration::from_millis(*ms));
            }
            Op::ThrowIfAborted { message } => {
                if Host.is_cancelled() {
                    return Err(in_.values.text(message));
                }
            }
            Op::Update { partial } => (in_.update)(&expand(partial, &in_.values))?,
            Op::SetArg { path, value } => {
                let value = expand(value, &in_.values);
                set(&mut in_.values.args, path, value)?;
            }
            Op::Abort {} => crate::abort(&in_.by),
            Op::Trap {} => panic!("a scripted trap"),
            Op::Throw { message } => return Err(in_.values.text(message)),
            Op::Return { value } => return Ok(Some(expand(value, &in_.values))),
            Op::Rename { from, to } => {
                if let Some(args) = in_.values.args.as_object_mut()
                    && let Some(value) = args.shift_remove(from)
                {
                    args.insert(to.clone(), value);
                }
            }
            Op::WrapInArray { key } => {
                if let Some(value) = in_.values.args.get_mut(key)
                    && !value.is_array()
                {
                    *value = json!([value.take()]);
                }
            }
        }
    }
    Ok(None)
}

fn set(args: &mut Value, path: &[Value], value: Value) -> Result<(), String> {
    let mut place = args;
    for key in path {
        let missing = || format!("setArg: there is nothing at {key}");
        place = match (place, key) {
            (Value::Object(map), Value::String(key)) => map.entry(key.clone()).or_insert(Value::Null),
            (Value::Array(list), Value::Number(index)) => {
                let index = index.as_u64().and_then(|index| usize::try_from(index).ok()).ok_or_else(missing)?;
                list.get_mut(index).ok_or_else(missing)?
            }
            _ => return Err(missing()),
        };
    }
    *place = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::RefCell;

    use super::*;

    fn run_on(args: Value, script: Value) -> (Result<Option<Value>, String>, Value) {
        let script: Script = serde_json::from_value(script).unwrap();
        let values = Values { args, call_id: "c1".into(), tool_name: "echo".into(), ..Values::default() };
        let mut surroundings = Surroundings { values, by: "tool:c1".into(), update: &|_| Ok(()) };
        let result = run(&script, &mut surroundings);
        (result, surroundings.values.args)
    }

    #[test]
    fn a_script_changes_arguments_and_returns() {
        let (result, args) = run_on(
            json!({"old": 1, "list": [{"n": 1}]}),
            json!([
                {"op": "rename", "from": "old", "to": "new"},
                {"op": "wrapInArray", "key": "new"},
                {"op": "setArg", "path": ["list", 0, "n"], "value": "${args.new}"},
                {"op": "return", "value": {"text": "${callId} ${toolName} ${args}"}},
                {"op": "throw", "message": "too late"},
            ]),
        );
        assert_eq!(args, json!({"list": [{"n": "[1]"}], "new": [1]}));
        assert_eq!(result, Ok(Some(json!({"text": r#"c1 echo {"list":[{"n":"[1]"}],"new":[1]}"#}))));
    }

    #[test]
    fn digits_of_numbers_survive() {
        let args: Value = serde_json::from_str(r#"{"n":12345678901234567890123,"d":0.10}"#).unwrap();
        let (result, _) = run_on(args, json!([{"op": "return", "value": "${args}"}]));
        assert_eq!(result, Ok(Some(json!(r#"{"d":0.10,"n":12345678901234567890123}"#))));

        let script = r#"[{"op":"return","value":[-0,12345678901234567890123,0.10]}]"#;
        let script: Script = serde_json::from_str(script).unwrap();
        let mut around = Surroundings { values: Values::default(), by: String::new(), update: &|_| Ok(()) };
        assert_eq!(run(&script, &mut around).unwrap().unwrap().to_string(), "[-0,12345678901234567890123,0.10]");
    }

    #[test]
    fn steps_throw_and_update_in_order() {
        let script: Script = serde_json::from_value(json!([
            {"op": "update", "partial": {"n": "${args.v}"}},
            {"op": "throwIfAborted", "message": "not yet"},
            {"op": "throw", "message": "no ${args.v}"},
        ]))
        .unwrap();
        let seen = RefCell::new(Vec::new());
        let update = |partial: &Value| {
            seen.borrow_mut().push(partial.clone());
            Ok(())
        };
        let values = Values { args: json!({"v": 7}), ..Values::default() };
        let result = run(&script, &mut Surroundings { values, by: String::new(), update: &update });
        assert_eq!(result, Err("no 7".into()));
        assert_eq!(seen.into_inner(), [json!({"n": "7"})]);
    }

    #[test]
    fn an_unknown_step_is_an_error_that_names_it() {
        let error = serde_json::from_value::<Script>(json!([{"op": "explode"}])).unwrap_err().to_string();
        assert!(error.contains("explode"), "{error}");
    }
}
