//! Results as a provider takes them. What it does not take is replaced by a line that says what was there.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolgate::model::{Content, ErrorKind, ResourceBody, ToolResultMessage};

use super::{Id, Message};
use crate::Format;

/// Pictures that every one of these providers reads.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(super) fn reply(message: &Message, results: &[Arc<ToolResultMessage>]) -> (Option<Value>, Vec<String>) {
    let mut lost = Vec::new();
    let answers: Vec<Value> =
        message.ids.iter().zip(results).map(|(id, result)| answer(message.format, id, result, &mut lost)).collect();
    let reply = match message.format {
        // Lists, also of nothing.
        Format::OpenAi | Format::OpenAiChat => Some(Value::Array(answers)),
        _ if answers.is_empty() => None,
        Format::Anthropic => Some(json!({ "role": "user", "content": answers })),
        Format::Google => Some(json!({ "role": "user", "parts": answers })),
        Format::Mcp if message.is_batch => Some(Value::Array(answers)),
        Format::Mcp => answers.into_iter().next(),
    };
    (reply, lost)
}

fn answer(format: Format, id: &Id, message: &ToolResultMessage, lost: &mut Vec<String>) -> Value {
    let given = match id {
        Id::Given(id) => Some(id.value().clone()),
        Id::None => None,
    };
    if format == Format::Mcp {
        return mcp(given, message);
    }
    let parts = parts(format, message, lost);
    match format {
        Format::OpenAi => {
            let output = match text_only(&parts) {
                Some(text) => Value::String(text),
                None => parts.into_iter().map(input_item).collect(),
            };
            json!({ "type": "function_call_output", "call_id": given, "output": output })
        }
        Format::OpenAiChat => {
            json!({ "role": "tool", "tool_call_id": given, "content": text_only(&parts).unwrap_or_default() })
        }
        Format::Anthropic => {
            let mut block = Map::new();
            block.insert("type".into(), "tool_result".into());
            block.insert("tool_use_id".into(), json!(given));
            let content: Vec<Value> = parts.into_iter().map(claude_block).collect();
            // An empty block is refused, and so is an error without content.
            if !content.is_empty() {
                block.insert("content".into(), content.into());
            } else if message.is_error {
                block.insert("content".into(), "The tool failed without saying why".into());
            }
            if message.is_error {
                block.insert("is_error".into(), true.into());
            }
            Value::Object(block)
        }
        _ => {
            let texts: Vec<&str> = parts.iter().filter_map(Part::text).collect();
            let key = if message.is_error { "error" } else { "output" };
            let mut response = Map::new();
            if let Some(id) = given {
                response.insert("id".into(), id);
            }
            response.insert("name".into(), json!(message.tool_name));
            response.insert("response".into(), json!({ key: texts.join("\n") }));
            let media: Vec<Value> = parts.iter().filter_map(Part::inline_data).collect();
            if !media.is_empty() {
                response.insert("parts".into(), media.into());
            }
            json!({ "functionResponse": response })
        }
    }
}

/// Of the parts that a provider takes.
enum Part {
    Text(String),
    /// Base64.
    Image {
        mime: String,
        data: String,
    },
    /// Base64.
    Pdf {
        data: String,
    },
}

impl Part {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn inline_data(&self) -> Option<Value> {
        let (mime, data) = match self {
            Self::Text(_) => return None,
            Self::Image { mime, data } => (mime.as_str(), data),
            Self::Pdf { data } => ("application/pdf", data),
        };
        Some(json!({ "inlineData": { "mimeType": mime, "data": data } }))
    }
}

fn parts(format: Format, message: &ToolResultMessage, lost: &mut Vec<String>) -> Vec<Part> {
    let mut parts: Vec<Part> =
        message.result.content.iter().filter_map(|content| part(format, content, &message.tool_name, lost)).collect();
    if parts.is_empty()
        && let Some(data) = &message.result.structured_content
    {
        parts.push(Part::Text(data.text().to_owned()));
    }
    parts
}

fn part(format: Format, content: &Content, tool: &str, lost: &mut Vec<String>) -> Option<Part> {
    let takes_media = format != Format::OpenAiChat;
    let mut gone = |what: String| {
        lost.push(format!("{tool}: {what} is not passed on: {} takes none in a tool's result", format.as_str()));
        Some(Part::Text(format!("[{what}, which can't be shown here]")))
    };
    match content {
        Content::Text { text, .. } if text.is_empty() => None,
        Content::Text { text, .. } => Some(Part::Text(text.clone())),
        Content::Image { mime_type, data, .. } => {
            let mime = mime_type.to_ascii_lowercase();
            if !takes_media || !PICTURES.contains(&&*mime) || (format == Format::Google && mime == "image/gif") {
                return gone(format!("an image of type {}, {} bytes", short(mime_type), data.len()));
            }
            Some(Part::Image { mime, data: base64(content, "data") })
        }
        Content::Audio { mime_type, data, .. } => {
            gone(format!("a sound of type {}, {} bytes", short(mime_type), data.len()))
        }
        Content::ResourceLink { uri, name, description, .. } => {
            let about = description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
            Some(Part::Text(format!("[{name}]({uri}){about}")))
        }
        Content::Resource { uri, body: ResourceBody::Text(text), .. } => Some(Part::Text(format!("{uri}\n{text}"))),
        Content::Resource { uri, mime_type, body: ResourceBody::Blob(data), .. } => {
            if takes_media && mime_type.as_deref() == Some("application/pdf") {
                return Some(Part::Pdf { data: base64(content, "resource") });
            }
            gone(format!("{} of {} bytes", short(uri), data.len()))
        }
    }
}

/// The base64 that MCP's form of the block has.
fn base64(content: &Content, key: &str) -> String {
    let mut block = serde_json::to_value(content).unwrap_or_default();
    let mut value = block.get_mut(key).map(Value::take).unwrap_or_default();
    if let Some(blob) = value.get_mut("blob") {
        value = blob.take();
    }
    match value {
        Value::String(text) => text,
        _ => String::new(),
    }
}

/// A name from a guest, as part of a line.
fn short(text: &str) -> String {
    text.chars().take(100).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn text_only(parts: &[Part]) -> Option<String> {
    let texts: Option<Vec<&str>> = parts.iter().map(Part::text).collect();
    Some(texts?.join("\n"))
}

fn input_item(part: Part) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "input_text", "text": text }),
        Part::Image { mime, data } => {
            json!({ "type": "input_image", "image_url": format!("data:{mime};base64,{data}") })
        }
        Part::Pdf { data } => json!({
            "type": "input_file",
            "filename": "document.pdf",
            "file_data": format!("data:application/pdf;base64,{data}"),
        }),
    }
}

fn claude_block(part: Part) -> Value {
    let source = |mime: &str, data: String| json!({ "type": "base64", "media_type": mime, "data": data });
    match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image { mime, data } => json!({ "type": "image", "source": source(&mime, data) }),
        Part::Pdf { data } => json!({ "type": "document", "source": source("application/pdf", data) }),
    }
}

/// JSON-RPC's code for bad parameters, which MCP uses for a tool that is not there.
const INVALID_PARAMS: i32 = -32602;

fn mcp(id: Option<Value>, message: &ToolResultMessage) -> Value {
    if message.error.as_ref().is_some_and(|error| error.kind == ErrorKind::NotFound) {
        let text: Vec<&str> = message.result.content.iter().filter_map(Content::as_text).collect();
        let error = json!({ "code": INVALID_PARAMS, "message": text.join("\n") });
        return json!({ "jsonrpc": "2.0", "id": id, "error": error });
    }
    let mut result = Map::new();
    result.insert("content".into(), json!(message.result.content));
    if let Some(data) = &message.result.structured_content
        && data.value().is_object()
    {
        result.insert("structuredContent".into(), data.value().clone());
    }
    result.insert("isError".into(), message.is_error.into());
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}
