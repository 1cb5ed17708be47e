//! The exports of a component, forwarded to the plugin's tools and hooks.

use std::fmt::Display;

use crate::bindings::tools::toolgate::plugin::types::{ToolCall, ToolResult};
use crate::bindings::{
    hooks::exports::toolgate::plugin::hooks as hooks_export, tools::exports::toolgate::plugin::tools as tools_export,
};
use crate::{Hook, Override, Tool, ToolContext, hook, panic};
use hooks_export::{AfterContext, BeforeContext, Decision, SettledContext, Subscription};
use tools_export::{Definition, Failure};

/// The tools of a component. Implemented by `plugin!`.
pub trait ToolPlugin {
    /// Made anew in each call.
    fn tools() -> Vec<Box<dyn Tool>>;
}

/// The hooks of a component, in the order they are asked. Implemented by `plugin!`.
pub trait HookPlugin {
    /// Made anew in each call.
    fn hooks() -> Vec<Box<dyn Hook>>;
}

/// What a function named in `plugin!` may return.
pub trait Items<T> {
    /// The list, or a panic with the error's text: `definitions` and `subscriptions` have no other way to fail.
    fn into_items(self) -> Vec<T>;
}

impl<T> Items<T> for Vec<T> {
    fn into_items(self) -> Vec<T> {
        self
    }
}

impl<T, E: Display> Items<T> for Result<Vec<T>, E> {
    fn into_items(self) -> Vec<T> {
        self.unwrap_or_else(|error| panic!("{error}"))
    }
}

fn find<P: ToolPlugin>(name: &str) -> Result<Box<dyn Tool>, String> {
    P::tools()
        .into_iter()
        .find(|tool| tool.definition().name == name)
        .ok_or_else(|| format!("This plugin has no tool `{name}`"))
}

impl<P: ToolPlugin> tools_export::Guest for P {
    fn definitions() -> Vec<Definition> {
        panic::report();
        P::tools().iter().map(|tool| tool.definition()).collect()
    }

    fn prepare_arguments(name: String, args: String) -> Result<String, String> {
        panic::report();
        find::<P>(&name)?.prepare_arguments(&args).map_err(|error| error.to_string())
    }

    fn execute(call: ToolCall) -> Result<ToolResult, Failure> {
        panic::report();
        let tool = find::<P>(&call.name).map_err(Failure::Failed)?;
        tool.execute(&ToolContext::new(call)).map_err(Failure::from)
    }
}

impl<P: HookPlugin> hooks_export::Guest for P {
    fn subscriptions() -> Vec<Subscription> {
        panic::report();
        P::hooks().iter().flat_map(|hook| hook.subscriptions()).collect()
    }

    fn before_tool_call(cx: BeforeContext) -> Result<Decision, String> {
        panic::report();
        hook::before(&P::hooks(), cx).map_err(|error| error.to_string())
    }

    fn after_tool_call(cx: AfterContext) -> Result<Option<Override>, String> {
        panic::report();
        hook::after(&P::hooks(), cx).map_err(|error| error.to_string())
    }

    fn settled(cx: SettledContext) {
        panic::report();
        hook::settled(&P::hooks(), &cx);
    }
}
