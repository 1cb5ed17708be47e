//! A hook that ends the loop of a model that repeats a call which keeps failing in the same way.

mod guard;

use guard::{Config, Entry, Fingerprint, Verdict};
use toolgate_sdk::prelude::*;

struct LoopGuard {
    config: Config,
}

impl Hook for LoopGuard {
    fn subscriptions(&self) -> Vec<Subscription> {
        let events = [Subscription::before(), Subscription::settled()];
        match &self.config.tools {
            Some(tools) => events.into_iter().map(|event| event.tools(tools)).collect(),
            None => events.into(),
        }
    }

    fn before_tool_call(&self, cx: &BeforeContext) -> Result<Decision, HookError> {
        let call = cx.call();
        // As the model wrote it: what later hooks make of the arguments does not hide a repetition.
        let fingerprint = Fingerprint::of(&call.name, &call.arguments);
        let state = cx.state(Scope::Conversation);
        let slot = fingerprint.slot();
        let Some(mut entry) = kept(&state.get(&slot)?, &fingerprint) else { return Ok(Decision::allow()) };
        let verdict = entry.decide(self.config.max_failures, &cx.batch().turn());
        if verdict != Verdict::Unknown {
            state.set(&slot, &entry)?;
        }
        Ok(match verdict {
            Verdict::Unknown | Verdict::OneMore => Decision::allow(),
            Verdict::Block => Decision::block_and_terminate(entry.reason(&call.name)),
        })
    }

    fn settled(&self, cx: &SettledContext) {
        if let Err(error) = self.count(cx) {
            log::warn(format_args!("loop-guard could not count a failure of {:?}: {error}", cx.call().name));
        }
    }
}

impl LoopGuard {
    fn count(&self, cx: &SettledContext) -> Result<(), HostError> {
        let call = cx.call();
        let fingerprint = Fingerprint::of(&call.name, &call.arguments);
        let state = cx.state(Scope::Conversation);
        let slot = fingerprint.slot();
        let entry = kept(&state.get(&slot)?, &fingerprint);
        if !cx.is_error() {
            if entry.is_some() {
                state.remove(&slot);
            }
            return Ok(());
        }
        if cx.error().is_some_and(|error| !guard::counts(&error.kind)) {
            return Ok(());
        }
        let mut entry = entry.unwrap_or_else(|| Entry::new(&fingerprint));
        // A refusal by this hook itself is no new failure of the call.
        let text = cx.result().joined_text();
        if text == entry.reason(&call.name) {
            return Ok(());
        }
        entry.failed(&text, self.config.same_error);
        state.set(&slot, &entry)
    }
}

/// What a slot holds, unless it holds another call.
fn kept(slot: &Option<Entry>, fingerprint: &Fingerprint) -> Option<Entry> {
    slot.clone().filter(|entry| entry.is_of(fingerprint))
}

/// An error here refuses the plugin at load.
fn hooks() -> Result<Vec<Box<dyn Hook>>, HookError> {
    let config: Config = Host.config()?;
    if config.max_failures == 0 {
        return Err(HookError::new("loop-guard: `max-failures` is 0, which would block every call; write at least 1"));
    }
    Ok(vec![Box::new(LoopGuard { config })])
}

toolgate_sdk::plugin! { hooks: hooks }

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use toolgate_sdk::{CallError, ToolCall, testing};

    use super::*;

    fn guard() -> Box<dyn Hook> {
        hooks().unwrap().remove(0)
    }

    fn before(arguments: Value) -> Decision {
        testing::before(guard(), "edit", arguments).unwrap()
    }

    fn settle(arguments: Value, result: ToolResult, kind: Option<&str>) {
        let call = ToolCall { id: "1".into(), name: "edit".into(), arguments: arguments.to_string() };
        let error = kind.map(|kind| CallError { kind: kind.into(), stage: "execute".into() });
        let arguments = call.arguments.clone();
        let is_error = result.is_error || kind.is_some();
        guard().settled(&SettledContext { call, arguments, tool_result: result, is_error, error, duration_ms: 1.0 });
    }

    fn fail(arguments: Value, text: &str) {
        settle(arguments, ToolResult::text(text), Some("tool-failed"));
    }

    #[test]
    fn the_same_failure_thrice_blocks_the_call_and_ends_the_run() {
        testing::set_config(json!({}));
        for _ in 0..3 {
            assert_eq!(before(json!({"a": 1, "b": 2})), Decision::allow());
            fail(json!({"a": 1, "b": 2}), "text not found");
        }
        for same in [r#"{"b":2,"a":1}"#, r#"{ "a": 1, "b": 2 }"#] {
            let Decision::Block(block) = before(serde_json::from_str(same).unwrap()) else { panic!() };
            assert!(block.terminate);
            let reason = block.reason.unwrap();
            assert!(
                reason.contains("\"edit\"") && reason.contains("3 times") && reason.contains("text not found"),
                "{reason}"
            );
        }
        assert_eq!(before(json!({"a": 1, "b": 3})), Decision::allow());
    }

    #[test]
    fn a_success_or_another_error_starts_anew() {
        testing::set_config(json!({"max-failures": 2}));
        fail(json!({}), "one");
        settle(json!({}), ToolResult::text("fine"), None);
        fail(json!({}), "one");
        assert_eq!(before(json!({})), Decision::allow());
        fail(json!({}), "two");
        assert_eq!(before(json!({})), Decision::allow());
        fail(json!({}), "two");
        assert!(matches!(before(json!({})), Decision::Block(_)));
    }

    #[test]
    fn other_errors_count_too_where_the_operator_says_so() {
        testing::set_config(json!({"max-failures": 2, "same-error": false}));
        fail(json!({}), "at 10:01");
        fail(json!({}), "at 10:02");
        assert!(matches!(before(json!({})), Decision::Block(_)));
    }

    #[test]
    fn refused_calls_count_and_cancelled_ones_do_not() {
        testing::set_config(json!({"max-failures": 2}));
        for kind in ["aborted", "truncated-call", "invalid-arguments", "aborted"] {
            settle(json!({}), ToolResult::text("no"), Some(kind));
        }
        assert_eq!(before(json!({})), Decision::allow());
        settle(json!({}), ToolResult::text("no"), Some("blocked"));
        settle(json!({}), ToolResult::text("no").error(), None);
        assert!(matches!(before(json!({})), Decision::Block(_)));
    }

    #[test]
    fn its_own_block_is_no_failure_of_the_call() {
        testing::set_config(json!({"max-failures": 2}));
        fail(json!({}), "no");
        fail(json!({}), "no");
        let Decision::Block(block) = before(json!({})) else { panic!() };
        settle(json!({}), ToolResult::text(block.reason.unwrap()), Some("blocked"));
        let Decision::Block(block) = before(json!({})) else { panic!() };
        assert!(block.reason.unwrap().contains("2 times with this error: no"));
    }

    #[test]
    fn settings_choose_the_tools_and_broken_ones_are_named() {
        testing::set_config(json!({"tools": ["bash"]}));
        let subscriptions = guard().subscriptions();
        assert_eq!(subscriptions, [Subscription::before().tools(["bash"]), Subscription::settled().tools(["bash"])]);
        for (config, text) in [
            (json!({"max_failures": 2}), "unknown field `max_failures`"),
            (json!({"max-failures": 0}), "`max-failures` is 0"),
            (json!({"max-failures": "3"}), "`max-failures`"),
        ] {
            testing::set_config(config.clone());
            let Err(error) = hooks() else { panic!("{config} was accepted") };
            assert!(error.to_string().contains(text), "{config}: {error}");
        }
    }
}
