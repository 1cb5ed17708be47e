//! `toolgate:plugin@0.1`: generated bindings, and conversions between its types and the model's.

use bytes::Bytes;

use crate::model::{self, Content, ContentMeta, Json, JsonError};
use crate::pipeline::{self, HookEvent, LogLevel};

wasmtime::component::bindgen!({
    path: ["../wit/wasi-io", "../wit/plugin", "../wit/plugin-io"],
    world: "toolgate:plugin-io/host",
    imports: { default: async | trappable },
    exports: { default: async },
    // What a guest is handed is lowered from where it stands: arguments and results may be large.
    ownership: Borrowing { duplicate_if_necessary: true },
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

fn text_of(document: &Option<Json>) -> Option<&str> {
    document.as_ref().map(Json::text)
}

fn extra(annotations: Option<String>, meta: Option<String>) -> Result<ContentMeta, BadJson> {
    Ok(ContentMeta {
        annotations: object_option("annotations of a content block", annotations)?,
        meta: object_option("meta of a content block", meta)?,
    })
}

fn content_in(block: types::ContentBlockResult) -> Result<Content, BadJson> {
    Ok(match block {
        types::ContentBlockResult::Text(t) => Content::Text { text: t.text, extra: extra(t.annotations, t.meta)? },
        types::ContentBlockResult::Image(m) => {
            Content::Image { data: Bytes::from(m.data), mime_type: m.mime_type, extra: extra(m.annotations, m.meta)? }
        }
        types::ContentBlockResult::Audio(m) => {
            Content::Audio { data: Bytes::from(m.data), mime_type: m.mime_type, extra: extra(m.annotations, m.meta)? }
        }
        types::ContentBlockResult::ResourceLink(l) => Content::ResourceLink {
            uri: l.uri,
            name: l.name,
            title: l.title,
            description: l.description,
            mime_type: l.mime_type,
            size: l.size,
            extra: extra(l.annotations, l.meta)?,
        },
        types::ContentBlockResult::EmbeddedResource(r) => Content::Resource {
            uri: r.uri,
            mime_type: r.mime_type,
            body: match r.body {
                types::ResourceBodyResult::Text(text) => model::ResourceBody::Text(text),
                types::ResourceBodyResult::Blob(data) => model::ResourceBody::Blob(Bytes::from(data)),
            },
            extra: extra(r.annotations, r.meta)?,
        },
    })
}

fn content_out(content: &Content) -> types::ContentBlockParam<'_> {
    fn media<'a>(data: &'a Bytes, mime_type: &'a str, extra: &'a ContentMeta) -> types::MediaParam<'a> {
        types::MediaParam { data, mime_type, annotations: text_of(&extra.annotations), meta: text_of(&extra.meta) }
    }
    match content {
        Content::Text { text, extra } => types::ContentBlockParam::Text(types::TextParam {
            text,
            annotations: text_of(&extra.annotations),
            meta: text_of(&extra.meta),
        }),
        Content::Image { data, mime_type, extra } => types::ContentBlockParam::Image(media(data, mime_type, extra)),
        Content::Audio { data, mime_type, extra } => types::ContentBlockParam::Audio(media(data, mime_type, extra)),
        Content::ResourceLink { uri, name, title, description, mime_type, size, extra } => {
            types::ContentBlockParam::ResourceLink(types::ResourceLinkParam {
                uri,
                name,
                title: title.as_deref(),
                description: description.as_deref(),
                mime_type: mime_type.as_deref(),
                size: *size,
                annotations: text_of(&extra.annotations),
                meta: text_of(&extra.meta),
            })
        }
        Content::Resource { uri, mime_type, body, extra } => {
            types::ContentBlockParam::EmbeddedResource(types::EmbeddedResourceParam {
                uri,
                mime_type: mime_type.as_deref(),
                body: match body {
                    model::ResourceBody::Text(text) => types::ResourceBodyParam::Text(text),
                    model::ResourceBody::Blob(data) => types::ResourceBodyParam::Blob(data),
                },
                annotations: text_of(&extra.annotations),
                meta: text_of(&extra.meta),
            })
        }
    }
}

/// A guest's result as the model has it.
pub fn result_in(result: types::ToolResultResult) -> Result<model::ToolResult, BadJson> {
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

/// A result for a guest, which borrows its lists from here and all else from the result.
pub struct ResultOut<'a> {
    result: &'a model::ToolResult,
    content: Vec<types::ContentBlockParam<'a>>,
    added_tool_names: Option<Vec<&'a str>>,
}

impl<'a> ResultOut<'a> {
    /// Of a result of the model's.
    pub fn of(result: &'a model::ToolResult) -> Self {
        let names = |names: &'a Vec<String>| names.iter().map(String::as_str).collect();
        Self {
            result,
            content: result.content.iter().map(content_out).collect(),
            added_tool_names: result.added_tool_names.as_ref().map(names),
        }
    }

    fn lower(&'a self) -> types::ToolResultParam<'a> {
        types::ToolResultParam {
            content: &self.content,
            details: text_of(&self.result.details),
            structured_content: text_of(&self.result.structured_content),
            usage: text_of(&self.result.usage),
            is_error: self.result.is_error,
            terminate: self.result.terminate,
            added_tool_names: self.added_tool_names.as_deref(),
        }
    }
}

/// A call with the arguments a guest is to see.
pub fn call_out<'a>(call: &'a model::ToolCall, arguments: &'a Json) -> types::ToolCall<'a> {
    types::ToolCall { id: &call.id, name: &call.name, arguments: arguments.text() }
}

fn error_out(error: Option<&model::ErrorInfo>) -> Option<types::CallError<'static>> {
    error.map(|e| types::CallError { kind: e.kind.as_str(), stage: e.stage.as_str() })
}

/// The context of a before hook.
pub fn before_out<'a>(call: &'a model::ToolCall, arguments: &'a Json) -> hooks::BeforeContext<'a> {
    hooks::BeforeContext { call: call_out(call, &call.arguments), arguments: arguments.text() }
}

/// The context of an after hook.
pub fn after_out<'a>(
    call: &'a model::ToolCall,
    arguments: &'a Json,
    result: &'a ResultOut<'_>,
    is_error: bool,
    error: Option<&model::ErrorInfo>,
) -> hooks::AfterContext<'a> {
    hooks::AfterContext {
        call: call_out(call, &call.arguments),
        arguments: arguments.text(),
        tool_result: result.lower(),
        is_error,
        error: error_out(error),
    }
}

/// The context of a settled hook.
pub fn settled_out<'a>(
    call: &'a model::ToolCall,
    settled: &'a pipeline::Settled,
    result: &'a ResultOut<'_>,
) -> hooks::SettledContext<'a> {
    hooks::SettledContext {
        call: call_out(call, &call.arguments),
        arguments: settled.arguments.text(),
        tool_result: result.lower(),
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
