//! Tools: the trait behind `#[tool]`, what a call sees, and the builder of definitions.

use std::ops::Deref;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Access, Definition, ExclusiveKey, ExecutionMode, Hints, Host, HostError, IntoToolResult, ToolCall, ToolError,
    ToolResult, host, number, schema,
};

/// A tool. [`#[tool]`](macro@crate::tool) implements it for a function; by hand it serves tools whose definition is
/// only known at run time:
///
/// ```
/// use toolgate_sdk::prelude::*;
///
/// struct Greet {
///     greeting: String,
/// }
///
/// impl Tool for Greet {
///     fn definition(&self) -> Definition {
///         Definition::new("greet", format!("Says {}.", self.greeting)).parameters(json!({"type": "object"}))
///     }
///
///     fn execute(&self, _cx: &ToolContext) -> Result<ToolResult, ToolError> {
///         Ok(ToolResult::text(&self.greeting))
///     }
/// }
///
/// fn tools() -> Result<Vec<Box<dyn Tool>>, HostError> {
///     let greetings: Vec<String> = Host.config_key("greetings")?.unwrap_or_default();
///     Ok(greetings.into_iter().map(|greeting| Box::new(Greet { greeting }) as Box<dyn Tool>).collect())
/// }
///
/// toolgate_sdk::plugin! { tools: tools }
/// ```
pub trait Tool {
    /// What the model is told, and how calls of the tool may run. Read once at load.
    fn definition(&self) -> Definition;

    /// Accepts older shapes of the arguments: takes what the model wrote and returns what goes on to validation, both
    /// JSON. Called only where the definition says [`prepares_arguments`](Definition::prepares_arguments).
    fn prepare_arguments(&self, args: &str) -> Result<String, ToolError> {
        Ok(args.to_owned())
    }

    /// Runs one call, whose arguments fit the definition's parameters.
    fn execute(&self, cx: &ToolContext) -> Result<ToolResult, ToolError>;
}

/// One call of a tool; also everything of [`Host`].
#[derive(Clone, Debug)]
pub struct ToolContext {
    call: ToolCall,
}

impl ToolContext {
    pub(crate) fn new(call: ToolCall) -> Self {
        Self { call }
    }

    /// The call: the model's id, the tool's name, and the arguments as JSON text, digits kept.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The arguments as `T`. The error names the argument that does not fit. An argument that `T` doesn't know is
    /// ignored, unless `T` says `#[serde(deny_unknown_fields)]`, which also reaches the schema.
    ///
    /// A model may write an integer as `50.0` or `1e3`: where `T` doesn't fit otherwise, whole numbers are read as
    /// integers.
    pub fn parse_arguments<T: DeserializeOwned>(&self) -> Result<T, HostError> {
        parse_arguments(&self.call.arguments)
    }

    /// Sends a partial result. Returns at once unless many are pending.
    pub fn update(&self, partial: impl IntoToolResult) {
        match partial.into_tool_result() {
            #[cfg(target_family = "wasm")]
            Ok(partial) => crate::bindings::tools::toolgate::plugin::progress::update(&partial),
            #[cfg(not(target_family = "wasm"))]
            Ok(partial) => crate::testing::with(|host| host.updates.push(partial)),
            Err(error) => crate::log::warn(format_args!("An update was left out: {error}")),
        }
    }
}

impl Deref for ToolContext {
    type Target = Host;

    fn deref(&self) -> &Host {
        &Host
    }
}

pub(crate) fn parse_arguments<T: DeserializeOwned>(json: &str) -> Result<T, HostError> {
    host::parse(json)
        // Only then, since a `Value` in `T` shows how a number was written.
        .or_else(|_| host::parse(&number::write_whole_numbers_as_integers(json)))
        .map_err(|error| HostError::new(format_args!("Invalid arguments: {error}")))
}

impl Definition {
    /// A tool without parameters. `name` is `[A-Za-z0-9_-]{1,64}`; `description` is for the model: what the tool does,
    /// when to use it, what it does not do.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            label: None,
            description: description.into(),
            parameters: r#"{"type":"object","properties":{}}"#.into(),
            output: None,
            execution_mode: None,
            exclusive: Vec::new(),
            prepares_arguments: false,
            hints: Hints { read_only: None, destructive: None, idempotent: None, open_world: None },
            meta: None,
        }
    }

    /// JSON Schema 2020-12 of the arguments.
    pub fn parameters(mut self, schema: Value) -> Self {
        self.parameters = schema.to_string();
        self
    }

    /// The schema of a type as that of the arguments.
    pub fn parameters_of<T: JsonSchema>(mut self) -> Self {
        self.parameters = schema::input::<T>();
        self
    }

    /// JSON Schema 2020-12 of the structured content.
    pub fn output(mut self, schema: Value) -> Self {
        self.output = Some(schema.to_string());
        self
    }

    /// The schema of a type as that of the structured content.
    pub fn output_of<T: JsonSchema>(mut self) -> Self {
        self.output = Some(schema::output::<T>());
        self
    }

    /// For `Json<T>` results: MCP takes none but objects, so other data stays undeclared.
    #[doc(hidden)]
    pub fn implied_output_of<T: JsonSchema>(mut self) -> Self {
        self.output = schema::object_output::<T>();
        self
    }

    /// A short name for people.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// A batch with a call of this tool runs its calls one after another. To order calls on one resource only, use
    /// the exclusive keys.
    pub fn sequential(mut self) -> Self {
        self.execution_mode = Some(ExecutionMode::Sequential);
        self
    }

    /// Calls with an equal path at `pointer` of their arguments (RFC 6901) run one after another, unless all of them
    /// read. Paths are resolved through the plugin's grants and compared with other plugins' calls too.
    pub fn exclusive_path(self, pointer: impl Into<String>, access: Access) -> Self {
        self.exclusive(pointer.into(), true, access)
    }

    /// Calls with an equal value at `pointer` of their arguments (RFC 6901) run one after another, unless all of them
    /// read.
    pub fn exclusive_value(self, pointer: impl Into<String>, access: Access) -> Self {
        self.exclusive(pointer.into(), false, access)
    }

    fn exclusive(mut self, pointer: String, is_path: bool, access: Access) -> Self {
        self.exclusive.push(ExclusiveKey { pointer, is_path, access });
        self
    }

    /// The host calls [`Tool::prepare_arguments`] before it validates.
    pub fn prepares_arguments(mut self) -> Self {
        self.prepares_arguments = true;
        self
    }

    /// MCP's annotations, shown to clients.
    pub fn hints(mut self, hints: Hints) -> Self {
        self.hints = hints;
        self
    }
}

/// What the function behind a `#[tool]` returns. A trait for the sake of the compiler's message.
#[diagnostic::on_unimplemented(
    message = "a tool returns a `Result`, not `{Self}`",
    label = "make it a `Result<R, ToolError>`",
    note = "for example `Result<String, ToolError>`; what `R` may be is listed at `IntoToolResult`"
)]
pub trait Returned {
    /// The answer or the failure of the call.
    fn into_result(self) -> Result<ToolResult, ToolError>;
}

impl<R: IntoToolResult, E: Into<ToolError>> Returned for Result<R, E> {
    fn into_result(self) -> Result<ToolResult, ToolError> {
        self.map_err(Into::into)?.into_tool_result()
    }
}

/// Runs the function behind a `#[tool]`.
pub fn run<T: Returned>(returned: T) -> Result<ToolResult, ToolError> {
    returned.into_result()
}

/// Runs the function behind `prepare_arguments = ..`.
pub fn prepare<E: Into<ToolError>>(
    args: &str,
    function: impl FnOnce(Value) -> Result<Value, E>,
) -> Result<String, ToolError> {
    let prepared = function(host::parse(args).map_err(ToolError::new)?).map_err(Into::into)?;
    Ok(prepared.to_string())
}
