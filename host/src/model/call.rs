//! What a model wrote: tool calls, and the assistant message that holds them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Json, JsonError};

/// One tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The model's id; not necessarily unique.
    pub id: Arc<str>,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// The arguments as the model wrote them.
    pub arguments: Json,
    /// Why what the model wrote is no JSON document; `arguments` is then its text as a string.
    pub(crate) unreadable: Option<Arc<str>>,
}

impl ToolCall {
    /// A call from its parts.
    pub fn new(id: impl Into<Arc<str>>, name: impl Into<Arc<str>>, arguments: Json) -> Self {
        Self { id: id.into(), name: name.into(), arguments, unreadable: None }
    }

    /// A call whose arguments are JSON text that a model wrote. Where it is none, that is this call's error: it ends as
    /// `invalid-arguments`, and says why.
    pub fn written(id: impl Into<Arc<str>>, name: impl Into<Arc<str>>, arguments: &str) -> Self {
        // What is small is read at once, in one pass over the text; what is large only for a tool that takes so much.
        let read = if arguments.len() <= MAX_READ_AT_ONCE { Json::parse(arguments) } else { Json::verify(arguments) };
        match read {
            Ok(arguments) => Self::new(id, name, arguments),
            Err(error) => Self {
                unreadable: Some(error.to_string().into()),
                ..Self::new(id, name, Json::from_value(arguments.into()))
            },
        }
    }
}

/// Why the model stopped writing. It decides whether calls run at all: see [`StopReason::Length`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// It wants its tools called.
    #[default]
    ToolUse,
    /// It was done; calls in the message still run.
    Stop,
    /// Cut at the output limit: no call runs, each gets an error result.
    Length,
    /// The provider failed: nothing runs and there are no results.
    Error,
    /// The run was cancelled while the model wrote: nothing runs and there are no results.
    Aborted,
}

/// An assistant message: the calls of one batch in source order.
#[derive(Clone, Debug, Default)]
pub struct AssistantMessage {
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// The calls, in source order.
    pub calls: Vec<ToolCall>,
    /// The whole message as it was given, for hooks and tools that look at it.
    pub raw: Option<Json>,
}

/// Bytes of arguments that are read before it is known whether anybody wants them: 1 MiB, a quarter of what a tool takes
/// by default. Read, they take up to sixteen times as much.
const MAX_READ_AT_ONCE: usize = 1 << 20;

/// Why a document is no assistant message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Not JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// JSON of another shape.
    #[error(
        "not an assistant message: {0}. Expected {{\"content\": [{{\"type\": \"toolCall\", \"id\", \"name\", \"arguments\"}}]}} or an array of calls"
    )]
    Shape(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    #[serde(default)]
    stop_reason: StopReason,
    #[serde(borrow)]
    content: Vec<&'a RawValue>,
}

/// A part of the content, unread: what a part that is no call has under these names is its own affair.
#[derive(Deserialize)]
struct WirePart<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl WirePart<'_> {
    fn kind(&self) -> Result<Option<String>, serde_json::Error> {
        self.kind.map(|kind| serde_json::from_str(kind.get())).transpose()
    }

    /// One call's arguments that cannot be read are that call's error, not the message's. An id may be a number.
    fn call(self) -> Result<ToolCall, serde_json::Error> {
        use serde::de::Error as _;
        let id = self.id.ok_or_else(|| serde_json::Error::missing_field("id"))?;
        let name = self.name.ok_or_else(|| serde_json::Error::missing_field("name"))?;
        let id: Arc<str> = match id.get() {
            number if number.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => number.into(),
            text => serde_json::from_str(text)?,
        };
        let name: Arc<str> = serde_json::from_str(name.get())?;
        let Some(text) = self.arguments.map(RawValue::get) else {
            return Ok(ToolCall::new(id, name, Json::empty_object()));
        };
        Ok(ToolCall::written(id, name, text))
    }
}

impl AssistantMessage {
    /// A message that holds these calls and nothing else.
    pub fn of_calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self { calls: calls.into_iter().collect(), ..Self::default() }
    }

    /// Reads `{stopReason?, content: [{type: "toolCall", id, name, arguments}, …]}` or a bare array of calls. Content of
    /// other types is kept in [`raw`](Self::raw) only.
    pub fn parse(text: &str) -> Result<Self, MessageError> {
        let shape = |e: serde_json::Error| {
            if e.is_data() { MessageError::Shape(e.to_string()) } else { MessageError::Json(e.into()) }
        };
        let text = text.trim_start();
        let bare = text.starts_with('[');
        let wire = if bare {
            Wire { stop_reason: StopReason::ToolUse, content: serde_json::from_str(text).map_err(shape)? }
        } else {
            serde_json::from_str::<Wire<'_>>(text).map_err(shape)?
        };
        let mut calls = Vec::new();
        for (at, part) in wire.content.iter().enumerate() {
            let part_shape = |e: serde_json::Error| MessageError::Shape(format!("content[{at}]: {e}"));
            let wire: WirePart<'_> = serde_json::from_str(part.get()).map_err(part_shape)?;
            let kind = wire.kind().map_err(part_shape)?;
            if kind.as_deref() == Some("toolCall") || (bare && kind.is_none()) {
                calls.push(wire.call().map_err(part_shape)?);
            }
        }
        // What holds something unreadable is not handed on: hooks and tools get JSON or nothing.
        Ok(Self { stop_reason: wire.stop_reason, calls, raw: Json::verify(text).ok() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_a_message_and_a_bare_array() {
        let text = r#"{"stopReason":"length","content":[{"type":"text","text":"hm"},
            {"type":"toolCall","id":"c1","name":"read","arguments":{"n":9007199254740993}},{"type":"toolCall","id":"c2","name":"ls"}]}"#;
        let message = AssistantMessage::parse(text).unwrap();
        assert_eq!(message.stop_reason, StopReason::Length);
        assert_eq!(message.calls[0].arguments.text(), r#"{"n":9007199254740993}"#);
        assert_eq!(message.calls[1].arguments.text(), "{}");
        assert_eq!(message.raw.unwrap().text(), text);

        let bare = AssistantMessage::parse(r#"[{"id":"c1","name":"read","arguments":"x"}]"#).unwrap();
        assert_eq!(bare.calls[0].arguments.text(), "\"x\"");
    }

    #[test]
    fn one_calls_unreadable_arguments_are_not_the_messages_error() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        let text = format!(
            r#"[{{"id":7,"name":"a","arguments":{{"t":"\ud83d"}}}},{{"id":"2","name":"b","arguments":{deep}}},{{"id":"3","name":"c"}}]"#
        );
        let calls = AssistantMessage::parse(&text).unwrap().calls;
        assert_eq!(calls.iter().map(|call| &*call.id).collect::<Vec<_>>(), ["7", "2", "3"]);
        assert_eq!(calls.iter().map(|call| call.unreadable.is_some()).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(calls[0].arguments.text(), r#""{\"t\":\"\\ud83d\"}""#);
    }

    #[test]
    fn says_where_the_shape_is_wrong() {
        let error = AssistantMessage::parse(r#"{"content":[{"type":"toolCall","id":"c1"}]}"#).unwrap_err();
        assert!(error.to_string().contains("content[0]: missing field `name`"), "{error}");
    }
}
