//! One line of the log: what it holds, in the words of the host's own events.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolgate_sdk::serde_json::{self, Value};

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Arguments {
    /// Their SHA-256 and length: tells equal calls apart from others without keeping what they hold.
    #[default]
    Digest,
    /// All of them, except what stands under a redacted key.
    Full,
    None,
}

pub struct Settings<'a> {
    pub arguments: Arguments,
    pub redact_keys: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Record<'a> {
    /// Milliseconds since 1970; 0 where the clock is before that.
    pub timestamp: u64,
    pub conversation: String,
    pub turn: String,
    pub tool_call_id: &'a str,
    pub tool_name: &'a str,
    pub is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure<'a>>,
    pub duration_ms: f64,
    #[serde(flatten)]
    pub arguments: Logged,
}

#[derive(Serialize)]
pub struct Failure<'a> {
    pub kind: &'a str,
    pub stage: &'a str,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Logged {
    Full {
        arguments: Value,
    },
    #[serde(rename_all = "camelCase")]
    Digest {
        arguments_sha256: String,
        arguments_bytes: usize,
    },
    None {},
}

impl Record<'_> {
    /// As JSON without line breaks.
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| {
            let (name, id) = (self.tool_name, self.tool_call_id);
            format!("audit-log could not write the line of {name:?} ({id:?}): {error}")
        })
    }
}

/// Parts of a key, without `_` and `-`, whose value is not for a log.
pub fn default_redact_keys() -> Vec<String> {
    ["password", "passwd", "secret", "token", "apikey", "authorization", "cookie", "credential", "privatekey"]
        .map(String::from)
        .into()
}

/// What of a call's arguments goes into its line.
pub fn arguments(arguments: &str, settings: &Settings<'_>) -> Logged {
    /// Longer ones are given as digest, so that a file's content does not end up in the log.
    const LONGEST: usize = 8 * 1024;
    let value = serde_json::from_str::<Value>(arguments).ok();
    match (settings.arguments, value) {
        (Arguments::None, _) => Logged::None {},
        (Arguments::Full, Some(mut value)) if arguments.len() <= LONGEST => {
            let keys: Vec<String> = settings.redact_keys.iter().map(|key| plain(key)).collect();
            redact(&mut value, &keys);
            Logged::Full { arguments: value }
        }
        (_, Some(mut value)) => {
            value.sort_all_objects();
            digest(&value.to_string())
        }
        // Arguments that are no JSON: the call got no further than validation.
        (_, None) => digest(arguments),
    }
}

fn digest(canonical: &str) -> Logged {
    let arguments_sha256 = Sha256::digest(canonical).iter().map(|byte| format!("{byte:02x}")).collect();
    Logged::Digest { arguments_sha256, arguments_bytes: canonical.len() }
}

fn redact(value: &mut Value, keys: &[String]) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let name = plain(name);
                if keys.iter().any(|key| name.contains(key)) {
                    *value = "[redacted]".into();
                } else {
                    redact(value, keys);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, keys)),
        _ => {}
    }
}

/// For comparing: `X-Api-Key`, `x_api_key` and `xapikey` are one name.
fn plain(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(text: &str, mode: Arguments) -> Logged {
        arguments(text, &Settings { arguments: mode, redact_keys: &default_redact_keys() })
    }

    #[test]
    fn equal_arguments_have_one_digest() {
        let digest = logged(r#"{"a":1,"b":[2]}"#, Arguments::Digest);
        assert_eq!(digest, logged(r#"{ "b": [2], "a": 1 }"#, Arguments::Digest));
        assert_ne!(digest, logged(r#"{"a":1,"b":[3]}"#, Arguments::Digest));
        assert_eq!(logged("{}", Arguments::None), Logged::None {});
    }

    #[test]
    fn secrets_go_at_any_depth_and_digits_stay() {
        let text = r#"{"a":[{"ACCESS_TOKEN":{"x":1}}],"n":12345678901234567890.10}"#;
        let Logged::Full { arguments } = logged(text, Arguments::Full) else { panic!() };
        assert_eq!(arguments.to_string(), r#"{"a":[{"ACCESS_TOKEN":"[redacted]"}],"n":12345678901234567890.10}"#);
    }

    #[test]
    fn long_or_broken_arguments_are_given_as_digest() {
        let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(10_000));
        for text in [long.as_str(), "{"] {
            let Logged::Digest { arguments_bytes, .. } = logged(text, Arguments::Full) else { panic!() };
            assert_eq!(arguments_bytes, text.len());
        }
    }
}
