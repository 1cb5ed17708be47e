//! A hook that takes keys, tokens and passwords out of results before model and transcript get them.

mod json;
mod named;
mod private_key;
mod redactor;
mod result;
mod tokens;

use redactor::Redactor;
use toolgate_sdk::prelude::*;

struct RedactSecrets {
    redactor: Redactor,
    tools: Option<Vec<String>>,
}

impl Hook for RedactSecrets {
    fn subscriptions(&self) -> Vec<Subscription> {
        match &self.tools {
            Some(tools) => vec![Subscription::after().tools(tools)],
            None => vec![Subscription::after()],
        }
    }

    fn after_tool_call(&self, cx: &AfterContext) -> Result<Option<Override>, HookError> {
        let Some((over, count)) = result::redact(cx.result(), &self.redactor) else { return Ok(None) };
        log::info(format_args!("redactions in a result of {:?}: {count}", cx.call().name));
        Ok(Some(over))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// Regular expressions; of a match the first group goes, or, without a group, all.
    #[serde(default)]
    patterns: Vec<String>,
    /// Texts to replace wherever they stand.
    #[serde(default)]
    literals: Vec<String>,
    #[serde(default = "default_replacement")]
    replacement: String,
    tools: Option<Vec<String>>,
}

fn default_replacement() -> String {
    "[redacted]".into()
}

/// An error here refuses the plugin at load: results must not pass a redaction that does not know its patterns.
fn hooks() -> Result<Vec<Box<dyn Hook>>, HookError> {
    let config: Config = Host.config()?;
    let redactor = Redactor::new(&config.patterns, config.literals, config.replacement)
        .map_err(|error| HookError::new(format_args!("redact-secrets: {error}")))?;
    Ok(vec![Box::new(RedactSecrets { redactor, tools: config.tools })])
}

toolgate_sdk::plugin! { hooks: hooks }

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use toolgate_sdk::testing;

    use super::*;

    fn after(result: ToolResult) -> Option<Override> {
        testing::after(hooks().unwrap().remove(0), "read", json!({}), result).unwrap()
    }

    #[test]
    fn a_result_with_a_secret_is_overridden_and_the_operator_told() {
        testing::set_config(json!({"replacement": "***"}));
        let over = after(ToolResult::text("API_KEY=abc123def").details(json!({}))).unwrap();
        assert_eq!(over, Override::new().content(vec!["API_KEY=***".into()]).details(json!({"redactions": 1})));
        assert_eq!(testing::logs().remove(0).1, "redactions in a result of \"read\": 1");
    }

    #[test]
    fn a_result_without_one_is_left_alone() {
        testing::set_config(json!({}));
        assert_eq!(after(ToolResult::text("nothing to see").details(json!({"a": 1}))), None);
        assert!(testing::logs().is_empty());
    }

    #[test]
    fn settings_add_patterns_and_literals() {
        testing::set_config(json!({"patterns": ["ID-\\d{4}", "user (\\w+)"], "literals": ["Project X"]}));
        let over = after(ToolResult::text("ID-1234 by user ann for Project X")).unwrap();
        assert_eq!(over.content.unwrap(), ["[redacted] by user [redacted] for [redacted]".into()]);
    }

    #[test]
    fn broken_settings_are_an_error_that_names_them() {
        for (config, text) in [
            (json!({"pattern": []}), "unknown field `pattern`"),
            (json!({"patterns": ["("]}), "redact-secrets: patterns[0] \"(\""),
            (json!({"patterns": ["a*"]}), "matches the empty text"),
            (json!({"literals": ["ok", ""]}), "redact-secrets: literals[1] is empty"),
        ] {
            testing::set_config(config.clone());
            let Err(error) = hooks() else { panic!("{config} was accepted") };
            assert!(error.to_string().contains(text), "{config}: {error}");
        }
    }

    #[test]
    fn it_may_be_limited_to_some_tools() {
        testing::set_config(json!({"tools": ["bash"]}));
        assert_eq!(hooks().unwrap().remove(0).subscriptions(), [Subscription::after().tools(["bash"])]);
        assert_eq!(after(ToolResult::text("API_KEY=abc123def")), None);
    }
}
