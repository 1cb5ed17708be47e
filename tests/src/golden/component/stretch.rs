//! Slow motion: a scenario with all its times multiplied by the same factor, which leaves every order as it is.

use serde_json::Value;

use crate::golden::Scenario;

/// The scenario, `factor` times slower: sleeps in scripts, the timer that cancels, the delays of the event consumer and
/// the wait at the end.
pub(super) fn stretched(mut scenario: Scenario, factor: u64) -> Scenario {
    let setup = &mut scenario.scenario;
    for tool in setup.tools.iter_mut().flatten() {
        if let Some(script) = tool.get_mut("script") {
            steps(script, factor);
        }
        let by_call = tool.get_mut("byCall").and_then(Value::as_object_mut);
        by_call.into_iter().flat_map(|scripts| scripts.values_mut()).for_each(|script| steps(script, factor));
    }
    let hooks = setup.hooks.iter_mut().flat_map(|hooks| [&mut hooks.before, &mut hooks.after]).flatten();
    let extensions = setup.extensions.iter_mut().flat_map(|extension| [&mut extension.before, &mut extension.after]);
    for entry in hooks.chain(extensions).flatten() {
        if let Some(script) = entry.get_mut("script") {
            steps(script, factor);
        }
    }
    if let Some(after) = setup.abort.as_mut().and_then(|abort| abort.after_ms.as_mut()) {
        *after *= factor;
    }
    setup.sink_delay_ms.values_mut().for_each(|ms| *ms *= factor);
    setup.settle_ms *= factor;
    scenario
}

fn steps(script: &mut Value, factor: u64) {
    for step in script.as_array_mut().into_iter().flatten() {
        if matches!(step["op"].as_str(), Some("sleep" | "sleepOrAbort"))
            && let Some(ms) = step["ms"].as_u64()
        {
            step["ms"] = (ms * factor).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_time_is_stretched_and_nothing_else() {
        let scenario = |ms: u64| {
            let sleep = json!([
                {"op": "sleep", "ms": ms},
                {"op": "sleepOrAbort", "ms": ms},
                {"op": "return", "value": {"ms": 1, "op": "sleep"}},
            ]);
            let tools =
                json!([{"name": "t", "parameters": {"op": "sleep", "ms": 1}, "script": sleep, "byCall": {"c": sleep}}]);
            let entries = json!([{"match": {"toolName": "t"}, "script": sleep}]);
            json!({
                "name": "n", "rule": "r", "crossCallOrder": true,
                "scenario": {
                    "tools": tools,
                    "hooks": {"before": entries, "after": entries},
                    "extensions": [{"name": "A", "before": entries, "after": entries}],
                    "turns": [{"calls": [{"id": "c", "name": "t", "arguments": {"ms": 1}}]}],
                    "abort": {"afterMs": ms}, "sinkDelayMs": {"message_end": ms}, "settleMs": ms,
                },
                "expect": {"modelCalls": 2, "trace": [{"ms": 1}], "toolResults": []},
            })
        };
        let read = |value: serde_json::Value| serde_json::from_value::<Scenario>(value).expect("a scenario");
        assert_eq!(stretched(read(scenario(60)), 4), read(scenario(240)));
    }
}
