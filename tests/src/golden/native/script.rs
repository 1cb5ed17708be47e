//! Steps: what a script is made of.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolgate::pipeline::CallContext;

use super::template::{Values, expand};
use super::wire;

/// The steps of a tool, a hook or a preparation.
#[derive(Clone, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Script(Vec<Step>);

#[derive(Clone, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
struct Step(Op);

#[derive(Clone, Deserialize)]
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
        let Some(Value::String(op)) = fields.shift_remove("op") else { return Err("a step needs an `op`".into()) };
        let mut tagged = Map::new();
        tagged.insert(op, Value::Object(fields));
        serde_json::from_value(Value::Object(tagged)).map(Self).map_err(|error| error.to_string())
    }
}

/// What a script runs in.
pub(super) struct Surroundings<'a> {
    pub cx: &'a CallContext,
    pub plugin: &'a str,
    /// What templates may name; its `args` are what `setArg` and the operations of `prepareArguments` change.
    pub values: Values,
    /// Who asks, where a step cancels the batch: for example `tool:c1`.
    pub by: String,
}

impl Script {
    /// The steps that a document holds at a JSON pointer; none where there is nothing.
    pub(super) fn at(document: &Value, pointer: &str) -> Result<Self, String> {
        let Some(steps) = document.pointer(pointer) else { return Ok(Self::default()) };
        serde_json::from_value(steps.clone()).map_err(|error| format!("{pointer}: {error}"))
    }

    /// Runs the steps up to the first `return`, whose value it answers, or `throw`, whose message is the error.
    pub(super) async fn run(&self, around: &mut Surroundings<'_>) -> Result<Option<Value>, String> {
        for Step(op) in &self.0 {
            match op {
                Op::Sleep { ms } => tokio::time::sleep(Duration::from_millis(*ms)).await,
                Op::SleepOrAbort { ms } => {
                    let cancelled = around.cx.cancel.cancelled();
                    let _ = tokio::time::timeout(Duration::from_millis(*ms), cancelled).await;
                }
                Op::ThrowIfAborted { message } => {
                    if around.cx.cancel.is_cancelled() {
                        return Err(around.values.text(message));
                    }
                }
                Op::Update { partial } => {
                    let partial = wire::result_in(&expand(partial, &around.values))?;
                    around.cx.update(partial).await;
                }
                Op::SetArg { path, value } => {
                    let value = expand(value, &around.values);
                    set(&mut around.values.args, path, value)?;
                }
                Op::Abort {} => {
                    super::say(around.cx, around.plugin, "abort", &json!({"probe": "abort", "by": around.by}));
                }
                Op::Trap {} => panic!("a scripted trap"),
                Op::Throw { message } => return Err(around.values.text(message)),
                Op::Return { value } => return Ok(Some(expand(value, &around.values))),
                Op::Rename { from, to } => {
                    if let Some(args) = around.values.args.as_object_mut()
                        && let Some(value) = args.shift_remove(from)
                    {
                        args.insert(to.clone(), value);
                    }
                }
                Op::WrapInArray { key } => {
                    if let Some(value) = around.values.args.get_mut(key)
                        && !value.is_array()
                    {
                        *value = json!([value.take()]);
                    }
                }
            }
        }
        Ok(None)
    }
}

fn set(args: &mut Value, path: &[Value], value: Value) -> Result<(), String> {
    let mut place = args;
    for key in path {
        let missing = || format!("setArg: there is nothing at {key}");
        place = match (place, key) {
            (Value::Object(map), Value::String(key)) => map.entry(key.clone()).or_insert(Value::Null),
            (Value::Array(list), Value::Number(at)) => {
                let at = at.as_u64().and_then(|at| usize::try_from(at).ok()).ok_or_else(missing)?;
                list.get_mut(at).ok_or_else(missing)?
            }
            _ => return Err(missing()),
        };
    }
    *place = value;
    Ok(())
}
