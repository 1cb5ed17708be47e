//! Tools and hooks for the benchmark. They use the SDK's bindings without its comforts: what the guest does itself is in
//! the floor that everything is compared with, so the less of it there is, the stricter the comparison.

use toolgate_sdk::bindings::hooks::exports::toolgate::plugin::hooks::{
    AfterContext, BeforeContext, Decision, Event, Guest as Hooks, Override, SettledContext, Subscription,
};
use toolgate_sdk::bindings::tools::exports::toolgate::plugin::tools::{Definition, Failure, Guest as Tools};
use toolgate_sdk::bindings::tools::toolgate::plugin::{cancellation, config, progress};
use toolgate_sdk::{Content, ToolCall, ToolResult};

/// What the `echo` tool accepts: the shape of an edit.
const ECHO: &str = r#"{"type":"object","required":["path","edits"],"additionalProperties":false,"properties":{
    "path":{"type":"string","minLength":1},
    "edits":{"type":"array","minItems":1,"items":{"type":"object","required":["oldText","newText"],"properties":{
        "oldText":{"type":"string"},"newText":{"type":"string"},"line":{"type":"integer","minimum":1}}}},
    "encoding":{"enum":["utf-8","latin-1"]},
    "dryRun":{"type":"boolean"},
    "context":{"type":"integer","minimum":0},
    "tags":{"type":"array","items":{"type":"string"}}}}"#;
const NUMBER: &str = r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":0}}}"#;
const ANYTHING: &str = r#"{"type":"object"}"#;

struct Plugin;

/// The one number in `{"n": 1}`.
fn number(arguments: &str) -> usize {
    arguments.bytes().filter(u8::is_ascii_digit).fold(0, |n, digit| n * 10 + usize::from(digit - b'0'))
}

fn text(text: String) -> ToolResult {
    ToolResult {
        content: vec![Content::text(text)],
        details: None,
        structured_content: None,
        usage: None,
        is_error: false,
        terminate: None,
        added_tool_names: None,
    }
}

impl Tools for Plugin {
    fn definitions() -> Vec<Definition> {
        // A number that keeps the names of several instances apart.
        let suffix = config::get("suffix").map(|n| format!("-{n}")).unwrap_or_default();
        let tool = |name: &str, description: &str, parameters: &str| Definition {
            parameters: parameters.into(),
            ..Definition::new(format!("{name}{suffix}"), description)
        };
        vec![
            tool("echo", "Answers with its arguments.", ECHO),
            tool("large", "Answers with its arguments.", ANYTHING),
            tool("wait", "Waits n milliseconds.", NUMBER),
            tool("image", "Answers with n bytes.", NUMBER),
            tool("updates", "Sends n updates.", NUMBER),
        ]
    }

    fn prepare_arguments(_name: String, args: String) -> Result<String, String> {
        Ok(args)
    }

    fn execute(call: ToolCall) -> Result<ToolResult, Failure> {
        let n = || number(&call.arguments);
        match &*call.name {
            "wait" => {
                cancellation::wait(u32::try_from(n()).unwrap_or(u32::MAX));
            }
            "image" => {
                return Ok(ToolResult {
                    content: vec![Content::image(vec![7; n()], "image/png")],
                    ..text(String::new())
                });
            }
            "updates" => {
                let update = text("one more".into());
                for _ in 0..n() {
                    progress::update(&update);
                }
            }
            _ => {}
        }
        Ok(text(call.arguments))
    }
}

impl Hooks for Plugin {
    /// `before`, `after` or both are called for every tool where the setting says `true`; for `nothing` where it does not.
    fn subscriptions() -> Vec<Subscription> {
        let subscription = |event, key| Subscription {
            event,
            tools: (config::get(key).as_deref() != Some("true")).then(|| vec!["nothing".into()]),
        };
        vec![subscription(Event::BeforeToolCall, "before"), subscription(Event::AfterToolCall, "after")]
    }

    fn before_tool_call(_cx: BeforeContext) -> Result<Decision, String> {
        Ok(Decision::Allow)
    }

    fn after_tool_call(_cx: AfterContext) -> Result<Option<Override>, String> {
        Ok(None)
    }

    fn settled(_cx: SettledContext) {}
}

#[cfg(target_family = "wasm")]
const _: () = {
    toolgate_sdk::bindings::tools::__export_tools!(Plugin with_types_in toolgate_sdk::bindings::tools);
    toolgate_sdk::bindings::hooks::__export_hooks!(Plugin with_types_in toolgate_sdk::bindings::hooks);
};
/// Natively nothing is exported.
#[cfg(not(target_family = "wasm"))]
const _: Plugin = Plugin;
