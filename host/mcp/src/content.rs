//! Results as MCP has them.
//!
//! rmcp's types are strict where the model's are open: what of a block's annotations is no MCP annotation is left out,
//! and a priority is an `f32`. All other JSON keeps its digits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    Annotations, AudioContent, CallToolResult, ContentBlock, EmbeddedResource, ImageContent, MetaObject, Resource,
    ResourceContents, TextContent,
};
use serde_json::json;
use toolgate::model::{Content, ContentMeta, ErrorInfo, Json, ResourceBody, ToolResultMessage};
use toolgate::registry::RegisteredTool;

/// Key of `_meta` with kind and stage of an error, for programs.
const ERROR_KEY: &str = "toolgate/error";

/// A message as the answer of `tools/call`.
pub(crate) fn result(tool: &RegisteredTool, message: &ToolResultMessage) -> CallToolResult {
    let mut content: Vec<ContentBlock> = message.result.content.iter().map(block).collect();
    let mut structured = message.result.structured_content.as_ref().map(|json| json.value().clone());
    let mut is_error = message.is_error;
    // The pipeline has checked what the tool gave; an after hook may have changed it since.
    if !is_error
        && let Some(schema) = tool.output()
        && !message.result.structured_content.as_ref().is_some_and(|json| schema.is_valid(json))
    {
        let what = match structured {
            Some(_) => "does not match the output schema it declares",
            None => "was taken out, and the output schema it declares demands it",
        };
        let text = format!(
            "Tool \"{}\" ran, but after a hook changed its result the structured content {what}. What it answered follows as text.",
            tool.name()
        );
        content.insert(0, ContentBlock::text(text));
        structured = None;
        is_error = true;
    }
    let mut result = if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = structured;
    result.meta = message.error.as_ref().map(error_meta);
    result
}

/// An error result that the front end words itself.
pub(crate) fn refused(text: String, kind: &str) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.meta = Some(meta_of(json!({ "kind": kind, "stage": "prepare" })));
    result
}

/// Kind and stage: hints and denials name the operator's hosts and folders and stay in the log.
fn error_meta(error: &ErrorInfo) -> MetaObject {
    meta_of(json!({ "kind": error.kind, "stage": error.stage }))
}

fn meta_of(error: serde_json::Value) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert(ERROR_KEY.into(), error);
    meta
}

fn block(content: &Content) -> ContentBlock {
    match content {
        Content::Text { text, extra } => {
            let mut block = TextContent::new(text);
            (block.annotations, block.meta) = open(extra);
            ContentBlock::Text(block)
        }
        Content::Image { data, mime_type, extra } => {
            let mut block = ImageContent::new(STANDARD.encode(data), mime_type);
            (block.annotations, block.meta) = open(extra);
            ContentBlock::Image(block)
        }
        Content::Audio { data, mime_type, extra } => {
            let mut block = AudioContent::new(STANDARD.encode(data), mime_type);
            (block.annotations, block.meta) = open(extra);
            ContentBlock::Audio(block)
        }
        Content::ResourceLink { uri, name, title, description, mime_type, size, extra } => {
            let mut link = Resource::new(uri, name);
            link.title.clone_from(title);
            link.description.clone_from(description);
            link.mime_type.clone_from(mime_type);
            // As the model writes sizes: whole and not negative.
            link.size = size.filter(|size| size.fract() == 0.0 && (0.0..9e15).contains(size)).map(|size| size as u64);
            (link.annotations, link.meta) = open(extra);
            ContentBlock::ResourceLink(link)
        }
        Content::Resource { uri, mime_type, body, extra } => {
            let contents = match body {
                ResourceBody::Text(text) => ResourceContents::TextResourceContents {
                    uri: uri.clone(),
                    mime_type: mime_type.clone(),
                    text: text.clone(),
                    meta: None,
                },
                ResourceBody::Blob(data) => ResourceContents::BlobResourceContents {
                    uri: uri.clone(),
                    mime_type: mime_type.clone(),
                    blob: STANDARD.encode(data),
                    meta: None,
                },
            };
            let mut block = EmbeddedResource::new(contents);
            (block.annotations, block.meta) = open(extra);
            ContentBlock::Resource(block)
        }
    }
}

fn open(extra: &ContentMeta) -> (Option<Annotations>, Option<MetaObject>) {
    let annotations = extra.annotations.as_ref().and_then(|json| match serde_json::from_str(json.text()) {
        Ok(annotations) => Some(annotations),
        Err(error) => {
            tracing::debug!(%error, "a content block's annotations are not MCP's and are left out");
            None
        }
    });
    (annotations, extra.meta.as_ref().and_then(meta))
}

/// A document as `_meta`, where it is an object.
pub(crate) fn meta(json: &Json) -> Option<MetaObject> {
    json.value().as_object().cloned().map(MetaObject)
}
