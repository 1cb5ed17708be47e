//! `toolgate:plugin@0.1`: generated bindings, and conversions between its types and the model's.

use bytes::Bytes;

use crate::model::{self, Content, ContentMeta, Json, JsonError};
use crate::pipeline::{self, HookEvent, LogLevel};

wasmtime::component::bindgen!({
    path: ["../wit/wasi-io", "../wit/plugin", "../wit/plugin-io"],
    world: "toolgate:plugin-io/host",
    imports: { default: async | trappable },
    exports: { default: async },
    with: { "wasi:io": wasmtime_wasi::p2::bindings::io },
});

pub use exports::toolgate::plugin::{hooks, tools};
pub use toolgate::plugin::{batch, cancellation, config, log, progress, state, types};
pub use toolgate::plugin_io::cancellation_event;

/// A document of a guest's that is no JSON, or not the kind of it that the field holds.
#[derive(Debug, thiserror::Error)]
#[error("{field} is {error}")]
pub struct BadJson {
    /// Which field of the answer.
    pub field: &'static str,
    /// What is wrong.
    pub error: BadJsonReason,
}

/// What is wrong with a document.
#[derive(Debug, thiserror::Error)]
pub enum BadJsonReason {
    /// It is none.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// MCP has an object there.
    #[error("not a JSON object")]
    NoObject,
}

fn json(field: &'static str, text: String) -> Result<Json, BadJson> {
    Json::verify(text).map_err(|error| BadJson { field, error: error.into() })
}

fn object_option(field: &'static str, text: Option<String>) -> Result<Option<Json>, BadJson> {
    let document = json_option(field, text)?;
    match &document {
        Some(other) if !other.text().starts_with('{') => Err(BadJson { field, error: BadJsonReason::NoObject }),
        _ => Ok(document),
    }
}

fn parsed(field: &'static str, text: String) -> Result<Json, BadJson> {
    Json::parse(text).map_err(|error| BadJson { field, error: error.into() })
}

fn json_option(field: &'static str, text: Option<String>) -> Result<Option<Json>, BadJson> {
    text.map(|text| json(field, text)).transpose()
}

fn text_of(document: &Option<Json>) -> Option<String> {
    document.as_ref().map(|d| d.text().to_owned())
}

fn extra(annotations: Option<String>, meta: Option<String>) -> Result<ContentMeta, BadJson> {
    Ok(ContentMeta {
        annotations: object_option("annotations of a content block", annotations)?,
        meta: object_option("meta of a content block", meta)?,
    })
}

fn content_in(block: types::ContentBlock) -> Result<Content, BadJson> {
    Ok(match block {
        types::ContentBlock::Text(t) => Content::Text { text: t.text, extra: extra(t.annotations, t.meta)? },
        types::ContentBlock::Image(m) => {
            Content::Image { data: Bytes::from(m.data), mime_type: m.mime_type, extra: extra(m.annotations, m.meta)? }
        }
        types::ContentBlock::Audio(m) => {
            Content::Audio { data: Bytes::from(m.data), mime_type: m.mime_type, extra: extra(m.annotations, m.meta)? }
        }
        types::ContentBlock::ResourceLink(l) => Content::ResourceLink {
            uri: l.uri,
            name: l.name,
            title: l.title,
            description: l.description,
            mime_type: l.mime_type,
            size: l.size,
            extra: extra(l.annotations, l.meta)?,
        },
        types::ContentBlock::EmbeddedResource(r) => Content::Resource {
            uri: r.uri,
            mime_type: r.mime_type,
            body: match r.body {
                types::ResourceBody::Text(text) => model::ResourceBody::Text(text),
                types::ResourceBody::Blob(data) => model::ResourceBody::Blob(Bytes::from(data)),
            },
            extra: extra(r.annotations, r.meta)?,
        },
    })
}

fn content_out(content: &Content) -> types::ContentBlock {
    let media = |data: &Bytes, mime_type: &str, extra: &ContentMeta| types::Media {
        data: data.to_vec(),
        mime_type: mime_type.to_owned(),
        annotations: text_of(&extra.annotations),
        meta: text_of(&extra.meta),
    };
    match content {
        Content::Text { text, extra } => types::ContentBlock::Text(types::Text {
            text: text.clone(),
            annotations: text_of(&extra.annotations),
            meta: text_of(&extra.meta),
        }),
        Content::Image { data, mime_type, extra } => types::ContentBlock::Image(media(data, mime_type, extra)),
        Content::Audio { data, mime_type, extra } => types::ContentBlock::Audio(media(data, mime_type, extra)),
        Content::ResourceLink { uri, name, title, description, mime_type, size, extra } => {
            types::ContentBlock::ResourceLink(types::ResourceLink {
                uri: uri.clone(),
                name: name.clone(),
                title: title.clone(),
                description: description.clone(),
                mime_type: mime_type.clone(),
                size: *size,
                annotations: text_of(&extra.annotations),
                meta: text_of(&extra.meta),
            })
        }
        Content::Resource { uri, mime_type, body, extra } => {
            types::ContentBlock::EmbeddedResource(types::EmbeddedResource {
                uri: uri.clone(),
                mime_type: mime_type.clone(),
                body: match body {
                    model::ResourceBody::Text(text) => types::ResourceBody::Text(text.clone()),
                    model::ResourceBody::Blob(data) => types::ResourceBody::Blob(data.to_vec()),
                },
                annotations: text_of(&extra.annotations),
                meta: text_of(&extra.meta),
            })
        }
    }
}

/// A guest's result as the model has it.
pub fn result_in(result: types::ToolResult) -> Result<model::ToolResult, BadJson> {
    Ok(model::ToolResult {
        content: result.content.into_iter().map(content_in).collect::<Result<_, _>>()?,
        details: json_option("details", result.details)?,
        structured_content: json_option("structured-content", result.structured_content)?,
        usage: json_option("usage", result.usage)?,
        terminate: result.terminate,
        added_tool_names: result.added_tool_names,
        is_error: result.is_error,
    })
}

fn result_out(result: &model::ToolResult) -> types::ToolResult {
    types::ToolResult {
        content: result.content.iter().map(content_out).collect(),
        details: text_of(&result.details),
        structured_content: text_of(&result.structured_content),
        usage: text_of(&result.usage),
        is_error: result.is_error,
        terminate: result.terminate,
        added_tool_names: result.added_tool_names.clone(),
    }
}

/// A call with the arguments a guest is to see.
pub fn call_out(call: &model::ToolCall, arguments: &Json) -> types::ToolCall {
    types::ToolCall { id: call.id.to_string(), name: call.name.to_string(), arguments: arguments.text().to_owned() }
}

fn error_out(error: Option<&model::ErrorInfo>) -> Option<types::CallError> {
    error.map(|e| types::CallError { kind: e.kind.as_str().to_owned(), stage: e.stage.as_str().to_owned() })
}

/// The context of a before hook.
pub fn before_out(call: &model::ToolCall, arguments: &Json) -> hooks::BeforeContext {
    hooks::BeforeContext { call: call_out(call, &call.arguments), arguments: arguments.text().to_owned() }
}

/// The context of an after hook.
pub fn after_out(
    call: &model::ToolCall,
    arguments: &Json,
    result: &model::ToolResult,
    is_error: bool,
    error: Option<&model::ErrorInfo>,
) -> hooks::AfterContext {
    hooks::AfterContext {
        call: call_out(call, &call.arguments),
        arguments: arguments.text().to_owned(),
        tool_result: result_out(result),
        is_error,
        error: error_out(error),
    }
}

/// The context of a settled hook.
pub fn settled_out(call: &model::ToolCall, settled: &pipeline::Settled) -> hooks::SettledContext {
    hooks::SettledContext {
        call: call_out(call, &call.arguments),
        arguments: settled.arguments.text().to_owned(),
        tool_result: result_out(&settled.result),
        is_error: settled.is_error,
        error: error_out(settled.error.as_ref()),
        duration_ms: settled.duration.as_secs_f64() * 1e3,
    }
}

/// A guest's decision.
pub fn decision_in(decision: hooks::Decision) -> Result<pipeline::Decision, BadJson> {
    use crate::component::failure::bounded;
    Ok(match decision {
        hooks::Decision::Allow => pipeline::Decision::Allow,
        hooks::Decision::ReplaceArguments(text) => {
            pipeline::Decision::ReplaceArguments(parsed("replace-arguments", text)?)
        }
        hooks::Decision::Block(b) => {
            pipeline::Decision::Block { reason: b.reason.map(bounded), terminate: b.terminate }
        }
        hooks::Decision::Ask(q) => pipeline::Decision::Ask { title: bounded(q.title), text: bounded(q.text) },
    })
}

/// A guest's override.
pub fn override_in(change: hooks::Override) -> Result<model::Override, BadJson> {
    Ok(model::Override {
        content: change
            .content
            .map(|blocks| blocks.into_iter().map(content_in).collect::<Result<_, _>>())
            .transpose()?,
        details: json_option("details", change.details)?,
        structured_content: json_option("structured-content", change.structured_content)?,
        usage: json_option("usage", change.usage)?,
        is_error: change.is_error,
        terminate: change.terminate,
    })
}

/// A guest's subscription.
pub fn subscription_in(subscription: hooks::Subscription) -> (HookEvent, Option<Vec<String>>) {
    let event = match subscription.event {
        hooks::Event::BeforeToolCall => HookEvent::BeforeToolCall,
        hooks::Event::AfterToolCall => HookEvent::AfterToolCall,
        hooks::Event::Settled => HookEvent::Settled,
    };
    (event, subscription.tools)
}

/// Bytes of a definition's texts.
pub fn definition_size(definition: &tools::Definition) -> usize {
    let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    definition.name.len()
        + definition.description.len()
        + definition.parameters.len()
        + optional(&definition.label)
        + optional(&definition.output)
        + optional(&definition.meta)
        + definition.exclusive.iter().map(|key| key.pointer.len()).sum::<usize>()
}

/// A guest's definition of a tool.
pub fn definition_in(definition: tools::Definition) -> Result<model::ToolDefinition, BadJson> {
    let access = |access| match access {
        tools::Access::Read => model::Access::Read,
        tools::Access::Write => model::Access::Write,
    };
    Ok(model::ToolDefinition {
        parameters: parsed("parameters", definition.parameters)?,
        output: definition.output.map(|text| parsed("output", text)).transpose()?,
        meta: object_option("meta", definition.meta)?,
        name: definition.name,
        label: definition.label,
        description: definition.description,
        execution_mode: definition.execution_mode.map(|mode| match mode {
            types::ExecutionMode::Parallel => model::ExecutionMode::Parallel,
            types::ExecutionMode::Sequential => model::ExecutionMode::Sequential,
        }),
        exclusive: definition
            .exclusive
            .into_iter()
            .map(|key| model::ExclusiveKey { pointer: key.pointer, is_path: key.is_path, access: access(key.access) })
            .collect(),
        prepares_arguments: definition.prepares_arguments,
        hints: model::Hints {
            read_only: definition.hints.read_only,
            destructive: definition.hints.destructive,
            idempotent: definition.hints.idempotent,
            open_world: definition.hints.open_world,
        },
    })
}

/// A guest's log level.
pub fn level_in(level: log::Level) -> LogLevel {
    match level {
        log::Level::Trace => LogLevel::Trace,
        log::Level::Debug => LogLevel::Debug,
        log::Level::Info => LogLevel::Info,
        log::Level::Warn => LogLevel::Warn,
        log::Level::Error => LogLevel::Error,
    }
}

/// A guest's state scope.
pub fn scope_in(scope: state::Scope) -> crate::state::Scope {
    match scope {
        state::Scope::Turn => crate::state::Scope::Turn,
        state::Scope::Conversation => crate::state::Scope::Conversation,
    }
}
