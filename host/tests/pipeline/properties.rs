//! What holds for every batch, over random batches of native tools with random delays, failures, hooks, keys and
//! cancellations.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::model::{
    Access, AssistantMessage, Content, ErrorKind, ExclusiveKey, ExecutionMode, Override, ToolResult,
};
use toolgate::pipeline::{
    Approval, ApprovalRequest, Approver, Batch, BatchOutcome, Decision, HookError, OnError, ToolError,
};
use toolgate::registry::Plugin;

use crate::support::*;

/// One random call; its arguments tell tool and hooks what to do.
#[derive(Clone, Debug)]
struct Spec {
    tool: &'static str,
    before: &'static str,
    outcome: &'static str,
    after: &'static str,
    delay: u64,
    updates: u8,
    key: Option<u8>,
}

impl Spec {
    fn arguments(&self) -> Value {
        let mut arguments = json!({
            "before": self.before, "outcome": self.outcome, "after": self.after,
            "delay": self.delay, "updates": self.updates,
        });
        if let Some(key) = self.key {
            arguments["key"] = format!("k{key}").into();
        }
        arguments
    }
}

fn spec() -> impl Strategy<Value = Spec> {
    let pick = |options: &'static [&'static str]| proptest::sample::select(options);
    (
        pick(&["read", "read", "write", "write", "observed", "ghost"]),
        pick(&["allow", "allow", "allow", "block", "stop", "ask-yes", "ask-no", "invalid", "error", "panic"]),
        pick(&["ok", "ok", "ok", "terminate", "soft", "error", "panic"]),
        pick(&["none", "none", "change", "clear", "error", "panic"]),
        0..6_u64,
        0..4_u8,
        proptest::option::of(0..3_u8),
    )
        .prop_map(|(tool, before, outcome, after, delay, updates, key)| Spec {
            tool,
            before,
            outcome,
            after,
            delay,
            updates,
            key,
        })
}

fn specs() -> impl Strategy<Value = Vec<Spec>> {
    proptest::collection::vec(spec(), 0..9)
}

fn message(batch: &str, specs: &[Spec]) -> AssistantMessage {
    let one = |(at, spec): (usize, &Spec)| call(&format!("{batch}{at}"), spec.tool, spec.arguments());
    AssistantMessage::of_calls(specs.iter().enumerate().map(one))
}

struct ByTitle;

#[async_trait]
impl Approver for ByTitle {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        sleep_ms(1).await;
        match &*request.questions[0].title {
            "ask-yes" => Approval::Approved,
            _ => Approval::Declined { reason: None },
        }
    }
}

fn host(trace: &Trace) -> Host {
    let host = Host::builder().approver(Arc::new(ByTitle)).grace(Duration::from_millis(3)).build();
    let random = |name: &str, access: Access| {
        let trace = trace.clone();
        let tool = tool(name, move |cx, arguments| {
            let trace = trace.clone();
            Box::pin(async move {
                trace.note(format!("enter {}", cx.call.id));
                let _exit = Exit(trace.clone(), format!("exit {}", cx.call.id));
                let wanted = arguments.value();
                for number in 0..wanted["updates"].as_u64().unwrap() {
                    cx.update(ToolResult::text(number.to_string())).await;
                    tokio::task::yield_now().await;
                }
                sleep_ms(wanted["delay"].as_u64().unwrap()).await;
                let result = ToolResult::text(&*cx.call.id);
                match wanted["outcome"].as_str().unwrap() {
                    "ok" => Ok(result),
                    "terminate" => Ok(ToolResult { terminate: Some(true), ..result }),
                    "soft" => Ok(ToolResult { is_error: true, ..result }),
                    "error" => Err(ToolError::failed("boom")),
                    _ => panic!("a tool's bug"),
                }
            })
        });
        tool.parameters(json!({"type": "object", "required": ["delay"]})).define(|definition| {
            definition.exclusive = vec![ExclusiveKey { pointer: "/key".into(), is_path: false, access }];
        })
    };
    host.load(Plugin::native("tools").tool(random("read", Access::Read)).tool(random("write", Access::Write))).unwrap();
    host.load(Plugin::native("more").tool(random("observed", Access::Write))).unwrap();

    let gate = FnHook::default().before(|_, arguments| {
        let wanted = arguments.value()["before"].as_str().unwrap().to_owned();
        Box::pin(async move {
            tokio::task::yield_now().await;
            match &*wanted {
                "allow" => Ok(Decision::Allow),
                "block" => Ok(Decision::Block { reason: None, terminate: false }),
                "stop" => Ok(Decision::Block { reason: Some("stop".into()), terminate: true }),
                "invalid" => Ok(Decision::ReplaceArguments(json!({}).into())),
                "error" => Err(HookError::Failed { cause: ErrorKind::Trap, message: "trapped".into() }),
                "panic" => panic!("a hook's bug"),
                ask => Ok(Decision::Ask { title: ask.to_owned(), text: String::new() }),
            }
        })
    });
    host.load(Plugin::native("gate").hook(gate)).unwrap();
    for (name, on_error) in [("strict", OnError::Fail), ("observer", OnError::Skip)] {
        let hook = FnHook::default().after(|cx, _, _| {
            let wanted = cx.call.arguments.value()["after"].as_str().unwrap().to_owned();
            Box::pin(async move {
                tokio::task::yield_now().await;
                match &*wanted {
                    "none" => Ok(None),
                    "change" => {
                        let content = Some(vec![Content::text("changed")]);
                        Ok(Some(Override { content, is_error: Some(true), ..Override::default() }))
                    }
                    "clear" => {
                        Ok(Some(Override { is_error: Some(false), terminate: Some(true), ..Override::default() }))
                    }
                    "error" => Err(HookError::Returned("audit".into())),
                    _ => panic!("a hook's bug"),
                }
            })
        });
        let mut plugin = Plugin::native(name).hook(hook).on_error(on_error);
        plugin.hook_settings.tools =
            Some(if on_error == OnError::Skip { vec!["observed".into()] } else { vec!["read".into(), "write".into()] });
        host.load(plugin).unwrap();
    }
    host
}

/// Notes the end of an execution however it ends, a drop included.
struct Exit(Trace, String);

impl Drop for Exit {
    fn drop(&mut self) {
        self.0.note(std::mem::take(&mut self.1));
    }
}

/// What must be the same whenever the same batch runs.
fn without_time(outcome: &BatchOutcome) -> Vec<Value> {
    let one = |message: &Arc<toolgate::model::ToolResultMessage>| {
        let mut message = serde_json::to_value(message).unwrap();
        message.as_object_mut().unwrap().remove("timestamp");
        message
    };
    outcome.messages.iter().map(one).collect()
}

/// Where each line is; each is there once, updates aside.
fn index(lines: &[String]) -> HashMap<&str, usize> {
    let mut found = HashMap::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.starts_with("update")) {
        assert_eq!(found.insert(&**line, at), None, "{line} twice in {lines:#?}");
    }
    found
}

fn assert_batch(batch: &str, specs: &[Spec], mode: ExecutionMode, outcome: &BatchOutcome, lines: &[String]) {
    let found = index(lines);
    let at = |word: &str, call: usize| {
        *found.get(&*format!("{word} {batch}{call}")).unwrap_or_else(|| panic!("{word} {call}: {lines:#?}"))
    };
    let entered = |call: usize| found.get(&*format!("enter {batch}{call}")).copied();
    assert_eq!(outcome.messages.len(), specs.len());
    let all_terminate = outcome.messages.iter().all(|message| message.result.terminate == Some(true));
    assert_eq!(outcome.terminate, !specs.is_empty() && all_terminate);
    for (call, message) in outcome.messages.iter().enumerate() {
        assert_eq!(*message.tool_call_id, format!("{batch}{call}"));
        assert_eq!(message.is_error, message.error.is_some());
        let (start, end) = (at("start", call), at("end", call));
        assert!(start < end && end < at("message_start", call) && at("message_start", call) < at("message_end", call));
        let update = format!("update {batch}{call}");
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| **line == update) {
            assert!(start < at && at < end);
        }
        if let Some(enter) = entered(call) {
            assert!(start < enter && enter < at("exit", call) && at("exit", call) < end);
        }
        if call > 0 {
            assert!(at("start", call - 1) < start);
            assert!(at("message_end", call - 1) < at("message_start", call));
            if mode == ExecutionMode::Sequential {
                assert!(at("message_end", call - 1) < start);
            }
        }
    }
    if mode == ExecutionMode::Parallel
        && let Some(last) = specs.len().checked_sub(1)
        && let Some(first) = (0..specs.len()).filter_map(entered).min()
    {
        assert!(at("start", last) < first, "an execution before the last prepare: {lines:#?}");
    }
    for (later, spec) in specs.iter().enumerate() {
        for (earlier, other) in specs[..later].iter().enumerate() {
            let in_one_plugin = (spec.tool == "observed") == (other.tool == "observed");
            let conflict = spec.key.is_some() && spec.key == other.key && in_one_plugin;
            let writes = spec.tool != "read" || other.tool != "read";
            if conflict
                && writes
                && entered(earlier).is_some()
                && let Some(enter) = entered(later)
            {
                assert!(at("exit", earlier) < enter, "{earlier} and {later} overlap: {lines:#?}");
            }
        }
    }
}

fn paused() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

fn run(specs: &[Spec], mode: ExecutionMode) -> (BatchOutcome, Vec<String>) {
    let trace = Trace::default();
    let host = host(&trace);
    let batch = Batch::new(message("c", specs)).mode(mode).sink(recorder(&trace));
    (paused().block_on(host.run(batch)), trace.take())
}

const MODES: [ExecutionMode; 2] = [ExecutionMode::Parallel, ExecutionMode::Sequential];

/// Panics of tools and hooks are part of these batches; their messages would bury a real failure.
fn quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(silence);
}

fn silence() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let is_ours = info.payload().downcast_ref::<&str>().is_some_and(|text| text.ends_with("'s bug"));
        if !is_ours {
            usual(info);
        }
    }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_batch_keeps_the_rules_and_gives_the_same_messages_whenever_and_however_it_runs(
        specs in specs(),
        other_delays in proptest::collection::vec(0..6_u64, 9),
    ) {
        quiet();
        let mut seen = Vec::new();
        for mode in MODES {
            for _again in 0..2 {
                let (outcome, lines) = run(&specs, mode);
                assert_batch("c", &specs, mode, &outcome, &lines);
                seen.push(without_time(&outcome));
            }
        }
        let mut retimed = specs.clone();
        for (spec, delay) in retimed.iter_mut().zip(other_delays) {
            spec.delay = delay;
        }
        let (outcome, lines) = run(&retimed, ExecutionMode::Parallel);
        assert_batch("c", &retimed, ExecutionMode::Parallel, &outcome, &lines);
        seen.push(without_time(&outcome));
        for messages in &seen {
            prop_assert_eq!(messages, &seen[0]);
        }
    }

    #[test]
    fn a_cancelled_batch_keeps_the_rules(specs in specs(), at in 0..30_u64, is_parallel: bool) {
        quiet();
        let mode = MODES[usize::from(!is_parallel)];
        let trace = Trace::default();
        let host = host(&trace);
        let cancel = CancellationToken::new();
        let batch = Batch::new(message("c", &specs)).mode(mode).cancel(cancel.clone()).sink(recorder(&trace));
        let outcome = paused().block_on(async {
            tokio::spawn(async move {
                sleep_ms(at).await;
                cancel.cancel();
            });
            host.run(batch).await
        });
        assert_batch("c", &specs, mode, &outcome, &trace.take());
    }

    #[test]
    fn batches_beside_each_other_share_keys_and_nothing_else(first in specs(), second in specs()) {
        quiet();
        let trace = Trace::default();
        let shared = host(&trace);
        let run_beside = |name: &'static str, specs: &[Spec]| {
            let batch = Batch::new(message(name, specs)).sink(recorder(&trace));
            let shared = shared.clone();
            async move { shared.run(batch).await }
        };
        let (a, b) = paused().block_on(async { tokio::join!(run_beside("a", &first), run_beside("b", &second)) });
        let lines = trace.take();
        for (name, specs, outcome) in [("a", &first, &a), ("b", &second, &b)] {
            let own: Vec<_> = lines.iter().filter(|line| line.split(' ').nth(1).unwrap().starts_with(name)).cloned().collect();
            assert_batch(name, specs, ExecutionMode::Parallel, outcome, &own);
            let alone = paused().block_on(host(&Trace::default()).run(Batch::new(message(name, specs))));
            prop_assert_eq!(without_time(outcome), without_time(&alone));
        }
        // Across the two: holders of one key never overlap where one of them writes.
        let mut holders: HashMap<(bool, u8), Vec<(String, bool)>> = HashMap::new();
        for line in &lines {
            let Some((word @ ("enter" | "exit"), id)) = line.split_once(' ') else { continue };
            let specs = if id.starts_with('a') { &first } else { &second };
            let spec = &specs[id[1..].parse::<usize>().unwrap()];
            let Some(key) = spec.key else { continue };
            let inside = holders.entry((spec.tool == "observed", key)).or_default();
            if word == "exit" {
                inside.retain(|(other, _)| other != id);
                continue;
            }
            let writes = spec.tool != "read";
            prop_assert!(inside.iter().all(|(_, other_writes)| !writes && !other_writes), "{:#?}", lines);
            inside.push((id.to_owned(), writes));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// On real threads and a real clock: the order of things differs from run to run, the rules do not.
    #[test]
    fn batches_on_several_threads_keep_the_rules(specs in specs()) {
        quiet();
        let runtime = Builder::new_multi_thread().worker_threads(3).enable_time().build().unwrap();
        let trace = Trace::default();
        let host = host(&trace);
        let batch = Batch::new(message("c", &specs)).sink(recorder(&trace));
        let outcome = runtime.block_on(host.run(batch));
        assert_batch("c", &specs, ExecutionMode::Parallel, &outcome, &trace.take());
        prop_assert_eq!(without_time(&outcome), without_time(&run(&specs, ExecutionMode::Sequential).0));
    }
}
