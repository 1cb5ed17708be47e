//! The messages of the protocol. `schema.json` says the same for clients.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use toolgate::model::{
    Content, Event, ExecutionMode, Json, Override, ToolCall, ToolDefinition, ToolResult, ToolResultMessage,
};
use toolgate::pipeline::{Decision, HookEvent, LogLevel, OnError, Question, Step};

/// The version of the protocol that this crate speaks.
pub const PROTOCOL: u64 = 1;

/// A request's name, the client's choice: unique among its requests that have no answer yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub(crate) enum Id {
    Number(i64),
    Text(Arc<str>),
}

impl Id {
    pub(crate) fn read(raw: &RawValue) -> Option<Self> {
        match raw.get() {
            text if text.starts_with('"') => serde_json::from_str(text).ok().map(Self::Text),
            number => serde_json::from_str(number).ok().map(Self::Number),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::read(&raw).ok_or_else(|| serde::de::Error::custom("an id is a string or a whole number"))
    }
}

/// Any message of the client's.
#[derive(Deserialize)]
pub(crate) struct Incoming<'a> {
    #[serde(borrow)]
    pub jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    pub error: Option<Failure>,
}

/// What a request of ours got for an answer where it failed.
#[derive(Deserialize)]
pub(crate) struct Failure {
    #[serde(default)]
    pub message: String,
}

/// Why a request is refused, with its code on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Parse = -32_700,
    InvalidRequest = -32_600,
    UnknownMethod = -32_601,
    InvalidParams = -32_602,
    /// Anything but `hello` before it.
    NoHello = -32_001,
    /// Another version of the protocol.
    Version = -32_002,
    /// Too much at once.
    Busy = -32_003,
    /// What was offered could not be loaded.
    Offer = -32_004,
}

/// A refusal.
#[derive(Debug, Serialize)]
pub(crate) struct Refusal {
    code: i32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Json>,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code: code as i32, message: message.into(), data: None }
    }

    pub(crate) fn with(mut self, data: serde_json::Value) -> Self {
        self.data = Some(Json::from_value(data));
        self
    }
}

#[derive(Serialize)]
pub(crate) struct Response<'a, T> {
    jsonrpc: &'static str,
    /// Null where the request could not be read so far.
    id: Option<&'a Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Refusal>,
}

impl<'a, T> Response<'a, T> {
    pub(crate) fn new(id: Option<&'a Id>, answer: Result<T, Refusal>) -> Self {
        let (result, error) = match answer {
            Ok(result) => (Some(result), None),
            Err(refusal) => (None, Some(refusal)),
        };
        Self { jsonrpc: "2.0", id, result, error }
    }
}

/// A request where there is an id, else a notification.
#[derive(Serialize)]
pub(crate) struct Request<'a, T> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    method: &'a str,
    params: T,
}

impl<'a, T> Request<'a, T> {
    pub(crate) fn new(id: Option<u64>, method: &'a str, params: T) -> Self {
        Self { jsonrpc: "2.0", id: id.map(|id| format!("t{id}")), method, params }
    }
}

/// A field that is there, `null` included.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Hello {
    pub protocol: u64,
    #[serde(default)]
    pub client: Party,
    #[serde(default)]
    pub capabilities: Capabilities,
}

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Party {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub version: String,
}

/// What the client wants and can.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Capabilities {
    /// It wants events. Default true.
    pub events: bool,
    /// It wants the steps of calls between their events.
    pub steps: bool,
    /// It wants plugins' log lines.
    pub logs: bool,
    /// It wants to be told when the tools change.
    pub tools_changed: bool,
    /// It answers hooks that ask.
    pub approve: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { events: true, steps: false, logs: false, tools_changed: false, approve: false }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Welcome {
    pub protocol: u64,
    pub server: Party,
    pub capabilities: ServerCapabilities,
    pub limits: Limits,
}

#[derive(Serialize)]
pub(crate) struct ServerCapabilities {
    /// The hooks that `offer` may name.
    pub hooks: [HookEvent; 2],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Limits {
    pub line_bytes: usize,
    pub batches: usize,
    pub hook_timeout_ms: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Run<'a> {
    #[serde(borrow)]
    pub message: &'a RawValue,
    pub mode: Option<ExecutionMode>,
    pub turn: Option<Arc<str>>,
    pub conversation: Option<Arc<str>>,
    #[serde(default)]
    pub active: Active,
    #[serde(borrow, default)]
    pub earlier: Vec<Option<EarlierCall<'a>>>,
    pub traceparent: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Active {
    pub only: Option<Vec<String>>,
    #[serde(default)]
    pub added: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EarlierCall<'a> {
    pub state: EarlierState,
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    pub terminate: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EarlierState {
    Begun,
    Settled,
}

/// What a tool-result message has beside its result.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageHead {
    pub tool_call_id: Arc<str>,
    pub tool_name: Arc<str>,
    pub is_error: bool,
    pub error: Option<toolgate::model::ErrorInfo>,
    pub timestamp: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ran<'a> {
    pub messages: &'a [Arc<ToolResultMessage>],
    pub terminate: bool,
    /// The client read too slowly, and events are missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub events_lost: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cancel {
    pub batch: Id,
}

#[derive(Serialize)]
pub(crate) struct Cancelled {
    /// Whether there was such a batch in flight.
    pub found: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndTurn {
    pub turn: String,
    pub conversation: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndConversation {
    pub conversation: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Offer {
    pub name: String,
    #[serde(default)]
    pub tools: Vec<ToolDefinition>,
    #[serde(default)]
    pub hooks: Vec<HookEvent>,
    #[serde(default)]
    pub on_error: OnError,
    pub hook_timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PartialUpdate {
    pub request: String,
    pub partial_result: ToolResult,
}

#[derive(Serialize)]
pub(crate) struct Empty {}

#[derive(Serialize)]
pub(crate) struct Tools<'a> {
    pub tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tool<'a> {
    pub plugin: &'a str,
    pub active: bool,
    #[serde(flatten)]
    pub definition: &'a ToolDefinition,
}

#[derive(Serialize)]
pub(crate) struct EventParams<'a> {
    pub batch: &'a Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    pub event: &'a Event,
}

#[derive(Serialize)]
pub(crate) struct StepParams<'a> {
    pub batch: &'a Id,
    pub position: u32,
    #[serde(flatten)]
    pub step: &'a Step,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogParams<'a> {
    pub batch: &'a Id,
    pub plugin: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<&'a str>,
    pub stream: &'a str,
    pub level: LogLevel,
    pub message: &'a str,
    /// Lines before it that found no room.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Serialize)]
pub(crate) struct GivenUp {
    pub request: String,
}

/// What every question to the client says first.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct About<'a> {
    pub batch: &'a Id,
    pub position: u32,
    pub tool_call: Call<'a>,
    /// The arguments that would run.
    pub arguments: &'a Json,
}

/// A call as the model wrote it.
#[derive(Serialize)]
pub(crate) struct Call<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a Json,
}

impl<'a> From<&'a ToolCall> for Call<'a> {
    fn from(call: &'a ToolCall) -> Self {
        Self { id: &call.id, name: &call.name, arguments: &call.arguments }
    }
}

#[derive(Serialize)]
pub(crate) struct Approve<'a> {
    #[serde(flatten)]
    pub about: About<'a>,
    pub questions: &'a [Question],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct After<'a> {
    #[serde(flatten)]
    pub about: About<'a>,
    pub result: &'a ToolResult,
    pub is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a toolgate::model::ErrorInfo>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Approved {
    pub approved: bool,
    pub reason: Option<String>,
}

/// Flat, since documents inside would not survive serde's buffering.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decided {
    decision: Word,
    #[serde(default, deserialize_with = "given")]
    arguments: Option<Json>,
    reason: Option<String>,
    #[serde(default)]
    terminate: bool,
    title: Option<String>,
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Allow,
    Replace,
    Block,
    Ask,
}

impl Decided {
    pub(crate) fn decision(self) -> Result<Decision, &'static str> {
        Ok(match self.decision {
            Word::Allow => Decision::Allow,
            Word::Replace => Decision::ReplaceArguments(self.arguments.ok_or("replace needs `arguments`")?),
            Word::Block => Decision::Block { reason: self.reason, terminate: self.terminate },
            Word::Ask => Decision::Ask { title: self.title.ok_or("ask needs a `title`")?, text: self.text },
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Overridden {
    content: Option<Vec<Content>>,
    #[serde(default, deserialize_with = "given")]
    details: Option<Json>,
    #[serde(default, deserialize_with = "given")]
    structured_content: Option<Json>,
    #[serde(default, deserialize_with = "given")]
    usage: Option<Json>,
    is_error: Option<bool>,
    terminate: Option<bool>,
}

impl From<Overridden> for Override {
    fn from(wire: Overridden) -> Self {
        let Overridden { content, details, structured_content, usage, is_error, terminate } = wire;
        Self { content, details, structured_content, usage, is_error, terminate }
    }
}
