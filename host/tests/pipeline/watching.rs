//! Who watches a batch besides its own sinks: steps between events, a host's watchers, what a batch has of its own.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolgate::Host;
use toolgate::model::{Event, ExecutionMode, Override, ToolCall, ToolResult};
use toolgate::pipeline::{
    Approval, ApprovalRequest, Approver, Batch, BatchInfo, Decision, EventSink, LogLevel, LogLine, LogSink, SinkError,
    Step, Watcher,
};
use toolgate::registry::Plugin;

use crate::support::*;

/// Notes steps and events of every batch, by its tag.
struct Notes {
    trace: Trace,
    tag: String,
}

#[async_trait]
impl EventSink for Notes {
    fn name(&self) -> &str {
        "notes"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        if let Event::ToolExecutionEnd { position, .. } = event {
            self.trace.note(format!("{} {position} end", self.tag));
        }
        Ok(())
    }

    async fn step(&self, position: u32, step: &Step) -> Result<(), SinkError> {
        let step: Value = serde_json::to_value(step)?;
        let words = ["step", "hook", "hookEvent", "answer"].iter().filter_map(|key| step[key].as_str());
        self.trace.note(format!("{} {position} {}", self.tag, words.collect::<Vec<_>>().join(" ")));
        Ok(())
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        self.trace.note(format!("{} over", self.tag));
    }
}

struct Watching(Trace);

impl Watcher for Watching {
    fn watch(&self, batch: &Arc<BatchInfo>, calls: &[ToolCall]) -> Arc<dyn EventSink> {
        assert_eq!(batch.size as usize, calls.len());
        Arc::new(Notes { trace: self.0.clone(), tag: batch.tag.as_deref().unwrap_or("-").into() })
    }
}

struct Panics;

impl Watcher for Panics {
    fn watch(&self, _batch: &Arc<BatchInfo>, _calls: &[ToolCall]) -> Arc<dyn EventSink> {
        panic!("no");
    }
}

/// Approves and takes log lines, and notes of what.
struct Own(Trace);

#[async_trait]
impl Approver for Own {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        self.0.note(format!("asked {:?} {}", request.batch.tag.as_deref(), request.position));
        Approval::Approved
    }
}

impl LogSink for Own {
    fn log(&self, line: &LogLine<'_>) {
        self.0.note(format!("logged {}", line.message));
    }
}

#[tokio::test]
async fn a_watcher_sees_the_steps_of_every_batch_and_its_end() {
    let trace = Trace::default();
    let host = Host::builder().watcher(Arc::new(Panics)).watcher(Arc::new(Watching(trace.clone()))).build();
    host.load(Plugin::native("tools").tool(echo("a")).tool(echo("b"))).unwrap();
    let gate = FnHook::default()
        .before(|cx, _| {
            let block = Decision::Block { reason: None, terminate: false };
            let decision = if &*cx.call.name == "b" { block } else { Decision::Allow };
            Box::pin(async move { Ok(decision) })
        })
        .after(|_, _, _| Box::pin(async { Ok(Some(Override { is_error: Some(false), ..Override::default() })) }));
    host.load(Plugin::native("gate").hook(gate)).unwrap();
    let batch = Batch::new(calls(&["a", "b", "c"])).mode(ExecutionMode::Sequential).tag("x");
    host.run(batch).await;
    let seen = [
        "x 0 hook gate before-tool-call allow",
        "x 0 prepared",
        "x 0 executing",
        "x 0 executed",
        "x 0 hook gate after-tool-call override",
        "x 0 end",
        "x 1 hook gate before-tool-call block",
        "x 1 end",
        "x 2 end",
        "x over",
    ];
    assert_eq!(trace.take(), seen);
    host.run(Batch::new(calls(&["c"]))).await;
    assert_eq!(trace.take(), ["- 0 end", "- over"]);
}

#[tokio::test]
async fn a_batch_may_have_its_own_approver_and_log_sink() {
    let (of_host, own) = (Trace::default(), Trace::default());
    let host = Host::builder().approver(Arc::new(Own(of_host.clone()))).logs(Arc::new(Own(of_host.clone()))).build();
    let logs = tool("a", |cx, _| {
        let line = LogLine { plugin: "p", tool_call_id: None, stream: "log", level: LogLevel::Info, message: "hi" };
        cx.logs.log(&line);
        Box::pin(async { Ok(ToolResult::text("ok")) })
    });
    let asks = FnHook::default()
        .before(|_, _| Box::pin(async { Ok(Decision::Ask { title: "?".into(), text: String::new() }) }));
    host.load(Plugin::native("tools").tool(logs)).unwrap();
    host.load(Plugin::native("asks").hook(asks)).unwrap();
    host.run(Batch::new(calls(&["a"]))).await;
    assert_eq!(of_host.take(), ["asked None 0", "logged hi"]);
    let sink = Arc::new(Own(own.clone()));
    host.run(Batch::new(calls(&["nope", "a"])).approver(sink.clone()).logs(sink).tag("t")).await;
    assert_eq!(own.take(), ["asked Some(\"t\") 1", "logged hi"]);
    assert!(of_host.take().is_empty());
}

/// A user interface shows an answer's kind and time without knowing what was said.
#[test]
fn a_step_is_plain_data() {
    let step = Step::Hook {
        hook: "gate".into(),
        event: toolgate::pipeline::HookEvent::BeforeToolCall,
        answer: toolgate::pipeline::HookAnswer::Replace,
        duration: std::time::Duration::from_micros(1_500),
    };
    let wanted = json!({"step": "hook", "hook": "gate", "hookEvent": "before-tool-call", "answer": "replace", "durationMs": 1.5});
    assert_eq!(serde_json::to_value(step).unwrap(), wanted);
    assert_eq!(serde_json::to_value(Step::Executing).unwrap(), json!({"step": "executing"}));
}
