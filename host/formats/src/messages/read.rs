//! Messages with tool calls, read. Arguments are taken as text, so that their digits survive.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use toolgate::model::{AssistantMessage, Json, StopReason, ToolCall};

use super::{FormatError, Id, Message};
use crate::Format;

type Text<'a> = Cow<'a, str>;

pub(super) fn read(format: Format, text: &str) -> Result<Message, FormatError> {
    let read = match format {
        Format::OpenAi => responses(text),
        Format::OpenAiChat => chat(text),
        Format::Anthropic => anthropic(text),
        Format::Google => google(text),
        Format::Mcp => mcp(text),
    };
    let read = read.map_err(|what| FormatError { format, what, expected: expected(format) })?;
    let (calls, ids) = read.calls.into_iter().unzip();
    let assistant = AssistantMessage { stop_reason: read.stop, calls, raw: Json::verify(text).ok() };
    Ok(Message { assistant, format, ids, is_batch: read.is_batch })
}

fn expected(format: Format) -> &'static str {
    match format {
        Format::OpenAi => {
            r#"a response with "output", or its array of items with {"type": "function_call", "call_id", "name", "arguments"}"#
        }
        Format::OpenAiChat => {
            r#"a response with "choices", or its message {"role": "assistant", "tool_calls": [{"id", "function": {"name", "arguments"}}]}"#
        }
        Format::Anthropic => {
            r#"a message {"role": "assistant", "content": [{"type": "tool_use", "id", "name", "input"}], "stop_reason"?}"#
        }
        Format::Google => {
            r#"a response with "candidates", or its content {"role": "model", "parts": [{"functionCall": {"name", "args"}}]}"#
        }
        Format::Mcp => r#"a request {"jsonrpc": "2.0", "id", "method": "tools/call", "params": {"name", "arguments"}}"#,
    }
}

#[derive(Default)]
struct Read {
    stop: StopReason,
    calls: Vec<(ToolCall, Id)>,
    is_batch: bool,
}

impl Read {
    fn stopped(stop: StopReason) -> Self {
        Self { stop, ..Self::default() }
    }

    fn call(&mut self, id: &str, name: &str, arguments: Option<&RawValue>) {
        let call = ToolCall::written(id, name, arguments.map_or("{}", RawValue::get));
        self.calls.push((call, Id::Given(Json::from_value(id.into()))));
    }

    /// Arguments that are JSON within a string; some servers write them plainly.
    fn call_with_text(&mut self, id: &str, name: &str, arguments: Option<&RawValue>) {
        let text: Option<String> = arguments.and_then(|arguments| serde_json::from_str(arguments.get()).ok());
        match text {
            // So do models call a function without parameters.
            Some(text) if text.trim().is_empty() => self.call(id, name, None),
            Some(text) => {
                let call = ToolCall::written(id, name, &text);
                self.calls.push((call, Id::Given(Json::from_value(id.into()))));
            }
            None => self.call(id, name, arguments),
        }
    }
}

fn words(error: serde_json::Error) -> String {
    error.to_string()
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(words)
}

fn is_array(text: &str) -> bool {
    text.trim_start().starts_with('[')
}

// OpenAI, Responses

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    output: Vec<Item<'a>>,
    #[serde(borrow)]
    status: Option<Text<'a>>,
    #[serde(borrow)]
    incomplete_details: Option<Incomplete<'a>>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Incomplete<'a> {
    #[serde(borrow)]
    reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    call_id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    /// `incomplete` where it was cut off.
    #[serde(borrow)]
    status: Option<Text<'a>>,
}

fn responses(text: &str) -> Result<Read, String> {
    let response = match is_array(text) {
        true => Response { output: parse(text)?, status: None, incomplete_details: None, error: None },
        false => parse::<Response<'_>>(text)?,
    };
    let cut = response.incomplete_details.and_then(|details| details.reason);
    let stop = match response.status.as_deref() {
        Some("incomplete") if cut.as_deref().is_none_or(|cut| cut == "max_output_tokens") => StopReason::Length,
        Some("incomplete" | "failed") => StopReason::Error,
        Some("cancelled") => StopReason::Aborted,
        _ if response.error.is_some() => StopReason::Error,
        _ if response.output.iter().any(|item| item.status.as_deref() == Some("incomplete")) => StopReason::Length,
        _ => StopReason::ToolUse,
    };
    let mut read = Read::stopped(stop);
    for (at, item) in response.output.iter().enumerate() {
        if item.kind.as_deref() == Some("function_call") {
            let missing = |what: &str| format!("item {at} has no {what}");
            let id = item.call_id.as_deref().ok_or_else(|| missing("call_id"))?;
            let name = item.name.as_deref().ok_or_else(|| missing("name"))?;
            read.call_with_text(id, name, item.arguments);
        }
    }
    Ok(read)
}

// OpenAI, Chat Completions

#[derive(Deserialize)]
struct Chat<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    role: Option<Text<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<ChatCall<'a>>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: ChatMessage<'a>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct ChatMessage<'a> {
    #[serde(borrow)]
    tool_calls: Option<Vec<ChatCall<'a>>>,
}

#[derive(Deserialize)]
struct ChatCall<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
    #[serde(borrow)]
    custom: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    /// Of a custom tool: any text.
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

fn chat(text: &str) -> Result<Read, String> {
    let chat: Chat<'_> = parse(text)?;
    let (finish, calls) = match chat.choices {
        Some(choices) => {
            let count = choices.len();
            let mut choices = choices.into_iter();
            let (Some(choice), None) = (choices.next(), choices.next()) else {
                return Err(format!("it has {count} choices, and one is needed"));
            };
            (choice.finish_reason, choice.message.tool_calls)
        }
        None if chat.role.is_none() && chat.tool_calls.is_none() => {
            return Err("it has neither \"choices\" nor a \"role\"".into());
        }
        None => (None, chat.tool_calls),
    };
    let mut read = Read::stopped(match finish.as_deref() {
        Some("length") => StopReason::Length,
        Some("content_filter") => StopReason::Error,
        _ => StopReason::ToolUse,
    });
    for (at, call) in calls.into_iter().flatten().enumerate() {
        let id = call.id.as_deref().ok_or_else(|| format!("tool_calls[{at}] has no id"))?;
        match (&call.function, &call.custom) {
            (Some(function), _) => read.call_with_text(id, &function.name, function.arguments),
            (None, Some(custom)) => read.call(id, &custom.name, custom.input),
            (None, None) => return Err(format!("tool_calls[{at}] has no function")),
        }
    }
    Ok(read)
}

// Anthropic

#[derive(Deserialize)]
struct Claude<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
    #[serde(borrow)]
    role: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

fn anthropic(text: &str) -> Result<Read, String> {
    let (content, stop) = match is_array(text) {
        true => (text, None),
        false => {
            let message: Claude<'_> = parse(text)?;
            if message.role.is_some_and(|role| role != "assistant") {
                return Err("its role is not assistant".into());
            }
            (message.content.ok_or("it has no content")?.get(), message.stop_reason)
        }
    };
    let mut read = Read::stopped(match stop.as_deref() {
        Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
        Some("refusal") => StopReason::Error,
        _ => StopReason::ToolUse,
    });
    // Content that is one string calls nothing.
    let blocks: Vec<Block<'_>> = if is_array(content) { parse(content)? } else { Vec::new() };
    for (at, block) in blocks.iter().enumerate() {
        if block.kind.as_deref() == Some("tool_use") {
            let id = block.id.as_deref().ok_or_else(|| format!("content[{at}] has no id"))?;
            let name = block.name.as_deref().ok_or_else(|| format!("content[{at}] has no name"))?;
            read.call(id, name, block.input);
        }
    }
    Ok(read)
}

// Google

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Gemini<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow)]
    parts: Option<Vec<Part<'a>>>,
    #[serde(alias = "prompt_feedback")]
    prompt_feedback: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Contents<'a>>,
    #[serde(alias = "finish_reason", borrow)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Contents<'a> {
    #[serde(borrow)]
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(alias = "function_call", borrow)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

fn google(text: &str) -> Result<Read, String> {
    let message: Gemini<'_> = parse(text)?;
    let (finish, parts) = match message.candidates {
        Some(candidates) => {
            let count = candidates.len();
            let mut candidates = candidates.into_iter();
            let (Some(candidate), None) = (candidates.next(), candidates.next()) else {
                return Err(format!("it has {count} candidates, and one is needed"));
            };
            (candidate.finish_reason, candidate.content.and_then(|content| content.parts))
        }
        None if message.parts.is_none() && message.prompt_feedback.is_some() => {
            return Ok(Read::stopped(StopReason::Error));
        }
        None => (None, Some(message.parts.ok_or("it has neither \"candidates\" nor \"parts\"")?)),
    };
    let mut read = Read::stopped(match finish.as_deref() {
        None | Some("STOP" | "FINISH_REASON_UNSPECIFIED") => StopReason::ToolUse,
        Some("MAX_TOKENS") => StopReason::Length,
        Some(_) => StopReason::Error,
    });
    for (at, call) in parts.into_iter().flatten().filter_map(|part| part.function_call).enumerate() {
        match call.id.as_deref() {
            Some(id) => read.call(id, &call.name, call.args),
            None => {
                read.call(&format!("call-{}", at + 1), &call.name, call.args);
                if let Some((_, id)) = read.calls.last_mut() {
                    *id = Id::None;
                }
            }
        }
    }
    Ok(read)
}

// MCP

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

fn mcp(text: &str) -> Result<Read, String> {
    let is_batch = is_array(text);
    let requests: Vec<&RawValue> = if is_batch { parse(text)? } else { vec![parse(text)?] };
    let mut read = Read { is_batch, ..Read::default() };
    for request in requests {
        // The parameters of other methods have other shapes.
        #[derive(Deserialize)]
        struct Method<'a> {
            #[serde(borrow)]
            method: Option<Text<'a>>,
        }
        let method = parse::<Method<'_>>(request.get())?.method.ok_or("it has no method")?;
        if method != "tools/call" {
            let method: String = method.chars().take(64).collect();
            return Err(format!("its method is {method:?}; `toolgate serve mcp` is the whole server"));
        }
        let request: Request<'_> = parse(request.get())?;
        let Request { id: Some(id), params: Some(params) } = request else {
            return Err("it has no id or no params".into());
        };
        let id = Json::verify(id.get()).map_err(|error| format!("its id is {error}"))?;
        let name = match id.value() {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Number(number) => number.to_string(),
            _ => return Err("its id is neither a string nor a number".into()),
        };
        let call = ToolCall::written(name, &*params.name, params.arguments.map_or("{}", RawValue::get));
        read.calls.push((call, Id::Given(id)));
    }
    Ok(read)
}
