//! `tools/list`: active tools as MCP describes them, in a stable order, page by page.

use std::sync::Arc;

use rmcp::ErrorData as McpError;
use rmcp::model::{CacheScope, JsonObject, ListToolsResult, Tool, ToolAnnotations};
use toolgate::model::{Json, ToolDefinition};
use toolgate::registry::{ActiveTools, RegisteredTool, Snapshot};

/// A cursor is this and the name of the last tool of the page before: pages stay right when tools come and go.
const CURSOR: &str = "after:";

/// One page of the active tools, by name.
pub(crate) fn page(
    tools: &Snapshot,
    active: &ActiveTools,
    cursor: Option<&str>,
    size: usize,
) -> Result<ListToolsResult, McpError> {
    let after = match cursor {
        None => None,
        Some(cursor) => Some(cursor.strip_prefix(CURSOR).ok_or_else(|| {
            McpError::invalid_params("this cursor is not from this server; list the tools from the start", None)
        })?),
    };
    let mut shown: Vec<&Arc<RegisteredTool>> = tools
        .tools()
        .filter(|tool| active.contains(tool))
        .filter(|tool| after.is_none_or(|after| tool.name() > after))
        .collect();
    shown.sort_unstable_by(|a, b| a.name().cmp(b.name()));
    let size = size.max(1);
    let next = shown.get(size).and(shown.get(size - 1)).map(|last| format!("{CURSOR}{}", last.name()));
    let listed = shown.iter().take(size).map(|tool| describe(tool.definition())).collect();
    let mut result = ListToolsResult::with_all_items(listed);
    result.next_cursor = next;
    // Sessions see different tools, and a plugin may be replaced at any time.
    result.ttl_ms = Some(0);
    result.cache_scope = Some(CacheScope::Private);
    Ok(result)
}

/// A definition as MCP has it. For revisions before 2026-07-28, which know output schemas of objects only, rmcp leaves
/// others out.
pub(crate) fn describe(definition: &ToolDefinition) -> Tool {
    let mut tool = Tool::new(definition.name.clone(), definition.description.clone(), input(&definition.parameters));
    tool.title.clone_from(&definition.label);
    tool.output_schema =
        definition.output.as_ref().and_then(|schema| schema.value().as_object()).map(|schema| Arc::new(schema.clone()));
    let hints = &definition.hints;
    let annotations = ToolAnnotations::from_raw(
        definition.label.clone(),
        hints.read_only,
        hints.destructive,
        hints.idempotent,
        hints.open_world,
    );
    tool.annotations = (annotations != ToolAnnotations::default()).then_some(annotations);
    tool.meta = definition.meta.as_ref().and_then(crate::content::meta);
    tool
}

/// MCP demands that the schema says `"type": "object"`, which arguments are in any case.
fn input(parameters: &Json) -> JsonObject {
    let mut schema = parameters.value().as_object().cloned().unwrap_or_default();
    schema.entry("type").or_insert_with(|| "object".into());
    schema
}
