//! A hook that turns errors which are none, such as a search without a match, into plain results.

mod rules;

use rules::{Config, Rules};
use toolgate_sdk::prelude::*;

struct ErrorDowngrade {
    rules: Rules,
}

impl Hook for ErrorDowngrade {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::after().tools(self.rules.tools())]
    }

    fn after_tool_call(&self, cx: &AfterContext) -> Result<Option<Override>, HookError> {
        // What the host or a hook made of the call (a trap, a limit, a refusal) is an error whatever its text.
        let is_the_tools = cx.error().is_none_or(|error| error.kind == "tool-failed");
        if !cx.is_error() || !is_the_tools {
            return Ok(None);
        }
        let text = cx.result().joined_text();
        if !self.rules.downgrade(&cx.call().name, &text) {
            return Ok(None);
        }
        let details = rules::details(cx.result().details.as_deref(), &text)?;
        Ok(Some(Override { details: Some(details), ..Override::new().is_error(false) }))
    }
}

/// An error here refuses the plugin at load.
fn hooks() -> Result<Vec<Box<dyn Hook>>, HookError> {
    let config: Config = Host.config()?;
    let rules = Rules::new(config).map_err(|error| HookError::new(format_args!("error-downgrade: {error}")))?;
    Ok(vec![Box::new(ErrorDowngrade { rules })])
}

toolgate_sdk::plugin! { hooks: hooks }

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use toolgate_sdk::{CallError, ToolCall, testing};

    use super::*;

    fn after(tool: &str, result: ToolResult, kind: Option<&str>) -> Option<Override> {
        let call = ToolCall { id: "1".into(), name: tool.into(), arguments: "{}".into() };
        let error = kind.map(|kind| CallError { kind: kind.into(), stage: "execute".into() });
        let is_error = result.is_error || kind.is_some();
        let cx = AfterContext { call, arguments: "{}".into(), tool_result: result, is_error, error };
        hooks().unwrap().remove(0).after_tool_call(&cx).unwrap()
    }

    fn details(over: &Override) -> Value {
        serde_json::from_str(over.details.as_ref().unwrap()).unwrap()
    }

    #[test]
    fn a_search_without_a_match_is_no_error() {
        testing::set_config(json!({}));
        for tool in ["grep", "find"] {
            let over =
                after(tool, ToolResult::text("No matches found").details(json!({})), Some("tool-failed")).unwrap();
            assert_eq!((over.is_error, &over.content), (Some(false), &None));
            assert_eq!(details(&over), json!({"downgraded": true, "originalError": "No matches found"}));
        }
        let own = ToolResult::text("No files found").details(json!({"scanned": 7})).error();
        assert_eq!(details(&after("find", own, None).unwrap())["scanned"], 7);
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        testing::set_config(json!({}));
        for (tool, result, kind) in [
            ("grep", ToolResult::text("/secret: permission denied"), Some("tool-failed")),
            ("grep", ToolResult::text("a.txt: No matches found"), Some("tool-failed")),
            ("grep", ToolResult::text("No matches found"), None),
            ("grep", ToolResult::text("No matches found"), Some("deadline")),
            ("grep", ToolResult::text("No matches found"), Some("hook-failed")),
            ("read", ToolResult::text("No matches found"), Some("tool-failed")),
        ] {
            assert_eq!(after(tool, result.clone(), kind), None, "{tool} {result:?} {kind:?}");
        }
    }

    #[test]
    fn rules_of_the_operator_replace_the_default() {
        testing::set_config(json!({"rules": [{"tools": ["bash"], "pattern": "exit code 1$"}]}));
        assert!(after("bash", ToolResult::text("grep: exit code 1"), Some("tool-failed")).is_some());
        assert!(after("bash", ToolResult::text("exit code 127"), Some("tool-failed")).is_none());
        assert!(after("grep", ToolResult::text("No matches found"), Some("tool-failed")).is_none());
        assert_eq!(hooks().unwrap().remove(0).subscriptions(), [Subscription::after().tools(["bash"])]);
    }

    #[test]
    fn broken_settings_are_an_error_that_names_them() {
        for (config, text) in [
            (json!({"rule": []}), "unknown field `rule`"),
            (json!({"rules": []}), "error-downgrade: `rules` is empty"),
            (json!({"rules": [{"tools": ["a"]}]}), "missing field `pattern`"),
            (json!({"rules": [{"tools": [], "pattern": "x"}]}), "rules[0]: `tools` is empty"),
            (json!({"rules": [{"tools": ["a"], "pattern": "("}]}), "rules[0]: pattern \"(\""),
        ] {
            testing::set_config(config.clone());
            let Err(error) = hooks() else { panic!("{config} was accepted") };
            assert!(error.to_string().contains(text), "{config}: {error}");
        }
    }
}
