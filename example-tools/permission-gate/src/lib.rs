//! A hook that lets the operator's rules decide which calls run, which are asked about and which are refused.

mod pattern;
mod policy;

use policy::{Outcome, Policy};
use toolgate_sdk::prelude::*;

struct PermissionGate {
    policy: Policy,
}

impl Hook for PermissionGate {
    fn subscriptions(&self) -> Vec<Subscription> {
        match self.policy.tools() {
            Some(tools) => vec![Subscription::before().tools(tools)],
            None => vec![Subscription::before()],
        }
    }

    fn before_tool_call(&self, cx: &BeforeContext) -> Result<Decision, HookError> {
        let arguments: Value = cx.parse_arguments()?;
        Ok(match self.policy.decide(&cx.call().name, &arguments) {
            Outcome::Allow => Decision::allow(),
            Outcome::Ask { title, text } => Decision::ask(title, text),
            Outcome::Block(reason) => Decision::block(reason),
        })
    }
}

/// An error here refuses the plugin at load, so that nothing runs past a gate with broken rules.
fn hooks() -> Result<Vec<Box<dyn Hook>>, HookError> {
    let policy =
        Policy::new(Host.config()?).map_err(|error| HookError::new(format_args!("permission-gate: {error}")))?;
    Ok(vec![Box::new(PermissionGate { policy })])
}

toolgate_sdk::plugin! { hooks: hooks }

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use toolgate_sdk::testing;

    use super::*;

    fn gate() -> Box<dyn Hook> {
        hooks().unwrap().remove(0)
    }

    #[test]
    fn a_rule_becomes_a_decision() {
        testing::set_config(json!({"default": "allow", "base": "/project", "rules": [
            {"tools": "write", "argument": "/path", "matches": {"path": "**/.env"}, "action": "block", "reason": "Secrets."},
            {"tools": "write", "action": "ask"},
        ]}));
        let blocked = testing::before(gate(), "write", json!({"path": "a/../.env"})).unwrap();
        assert_eq!(blocked, Decision::block("Secrets."));
        let asked = testing::before(gate(), "write", json!({"path": "b"})).unwrap();
        assert!(matches!(asked, Decision::Ask(_)), "{asked:?}");
        let allowed = testing::before(gate(), "read", json!({"path": ".env"})).unwrap();
        assert_eq!(allowed, Decision::allow());
    }

    #[test]
    fn it_subscribes_only_to_the_tools_it_has_rules_for() {
        testing::set_config(json!({"default": "allow", "rules": [
            {"tools": ["write", "edit"], "action": "ask"},
            {"tools": "edit", "action": "block"},
        ]}));
        assert_eq!(gate().subscriptions(), [Subscription::before().tools(["write", "edit"])]);
        testing::set_config(json!({"default": "allow", "rules": [{"tools": "fs_*", "action": "ask"}]}));
        assert_eq!(gate().subscriptions(), [Subscription::before()]);
        testing::set_config(json!({"default": "block", "rules": [{"tools": "read", "action": "allow"}]}));
        assert_eq!(gate().subscriptions(), [Subscription::before()]);
    }

    #[test]
    fn broken_settings_are_an_error_that_names_them() {
        for (config, text) in [
            (json!({}), "missing field `default`"),
            (json!({"default": "allow"}), "permission-gate: no rules"),
            (json!({"default": "allow", "rulez": []}), "unknown field `rulez`"),
            (json!({"default": "deny"}), "unknown variant `deny`, expected one of `allow`, `ask`, `block`"),
            (
                json!({"default": "allow", "rules": [{"tools": "a", "actoin": "block"}]}),
                "`rules[0].actoin`: unknown field `actoin`",
            ),
            (json!({"default": "allow", "rules": [{"tools": 3, "action": "block"}]}), "a string or a list of strings"),
            (
                json!({"default": "allow", "rules": [{"tools": "a", "argument": "/x", "matches": {"globb": "*"}, "action": "block"}]}),
                "unknown variant `globb`",
            ),
            (
                json!({"default": "allow", "rules": [{"tools": "a", "argument": "/x", "matches": {"regex": "("}, "action": "block"}]}),
                "permission-gate: rules[0]: regex \"(\"",
            ),
        ] {
            testing::set_config(config.clone());
            let Err(error) = hooks() else { panic!("{config} was accepted") };
            assert!(error.to_string().contains(text), "{config}: {error}");
        }
    }
}
