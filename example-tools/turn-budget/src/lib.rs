//! A hook that limits how often some tools may be called in one turn of the model.

mod budget;

use budget::{Config, Limit};
use toolgate_sdk::prelude::*;

struct TurnBudget {
    limits: Vec<Limit>,
}

impl Hook for TurnBudget {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::before().tools(budget::tools(&self.limits))]
    }

    fn before_tool_call(&self, cx: &BeforeContext) -> Result<Decision, HookError> {
        let tool = &cx.call().name;
        let state = cx.state(Scope::Turn);
        let limits: Vec<&Limit> = self.limits.iter().filter(|limit| limit.covers(tool)).collect();
        // Added first and looked at then: of two batches in one turn neither can slip past the other.
        let mut exceeded = None;
        for limit in &limits {
            let used = state.add(&limit.key(), 1.0)?;
            if used > f64::from(limit.max()) {
                exceeded = exceeded.or(Some(*limit));
            }
        }
        let Some(limit) = exceeded else { return Ok(Decision::allow()) };
        // A call that does not run uses nothing.
        for limit in &limits {
            state.add(&limit.key(), -1.0)?;
        }
        let reason = limit.reason(tool);
        Ok(if limit.terminates() { Decision::block_and_terminate(reason) } else { Decision::block(reason) })
    }
}

/// An error here refuses the plugin at load.
fn hooks() -> Result<Vec<Box<dyn Hook>>, HookError> {
    let limits =
        Host.config::<Config>()?.checked().map_err(|error| HookError::new(format_args!("turn-budget: {error}")))?;
    Ok(vec![Box::new(TurnBudget { limits })])
}

toolgate_sdk::plugin! { hooks: hooks }

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use toolgate_sdk::testing;

    use super::*;

    /// `None` where the call may run, else the reason for the model and whether it terminates.
    fn call(tool: &str) -> Option<(String, bool)> {
        match testing::before(hooks().unwrap().remove(0), tool, json!({})).unwrap() {
            Decision::Allow => None,
            Decision::Block(block) => Some((block.reason.unwrap(), block.terminate)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tools_of_one_limit_share_it_and_others_are_free() {
        testing::set_config(json!({"limits": [{"tools": ["write", "edit"], "max": 2}]}));
        assert_eq!(call("write"), None);
        assert_eq!(call("edit"), None);
        for tool in ["write", "edit", "write"] {
            let (reason, terminate) = call(tool).unwrap();
            assert!(reason.contains(&format!("{tool:?} was not run")) && reason.contains("2 calls"), "{reason}");
            assert!(!terminate);
        }
        assert_eq!(call("read"), None);
    }

    #[test]
    fn a_call_that_one_limit_refuses_uses_nothing_of_the_other() {
        testing::set_config(json!({"limits": [
            {"tools": ["write", "edit"], "max": 2},
            {"tools": ["edit"], "max": 0, "reason": "Write whole files.", "terminate": true},
        ]}));
        for _ in 0..5 {
            assert_eq!(call("edit"), Some(("Write whole files.".into(), true)));
        }
        assert_eq!(call("write"), None);
        assert_eq!(call("write"), None);
        assert!(call("write").is_some());
    }

    #[test]
    fn it_subscribes_to_the_limited_tools_only() {
        testing::set_config(json!({"limits": [{"tools": ["a", "b"], "max": 1}, {"tools": ["b", "c"], "max": 2}]}));
        assert_eq!(hooks().unwrap().remove(0).subscriptions(), [Subscription::before().tools(["a", "b", "c"])]);
    }

    #[test]
    fn broken_settings_are_an_error_that_names_them() {
        for (config, text) in [
            (json!({}), "missing field `limits`"),
            (json!({"limits": []}), "turn-budget: `limits` is empty"),
            (json!({"limits": [{"tools": [], "max": 1}]}), "limits[0]: `tools` is empty"),
            (json!({"limits": [{"tools": ["a"]}]}), "missing field `max`"),
            (json!({"limits": [{"tools": ["a"], "max": -1}]}), "limits[0].max"),
            (json!({"limits": [{"tools": ["a"], "max": 1, "per": "turn"}]}), "unknown field `per`"),
            (
                json!({"limits": [{"tools": ["a", "b"], "max": 1}, {"tools": ["b", "a"], "max": 2}]}),
                "limits[1]: the same tools",
            ),
            (json!({"limits": [{"tools": ["a*"], "max": 1}]}), "exact names"),
        ] {
            testing::set_config(config.clone());
            let Err(error) = hooks() else { panic!("{config} was accepted") };
            assert!(error.to_string().contains(text), "{config}: {error}");
        }
    }
}
