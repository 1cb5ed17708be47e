//! What one call of a random batch is: its tool, and what tool and hooks do with it.

use arbitrary::{Arbitrary, Result, Unstructured};
use serde_json::{Value, json};
use toolgate::model::{AssistantMessage, ToolCall};

/// The tools. `n-` are native, `c-` components, each half in a plugin of its own; `old` read an older argument shape,
/// `seq` make a batch sequential, `ghost` is nobody's.
const TOOLS: [&str; 11] =
    ["n-read", "c-read", "n-write", "c-write", "c-read", "c-write", "n-old", "c-old", "c-write", "c-seq", "ghost"];
/// Most calls of a batch.
const MAX_CALLS: usize = 7;

/// One call.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The tool's name.
    pub tool: &'static str,
    /// The keys it holds, for tools that have some.
    pub keys: Vec<u8>,
    /// How many updates it sends.
    pub updates: u64,
    /// Whether its script fails once it sees a cancellation.
    pub heeds: bool,
    /// Whether after hooks change its result.
    pub is_changed: bool,
    arguments: Value,
}

impl Spec {
    /// The calls of a batch.
    pub fn batch(bytes: &mut Unstructured<'_>) -> Result<Vec<Self>> {
        let count = bytes.int_in_range(0..=MAX_CALLS)?;
        (0..count).map(|_| Self::arbitrary(bytes)).collect()
    }

    /// The message that makes these calls, with ids `c0`, `c1`, …
    pub fn message(specs: &[Self]) -> AssistantMessage {
        let call =
            |(at, spec): (usize, &Self)| ToolCall::new(format!("c{at}"), spec.tool, spec.arguments.clone().into());
        AssistantMessage::of_calls(specs.iter().enumerate().map(call))
    }

    /// Whether this call's tool makes its batch sequential.
    pub fn is_sequential(&self) -> bool {
        self.tool.ends_with("-seq")
    }

    /// Whether this call and another may not overlap.
    pub fn excludes(&self, other: &Self) -> bool {
        let reads = |spec: &Self| spec.tool.ends_with("-read");
        let share = self.keys.iter().any(|key| other.keys.contains(key));
        share && self.tool[..1] == other.tool[..1] && !(reads(self) && reads(other))
    }

    /// The same call where everybody takes another time over it.
    pub fn retimed(&self, by: u64) -> Self {
        let mut spec = self.clone();
        retime(&mut spec.arguments, by);
        spec
    }
}

fn retime(value: &mut Value, by: u64) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| retime(item, by)),
        Value::Object(members) => {
            if let Some(ms) = members.get("ms").and_then(Value::as_u64) {
                members.insert("ms".into(), ((ms * 7 + by) % 6).into());
            }
            members.values_mut().for_each(|member| retime(member, by));
        }
        _ => {}
    }
}

fn pick(bytes: &mut Unstructured<'_>, of: &[fn() -> Value]) -> Result<Value> {
    Ok(bytes.choose(of)?())
}

fn nap(bytes: &mut Unstructured<'_>, steps: &mut Vec<Value>) -> Result<()> {
    if bytes.ratio(1, 3)? {
        let op = if bytes.arbitrary()? { "sleep" } else { "sleepOrAbort" };
        steps.push(json!({"op": op, "ms": bytes.int_in_range(0..=4)?}));
    }
    Ok(())
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

impl<'a> Arbitrary<'a> for Spec {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        let tool = *bytes.choose(&TOOLS)?;

        let mut script = Vec::new();
        let updates = u64::from(bytes.int_in_range(0..=3_u8)?);
        for number in 0..updates {
            script.push(json!({"op": "update", "partial": {"content": text(&number.to_string())}}));
            nap(bytes, &mut script)?;
        }
        nap(bytes, &mut script)?;
        let heeds = bytes.ratio(1, 4)?;
        if heeds {
            script.push(json!({"op": "throwIfAborted", "message": "saw it"}));
        }
        script.push(pick(
            bytes,
            &[
                || json!({"op": "return", "value": {"content": text("${callId} ${args.n}")}}),
                || json!({"op": "return", "value": {"content": text("done"), "terminate": true}}),
                || json!({"op": "return", "value": {"content": text("soft"), "isError": true, "details": {"d": 0.1}}}),
                || json!({"op": "return", "value": {"content": [], "structuredContent": {"s": [1, null]}, "usage": {"input": 3}}}),
                || json!({"op": "return", "value": {"content": text("more"), "addedToolNames": ["later"]}}),
                || json!({"op": "throw", "message": "boom"}),
                || json!({"op": "trap"}),
            ],
        )?);

        let before: [fn() -> Value; 16] = [
            || json!([]),
            || json!([]),
            || json!([]),
            || json!([]),
            || json!([]),
            || json!([]),
            || json!([]),
            || json!([]),
            || json!([{"op": "setArg", "path": ["n"], "value": 8}]),
            || json!([{"op": "setArg", "path": ["n"], "value": "bad"}]),
            || json!([{"op": "return", "value": {"block": true, "reason": "not now"}}]),
            || json!([{"op": "return", "value": {"block": true, "terminate": true}}]),
            || json!([{"op": "throw", "message": "the gate is broken"}]),
            || json!([{"op": "trap"}]),
            || json!([{"op": "return", "value": {"ask": "yes"}}]),
            || json!([{"op": "return", "value": {"ask": "no"}}]),
        ];
        let after: [fn() -> Value; 8] = [
            || json!([]),
            || json!([]),
            || json!([]),
            || json!([{"op": "return", "value": {"content": text("changed, ${isError}"), "isError": true}}]),
            || json!([{"op": "return", "value": {"isError": false, "terminate": true}}]),
            || json!([{"op": "return", "value": {"content": [], "details": {"was": "${isError}"}}}]),
            || json!([{"op": "throw", "message": "the observer is broken"}]),
            || json!([{"op": "trap"}]),
        ];
        let settled: [fn() -> Value; 4] =
            [|| json!([]), || json!([]), || json!([{"op": "throw", "message": "no"}]), || json!([{"op": "trap"}])];
        let mut arguments = json!({"script": script});
        for (event, outcomes) in [("before", &before[..]), ("after", &after[..]), ("settled", &settled[..])] {
            let mut scripts = Vec::new();
            for _hook in super::world::HALVES {
                let mut steps = Vec::new();
                nap(bytes, &mut steps)?;
                steps.extend(pick(bytes, outcomes)?.as_array().cloned().unwrap_or_default());
                scripts.push(Value::from(steps));
            }
            arguments[event] = scripts.into();
        }
        let number: [fn() -> Value; 8] = [
            || json!(7),
            || json!(7),
            || json!(7),
            || json!("7"),
            || json!("7"),
            || json!(7.0),
            || json!("seven"),
            || Value::Null,
        ];
        arguments[if bytes.ratio(1, if tool.ends_with("-old") { 2 } else { 8 })? { "old" } else { "n" }] =
            pick(bytes, &number)?;
        let mut keys = Vec::new();
        for pointer in super::world::KEYS {
            if (tool.ends_with("-read") || tool.ends_with("-write")) && bytes.ratio(2, 5)? {
                let key = bytes.int_in_range(0..=2)?;
                arguments[&pointer[1..]] = format!("k{key}").into();
                keys.push(key);
            }
        }
        let is_changed = arguments["after"].as_array().into_iter().flatten().any(|steps| {
            steps
                .as_array()
                .into_iter()
                .flatten()
                .any(|step| !matches!(step["op"].as_str(), Some("sleep" | "sleepOrAbort")))
        });
        Ok(Self { tool, keys, updates, heeds, is_changed, arguments })
    }
}

/// When a batch is cancelled, and how long what runs may then go on.
#[derive(Clone, Copy, Debug)]
pub struct Cancel {
    /// Rows of the trace that come before.
    pub after: usize,
    /// Whether what runs is stopped almost at once.
    pub is_abrupt: bool,
}

impl<'a> Arbitrary<'a> for Cancel {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self { after: bytes.int_in_range(0..=90)?, is_abrupt: bytes.arbitrary()? })
    }
}
