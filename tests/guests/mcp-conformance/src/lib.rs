//! The tools that the official MCP conformance suite expects of a server (named `test_…` and `json_schema_…`), and tools
//! that show what else a server must do with results.

use std::time::Duration;

use toolgate_sdk::prelude::*;
use toolgate_sdk::{EmbeddedResource, ResourceBody, ResourceLink, Text};

/// One red pixel.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00, 0x0c, 0x49,
    0x44, 0x41, 0x54, 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01, 0x01, 0x00, 0x18, 0xdd, 0x8d, 0xb0,
    0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

/// A sound without samples.
const WAV: &[u8] = b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x44\xac\x00\x00\x88\x58\x01\x00\x02\x00\x10\x00data\x00\x00\x00\x00";

/// Answers with a text.
#[tool]
fn test_simple_text() -> Result<&'static str, ToolError> {
    Ok("This is a simple text response for testing.")
}

/// Answers with an image.
#[tool]
fn test_image_content() -> Result<Content, ToolError> {
    Ok(Content::image(PNG, "image/png"))
}

/// Answers with a sound.
#[tool]
fn test_audio_content() -> Result<Content, ToolError> {
    Ok(Content::audio(WAV, "audio/wav"))
}

fn resource(uri: &str, mime_type: &str, text: &str) -> Content {
    Content::EmbeddedResource(EmbeddedResource {
        uri: uri.into(),
        mime_type: Some(mime_type.into()),
        body: ResourceBody::Text(text.into()),
        annotations: None,
        meta: None,
    })
}

/// Answers with a resource.
#[tool]
fn test_embedded_resource() -> Result<Content, ToolError> {
    Ok(resource("test://embedded-resource", "text/plain", "This is an embedded resource content."))
}

/// Answers with three kinds of content.
#[tool]
fn test_multiple_content_types() -> Result<Vec<Content>, ToolError> {
    Ok(vec![
        Content::text("Multiple content types test:"),
        Content::image(PNG, "image/png"),
        resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
    ])
}

/// Writes three log lines on its way.
#[tool]
fn test_tool_with_logging(cx: &ToolContext) -> Result<&'static str, ToolError> {
    for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        log::info(line);
        if cx.wait(Duration::from_millis(50)) {
            return Err(ToolError::cancelled());
        }
    }
    Ok("Tool with logging executed successfully")
}

/// Reports its progress.
#[tool]
fn test_tool_with_progress(cx: &ToolContext) -> Result<&'static str, ToolError> {
    for progress in [0, 50, 100] {
        let details = json!({ "progress": progress, "total": 100 });
        cx.update(ToolResult::text(format!("Completed step {progress} of 100")).details(details));
        if cx.wait(Duration::from_millis(50)) {
            return Err(ToolError::cancelled());
        }
    }
    Ok("Tool with progress executed successfully")
}

/// Fails.
#[tool]
fn test_error_handling() -> Result<(), ToolError> {
    Err("This tool intentionally returns an error for testing".into())
}

/// A tool whose schema says more than most.
struct Schema2020;

impl Tool for Schema2020 {
    fn definition(&self) -> Definition {
        Definition::new("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features").parameters(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "type": "object",
                    "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
                },
            },
            "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" } },
            "additionalProperties": false,
        }))
    }

    fn execute(&self, cx: &ToolContext) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(&cx.call().arguments))
    }
}

/// Answers with all five kinds of content, annotated.
#[tool(label = "All blocks", read_only, open_world = false)]
fn all_blocks() -> Result<Vec<Content>, ToolError> {
    let annotations = Some(r#"{"audience":["user"],"priority":0.5}"#.into());
    let meta = Some(r#"{"example/digits":12345678901234567890123.50}"#.into());
    Ok(vec![
        Content::Text(Text { text: "annotated".into(), annotations, meta }),
        Content::image(PNG, "image/png"),
        Content::audio(WAV, "audio/wav"),
        Content::ResourceLink(ResourceLink {
            uri: "test://linked".into(),
            name: "linked".into(),
            title: Some("Linked".into()),
            description: None,
            mime_type: Some("text/plain".into()),
            size: Some(7.0),
            annotations: None,
            meta: None,
        }),
        Content::resource_blob("test://blob", *b"\0\xff"),
    ])
}

#[derive(Deserialize, JsonSchema)]
struct Grams {
    grams: Value,
}

/// Answers with data that has a schema, and with the digits it was given.
struct Weigh;

impl Tool for Weigh {
    fn definition(&self) -> Definition {
        Definition::new("weigh", "Weighs something")
            .parameters(
                json!({ "type": "object", "properties": { "grams": { "type": "number" } }, "required": ["grams"] }),
            )
            .output(json!({ "type": "object", "properties": { "grams": { "type": "number" } }, "required": ["grams"] }))
    }

    fn execute(&self, cx: &ToolContext) -> Result<ToolResult, ToolError> {
        let Grams { grams } = cx.parse_arguments()?;
        Ok(ToolResult::text(grams.to_string()).structured_content(json!({ "grams": grams })))
    }
}

/// Promises data and gives other.
struct Broken;

impl Tool for Broken {
    fn definition(&self) -> Definition {
        Definition::new("broken_output", "Does not keep to its output schema")
            .output(json!({ "type": "object", "properties": { "grams": { "type": "number" } }, "required": ["grams"] }))
    }

    fn execute(&self, _cx: &ToolContext) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text("heavy").structured_content(json!({ "grams": "heavy" })))
    }
}

/// Unlocks the tool `hidden`.
#[tool]
fn unlock() -> Result<ToolResult, ToolError> {
    Ok(ToolResult::text("unlocked").added_tool_names(["hidden"]))
}

/// Can be called once it was unlocked.
#[tool]
fn hidden() -> Result<&'static str, ToolError> {
    Ok("found")
}

fn tools() -> Result<Vec<Box<dyn Tool>>, HostError> {
    Ok(vec![
        Box::new(test_simple_text {}),
        Box::new(test_image_content {}),
        Box::new(test_audio_content {}),
        Box::new(test_embedded_resource {}),
        Box::new(test_multiple_content_types {}),
        Box::new(test_tool_with_logging {}),
        Box::new(test_tool_with_progress {}),
        Box::new(test_error_handling {}),
        Box::new(Schema2020),
        Box::new(all_blocks {}),
        Box::new(Weigh),
        Box::new(Broken),
        Box::new(unlock {}),
        Box::new(hidden {}),
    ])
}

toolgate_sdk::plugin! { tools: tools }
