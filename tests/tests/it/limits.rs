//! Whatever a guest does ends as an error result with its own kind, and the next call works.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolgate::Host;
use toolgate::component::{Engine, EngineSettings, Loader, PluginSpec};
use toolgate::model::ExecutionMode;
use toolgate_tests::guests::{self, Events, Lines, batch, run_one};

async fn misbehave(change: impl FnOnce(&mut PluginSpec)) -> Host {
    let mut spec = guests::spec("misbehave");
    change(&mut spec);
    guests::host(Host::builder(), [spec]).await
}

async fn works(host: &Host) {
    let answer = run_one(host, "echo", json!({"a": 1})).await;
    assert_eq!(answer.kind(), "ok", "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_becomes_an_error_result_that_carries_its_message() {
    let host = misbehave(|_| {}).await;
    let answer = run_one(&host, "panic", json!({"message": "no such planet"})).await;
    assert_eq!(answer.kind(), "trap");
    assert!(answer.text().contains("Tool panic crashed: panicked at ") && answer.text().contains("no such planet"));
    works(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_loop_runs_out_of_fuel() {
    let host = misbehave(|spec| spec.limits.fuel = Some(50_000_000)).await;
    let answer = run_one(&host, "loop-forever", json!({})).await;
    assert_eq!(answer.kind(), "out-of-fuel", "{}", answer.text());
    assert_eq!(answer.0.error.as_ref().unwrap().hint.as_deref(), Some("raise limits.fuel of plugin misbehave"));
    works(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_stops_a_loop_and_a_sleep_alike() {
    let host = misbehave(|spec| {
        spec.limits.fuel = None;
        spec.limits.deadline = Duration::from_millis(300);
    })
    .await;
    for (tool, arguments) in [("loop-forever", json!({})), ("sleep", json!({"ms": 10_000}))] {
        let started = Instant::now();
        let answer = run_one(&host, tool, arguments).await;
        assert_eq!(answer.kind(), "deadline", "{}", answer.text());
        assert!(answer.text().contains("its limit of 300 ms"), "{}", answer.text());
        assert!(started.elapsed() < Duration::from_secs(3));
    }
    works(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deadlines_of_calls_side_by_side_do_not_mix() {
    let mut short = guests::spec("misbehave");
    short.name = "short".into();
    short.limits.deadline = Duration::from_millis(200);
    short.tools = Some(vec!["sleep".into()]);
    let mut long = guests::spec("misbehave");
    long.tools = Some(vec!["wait-cancel".into(), "echo".into()]);
    let host = guests::host(Host::builder(), [short, long]).await;
    let outcome = host
        .run(batch([
            ("sleep", json!({"ms": 60_000})),
            ("wait-cancel", json!({"ms": 600})),
            ("sleep", json!({"ms": 10})),
        ]))
        .await;
    let kinds: Vec<_> =
        outcome.messages.iter().map(|m| m.error.as_ref().map_or("ok", |error| error.kind.as_str())).collect();
    assert_eq!(kinds, ["deadline", "ok", "ok"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_bounded_and_the_refusal_is_named() {
    let host = misbehave(|spec| spec.limits.memory_bytes = 8 << 20).await;
    let answer = run_one(&host, "allocate", json!({"mb": 64})).await;
    assert_eq!(answer.kind(), "memory-limit", "{}", answer.text());
    assert!(answer.text().contains("8388608 bytes"), "{}", answer.text());
    works(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_output_is_refused_whole() {
    let host = misbehave(|spec| spec.limits.result_bytes = 1 << 20).await;
    let answer = run_one(&host, "flood-output", json!({"mb": 2})).await;
    assert_eq!(answer.kind(), "output-limit", "{}", answer.text());
    let host = misbehave(|spec| spec.limits.hostcall_bytes = 1 << 20).await;
    let answer = run_one(&host, "flood-output", json!({"mb": 2})).await;
    assert_eq!(answer.kind(), "hostcall-limit", "{}", answer.text());
    works(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deep_recursion_is_a_trap() {
    let host = misbehave(|_| {}).await;
    let answer = run_one(&host, "recurse", json!({})).await;
    assert_eq!(answer.kind(), "trap", "{}", answer.text());
    works(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_and_log_lines_over_the_limit_are_dropped_and_counted() {
    let mut spec = guests::spec("misbehave");
    spec.limits.updates = 10;
    spec.limits.log_lines = 5;
    let lines = Arc::new(Lines::default());
    let host = guests::host(Host::builder().logs(lines.clone()), [spec]).await;
    let events = Arc::new(Events::default());
    let outcome = host
        .run(batch([("flood-updates", json!({"n": 100})), ("flood-logs", json!({"n": 100}))]).sink(events.clone()))
        .await;
    assert!(outcome.messages.iter().all(|m| !m.is_error), "{:?}", outcome.messages);
    assert_eq!(events.of_type("tool_execution_update").len(), 10);
    assert_eq!(lines.all().len(), 5);
    let mut ends = events.of_type("tool_execution_end");
    ends.sort_by_key(|end| end["toolCallId"].to_string());
    assert_eq!(ends[0]["metrics"]["droppedUpdates"], 90);
    assert_eq!(ends[1]["metrics"]["droppedLogLines"], 95);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_guest_prints_goes_to_the_log() {
    let lines = Arc::new(Lines::default());
    let host = guests::host(Host::builder().logs(lines.clone()), [guests::spec("misbehave")]).await;
    run_one(&host, "print", json!({"text": "{\"jsonrpc\":\"2.0\"}"})).await;
    assert!(lines.all().contains(&"stdout: {\"jsonrpc\":\"2.0\"}".to_owned()), "{:?}", lines.all());
}

#[tokio::test(flavor = "current_thread")]
async fn a_one_thread_runtime_stays_responsive_while_guests_spin() {
    let host = misbehave(|spec| {
        spec.limits.fuel = None;
        spec.limits.deadline = Duration::from_millis(800);
    })
    .await;
    let calls: [_; 8] = std::array::from_fn(|_| ("loop-forever", json!({})));
    let ticks = async {
        let mut ticks = 0;
        loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
            ticks += 1;
            if ticks == 20 {
                return;
            }
        }
    };
    // Twenty ticks of 20 ms while eight guests spin for 800 ms: starved, they would come after the batch.
    tokio::select! {
        () = ticks => {}
        _ = host.run(batch(calls)) => panic!("the ticker starved"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_over_the_limit_is_named() {
    let mut spec = guests::spec("misbehave");
    spec.limits.table_elements = 1;
    // Settings of its own, so that its definitions are read and not taken from the cache.
    spec.config = toolgate::model::Json::from_value(json!({"read-anew": std::process::id()}));
    let error = Loader::new(guests::engine()).load(spec).await.err().unwrap().to_string();
    assert!(error.contains("a table of more than 1 elements"), "{error}");
    assert!(error.contains("raise limits.table-elements of plugin misbehave"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_over_the_limit_are_refused_unread() {
    let host = misbehave(|spec| spec.limits.arguments_bytes = 40).await;
    let answer = run_one(&host, "echo", json!({"text": "x".repeat(100)})).await;
    assert_eq!(answer.kind(), "invalid-arguments", "{}", answer.text());
    assert!(answer.text().contains("at most 40 are accepted"), "{}", answer.text());
    works(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn state_over_the_limit_is_an_error_the_guest_reads() {
    let host = misbehave(|spec| spec.limits.state.keys = 0).await;
    let answer = run_one(&host, "state-add", json!({"scope": "turn", "key": "n", "delta": 1})).await;
    assert_eq!(answer.kind(), "tool-failed", "{}", answer.text());
    assert!(answer.text().contains("limits.state-keys"), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_is_unavailable() {
    let mut settings = EngineSettings::default();
    settings.instances = 1;
    settings.queue_length = 0;
    settings.cache_dir = Some(guests::root().join("target/test-compile-cache"));
    let host = Host::new();
    let loader = Loader::new(Engine::new(settings).unwrap());
    host.load(loader.load(guests::spec("misbehave")).await.unwrap()).unwrap();
    let calls: [_; 3] = std::array::from_fn(|_| ("wait-cancel", json!({"ms": 500})));
    let outcome = host.run(batch(calls)).await;
    let mut kinds: Vec<_> =
        outcome.messages.iter().map(|m| m.error.as_ref().map_or("ok", |error| error.kind.as_str())).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["ok", "unavailable", "unavailable"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_and_log_lines_that_do_not_fit_are_dropped_whole() {
    let mut spec = guests::spec("misbehave");
    spec.limits.update_bytes = 1_000;
    spec.limits.log_bytes = 1_000;
    let lines = Arc::new(Lines::default());
    let host = guests::host(Host::builder().logs(lines.clone()), [spec]).await;
    let events = Arc::new(Events::default());
    let flood = json!({"n": 10, "bytes": 300});
    host.run(batch([("flood-updates", flood.clone()), ("flood-logs", flood)]).sink(events.clone())).await;
    let updates = events.of_type("tool_execution_update");
    assert_eq!(updates.len(), 3);
    for update in updates {
        assert_eq!(update["partialResult"]["content"][0]["text"].as_str().unwrap().len(), 300);
    }
    assert_eq!(lines.all().len(), 3);
    assert!(lines.all().iter().all(|line| line.len() == "log: ".len() + 300), "{:?}", lines.all());
}

/// How much later than its deadline a call is answered, at best of a few times: a busy machine delays some of them.
async fn overshoot(host: &Host, tool: &str, arguments: serde_json::Value, deadline: Duration) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..8 {
        let started = Instant::now();
        let answer = run_one(host, tool, arguments.clone()).await;
        assert_eq!(answer.kind(), "deadline", "{}", answer.text());
        best = best.min(started.elapsed().saturating_sub(deadline));
        if best < Duration::from_millis(100) {
            break;
        }
    }
    best
}

/// wasmtime #9188, wasmtime-go #233, extism #637: a guest asleep in a host call was not stopped.
#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_is_met_within_a_tenth_of_a_second() {
    let deadline = Duration::from_millis(150);
    for memory in [8 << 20, 64 << 20] {
        let host = misbehave(|spec| {
            spec.limits.fuel = None;
            spec.limits.memory_bytes = memory;
            spec.limits.deadline = deadline;
        })
        .await;
        for (tool, arguments) in [
            ("sleep", json!({"ms": 600_000})),
            ("wait-cancel", json!({"ms": 600_000})),
            ("loop-forever", json!({})),
            // Bulk operations on nearly all of the memory there is, again and again.
            ("fill", json!({"mb": (memory >> 20) - 4})),
        ] {
            let over = overshoot(&host, tool, arguments, deadline).await;
            println!("{tool} with {} MiB: {over:?} over", memory >> 20);
            assert!(over < Duration::from_millis(100), "{tool} with {} MiB: {over:?}", memory >> 20);
        }
        works(&host).await;
    }
}

/// astrid #635, wasmtime #4342: ticks that passed while nothing ran stopped what ran next.
#[tokio::test(flavor = "multi_thread")]
async fn ticks_while_a_plugin_is_idle_do_not_stop_its_next_call() {
    let idle = misbehave(|_| {}).await;
    let busy = misbehave(|spec| spec.limits.deadline = Duration::from_millis(100)).await;
    works(&idle).await;
    // The ticker ticks only while somebody runs.
    assert_eq!(run_one(&busy, "loop-forever", json!({})).await.kind(), "deadline");
    works(&idle).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_are_too_much_together_are_left_out() {
    for mode in [ExecutionMode::Sequential, ExecutionMode::Parallel] {
        let builder = Host::builder().batch_result_bytes(5 << 20).mode(mode);
        let host = guests::host(builder, [guests::spec("misbehave")]).await;
        let calls: [_; 4] = std::array::from_fn(|_| ("flood-output", json!({"mb": 2})));
        let outcome = host.run(batch(calls)).await;
        let left_out: Vec<_> = outcome.messages.iter().filter(|message| message.is_error).collect();
        assert_eq!(left_out.len(), 2, "two of two MiB fit into five");
        for message in left_out {
            let error = message.error.as_ref().unwrap();
            assert_eq!((error.kind.as_str(), error.hint.as_deref()), ("output-limit", Some("raise batch-result-bytes")));
            let text = message.result.content[0].as_text().unwrap();
            assert!(text.contains("2097152 bytes was left out") && text.contains("5242880 bytes together"), "{text}");
        }
        // The next batch begins anew.
        assert_eq!(run_one(&host, "flood-output", json!({"mb": 4})).await.kind(), "ok");
    }
}

/// MCP has objects there; a client that gets something else may refuse the whole answer.
#[tokio::test(flavor = "multi_thread")]
async fn annotations_that_are_no_objects_are_refused() {
    let host = misbehave(|_| {}).await;
    for (arguments, expected) in [
        (json!({"meta": "[1]"}), "meta of a content block is not a JSON object"),
        (json!({"annotations": "\"a\""}), "annotations of a content block is not a JSON object"),
        (json!({"meta": "null", "image": 3}), "meta of a content block is not a JSON object"),
        (json!({"meta": "{\"a\": "}), "meta of a content block is not a JSON document"),
    ] {
        let answer = run_one(&host, "annotate", arguments).await;
        assert_eq!(answer.kind(), "tool-failed", "{}", answer.text());
        assert!(answer.text().contains(expected), "{}", answer.text());
    }
    let answer = run_one(&host, "annotate", json!({"meta": " {\"a\": 1}", "annotations": "{}"})).await;
    assert_eq!(answer.json()["content"][0]["_meta"], json!({"a": 1}), "{}", answer.json());

    let events = Arc::new(Events::default());
    host.run(batch([("annotate", json!({"meta": "5", "update": true}))]).sink(events.clone())).await;
    assert_eq!(events.of_type("tool_execution_update").len(), 0);
    assert_eq!(events.of_type("tool_execution_end")[0]["metrics"]["droppedUpdates"], 1);
}

/// wassette tool_result.rs, capsule run.rs: an error is what the tool says is one, not what looks like one.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_looks_like_an_error_is_none() {
    let host = misbehave(|_| {}).await;
    let answer = run_one(&host, "echo", json!({"error_type": "x", "message": "y", "isError": true})).await;
    assert_eq!(answer.kind(), "ok");
    assert_eq!(answer.json()["isError"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_ambient() {
    let host = misbehave(|spec| spec.grants.wall_clock = false).await;
    for name in ["HOME", "PATH", "CARGO_MANIFEST_DIR", "TZ"] {
        assert_eq!(run_one(&host, "env", json!({"name": name})).await.kind(), "tool-failed", "{name}");
    }
    assert_eq!(run_one(&host, "now", json!({})).await.text(), "0");
    for path in ["/etc/passwd", "/proc/self/environ", ".", "Cargo.toml", "/dev/stdin"] {
        assert_eq!(run_one(&host, "read-file", json!({"path": path})).await.kind(), "tool-failed", "{path}");
    }
    let host = misbehave(|spec| {
        spec.grants.env.insert("TZ".into(), "UTC".into());
    })
    .await;
    assert_eq!(run_one(&host, "env", json!({"name": "TZ"})).await.text(), "UTC");
    let now: u64 = run_one(&host, "now", json!({})).await.text().parse().unwrap();
    assert!(now > 1_700_000_000_000);
}
