//! `${..}` in a script's strings.

use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// What templates may name. What is `None` stays unexpanded.
#[derive(Clone, Default)]
pub(super) struct Values {
    /// `${args}`, `${args.x}`.
    pub args: Value,
    /// `${callId}`.
    pub call_id: String,
    /// `${toolName}`.
    pub tool_name: String,
    /// `${aborted}`.
    pub cancel: Option<CancellationToken>,
    /// `${text}`: the text blocks of a result.
    pub text: Option<String>,
    /// `${isError}`.
    pub is_error: Option<bool>,
    /// `${details}`; empty where a result has none.
    pub details: Option<Value>,
}

impl Values {
    /// `template` with what it names put in.
    pub(super) fn text(&self, template: &str) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                out.push_str("${");
                rest = after;
                continue;
            };
            match self.get(name) {
                Some(value) => out.push_str(&value),
                None => out.push_str(&format!("${{{name}}}")),
            }
            rest = after;
        }
        out + rest
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "args" => Some(sorted(&self.args).to_string()),
            "callId" => Some(self.call_id.clone()),
            "toolName" => Some(self.tool_name.clone()),
            "aborted" => self.cancel.as_ref().map(|cancel| cancel.is_cancelled().to_string()),
            "text" => self.text.clone(),
            "isError" => self.is_error.map(|flag| flag.to_string()),
            "details" => self.text.as_ref().map(|_| self.details.as_ref().map(plain).unwrap_or_default()),
            _ => {
                let path = name.strip_prefix("args.")?;
                let value = path.split('.').try_fold(&self.args, |value, key| match value {
                    Value::Array(list) => list.get(key.parse::<usize>().ok()?),
                    _ => value.get(key),
                });
                value.map(plain)
            }
        }
    }
}

/// A string as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        _ => sorted(value).to_string(),
    }
}

/// The same document, the keys of all its objects in alphabetical order.
fn sorted(value: &Value) -> Value {
    let mut value = value.clone();
    value.sort_all_objects();
    value
}

/// `value` with the templates in all its strings expanded.
pub(super) fn expand(value: &Value, values: &Values) -> Value {
    match value {
        Value::String(text) => Value::String(values.text(text)),
        Value::Array(list) => list.iter().map(|item| expand(item, values)).collect(),
        Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), expand(item, values))).collect(),
        _ => value.clone(),
    }
}
