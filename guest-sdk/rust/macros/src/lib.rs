//! The `#[tool]` attribute of `toolgate-sdk`.

mod options;
mod tool;

use proc_macro::TokenStream;

/// Makes a function a tool.
///
/// ```
/// use toolgate_sdk::prelude::*;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Args {
///     /// What to read.
///     path: String,
/// }
///
/// /// Reads a file.
/// #[tool(label = "Read", read_only, exclusive(path("/path", read)))]
/// fn read(args: Args, cx: &ToolContext) -> Result<String, ToolError> {
///     cx.update("reading");
///     Ok(std::fs::read_to_string(&args.path)?)
/// }
/// ```
///
/// The function takes its arguments (any type that is `Deserialize` and `JsonSchema`; may be left out) and a
/// `&ToolContext` (may be left out), and returns `Result<R, E>` where `R` is `IntoToolResult` and `E` converts into
/// `ToolError`. It stays an ordinary function; beside it comes a type of the same name that implements `Tool`, which
/// `plugin!` takes. In tests it is built with braces: `read {}`.
///
/// Calls of one message run at the same time, also those of one tool, unless `execution_mode` or `exclusive` say
/// otherwise.
///
/// The return type has to be a `Result`:
///
/// ```compile_fail
/// use toolgate_sdk::prelude::*;
///
/// /// Greets.
/// #[tool]
/// fn greet() -> String {
///     "hello".into()
/// }
/// ```
///
/// Options, all of them optional:
/// - `name = "read"`: for the model; else the function's name.
/// - `description = ".."`: for the model; else the doc comment. One of the two must be there.
/// - `label = ".."`: for people.
/// - `execution_mode = "sequential"`: a batch with a call of this tool runs its calls one after another.
/// - `exclusive(path("/path", write), value("/id", read))`: calls with an equal value at this JSON pointer into the
///   arguments run one after another, unless all of them read. `path`: the value is a guest path.
/// - `read_only`, `destructive`, `idempotent`, `open_world`: MCP's annotations, for clients; `= false` says no.
/// - `output = Type`: the schema of the structured content. `Result<Json<Type>, _>` implies it.
/// - `prepare_arguments = function`: a `fn(Value) -> Result<Value, E>` that accepts older shapes of the arguments,
///   before validation.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    let options = syn::parse_macro_input!(options as options::Options);
    let function = syn::parse_macro_input!(function as syn::ItemFn);
    tool::expand(&options, &function).unwrap_or_else(syn::Error::into_compile_error).into()
}
