//! From the JSON form of a `[plugins.NAME]` table to the toolgate.toml that the host reads, so that a setting means here
//! what it means there.

use serde_json::{Map, Value};

use crate::TestError;

/// A value as TOML on one line.
fn inline(value: &Value, key: &str) -> Result<String, TestError> {
    Ok(match value {
        Value::Null => return Err(TestError::Settings(format!("{key}: null can't be a setting; leave the key out"))),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => string(text),
        Value::Array(items) => {
            let items: Result<Vec<String>, _> =
                items.iter().enumerate().map(|(n, item)| inline(item, &format!("{key}[{n}]"))).collect();
            format!("[{}]", items?.join(", "))
        }
        Value::Object(map) => {
            let entries: Result<Vec<String>, _> = map
                .iter()
                .map(|(name, value)| {
                    inline(value, &format!("{key}.{name}")).map(|value| format!("{} = {value}", string(name)))
                })
                .collect();
            format!("{{ {} }}", entries?.join(", "))
        }
    })
}

/// A basic string; TOML takes JSON's escapes.
fn string(text: &str) -> String {
    let mut quoted = serde_json::Value::from(text).to_string();
    // JSON leaves this one control character as it is, TOML does not.
    quoted = quoted.replace('\u{7f}', "\\u007f");
    quoted
}

/// A toolgate.toml of one plugin.
pub fn config_text(name: &str, file: &str, table: &Map<String, Value>, hooks: bool) -> Result<String, TestError> {
    if table.contains_key("file") {
        return Err(TestError::Settings("file: the component is named elsewhere".into()));
    }
    let mut table = table.clone();
    table.insert("file".into(), file.into());
    let mut text = format!("instances = 16\nplugins.{name} = {}\n", inline(&Value::Object(table), "plugin")?);
    if hooks {
        text.push_str(&format!("[[hooks]]\nplugin = {}\n", string(name)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn every_json_value_but_null_is_a_setting() {
        let table = json!({
            "config": { "a b": "é\n\"\u{7f}\\", "n": [1, 2.5, 123_456_789_012_345_u64], "deep": { "t": true } },
            "dirs": [{ "guest": "/p", "host": "." }],
        });
        let text = config_text("x", "x.wasm", table.as_object().unwrap(), true).unwrap();
        assert!(
            text.starts_with("instances = 16\nplugins.x = { \"config\" = { \"a b\" = \"é\\n\\\"\\u007f\\\\\""),
            "{text}"
        );
        assert!(text.ends_with("[[hooks]]\nplugin = \"x\"\n"), "{text}");
        let null = config_text("x", "x.wasm", json!({ "config": { "a": [null] } }).as_object().unwrap(), false);
        assert_eq!(
            null.unwrap_err().to_string(),
            "the plugin's settings: plugin.config.a[0]: null can't be a setting; leave the key out"
        );
    }
}
