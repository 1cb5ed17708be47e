//! Results in the wire's shape, to and from the contract's.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use toolgate_sdk::prelude::{Content, Override, ToolResult, Value, json, serde_json};
use toolgate_sdk::serde_json::Map;
use toolgate_sdk::{EmbeddedResource, Media, ResourceBody, ResourceLink, Text};

/// A result as a script returns it. Missing content is none; `details: null` is a value.
pub fn result_in(value: &Value) -> Result<ToolResult, String> {
    let text = |key: &str| value.get(key).map(Value::to_string);
    let flag = |key: &str| value.get(key).and_then(Value::as_bool);
    Ok(ToolResult {
        content: value.get("content").map_or(Ok(Vec::new()), content_in)?,
        details: text("details"),
        structured_content: text("structuredContent"),
        usage: text("usage"),
        is_error: flag("isError").unwrap_or(false),
        terminate: flag("terminate"),
        added_tool_names: names(value.get("addedToolNames"))?,
    })
}

/// An override as an after hook's script returns it; fields that are null are not given.
pub fn override_in(value: &Value) -> Result<Override, String> {
    let given = |key: &str| value.get(key).filter(|field| !field.is_null());
    let text = |key: &str| given(key).map(Value::to_string);
    Ok(Override {
        content: given("content").map(content_in).transpose()?,
        details: text("details"),
        structured_content: text("structuredContent"),
        usage: text("usage"),
        is_error: given("isError").and_then(Value::as_bool),
        terminate: given("terminate").and_then(Value::as_bool),
    })
}

/// A result as probes show it.
pub fn result_out(result: &ToolResult) -> Result<Map<String, Value>, String> {
    let mut out = Map::new();
    out.insert("content".into(), content_out(&result.content)?);
    for (key, json) in
        [("details", &result.details), ("structuredContent", &result.structured_content), ("usage", &result.usage)]
    {
        if let Some(json) = json {
            out.insert(key.into(), parse(json)?);
        }
    }
    if let Some(terminate) = result.terminate {
        out.insert("terminate".into(), terminate.into());
    }
    if let Some(names) = &result.added_tool_names {
        out.insert("addedToolNames".into(), names.clone().into());
    }
    if result.is_error {
        out.insert("isError".into(), true.into());
    }
    Ok(out)
}

/// Blocks as probes show them.
fn content_out(blocks: &[Content]) -> Result<Value, String> {
    blocks.iter().map(block_out).collect()
}

fn block_out(block: &Content) -> Result<Value, String> {
    let (mut out, annotations, meta) = match block {
        Content::Text(text) => (json!({"type": "text", "text": text.text}), &text.annotations, &text.meta),
        Content::Image(media) => (media_out("image", media), &media.annotations, &media.meta),
        Content::Audio(media) => (media_out("audio", media), &media.annotations, &media.meta),
        Content::ResourceLink(link) => {
            let mut out = json!({"type": "resource_link", "uri": link.uri, "name": link.name});
            for (key, text) in
                [("title", &link.title), ("description", &link.description), ("mimeType", &link.mime_type)]
            {
                if let Some(text) = text {
                    out[key] = json!(text);
                }
            }
            if let Some(size) = link.size {
                out["size"] = json!(size);
            }
            (out, &link.annotations, &link.meta)
        }
        Content::EmbeddedResource(resource) => {
            let mut inner = json!({"uri": resource.uri});
            if let Some(mime_type) = &resource.mime_type {
                inner["mimeType"] = json!(mime_type);
            }
            match &resource.body {
                ResourceBody::Text(text) => inner["text"] = json!(text),
                ResourceBody::Blob(blob) => inner["blob"] = json!(STANDARD.encode(blob)),
            }
            (json!({"type": "resource", "resource": inner}), &resource.annotations, &resource.meta)
        }
    };
    for (key, json) in [("annotations", annotations), ("_meta", meta)] {
        if let Some(json) = json {
            out[key] = parse(json)?;
        }
    }
    Ok(out)
}

fn media_out(kind: &str, media: &Media) -> Value {
    json!({"type": kind, "data": STANDARD.encode(&media.data), "mimeType": media.mime_type})
}

fn content_in(value: &Value) -> Result<Vec<Content>, String> {
    let blocks = value.as_array().ok_or("`content` is no array")?;
    blocks.iter().map(block_in).collect()
}

fn block_in(block: &Value) -> Result<Content, String> {
    let text = |key: &str| block[key].as_str().map(str::to_owned);
    let must = |key: &str| text(key).ok_or_else(|| format!("a content block needs `{key}`: {block}"));
    let annotations = block.get("annotations").map(Value::to_string);
    let meta = block.get("_meta").map(Value::to_string);
    let kind = must("type")?;
    Ok(match kind.as_str() {
        "text" => Content::Text(Text { text: must("text")?, annotations, meta }),
        "image" | "audio" => {
            let media = Media { data: bytes(&must("data")?)?, mime_type: must("mimeType")?, annotations, meta };
            if kind == "image" { Content::Image(media) } else { Content::Audio(media) }
        }
        "resource_link" => Content::ResourceLink(ResourceLink {
            uri: must("uri")?,
            name: must("name")?,
            title: text("title"),
            description: text("description"),
            mime_type: text("mimeType"),
            size: block["size"].as_f64(),
            annotations,
            meta,
        }),
        "resource" => {
            let resource = &block["resource"];
            let text = |key: &str| resource[key].as_str().map(str::to_owned);
            let body = match (text("text"), text("blob")) {
                (Some(text), _) => ResourceBody::Text(text),
                (None, Some(blob)) => ResourceBody::Blob(bytes(&blob)?),
                (None, None) => return Err(format!("a resource needs `text` or `blob`: {block}")),
            };
            let uri = text("uri").ok_or_else(|| format!("a resource needs `uri`: {block}"))?;
            let mime_type = text("mimeType");
            Content::EmbeddedResource(EmbeddedResource { uri, mime_type, body, annotations, meta })
        }
        _ => return Err(format!("unknown content block `{kind}`")),
    })
}

fn bytes(base64: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(base64).map_err(|error| format!("`{base64}` is no base64: {error}"))
}

fn names(value: Option<&Value>) -> Result<Option<Vec<String>>, String> {
    let Some(value) = value else { return Ok(None) };
    serde_json::from_value(value.clone()).map_err(|error| format!("addedToolNames: {error}"))
}

fn parse(json: &str) -> Result<Value, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn results_come_back_as_they_were() {
        let result = json!({
            "content": [
                {"type": "text", "text": "t", "annotations": {"priority": 1}, "_meta": {"a": 1}},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
                {"type": "resource", "resource": {"uri": "file:///b", "blob": "AQID"}},
                {"type": "resource", "resource": {"uri": "file:///c", "mimeType": "text/plain", "text": "c"}},
            ],
            "details": null,
            "structuredContent": {"n": 1},
            "usage": {"input": 3},
            "terminate": false,
            "addedToolNames": [],
            "isError": true,
        });
        assert_eq!(Value::Object(result_out(&result_in(&result).unwrap()).unwrap()), result);
        assert_eq!(result_in(&json!({})).unwrap(), ToolResult::new());
    }

    #[test]
    fn null_in_an_override_is_not_given() {
        let nothing = json!({"content": null, "details": null, "isError": null, "usage": null, "terminate": null});
        assert_eq!(override_in(&nothing).unwrap(), Override::new());
        assert_eq!(override_in(&json!({"content": []})).unwrap(), Override::new().content(vec![]));
    }
}
