//! Write Toolgate tools and hooks in Rust.
//!
//! A plugin is a library crate built for a WebAssembly target. A tool is a function with an attribute:
//!
//! ```
//! use toolgate_sdk::prelude::*;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Args {
//!     /// The text to count in.
//!     text: String,
//! }
//!
//! /// Counts the words of a text.
//! #[tool(read_only)]
//! fn words(args: Args) -> Result<String, ToolError> {
//!     Ok(args.text.split_whitespace().count().to_string())
//! }
//!
//! toolgate_sdk::plugin! { tools: [words] }
//! ```
//!
//! A hook is a type that implements [`Hook`]. Every call runs in a fresh instance: nothing kept in memory survives
//! it, what has to is kept with [`Host::state`].
//!
//! Natively (`cargo test`) the host's side is played by [`testing`]. The SDK itself uses neither clock nor files, so
//! it also builds for `wasm32-unknown-unknown`; what the plugin uses of them is the plugin's affair.

#[doc(hidden)]
pub mod bindings;
mod content;
mod error;
mod export;
mod hook;
mod host;
pub mod log;
mod number;
mod panic;
mod result;
mod schema;
mod state;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod tool;

pub use bindings::hooks::exports::toolgate::plugin::hooks::{
    AfterContext, BeforeContext, Block, Decision, Event, Override, Question, SettledContext, Subscription,
};
pub use bindings::tools::exports::toolgate::plugin::tools::{Access, Definition, ExclusiveKey, Hints};
pub use bindings::tools::toolgate::plugin::state::Scope;
pub use bindings::tools::toolgate::plugin::types::{
    CallError, ContentBlock as Content, EmbeddedResource, ExecutionMode, Media, ResourceBody, ResourceLink, Text,
    ToolCall, ToolResult,
};
pub use error::{HookError, HostError, ToolError};
pub use hook::Hook;
pub use host::{Batch, Host, granted_paths};
pub use result::{IntoToolResult, Json};
pub use state::State;
pub use tool::{Tool, ToolContext};

pub use toolgate_sdk_macros::tool;
pub use {schemars, serde, serde_json};

/// Compiles the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Everything a plugin usually needs.
pub mod prelude {
    pub use crate::log;
    pub use crate::{
        Access, AfterContext, BeforeContext, Content, Decision, Definition, Hook, HookError, Host, HostError,
        IntoToolResult, Json, Override, Scope, SettledContext, Subscription, Tool, ToolContext, ToolError, ToolResult,
        tool,
    };
    pub use schemars::{self, JsonSchema};
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::{self, Value, json};
}

/// Makes the crate a plugin: names its tools, its hooks, or both. Once per crate.
///
/// A list holds functions marked [`tool`](macro@tool) or unit structs that implement [`Tool`] or [`Hook`]:
///
/// ```
/// # use toolgate_sdk::prelude::*;
/// # /// Says hello.
/// # #[tool] fn hello() -> Result<&'static str, ToolError> { Ok("hello") }
/// # struct Gate;
/// # impl Hook for Gate { fn subscriptions(&self) -> Vec<Subscription> { vec![Subscription::before()] } }
/// toolgate_sdk::plugin! { tools: [hello], hooks: [Gate] }
/// ```
///
/// In place of a list, a function that returns `Vec<Box<dyn Tool>>` (or a `Result` of one) makes the tools at run
/// time, for instance from the operator's settings. It is called at load and again in every call, so it must give the
/// same answer each time. An error it returns refuses the plugin at load. The same goes for hooks.
///
/// ```
/// # use toolgate_sdk::prelude::*;
/// fn hooks() -> Result<Vec<Box<dyn Hook>>, HostError> {
///     let names: Vec<String> = Host.config_key("gates")?.unwrap_or_default();
///     Ok(names.into_iter().map(|name| Box::new(Gate(name)) as Box<dyn Hook>).collect())
/// }
/// # struct Gate(String);
/// # impl Hook for Gate { fn subscriptions(&self) -> Vec<Subscription> { vec![Subscription::before()] } }
/// toolgate_sdk::plugin! { hooks: hooks }
/// ```
#[macro_export]
macro_rules! plugin {
    (tools: $tools:tt $(,)?) => {
        $crate::__plugin!(tools $tools);
    };
    (hooks: $hooks:tt $(,)?) => {
        $crate::__plugin!(hooks $hooks);
    };
    (tools: $tools:tt, hooks: $hooks:tt $(,)?) => {
        $crate::__plugin!(tools $tools);
        $crate::__plugin!(hooks $hooks);
    };
    (hooks: $hooks:tt, tools: $tools:tt $(,)?) => {
        $crate::plugin!(tools: $tools, hooks: $hooks);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __plugin {
    (tools $list:tt) => {
        const _: () = {
            struct Plugin;
            // Natively nothing is exported; this keeps the plugin's functions from being called unused.
            const _: fn() -> ::std::vec::Vec<::std::boxed::Box<dyn $crate::Tool>> =
                <Plugin as $crate::__private::ToolPlugin>::tools;
            impl $crate::__private::ToolPlugin for Plugin {
                fn tools() -> ::std::vec::Vec<::std::boxed::Box<dyn $crate::Tool>> {
                    $crate::__list!($list)
                }
            }
            #[cfg(target_family = "wasm")]
    $crate::bindings::tools::__export_tools!(Plugin with_types_in $crate::bindings::tools);
        };
    };
    (hooks $list:tt) => {
        const _: () = {
            struct Plugin;
            // Natively nothing is exported; this keeps the plugin's functions from being called unused.
            const _: fn() -> ::std::vec::Vec<::std::boxed::Box<dyn $crate::Hook>> =
                <Plugin as $crate::__private::HookPlugin>::hooks;
            impl $crate::__private::HookPlugin for Plugin {
                fn hooks() -> ::std::vec::Vec<::std::boxed::Box<dyn $crate::Hook>> {
                    $crate::__list!($list)
                }
            }
            #[cfg(target_family = "wasm")]
    $crate::bindings::hooks::__export_hooks!(Plugin with_types_in $crate::bindings::hooks);
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __list {
    // Braces build both a unit struct and the empty struct that #[tool] puts beside its function.
    ([$($($item:ident)::+),* $(,)?]) => {
        ::std::vec![$(::std::boxed::Box::new($($item)::+ {})),*]
    };
    ($function:ident) => {
        $crate::__private::Items::into_items($function())
    };
}

/// For the macros' expansions only.
#[doc(hidden)]
pub mod __private {
    pub use crate::export::{HookPlugin, Items, ToolPlugin};
    pub use crate::tool::{Returned, prepare, run};
}
