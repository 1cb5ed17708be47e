//! Cancelled at every point of a call's way, in both modes.

use toolgate::model::ExecutionMode;
use toolgate_tests::guests::{batch, run_one};

use super::*;

struct Case {
    /// Where the batch is when it is cancelled; only one call is, where it says `preparation`.
    what: &'static str,
    specs: Vec<PluginSpec>,
    /// Called twice.
    call: (&'static str, Value),
    when: When,
    grace: Duration,
    /// What becomes of a call that was under way.
    running: &'static str,
    /// In a parallel batch the other call may be this far or not: either fate is right, as long as one had this one.
    is_race: bool,
}

fn cases() -> Vec<Case> {
    let aborted = |what, specs, tool: &'static str, arguments, when, grace| Case {
        what,
        specs,
        call: (tool, arguments),
        when,
        grace,
        running: "aborted",
        is_race: false,
    };
    let counts = |case: Case| Case { running: "ok", ..case };
    let races = |case: Case| Case { running: "ok", is_race: true, ..case };
    let sleep = json!([{"op": "sleep", "ms": ENDLESS}]);
    let wait = json!([{"op": "sleepOrAbort", "ms": ENDLESS}]);
    let redact = json!([
        {"op": "sleepOrAbort", "ms": ENDLESS},
        {"op": "return", "value": {"content": [{"type": "text", "text": "redacted, ${aborted}"}]}},
    ]);
    let late = json!({"script": [
        {"op": "sleep", "ms": 300},
        {"op": "return", "value": {"content": [{"type": "text", "text": "late"}]}},
    ]});
    let typed = json!({"parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}});
    let mut skipped = hook("after", json!([{"op": "throw", "message": "no"}]));
    skipped.name = "skipped".into();
    let (none, empty, ms) = (Vec::new, json!({}), json!({"ms": ENDLESS}));
    vec![
        aborted("before the batch", none(), "loop-forever", empty.clone(), When::Before, LONG),
        aborted("on the first start", none(), "echo", empty.clone(), When::Event("tool_execution_start"), LONG),
        aborted("computing", none(), "loop-forever", empty.clone(), When::Running, SHORT),
        aborted("in a host call", none(), "sleep", ms.clone(), When::Running, SHORT),
        counts(aborted(
            "in a host call that ends in time",
            vec![tool(late)],
            "t",
            empty.clone(),
            When::Logged("execute_enter"),
            LONG,
        )),
        aborted("honouring the flag", none(), "wait-cancel", ms, When::Running, LONG),
        aborted(
            "during updates",
            none(),
            "flood-updates",
            json!({"n": 100_000}),
            When::Event("tool_execution_update"),
            SHORT,
        ),
        aborted(
            "in preparation, the tool's own",
            vec![tool(json!({"prepareArguments": sleep}))],
            "t",
            empty.clone(),
            When::Logged("prepare_arguments"),
            SHORT,
        ),
        aborted(
            "in preparation, a deaf hook",
            vec![hook("before", sleep.clone())],
            "echo",
            empty.clone(),
            When::Logged("probe"),
            SHORT,
        ),
        aborted(
            "in preparation, a hook",
            vec![hook("before", wait)],
            "echo",
            empty.clone(),
            When::Logged("probe"),
            LONG,
        ),
        aborted(
            "in a deaf after hook",
            vec![hook("after", sleep.clone())],
            "echo",
            empty.clone(),
            When::Logged("probe"),
            SHORT,
        ),
        counts(aborted(
            "in an after hook",
            vec![hook("after", redact)],
            "echo",
            empty.clone(),
            When::Logged("probe"),
            LONG,
        )),
        counts(aborted(
            "in a settled hook",
            vec![hook("settled", json!([{"op": "sleepOrAbort", "ms": ENDLESS}]))],
            "echo",
            empty.clone(),
            When::Logged("probe"),
            LONG,
        )),
        counts(aborted(
            "in a deaf settled hook",
            vec![hook("settled", sleep)],
            "echo",
            empty.clone(),
            When::Logged("probe"),
            SHORT,
        )),
        aborted("on the coercion", vec![tool(typed)], "t", json!({"n": "7"}), When::Event("arguments_coerced"), LONG),
        races(aborted("on the first end", none(), "echo", empty.clone(), When::Event("tool_execution_end"), LONG)),
        races(aborted("on a skipped hook", vec![skipped], "echo", empty.clone(), When::Event("hook_skipped"), LONG)),
        counts(aborted("on the first message", none(), "echo", empty.clone(), When::Event("message_start"), LONG)),
        counts(aborted("after the first message", none(), "echo", empty, When::Event("message_end"), LONG)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn wherever_a_batch_is_cancelled_every_call_is_answered_and_nothing_runs_on() {
    let engine = WIDE.lock().await;
    for mode in [ExecutionMode::Parallel, ExecutionMode::Sequential] {
        for case in cases() {
            run_case(&engine, mode, case).await;
        }
    }
}

async fn run_case(engine: &Engine, mode: ExecutionMode, case: Case) {
    let what = format!("{} ({mode:?})", case.what);
    // Preparation is serial in both modes.
    let at_once = if mode == ExecutionMode::Parallel && !case.what.contains("preparation") { 2 } else { 1 };
    let watch = Watch::new(case.when, at_once);
    let host = host(engine, case.grace, &watch, case.specs).await;
    let tasks = alive_tasks();
    if matches!(case.when, When::Before) {
        watch.cancel();
    }
    let calls = batch([case.call.clone(), case.call]).mode(mode).cancel(watch.cancel.clone()).sink(watch.clone());
    let cancelled_while_running = async {
        if matches!(case.when, When::Running) {
            until("live guests", || engine.live_instances() == at_once).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            watch.cancel();
        }
    };
    let (outcome, ()) = tokio::join!(host.run(calls), cancelled_while_running);

    let took = watch.cancelled.lock().unwrap().unwrap_or_else(|| panic!("{what}: was not cancelled")).elapsed();
    assert_eq!((engine.live_instances(), engine.waiting()), (0, 0), "{what}");
    assert_answered(&what, &watch, &outcome, &["c1", "c2"]);
    let kinds = kinds(&outcome);
    if mode == ExecutionMode::Parallel && case.is_race {
        let is_right = |kind: &&str| *kind == case.running || *kind == "aborted";
        assert!(kinds.iter().all(is_right) && kinds.contains(&case.running), "{what}: {:?}", outcome.messages);
    } else {
        let second = if mode == ExecutionMode::Parallel { case.running } else { "aborted" };
        assert_eq!(kinds, [case.running, second], "{what}: {:?}", outcome.messages);
    }
    assert!(took < SOON, "{what}: {took:?}");
    if case.grace == SHORT {
        assert!(took >= SHORT, "{what}: the grace period was cut to {took:?}");
    }
    if let When::Before | When::Event("tool_execution_start" | "arguments_coerced") = case.when {
        assert_eq!(watch.end("c1")["metrics"]["fuel"], 0, "{what}: something ran");
    } else {
        // In parallel the first to be seen may be either, and the other may not have begun.
        let fuel = ["c1", "c2"].map(|id| watch.end(id)["metrics"]["fuel"].as_u64().unwrap());
        assert_ne!(fuel, [0, 0], "{what}: what ran cost nothing");
    }
    until("tasks have ended", || alive_tasks() <= tasks).await;

    let next = run_one(&host, "now", json!({})).await;
    assert_eq!(next.kind(), "ok", "{what}: {}", next.text());
    assert_eq!(engine.live_instances(), 0, "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_dropped_stops_its_guests() {
    let engine = WIDE.lock().await;
    let watch = Watch::new(When::Before, 0);
    let host = host(&engine, LONG, &watch, Vec::new()).await;
    let tasks = alive_tasks();
    let calls = batch([
        ("loop-forever", json!({})),
        ("sleep", json!({"ms": ENDLESS})),
        ("wait-cancel", json!({"ms": ENDLESS})),
    ]);
    tokio::select! {
        _ = host.run(calls) => panic!("nothing ends by itself"),
        () = until("live guests", || engine.live_instances() == 3) => {}
    }
    until("guests are gone", || engine.live_instances() == 0 && alive_tasks() <= tasks).await;
    assert_eq!(run_one(&host, "now", json!({})).await.kind(), "ok");
}
