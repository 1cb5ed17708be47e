//! Events and messages, modes, and what a batch as a whole answers.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::Barrier;
use toolgate::Host;
use toolgate::model::{AssistantMessage, ExecutionMode, Json, StopReason, ToolResult};
use toolgate::pipeline::{Batch, ToolError};
use toolgate::registry::Plugin;

use crate::support::*;

fn host(tools: impl IntoIterator<Item = FnTool>) -> Host {
    let host = Host::new();
    let plugin = tools.into_iter().fold(Plugin::native("tools"), Plugin::tool);
    host.load(plugin).unwrap();
    host
}

fn sleeper(name: &str, ms: u64) -> FnTool {
    tool(name, move |cx, _| {
        Box::pin(async move {
            sleep_ms(ms).await;
            Ok(ToolResult::text(&*cx.call.id))
        })
    })
}

#[tokio::test(start_paused = true)]
async fn ends_come_as_calls_finish_and_messages_as_the_model_wrote_them() {
    let host = host([sleeper("slow", 20), sleeper("quick", 10)]);
    let trace = Trace::default();
    let outcome = host.run(Batch::new(calls(&["slow", "nobody", "quick"])).sink(recorder(&trace))).await;
    assert_eq!(texts(&outcome), ["c1", "Tool nobody not found", "c3"]);
    assert_eq!(
        trace.take(),
        [
            "start c1",
            "start c2",
            "end c2",
            "start c3",
            "end c3",
            "end c1",
            "message_start c1",
            "message_end c1",
            "message_start c2",
            "message_end c2",
            "message_start c3",
            "message_end c3"
        ]
    );
    let batch = Batch::new(calls(&["slow", "nobody", "quick"])).mode(ExecutionMode::Sequential);
    assert_eq!(texts(&host.run(batch.sink(recorder(&trace))).await), texts(&outcome));
    let per_call = |id: &str| ["start", "end", "message_start", "message_end"].map(|word| format!("{word} {id}"));
    assert_eq!(trace.take(), ["c1", "c2", "c3"].map(per_call).concat());
}

#[tokio::test(start_paused = true)]
async fn one_sequential_tool_makes_the_whole_batch_sequential_even_where_its_call_is_invalid() {
    let sequential =
        |tool: FnTool| tool.define(|definition| definition.execution_mode = Some(ExecutionMode::Sequential));
    let strict = sequential(echo("strict")).parameters(json!({"type": "object", "required": ["v"]}));
    let host = host([sleeper("slow", 20), strict]);
    let trace = Trace::default();
    host.run(Batch::new(calls(&["slow", "strict", "slow"])).sink(recorder(&trace))).await;
    assert!(trace.at("message_end c1") < trace.at("start c2"));
    assert!(trace.at("message_end c2") < trace.at("start c3"));
}

#[tokio::test(start_paused = true)]
async fn a_tools_parallel_does_not_undo_a_sequential_batch() {
    let parallel = |tool: FnTool| tool.define(|definition| definition.execution_mode = Some(ExecutionMode::Parallel));
    let host = host([parallel(sleeper("slow", 20))]);
    let trace = Trace::default();
    let batch = Batch::new(calls(&["slow", "slow"])).mode(ExecutionMode::Sequential);
    host.run(batch.sink(recorder(&trace))).await;
    assert!(trace.at("message_end c1") < trace.at("start c2"));
}

#[tokio::test(start_paused = true)]
async fn one_tool_runs_beside_itself() {
    let barrier = Arc::new(Barrier::new(2));
    let meet = tool("meet", move |_, _| {
        let barrier = barrier.clone();
        Box::pin(async move {
            barrier.wait().await;
            Ok(ToolResult::text("met"))
        })
    });
    assert_eq!(texts(&host([meet]).run(Batch::new(calls(&["meet", "meet"]))).await), ["met", "met"]);
}

/// Guests compute between their yields: one call must not keep another from its processor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_a_parallel_batch_use_several_threads() {
    let (to_second, from_first) = mpsc::channel();
    let (to_first, from_second) = mpsc::channel();
    let ends = [std::sync::Mutex::new((to_second, from_second)), std::sync::Mutex::new((to_first, from_first))];
    let block = tool("block", move |cx, _| {
        let (to, from) = &*ends[cx.position as usize].lock().unwrap();
        to.send(()).unwrap();
        let met = from.recv_timeout(Duration::from_secs(30)).is_ok();
        Box::pin(async move { Ok(ToolResult::text(met.to_string())) })
    });
    assert_eq!(texts(&host([block]).run(Batch::new(calls(&["block", "block"]))).await), ["true", "true"]);
}

#[tokio::test(start_paused = true)]
async fn two_calls_with_one_id_both_run() {
    let message = AssistantMessage::of_calls([call("same", "a", json!({})), call("same", "b", json!({}))]);
    let outcome = host([echo("a"), echo("b")]).run(Batch::new(message)).await;
    assert_eq!(texts(&outcome), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_cut_at_the_output_limit_runs_nothing() {
    let trace = Trace::default();
    let ran = trace.clone();
    let host = host([tool("write", move |_, _| {
        ran.note("ran");
        Box::pin(async { Ok(ToolResult::default()) })
    })]);
    let mut message = calls(&["write", "nobody"]);
    message.stop_reason = StopReason::Length;
    let outcome = host.run(Batch::new(message).sink(recorder(&trace))).await;
    let per_call = |id: &str| ["start", "end", "message_start", "message_end"].map(|word| format!("{word} {id}"));
    assert_eq!(trace.take(), [per_call("c1"), per_call("c2")].concat());
    assert_eq!(kinds(&outcome), [Some("truncated-call"), Some("truncated-call")]);
    assert!(
        texts(&outcome)[0].starts_with("Tool call \"write\" was not executed: the response hit the output token limit")
    );
    assert!(!outcome.terminate);
}

#[tokio::test(start_paused = true)]
async fn a_failed_or_aborted_message_has_no_results_and_an_empty_one_does_not_terminate() {
    let host = host([echo("a")]);
    let trace = Trace::default();
    for stop_reason in [StopReason::Error, StopReason::Aborted] {
        let mut message = calls(&["a"]);
        message.stop_reason = stop_reason;
        let outcome = host.run(Batch::new(message).sink(recorder(&trace))).await;
        assert!(outcome.messages.is_empty() && !outcome.terminate);
    }
    assert!(!host.run(Batch::new(calls(&[])).sink(recorder(&trace))).await.terminate);
    assert!(trace.lines().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_batch_terminates_only_where_every_result_says_so() {
    let stop = |name: &str, terminate: Option<bool>| {
        tool(name, move |_, _| Box::pin(async move { Ok(ToolResult { terminate, ..ToolResult::text("x") }) }))
    };
    let host = host([stop("yes", Some(true)), stop("no", Some(false)), stop("silent", None)]);
    for (names, terminate) in
        [(&["yes", "yes"][..], true), (&["yes", "no"], false), (&["yes", "silent"], false), (&["yes", "nobody"], false)]
    {
        for mode in [ExecutionMode::Parallel, ExecutionMode::Sequential] {
            let outcome = host.run(Batch::new(calls(names)).mode(mode)).await;
            assert_eq!(outcome.terminate, terminate, "{names:?}");
            assert_eq!(outcome.messages.len(), names.len(), "later calls run all the same");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_way_to_fail_is_an_error_result_of_its_kind_and_siblings_go_on() {
    let strict = echo("strict").parameters(json!({"type": "object", "required": ["v"]}));
    let soft = tool("soft", |_, _| Box::pin(async { Ok(ToolResult { is_error: true, ..ToolResult::text("soft") }) }));
    let host = host([
        tool("fails", |_, _| Box::pin(async { Err(ToolError::failed("boom")) })),
        tool("panics", |_, _| Box::pin(async { panic!("a tool's bug") })),
        tool("lies", |_, _| Box::pin(async { Err(ToolError::cancelled()) })),
        echo("busy").acquire(|_| {
            Box::pin(async {
                Err(ToolError::of(toolgate::model::ErrorKind::Unavailable, "the queue is full").with_hint("raise it"))
            })
        }),
        echo("old").shim(|_, _| Box::pin(async { Err(ToolError::failed("cannot prepare")) })),
        soft,
        strict,
        echo("fine"),
    ]);
    for mode in [ExecutionMode::Parallel, ExecutionMode::Sequential] {
        let trace = Trace::default();
        let sink = recorder(&trace);
        let names = ["fails", "panics", "lies", "busy", "old", "soft", "strict", "nobody", "fine"];
        let outcome = host.run(Batch::new(calls(&names)).mode(mode).sink(sink.clone())).await;
        assert_eq!(
            kinds(&outcome),
            [
                Some("tool-failed"),
                Some("trap"),
                Some("tool-failed"),
                Some("unavailable"),
                Some("tool-failed"),
                Some("tool-failed"),
                Some("invalid-arguments"),
                Some("not-found"),
                None
            ]
        );
        let said = texts(&outcome);
        assert_eq!(said[0], "boom");
        assert!(said[1].contains("\"panics\"") && !said[1].contains("a tool's bug"), "{}", said[1]);
        assert_eq!(said[4], "cannot prepare");
        assert_eq!(said[8], "fine");
        for message in &outcome.messages {
            assert_eq!(message.is_error, message.error.is_some());
        }
        // The end events say the same as the messages.
        let mut ends = sink.of_type("tool_execution_end");
        ends.sort_by_key(|end| end["toolCallId"].to_string());
        for (end, message) in ends.iter().zip(&outcome.messages) {
            let message = serde_json::to_value(message).unwrap();
            assert_eq!(end["error"], message["error"]);
            assert_eq!(end["isError"], message["isError"]);
            assert_eq!(end["result"]["content"], message["content"]);
        }
        let error = outcome.messages[3].error.clone().unwrap();
        assert_eq!(error.hint.as_deref(), Some("raise it"));
        assert_eq!(error.plugin.as_deref(), Some("tools"));
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_over_the_limit_are_refused_before_anybody_reads_them() {
    let host = Host::new();
    let mut plugin = Plugin::native("tools").tool(echo("echo").shim(|_, _| panic!("nobody should look")));
    plugin.arguments_bytes = Some(100);
    host.load(plugin).unwrap();
    let message = AssistantMessage::of_calls([call("c1", "echo", json!({"v": "x".repeat(200)}))]);
    let outcome = host.run(Batch::new(message)).await;
    assert_eq!(kinds(&outcome), [Some("invalid-arguments")]);
    assert!(texts(&outcome)[0].contains("at most 100"), "{:?}", texts(&outcome));
    assert!(texts(&outcome)[0].len() < 400);
}

#[tokio::test(start_paused = true)]
async fn coercion_is_seen_by_the_tool_and_told_by_an_event() {
    let show = tool("show", |_, arguments| Box::pin(async { Ok(ToolResult::text(arguments.text())) }));
    let host = host([show.parameters(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))]);
    let trace = Trace::default();
    let sink = recorder(&trace);
    let raw = Json::parse(r#"{"n":"9007199254740993"}"#).unwrap();
    let message = AssistantMessage::of_calls([toolgate::model::ToolCall::new("c1", "show", raw)]);
    let outcome = host.run(Batch::new(message).sink(sink.clone())).await;
    assert_eq!(texts(&outcome), [r#"{"n":9007199254740993}"#]);
    assert_eq!(sink.of_type("arguments_coerced")[0]["paths"], json!(["n"]));
    assert_eq!(sink.of_type("tool_execution_start")[0]["args"], json!({"n": "9007199254740993"}));
}

#[tokio::test(start_paused = true)]
async fn digits_beside_what_was_coerced_stay_as_the_model_wrote_them() {
    let parameters = json!({"type": "object", "properties": {"n": {"type": "number"}, "o": {"type": "object"}}});
    let raw = tool("raw", |_, arguments| {
        let text = arguments.text().to_owned();
        Box::pin(async move { Ok(ToolResult::text(text)) })
    });
    let host = host([raw.parameters(parameters)]);
    for number in ["1e400", "1E5", "-0", "0.10", "1e+7", "12345678901234567890123", "1.5E-07"] {
        let arguments = format!(r#"{{ "n" : "{number}","o":"{{\"x\":{number}}}", "rest" : [ {number} ] }}"#);
        let message = AssistantMessage::parse(&format!(r#"[{{"id":"c1","name":"raw","arguments":{arguments}}}]"#));
        let outcome = host.run(Batch::new(message.unwrap())).await;
        assert_eq!(texts(&outcome), [format!(r#"{{"n":{number},"o":{{"x":{number}}},"rest":[ {number} ]}}"#)]);
    }
}

#[tokio::test(start_paused = true)]
async fn structured_content_keeps_to_the_output_schema_or_the_call_fails() {
    let structured = |name: &str, content: serde_json::Value| {
        let result = ToolResult {
            structured_content: (!content.is_null()).then(|| content.into()),
            usage: Some(json!({"tokens": 3}).into()),
            ..ToolResult::text("done")
        };
        let tool = tool(name, move |_, _| {
            let result = result.clone();
            Box::pin(async move { Ok(result) })
        });
        tool.define(|definition| {
            definition.output =
                Some(json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}).into());
        })
    };
    let host = host([
        structured("good", json!({"n": 1})),
        structured("missing", json!({})),
        structured("text", json!({"n": "1"})),
        structured("none", json!(null)),
    ]);
    let outcome = host.run(Batch::new(calls(&["good", "missing", "text", "none"]))).await;
    assert_eq!(kinds(&outcome), [None, Some("tool-failed"), Some("tool-failed"), Some("tool-failed")]);
    assert_eq!(outcome.messages[0].result.structured_content, Some(json!({"n": 1}).into()));
    for message in &outcome.messages[1..] {
        assert!(
            text_of(message).starts_with(&format!("Tool \"{}\" broke its output schema:\n  - ", message.tool_name))
        );
        assert_eq!(message.result.usage, Some(json!({"tokens": 3}).into()));
        assert_eq!(message.result.structured_content, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_messages_wire_shape_has_only_what_was_given() {
    let host = host([tool("t", |_, _| {
        Box::pin(async {
            Ok(ToolResult { added_tool_names: Some(vec![]), terminate: Some(true), ..ToolResult::default() })
        })
    })]);
    let outcome = host.run(Batch::new(calls(&["t"]))).await;
    let mut message = serde_json::to_value(&outcome.messages[0]).unwrap();
    assert!(message.as_object_mut().unwrap().remove("timestamp").unwrap().is_u64());
    assert_eq!(
        message,
        json!({"role": "toolResult", "toolCallId": "c1", "toolName": "t", "content": [], "isError": false})
    );
}

struct DropBomb;

impl Drop for DropBomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("a guard's bug");
        }
    }
}

/// Whatever panics, no call is lost.
#[tokio::test(start_paused = true)]
async fn a_call_whose_tool_panics_where_it_is_dropped_still_has_its_end() {
    for mode in [ExecutionMode::Parallel, ExecutionMode::Sequential] {
        let cancel = tokio_util::sync::CancellationToken::new();
        let token = cancel.clone();
        let host = host([tool("t", move |_, _| {
            let token = token.clone();
            Box::pin(async move {
                let _bomb = DropBomb;
                token.cancel();
                std::future::pending().await
            })
        })]);
        let trace = Trace::default();
        let batch = Batch::new(calls(&["t", "t"])).mode(mode).cancel(cancel).sink(recorder(&trace));
        let outcome = host.run(batch).await;
        assert_eq!(outcome.messages.len(), 2);
        assert_eq!(kinds(&outcome)[0], Some("interrupted"));
        assert_eq!(trace.lines().iter().filter(|line| line.starts_with("end")).count(), 2);
    }
}
