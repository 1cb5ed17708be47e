//! Which errors are none, and what is written down of them.

use regex_lite::Regex;
use serde::Deserialize;
use toolgate_sdk::serde_json::{self, Map, Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    #[serde(default = "searches")]
    rules: Vec<RuleConfig>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleConfig {
    tools: Vec<String>,
    pattern: String,
}

fn searches() -> Vec<RuleConfig> {
    vec![RuleConfig { tools: vec!["grep".into(), "find".into()], pattern: "^No (?:matches|files) found".into() }]
}

pub struct Rules(Vec<Rule>);

struct Rule {
    tools: Vec<String>,
    pattern: Regex,
}

impl Rules {
    pub fn new(config: Config) -> Result<Self, String> {
        if config.rules.is_empty() {
            return Err("`rules` is empty; leave it out for the default, or leave the hook out".into());
        }
        let rules = config.rules.into_iter().enumerate().map(|(index, RuleConfig { tools, pattern })| {
            if tools.is_empty() {
                return Err(format!("rules[{index}]: `tools` is empty; name at least one tool"));
            }
            let regex =
                Regex::new(&pattern).map_err(|error| format!("rules[{index}]: pattern {pattern:?}: {error}"))?;
            Ok(Rule { tools, pattern: regex })
        });
        Ok(Self(rules.collect::<Result<_, _>>()?))
    }

    /// Every tool with a rule, once.
    pub fn tools(&self) -> Vec<&str> {
        let mut tools: Vec<&str> = self.0.iter().flat_map(|rule| &rule.tools).map(String::as_str).collect();
        tools.sort_unstable();
        tools.dedup();
        tools
    }

    pub fn downgrade(&self, tool: &str, text: &str) -> bool {
        self.0.iter().any(|rule| rule.tools.iter().any(|name| name == tool) && rule.pattern.is_match(text))
    }
}

/// The details with a note of the error. An override replaces them whole, so what the tool wrote is taken along:
/// members of an object as they are, anything else as `originalDetails`.
pub fn details(original: Option<&str>, error: &str) -> Result<String, serde_json::Error> {
    let mut details = match original.map(serde_json::from_str).transpose()? {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(object)) => object,
        Some(other) => Map::from_iter([("originalDetails".to_owned(), other)]),
    };
    details.insert("downgraded".into(), json!(true));
    details.insert("originalError".into(), json!(error));
    serde_json::to_string(&details)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_the_tool_wrote_is_kept() {
        for (original, expected) in [
            (None, json!({"downgraded": true, "originalError": "e"})),
            (Some("null"), json!({"downgraded": true, "originalError": "e"})),
            (Some(r#"{"a":[1]}"#), json!({"a": [1], "downgraded": true, "originalError": "e"})),
            (Some(r#"["x"]"#), json!({"originalDetails": ["x"], "downgraded": true, "originalError": "e"})),
        ] {
            let details: Value = serde_json::from_str(&details(original, "e").unwrap()).unwrap();
            assert_eq!(details, expected);
        }
        assert!(details(Some(r#"{"n":12345678901234567890.10}"#), "e").unwrap().contains("12345678901234567890.10"));
    }
}
