//! Hook chains: order, gates that fail closed, observers, replaced arguments, questions, and `settled`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::model::{Content, ErrorKind, ExecutionMode, Json, Override, StopReason, ToolResult};
use toolgate::pipeline::{
    Approval, ApprovalRequest, Approver, Batch, DEFAULT_CONVERSATION, Decision, HookError, OnError,
};
use toolgate::registry::Plugin;
use toolgate::state::{Scope, StateKey, StateLimits};

use crate::support::*;

fn show() -> FnTool {
    tool("show", |_, arguments| Box::pin(async { Ok(ToolResult::text(arguments.text())) }))
        .parameters(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
}

fn load(host: &Host, name: &str, hook: FnHook) {
    host.load(Plugin::native(name).hook(hook)).unwrap();
}

fn with_tool(host: Host) -> Host {
    host.load(Plugin::native("tools").tool(show())).unwrap();
    host
}

/// A before hook that always decides the same.
fn decides(decision: Decision) -> FnHook {
    FnHook::default().before(move |_, _| {
        let decision = decision.clone();
        Box::pin(async move { Ok(decision) })
    })
}

fn fails(error: HookError) -> FnHook {
    FnHook::default().before(move |_, _| {
        let error = error.clone();
        Box::pin(async move { Err(error) })
    })
}

fn replaces(arguments: serde_json::Value) -> FnHook {
    decides(Decision::ReplaceArguments(arguments.into()))
}

fn asks(title: &str) -> FnHook {
    decides(Decision::Ask { title: title.into(), text: "really?".into() })
}

fn blocks(reason: Option<&str>) -> FnHook {
    decides(Decision::Block { reason: reason.map(str::to_owned), terminate: false })
}

async fn run_one(host: &Host) -> toolgate::pipeline::BatchOutcome {
    host.run(Batch::new(calls(&["show"]))).await
}

#[tokio::test(start_paused = true)]
async fn hooks_run_in_the_configured_order_and_then_as_loaded() {
    let trace = Trace::default();
    let host = with_tool(Host::builder().hook_order(["third", "first"]).build());
    for name in ["first", "second", "third"] {
        let (before, after) = (trace.clone(), trace.clone());
        let hook = FnHook::default()
            .before(move |_, _| {
                before.note(format!("before {name}"));
                Box::pin(async { Ok(Decision::Allow) })
            })
            .after(move |_, _, _| {
                after.note(format!("after {name}"));
                Box::pin(async { Ok(None) })
            });
        load(&host, name, hook);
    }
    run_one(&host).await;
    let expected = ["third", "first", "second"];
    let expected = ["before", "after"].map(|word| expected.map(|name| format!("{word} {name}"))).concat();
    assert_eq!(trace.lines(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_later_hook_sees_replaced_arguments_which_are_coerced_and_validated_again() {
    let host = with_tool(Host::new());
    load(&host, "first", replaces(json!({"n": "7"})));
    let seen = Trace::default();
    let note = seen.clone();
    let second = FnHook::default().before(move |cx, arguments| {
        note.note(format!("{} {}", cx.call.arguments, arguments));
        Box::pin(async { Ok(Decision::Allow) })
    });
    load(&host, "second", second);
    assert_eq!(texts(&run_one(&host).await), [r#"{"n":7}"#]);
    assert_eq!(seen.lines(), [r#"{} {"n":7}"#]);

    load(&host, "third", replaces(json!({"n": "seven"})));
    let outcome = run_one(&host).await;
    let error = outcome.messages[0].error.clone().unwrap();
    assert_eq!(error.kind, ErrorKind::HookFailed);
    assert_eq!((error.hook.as_deref(), error.plugin.as_deref()), (Some("third"), Some("third")));
    let text = &texts(&outcome)[0];
    assert!(text.starts_with("Hook \"third\" of plugin \"third\" failed in before-tool-call: "), "{text}");
    assert!(text.contains("  - n: "), "{text}");
}

#[tokio::test(start_paused = true)]
async fn the_first_block_wins_and_later_hooks_are_not_called() {
    let host = with_tool(Host::new());
    load(&host, "first", blocks(Some("no")));
    load(&host, "second", FnHook::default().before(|_, _| panic!("must not be called")));
    let outcome = run_one(&host).await;
    assert_eq!((texts(&outcome), kinds(&outcome)), (vec!["no".into()], vec![Some("blocked")]));
    assert_eq!(outcome.messages[0].error.clone().unwrap().hook.as_deref(), Some("first"));

    for empty in [None, Some("")] {
        let host = with_tool(Host::new());
        load(&host, "first", blocks(empty));
        assert_eq!(texts(&run_one(&host).await), ["Tool execution was blocked"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_refuses_the_call_and_is_named() {
    let trap = HookError::Failed { cause: ErrorKind::Trap, message: "it ran into unreachable code".into() };
    let own = HookError::Returned("policy file missing".into());
    let silent = HookError::Returned(String::new());
    let panics = FnHook::default().before(|_, _| Box::pin(async { panic!("a hook's bug") }));
    for (hook, words, cause) in [
        (
            fails(trap),
            "Hook \"gate\" of plugin \"gate\" failed in before-tool-call: it ran into unreachable code",
            Some(ErrorKind::Trap),
        ),
        (fails(own), "policy file missing", None),
        (fails(silent), "Hook \"gate\" of plugin \"gate\" failed in before-tool-call: it gave no reason", None),
        (panics, "Hook \"gate\" of plugin \"gate\" failed in before-tool-call: it panicked", Some(ErrorKind::Trap)),
    ] {
        let host = with_tool(Host::new());
        load(&host, "gate", hook);
        let outcome = run_one(&host).await;
        let error = outcome.messages[0].error.clone().unwrap();
        assert_eq!(texts(&outcome), [words]);
        assert_eq!((error.kind, error.cause), (ErrorKind::HookFailed, cause));
        assert_eq!((error.hook.as_deref(), error.plugin.as_deref()), (Some("gate"), Some("gate")));
    }
}

#[tokio::test(start_paused = true)]
async fn an_operator_may_narrow_the_tools_a_hook_is_called_for() {
    let host = with_tool(Host::new());
    let mut plugin = Plugin::native("gate").hook(blocks(None));
    plugin.hook_settings.tools = Some(vec!["other".into()]);
    host.load(plugin).unwrap();
    assert_eq!(kinds(&run_one(&host).await), [None]);
}

#[derive(Clone, Copy)]
enum Answer {
    Yes,
    No(Option<&'static str>),
    After(u64),
    Never,
    Panic,
}

struct Asked {
    answer: Answer,
    requests: Mutex<Vec<ApprovalRequest>>,
    live: Live,
}

#[async_trait]
impl Approver for Asked {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        let _alive = self.live.one();
        self.requests.lock().unwrap().push(request);
        match self.answer {
            Answer::Yes => Approval::Approved,
            Answer::No(reason) => Approval::Declined { reason: reason.map(str::to_owned) },
            Answer::After(seconds) => {
                sleep_ms(seconds * 1000).await;
                Approval::Approved
            }
            Answer::Never => std::future::pending().await,
            Answer::Panic => panic!("an approver's bug"),
        }
    }
}

fn asked(answer: Answer) -> Arc<Asked> {
    Arc::new(Asked { answer, requests: Mutex::default(), live: Live::default() })
}

#[tokio::test(start_paused = true)]
async fn an_approver_answers_yes_no_late_or_never() {
    const DECLINED: &str = "Tool execution was declined";
    for (answer, text) in [
        (Answer::Yes, "{}"),
        (Answer::No(None), DECLINED),
        (Answer::No(Some("not today")), "Tool execution was declined: not today"),
        (Answer::After(119), "{}"),
        (Answer::After(121), DECLINED),
        (Answer::Never, DECLINED),
        (Answer::Panic, DECLINED),
    ] {
        let approver = asked(answer);
        let host = with_tool(Host::builder().approver(approver.clone()).build());
        load(&host, "gate", asks("write?"));
        let outcome = run_one(&host).await;
        assert_eq!(texts(&outcome), [text]);
        assert_eq!(kinds(&outcome), [(text != "{}").then_some("declined")]);
        assert_eq!(approver.requests.lock().unwrap().len(), 1);
        assert_eq!(approver.live.count(), 0);
    }
    let host = with_tool(Host::new());
    load(&host, "gate", asks("write?"));
    let outcome = run_one(&host).await;
    assert_eq!(texts(&outcome), [DECLINED]);
    let error = outcome.messages[0].error.clone().unwrap();
    assert_eq!(error.hook.as_deref(), Some("gate"));
    assert!(error.hint.unwrap().contains("no approver"));
}

#[tokio::test(start_paused = true)]
async fn all_questions_are_put_at_once_with_the_arguments_that_would_run() {
    let approver = asked(Answer::Yes);
    let host = with_tool(Host::builder().approver(approver.clone()).build());
    load(&host, "first", asks("one?"));
    load(&host, "changer", replaces(json!({"n": 2})));
    load(&host, "second", asks("two?"));
    assert_eq!(texts(&run_one(&host).await), [r#"{"n":2}"#]);
    let requests = approver.requests.lock().unwrap();
    let titles: Vec<_> = requests[0].questions.iter().map(|question| (&*question.title, &*question.hook)).collect();
    assert_eq!(requests.len(), 1);
    assert_eq!(titles, [("one?", "first"), ("two?", "second")]);
    assert_eq!(requests[0].arguments, json!({"n": 2}).into());
    assert_eq!(requests[0].call.arguments, json!({}).into());
}

#[tokio::test(start_paused = true)]
async fn a_block_after_a_question_wins_and_nobody_is_asked() {
    let approver = asked(Answer::Yes);
    let host = with_tool(Host::builder().approver(approver.clone()).build());
    load(&host, "asks", asks("write?"));
    load(&host, "blocks", blocks(Some("never")));
    assert_eq!(texts(&run_one(&host).await), ["never"]);
    assert!(approver.requests.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_hooks_error_wins_over_a_cancellation_and_a_cancellation_over_everything_else() {
    let invalid = Decision::ReplaceArguments(json!({"n": "x"}).into());
    let block = Decision::Block { reason: Some("no".into()), terminate: true };
    let ask = Decision::Ask { title: "?".into(), text: String::new() };
    for (answer, kind) in [
        (Ok(Decision::Allow), "aborted"),
        (Ok(block), "aborted"),
        (Ok(ask), "aborted"),
        (Ok(invalid), "hook-failed"),
        (Err(HookError::Returned("broke".into())), "hook-failed"),
    ] {
        let cancel = CancellationToken::new();
        let approver = asked(Answer::Yes);
        let host = with_tool(Host::builder().approver(approver.clone()).build());
        let token = cancel.clone();
        let hook = FnHook::default().before(move |_, _| {
            token.cancel();
            let answer = answer.clone();
            Box::pin(async move { answer })
        });
        load(&host, "gate", hook);
        let outcome = host.run(Batch::new(calls(&["show"])).cancel(cancel)).await;
        assert_eq!(kinds(&outcome), [Some(kind)]);
        assert!(approver.requests.lock().unwrap().is_empty());
        assert_eq!(outcome.messages[0].result.terminate, None);
    }
}

fn after(answer: Result<Option<Override>, HookError>) -> FnHook {
    FnHook::default().after(move |_, _, _| {
        let answer = answer.clone();
        Box::pin(async move { answer })
    })
}

fn rich() -> FnTool {
    tool("show", |_, _| {
        Box::pin(async {
            Ok(ToolResult {
                details: Some(json!({"d": 1}).into()),
                structured_content: Some(json!({"secret": 1}).into()),
                usage: Some(json!({"u": 1}).into()),
                terminate: Some(true),
                added_tool_names: Some(vec!["new".into()]),
                ..ToolResult::text("secret")
            })
        })
    })
}

async fn overridden(change: Override) -> toolgate::pipeline::BatchOutcome {
    let host = Host::new();
    host.load(Plugin::native("tools").tool(rich())).unwrap();
    load(&host, "after", after(Ok(Some(change))));
    run_one(&host).await
}

#[tokio::test(start_paused = true)]
async fn an_override_changes_what_it_gives_and_nothing_else() {
    let untouched = overridden(Override::default()).await;
    assert_eq!(untouched.messages[0].result.structured_content, Some(json!({"secret": 1}).into()));
    assert!(untouched.terminate);

    // A redaction must not leave the secret in the other copy.
    let redacted = overridden(Override { content: Some(vec![Content::text("***")]), ..Override::default() }).await;
    let result = &redacted.messages[0].result;
    assert_eq!(texts(&redacted), ["***"]);
    assert_eq!(result.structured_content, None);
    assert_eq!(
        (result.details.clone(), result.usage.clone()),
        (Some(json!({"d": 1}).into()), Some(json!({"u": 1}).into()))
    );
    assert_eq!(redacted.messages[0].added_tool_names(), ["new"]);

    let both = Override { content: Some(vec![]), structured_content: Some(json!({}).into()), ..Override::default() };
    let both = overridden(both).await;
    assert!(both.messages[0].result.content.is_empty());
    assert_eq!(both.messages[0].result.structured_content, Some(json!({}).into()));

    let null = overridden(Override { details: Some(Json::null()), ..Override::default() }).await;
    assert_eq!(null.messages[0].result.details, Some(Json::null()));
    assert!(serde_json::to_string(&null.messages[0]).unwrap().contains(r#""details":null"#));

    let flagged = overridden(Override { is_error: Some(true), terminate: Some(false), ..Override::default() }).await;
    assert!(flagged.messages[0].is_error && !flagged.terminate);
    let error = flagged.messages[0].error.clone().unwrap();
    assert_eq!((error.kind, error.hook.as_deref()), (ErrorKind::ToolFailed, Some("after")));
}

#[tokio::test(start_paused = true)]
async fn an_error_made_a_success_has_no_error_left() {
    let host = Host::new();
    let fails = tool("show", |_, _| Box::pin(async { Err(toolgate::pipeline::ToolError::failed("exit 1")) }));
    host.load(Plugin::native("tools").tool(fails)).unwrap();
    load(&host, "after", after(Ok(Some(Override { is_error: Some(false), ..Override::default() }))));
    let outcome = run_one(&host).await;
    assert_eq!((texts(&outcome), kinds(&outcome)), (vec!["exit 1".to_owned()], vec![None]));
    assert!(!outcome.messages[0].is_error);
}

#[tokio::test(start_paused = true)]
async fn an_after_hook_that_fails_replaces_the_result_or_is_skipped() {
    let trap = HookError::Failed { cause: ErrorKind::Deadline, message: "it took longer than 5 s".into() };
    let panics = || FnHook::default().after(|_, _, _| Box::pin(async { panic!("a hook's bug") }));
    let own = || after(Err(HookError::Returned("audit crashed".into())));
    let hooks: [(&dyn Fn() -> FnHook, &str); 3] = [
        (&own, "audit crashed"),
        (
            &|| after(Err(trap.clone())),
            "Hook \"audit\" of plugin \"audit\" failed in after-tool-call: it took longer than 5 s",
        ),
        (&panics, "Hook \"audit\" of plugin \"audit\" failed in after-tool-call: it panicked"),
    ];
    for (hook, words) in hooks {
        let host = Host::new();
        host.load(Plugin::native("tools").tool(rich())).unwrap();
        load(&host, "audit", hook());
        let outcome = run_one(&host).await;
        let result = &outcome.messages[0].result;
        assert_eq!((texts(&outcome), kinds(&outcome)), (vec![words.to_owned()], vec![Some("hook-failed")]));
        assert_eq!((&result.usage, &result.terminate, &result.added_tool_names), (&None, &None, &None));
        assert_eq!(result.details, Some(Json::empty_object()));

        let host = Host::new();
        host.load(Plugin::native("tools").tool(rich())).unwrap();
        host.load(Plugin::native("audit").hook(hook()).on_error(OnError::Skip)).unwrap();
        let trace = Trace::default();
        let sink = recorder(&trace);
        let outcome = host.run(Batch::new(calls(&["show"])).sink(sink.clone())).await;
        assert_eq!((texts(&outcome), kinds(&outcome)), (vec!["secret".to_owned()], vec![None]));
        assert!(outcome.terminate);
        let skipped = &sink.of_type("hook_skipped")[0];
        assert_eq!((&skipped["hook"], &skipped["message"]), (&json!("audit"), &json!(words)));
        assert!(trace.at("hook_skipped c1") < trace.at("end c1"));
    }
}

#[tokio::test(start_paused = true)]
async fn on_error_skip_does_not_open_a_before_hook() {
    let host = with_tool(Host::new());
    let hook = fails(HookError::Returned("broke".into()));
    host.load(Plugin::native("gate").hook(hook).on_error(OnError::Skip)).unwrap();
    assert_eq!(kinds(&run_one(&host).await), [Some("hook-failed")]);
}

#[tokio::test(start_paused = true)]
async fn settled_hooks_see_every_call_and_outcome_after_its_end_event_and_before_the_batch_is_over() {
    for mode in [ExecutionMode::Parallel, ExecutionMode::Sequential] {
        let host = with_tool(Host::new());
        let trace = Trace::default();
        let note = trace.clone();
        let hook = FnHook::default()
            .before(|cx, _| {
                let block = cx.call.arguments.value()["block"] == true;
                let decision = if block { Decision::Block { reason: None, terminate: false } } else { Decision::Allow };
                Box::pin(async move { Ok(decision) })
            })
            .settled(move |cx, settled| {
                let note = note.clone();
                let kind = settled.error.as_ref().map_or("ok", |error| error.kind.as_str());
                let line = format!("settled {} {kind} {}", cx.call.id, settled.arguments);
                Box::pin(async move {
                    sleep_ms(20).await;
                    note.note(line);
                    Ok(())
                })
            });
        load(&host, "watch", hook);
        let message = toolgate::model::AssistantMessage::of_calls([
            call("c1", "show", json!({"n": "1"})),
            call("c2", "nobody", json!({})),
            call("c3", "show", json!({"n": "x"})),
            call("c4", "show", json!({"block": true})),
        ]);
        host.run(Batch::new(message.clone()).mode(mode).sink(recorder(&trace))).await;
        for (id, line) in [
            ("c1", r#"settled c1 ok {"n":1}"#),
            ("c2", "settled c2 not-found {}"),
            ("c3", r#"settled c3 invalid-arguments {"n":"x"}"#),
            ("c4", r#"settled c4 blocked {"block":true}"#),
        ] {
            assert!(trace.at(&format!("end {id}")) < trace.at(line));
        }
        // What a settled hook counts is there for the next call's before hooks.
        assert!(trace.at("settled c2 not-found {}") < trace.at("start c3"));

        trace.take();
        let cut = toolgate::model::AssistantMessage { stop_reason: StopReason::Length, ..message.clone() };
        host.run(Batch::new(cut)).await;
        assert_eq!(trace.take().len(), 4);
        let cancel = CancellationToken::new();
        cancel.cancel();
        host.run(Batch::new(message).cancel(cancel)).await;
        assert!(trace.take().iter().all(|line| line.contains("aborted")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_settled_hook_that_fails_or_panics_changes_nothing() {
    for panics in [false, true] {
        let host = with_tool(Host::new());
        let hook = FnHook::default().settled(move |_, _| {
            Box::pin(async move { if panics { panic!("a hook's bug") } else { Err(HookError::Returned("no".into())) } })
        });
        load(&host, "watch", hook);
        assert_eq!(kinds(&run_one(&host).await), [None]);
    }
}

/// At most two writes in a turn, counted in host-kept state.
#[tokio::test(start_paused = true)]
async fn a_policy_counts_across_the_batches_of_a_turn() {
    let host = with_tool(Host::new());
    let budget = FnHook::default().before(|cx, _| {
        let plugin = "budget".into();
        let at = StateKey {
            scope: Scope::Turn,
            conversation: &cx.batch.conversation,
            turn: &cx.batch.turn,
            plugin: &plugin,
        };
        let used = cx.state.add(&at, "calls", 1.0, StateLimits { keys: 10, bytes: 100 }).unwrap();
        let decision = if used > 2.0 {
            Decision::Block { reason: Some("budget".into()), terminate: false }
        } else {
            Decision::Allow
        };
        Box::pin(async move { Ok(decision) })
    });
    load(&host, "budget", budget);
    let blocked = |outcome: toolgate::pipeline::BatchOutcome| kinds(&outcome).into_iter().flatten().count();
    let three = || calls(&["show", "show", "show"]);
    // Unnamed: each batch is a turn of its own.
    assert_eq!(blocked(host.run(Batch::new(three())).await), 1);
    assert_eq!(blocked(host.run(Batch::new(three())).await), 1);
    // Named: it goes on until it is ended.
    assert_eq!(blocked(host.run(Batch::new(three()).turn("t")).await), 1);
    assert_eq!(blocked(host.run(Batch::new(three()).turn("t")).await), 3);
    // Another conversation's turn of that name is another turn.
    assert_eq!(blocked(host.run(Batch::new(three()).turn("t").conversation("k")).await), 1);
    host.state().end_turn(DEFAULT_CONVERSATION, "t");
    assert_eq!(blocked(host.run(Batch::new(three()).turn("t")).await), 1);
}

#[tokio::test(start_paused = true)]
async fn hooks_know_the_batch() {
    let host = with_tool(Host::new());
    let seen = Trace::default();
    let note = seen.clone();
    let hook = FnHook::default().before(move |cx, _| {
        let message = cx.batch.message.as_ref().map_or("none", |message| message.text());
        note.note(format!("{}/{} {} {} {message}", cx.position, cx.batch.size, cx.batch.turn, cx.batch.conversation));
        Box::pin(async { Ok(Decision::Allow) })
    });
    load(&host, "look", hook);
    let text = r#"[{"id":"c1","name":"show"},{"id":"c2","name":"show"}]"#;
    let message = toolgate::model::AssistantMessage::parse(text).unwrap();
    host.run(Batch::new(message).turn("t").conversation("k")).await;
    assert_eq!(seen.lines(), [format!("0/2 t k {text}"), format!("1/2 t k {text}")]);
}

#[tokio::test(start_paused = true)]
async fn approval_timeout_is_configurable() {
    let approver = asked(Answer::After(2));
    let host = with_tool(Host::builder().approver(approver).approval_timeout(Duration::from_secs(1)).build());
    load(&host, "gate", asks("?"));
    assert_eq!(kinds(&run_one(&host).await), [Some("declined")]);
}

struct WantsPanics;

#[async_trait]
impl toolgate::pipeline::Hook for WantsPanics {
    fn wants(&self, _: toolgate::pipeline::HookEvent, _: &str) -> bool {
        panic!("a hook's bug")
    }

    async fn before_tool_call(&self, _: &toolgate::pipeline::CallContext, _: &Json) -> Result<Decision, HookError> {
        Err(HookError::Returned("it was called".into()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_over_whether_it_is_wanted_is_called() {
    let host = with_tool(Host::new());
    host.load(Plugin::native("gate").hook(WantsPanics)).unwrap();
    assert_eq!(texts(&run_one(&host).await), ["it was called"]);
}

#[tokio::test(start_paused = true)]
async fn hooks_behind_one_in_which_the_batch_was_cancelled_still_run() {
    let cancel = CancellationToken::new();
    let host = with_tool(Host::new());
    let token = cancel.clone();
    let cancels = FnHook::default().before(move |_, _| {
        token.cancel();
        Box::pin(async { Ok(Decision::Allow) })
    });
    load(&host, "first", cancels);
    load(&host, "second", fails(HookError::Returned("broke".into())));
    let outcome = host.run(Batch::new(calls(&["show", "show"])).cancel(cancel)).await;
    assert_eq!(texts(&outcome), ["broke", "Operation aborted"]);
}
