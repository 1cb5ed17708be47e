//! The host's side in native tests: a small stand-in, one per thread, so that each `#[test]` has its own.
//!
//! ```
//! use toolgate_sdk::{prelude::*, testing};
//!
//! /// Greets.
//! #[tool]
//! fn greet(cx: &ToolContext) -> Result<String, ToolError> {
//!     Ok(cx.config_key("greeting")?.unwrap_or("hello".into()))
//! }
//!
//! testing::set_config(json!({"greeting": "hi"}));
//! // The type that `#[tool]` puts beside the function; built with braces.
//! assert_eq!(testing::call(&greet {}, json!({})).unwrap().joined_text(), "hi");
//! ```
//!
//! A hook is asked with [`before`] and [`after`]; one that doesn't subscribe to the event and the tool is not called.
//!
//! ```
//! use toolgate_sdk::{prelude::*, testing};
//!
//! struct Mask;
//! impl Hook for Mask {
//!     fn subscriptions(&self) -> Vec<Subscription> {
//!         vec![Subscription::after()]
//!     }
//!     fn after_tool_call(&self, _cx: &AfterContext) -> Result<Option<Override>, HookError> {
//!         Ok(Some(Override::new().content(vec!["***".into()])))
//!     }
//! }
//!
//! let change = testing::after(Box::new(Mask), "read", json!({}), ToolResult::text("secret")).unwrap();
//! assert_eq!(change, Some(Override::new().content(vec!["***".into()])));
//! let decision = testing::before(Box::new(Mask), "read", json!({})).unwrap();
//! assert_eq!(decision, Decision::allow());
//! ```
//!
//! What it does not play: validation and coercion of arguments, grants, limits, the order of calls. `toolgate call`
//! runs the built component with all of them.

use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::{Value, json};

use crate::log::Level;
use crate::{AfterContext, BeforeContext, Decision, Override, hook};
use crate::{Hook, HookError, Scope, Tool, ToolCall, ToolContext, ToolError, ToolResult};

pub(crate) struct Stage {
    config: Value,
    cancelled: bool,
    state: HashMap<(bool, String), Vec<u8>>,
    pub(crate) updates: Vec<ToolResult>,
    pub(crate) logs: Vec<(Level, String)>,
}

thread_local! {
    static STAGE: RefCell<Stage> = RefCell::new(Stage {
        config: json!({}),
        cancelled: false,
        state: HashMap::new(),
        updates: Vec::new(),
        logs: Vec::new(),
    });
}

pub(crate) fn with<R>(act: impl FnOnce(&mut Stage) -> R) -> R {
    STAGE.with_borrow_mut(act)
}

/// Calls a tool (its `prepare_arguments` too, where it has one). The arguments are not validated against its schema.
pub fn call(tool: &dyn Tool, arguments: Value) -> Result<ToolResult, ToolError> {
    let definition = tool.definition();
    let mut arguments = arguments.to_string();
    if definition.prepares_arguments {
        arguments = tool.prepare_arguments(&arguments)?;
    }
    tool.execute(&ToolContext::new(ToolCall { id: "call-1".into(), name: definition.name, arguments }))
}

/// Asks a hook about a call, if it subscribes to it.
pub fn before(hook: Box<dyn Hook>, tool: &str, arguments: Value) -> Result<Decision, HookError> {
    let arguments = arguments.to_string();
    let call = ToolCall { id: "call-1".into(), name: tool.into(), arguments: arguments.clone() };
    hook::before(&[hook], BeforeContext { call, arguments })
}

/// Shows a hook the result of a call, if it subscribes to it.
pub fn after(
    hook: Box<dyn Hook>,
    tool: &str,
    arguments: Value,
    tool_result: ToolResult,
) -> Result<Option<Override>, HookError> {
    let arguments = arguments.to_string();
    let call = ToolCall { id: "call-1".into(), name: tool.into(), arguments: arguments.clone() };
    let is_error = tool_result.is_error;
    hook::after(&[hook], AfterContext { call, arguments, tool_result, is_error, error: None })
}

/// The operator's settings, a JSON object.
pub fn set_config(config: Value) {
    with(|stage| stage.config = config);
}

/// Cancels the batch, or takes it back.
pub fn set_cancelled(cancelled: bool) {
    with(|stage| stage.cancelled = cancelled);
}

/// The partial results since the last time this was asked.
pub fn updates() -> Vec<ToolResult> {
    with(|stage| std::mem::take(&mut stage.updates))
}

/// The log lines since the last time this was asked.
pub fn logs() -> Vec<(Level, String)> {
    with(|stage| std::mem::take(&mut stage.logs))
}

pub(crate) mod backend {
    use super::with;

    pub fn config_all() -> String {
        with(|stage| stage.config.to_string())
    }

    pub fn config_get(key: &str) -> Option<String> {
        with(|stage| stage.config.get(key).map(ToString::to_string))
    }

    pub fn is_cancelled() -> bool {
        with(|stage| stage.cancelled)
    }

    pub fn wait(timeout_ms: u32) -> bool {
        if !is_cancelled() {
            std::thread::sleep(std::time::Duration::from_millis(timeout_ms.into()));
        }
        is_cancelled()
    }

    pub fn position() -> u32 {
        0
    }

    pub fn size() -> u32 {
        1
    }

    pub fn turn() -> String {
        "turn-1".into()
    }

    pub fn conversation() -> String {
        "conversation-1".into()
    }

    pub fn assistant_message() -> String {
        "null".into()
    }
}

pub(crate) mod state {
    use super::{Scope, with};

    fn key(scope: Scope, key: &str) -> (bool, String) {
        (scope == Scope::Turn, key.to_owned())
    }

    pub fn get(scope: Scope, name: &str) -> Option<Vec<u8>> {
        with(|stage| stage.state.get(&key(scope, name)).cloned())
    }

    pub fn set(scope: Scope, name: &str, value: &[u8]) -> Result<(), String> {
        with(|stage| stage.state.insert(key(scope, name), value.to_vec()));
        Ok(())
    }

    pub fn remove(scope: Scope, name: &str) {
        with(|stage| stage.state.remove(&key(scope, name)));
    }

    pub fn add(scope: Scope, name: &str, delta: f64) -> Result<f64, String> {
        let old = match get(scope, name) {
            None => 0.0,
            Some(bytes) => std::str::from_utf8(&bytes)
                .ok()
                .and_then(|text| text.parse::<f64>().ok())
                .ok_or_else(|| format!("the value of `{name}` is no number"))?,
        };
        let sum = old + delta;
        if !sum.is_finite() {
            return Err(format!("the sum of `{name}` is not finite"));
        }
        set(scope, name, sum.to_string().as_bytes())?;
        Ok(sum)
    }
}
