//! Tools, hooks and sinks made of closures, and a trace they all write to.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use toolgate::model::{
    AssistantMessage, ErrorInfo, Event, Json, Override, ToolCall, ToolDefinition, ToolResult, ToolResultMessage,
};
use toolgate::pipeline::{
    BatchOutcome, CallContext, Decision, EventSink, Hook, HookError, HookEvent, Settled, SinkError, Slot, Tool,
    ToolError,
};

pub type ToolAnswer = Result<ToolResult, ToolError>;
type Body = dyn for<'a> Fn(&'a CallContext, &'a Json) -> BoxFuture<'a, ToolAnswer> + Send + Sync;
type Shim = dyn for<'a> Fn(&'a CallContext, &'a Json) -> BoxFuture<'a, Result<Json, ToolError>> + Send + Sync;
type Acquire = dyn for<'a> Fn(&'a CallContext) -> BoxFuture<'a, Result<Slot, ToolError>> + Send + Sync;

/// A tool made of closures.
pub struct FnTool {
    pub definition: ToolDefinition,
    body: Box<Body>,
    shim: Option<Box<Shim>>,
    acquire: Option<Box<Acquire>>,
}

pub fn object() -> Json {
    json!({"type": "object"}).into()
}

pub fn tool<F>(name: &str, body: F) -> FnTool
where
    F: for<'a> Fn(&'a CallContext, &'a Json) -> BoxFuture<'a, ToolAnswer> + Send + Sync + 'static,
{
    FnTool { definition: ToolDefinition::new(name, "", object()), body: Box::new(body), shim: None, acquire: None }
}

/// A tool that answers its own name.
pub fn echo(name: &str) -> FnTool {
    tool(name, |cx, _| Box::pin(async { Ok(ToolResult::text(&*cx.call.name)) }))
}

impl FnTool {
    pub fn define(mut self, change: impl FnOnce(&mut ToolDefinition)) -> Self {
        change(&mut self.definition);
        self
    }

    pub fn parameters(self, schema: Value) -> Self {
        self.define(|definition| definition.parameters = schema.into())
    }

    pub fn shim<F>(mut self, shim: F) -> Self
    where
        F: for<'a> Fn(&'a CallContext, &'a Json) -> BoxFuture<'a, Result<Json, ToolError>> + Send + Sync + 'static,
    {
        self.definition.prepares_arguments = true;
        self.shim = Some(Box::new(shim));
        self
    }

    pub fn acquire<F>(mut self, acquire: F) -> Self
    where
        F: for<'a> Fn(&'a CallContext) -> BoxFuture<'a, Result<Slot, ToolError>> + Send + Sync + 'static,
    {
        self.acquire = Some(Box::new(acquire));
        self
    }
}

#[async_trait]
impl Tool for FnTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn prepare_arguments(&self, cx: &CallContext, arguments: &Json) -> Result<Json, ToolError> {
        match &self.shim {
            Some(shim) => shim(cx, arguments).await,
            None => Ok(arguments.clone()),
        }
    }

    async fn acquire(&self, cx: &CallContext) -> Result<Slot, ToolError> {
        match &self.acquire {
            Some(acquire) => acquire(cx).await,
            None => Ok(Slot::none()),
        }
    }

    async fn execute(&self, cx: &CallContext, arguments: &Json, slot: Slot) -> ToolAnswer {
        let answer = (self.body)(cx, arguments).await;
        drop(slot);
        answer
    }
}

type Before = dyn for<'a> Fn(&'a CallContext, &'a Json) -> BoxFuture<'a, Result<Decision, HookError>> + Send + Sync;
type After = dyn for<'a> Fn(&'a CallContext, &'a ToolResult, bool) -> BoxFuture<'a, Result<Option<Override>, HookError>>
    + Send
    + Sync;
type Notified = dyn for<'a> Fn(&'a CallContext, &'a Settled) -> BoxFuture<'a, Result<(), HookError>> + Send + Sync;

/// A hook made of closures; it wants what it has one for.
#[derive(Default)]
pub struct FnHook {
    before: Option<Box<Before>>,
    after: Option<Box<After>>,
    settled: Option<Box<Notified>>,
}

impl FnHook {
    pub fn before<F>(mut self, before: F) -> Self
    where
        F: for<'a> Fn(&'a CallContext, &'a Json) -> BoxFuture<'a, Result<Decision, HookError>> + Send + Sync + 'static,
    {
        self.before = Some(Box::new(before));
        self
    }

    pub fn after<F>(mut self, after: F) -> Self
    where
        F: for<'a> Fn(&'a CallContext, &'a ToolResult, bool) -> BoxFuture<'a, Result<Option<Override>, HookError>>
            + Send
            + Sync
            + 'static,
    {
        self.after = Some(Box::new(after));
        self
    }

    pub fn settled<F>(mut self, settled: F) -> Self
    where
        F: for<'a> Fn(&'a CallContext, &'a Settled) -> BoxFuture<'a, Result<(), HookError>> + Send + Sync + 'static,
    {
        self.settled = Some(Box::new(settled));
        self
    }
}

#[async_trait]
impl Hook for FnHook {
    fn wants(&self, event: HookEvent, _tool: &str) -> bool {
        match event {
            HookEvent::BeforeToolCall => self.before.is_some(),
            HookEvent::AfterToolCall => self.after.is_some(),
            HookEvent::Settled => self.settled.is_some(),
        }
    }

    async fn before_tool_call(&self, cx: &CallContext, arguments: &Json) -> Result<Decision, HookError> {
        match &self.before {
            Some(before) => before(cx, arguments).await,
            None => Ok(Decision::Allow),
        }
    }

    async fn after_tool_call(
        &self,
        cx: &CallContext,
        _arguments: &Json,
        result: &ToolResult,
        is_error: bool,
        _error: Option<&ErrorInfo>,
    ) -> Result<Option<Override>, HookError> {
        match &self.after {
            Some(after) => after(cx, result, is_error).await,
            None => Ok(None),
        }
    }

    async fn settled(&self, cx: &CallContext, settled: &Settled) -> Result<(), HookError> {
        match &self.settled {
            Some(notified) => notified(cx, settled).await,
            None => Ok(()),
        }
    }
}

/// What happened, in order: one line each.
#[derive(Clone, Default)]
pub struct Trace(Arc<Mutex<Vec<String>>>);

impl Trace {
    pub fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Where a line is; it must be there once.
    pub fn at(&self, line: &str) -> usize {
        let lines = self.lines();
        let found: Vec<_> = (0..lines.len()).filter(|at| lines[*at] == line).collect();
        assert_eq!(found.len(), 1, "{line:?} in {lines:#?}");
        found[0]
    }
}

/// `start c1`, `update c1`, `end c1`, `message_start c1`, `message_end c1`, or the name of an event of ours.
pub fn line_of(event: &Event) -> String {
    let (word, id) = match event {
        Event::ToolExecutionStart { tool_call_id, .. } => ("start", tool_call_id),
        Event::ToolExecutionUpdate { tool_call_id, .. } => ("update", tool_call_id),
        Event::ToolExecutionEnd { tool_call_id, .. } => ("end", tool_call_id),
        Event::MessageStart { message } => ("message_start", &message.tool_call_id),
        Event::MessageEnd { message } => ("message_end", &message.tool_call_id),
        Event::HookSkipped { tool_call_id, .. } => ("hook_skipped", tool_call_id),
        Event::ArgumentsCoerced { tool_call_id, .. } => ("arguments_coerced", tool_call_id),
        Event::SinkCut { sink, .. } => ("sink_cut", sink),
        other => panic!("an event nobody told the tests about: {other:?}"),
    };
    format!("{word} {id}")
}

/// A sink that writes to the trace and keeps the events; a closure may have it do more.
pub struct Recorder {
    name: &'static str,
    pub trace: Trace,
    pub events: Mutex<Vec<Event>>,
    then: Box<Then>,
}

type Then = dyn for<'a> Fn(&'a Event) -> BoxFuture<'a, Result<(), SinkError>> + Send + Sync;

pub fn recorder(trace: &Trace) -> Arc<Recorder> {
    recorder_then("recorder", trace, |_| Box::pin(async { Ok(()) }))
}

pub fn recorder_then<F>(name: &'static str, trace: &Trace, then: F) -> Arc<Recorder>
where
    F: for<'a> Fn(&'a Event) -> BoxFuture<'a, Result<(), SinkError>> + Send + Sync + 'static,
{
    Arc::new(Recorder { name, trace: trace.clone(), events: Mutex::default(), then: Box::new(then) })
}

impl Recorder {
    /// The JSON of all events of a type.
    pub fn of_type(&self, kind: &str) -> Vec<Value> {
        let events = self.events.lock().unwrap();
        events.iter().map(|event| serde_json::to_value(event).unwrap()).filter(|event| event["type"] == kind).collect()
    }
}

#[async_trait]
impl EventSink for Recorder {
    fn name(&self) -> &str {
        self.name
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        self.trace.note(line_of(event));
        self.events.lock().unwrap().push(event.clone());
        (self.then)(event).await
    }
}

/// Counts what lives: hold one across everything that must have ended with the batch.
#[derive(Clone, Default)]
pub struct Live(Arc<AtomicUsize>);

pub struct Alive(Live);

impl Live {
    pub fn one(&self) -> Alive {
        self.0.fetch_add(1, Ordering::SeqCst);
        Alive(self.clone())
    }

    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

pub fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall::new(id, name, arguments.into())
}

/// Calls `c1`, `c2`, … of these tools, without arguments.
pub fn calls(names: &[&str]) -> AssistantMessage {
    let one = |(at, name): (usize, &&str)| call(&format!("c{}", at + 1), name, json!({}));
    AssistantMessage::of_calls(names.iter().enumerate().map(one))
}

pub fn text_of(message: &ToolResultMessage) -> String {
    message.result.content.iter().filter_map(|block| block.as_text()).collect::<Vec<_>>().join("\n")
}

pub fn texts(outcome: &BatchOutcome) -> Vec<String> {
    outcome.messages.iter().map(|message| text_of(message)).collect()
}

/// `error.kind` of each message.
pub fn kinds(outcome: &BatchOutcome) -> Vec<Option<&'static str>> {
    let kind = |message: &Arc<ToolResultMessage>| message.error.as_ref().map(|error| error.kind.as_str());
    outcome.messages.iter().map(kind).collect()
}

pub async fn sleep_ms(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
