//! Results and overrides as scripts return them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use toolgate::model::{Content, ContentMeta, Json, Override, ToolResult};

/// A result. Missing content is none; `details: null` is a value.
pub(super) fn result_in(value: &Value) -> Result<ToolResult, String> {
    let json = |key: &str| value.get(key).cloned().map(Json::from_value);
    let names = value.get("addedToolNames").cloned();
    Ok(ToolResult {
        content: value.get("content").map_or(Ok(Vec::new()), content_in)?,
        details: json("details"),
        structured_content: json("structuredContent"),
        usage: json("usage"),
        terminate: value["terminate"].as_bool(),
        added_tool_names: names.map(serde_json::from_value).transpose().map_err(|error| error.to_string())?,
        is_error: value["isError"] == true,
    })
}

/// An override; fields that are null are not given.
pub(super) fn override_in(value: &Value) -> Result<Override, String> {
    let given = |key: &str| value.get(key).filter(|field| !field.is_null());
    let json = |key: &str| given(key).cloned().map(Json::from_value);
    Ok(Override {
        content: given("content").map(content_in).transpose()?,
        details: json("details"),
        structured_content: json("structuredContent"),
        usage: json("usage"),
        is_error: given("isError").and_then(Value::as_bool),
        terminate: given("terminate").and_then(Value::as_bool),
    })
}

/// All text blocks of a result.
pub(super) fn joined_text(result: &ToolResult) -> String {
    result.content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
}

fn content_in(value: &Value) -> Result<Vec<Content>, String> {
    value.as_array().ok_or("`content` is no array")?.iter().map(block_in).collect()
}

fn block_in(block: &Value) -> Result<Content, String> {
    let must = |key: &str| {
        let text = block[key].as_str().map(str::to_owned);
        text.ok_or_else(|| format!("a content block needs `{key}`: {block}"))
    };
    let json = |key: &str| block.get(key).cloned().map(Json::from_value);
    let extra = ContentMeta { annotations: json("annotations"), meta: json("_meta") };
    match must("type")?.as_str() {
        "text" => Ok(Content::Text { text: must("text")?, extra }),
        "image" => {
            let data = STANDARD.decode(must("data")?).map_err(|error| error.to_string())?;
            Ok(Content::Image { data: data.into(), mime_type: must("mimeType")?, extra })
        }
        other => Err(format!("native scripts make no `{other}` blocks")),
    }
}
