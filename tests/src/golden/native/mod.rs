//! Scripted tools and hooks as native Rust: the same roles that the scripted components play, for speed and to prove the
//! seam.

mod script;
mod template;
mod wire;

use std::collections::HashMap;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolgate::model::{Access, ErrorInfo, ExclusiveKey, ExecutionMode, Json, Override, ToolDefinition, ToolResult};
use toolgate::pipeline::{
    CallContext, Decision, Hook, HookError, HookEvent, LogLevel, LogLine, Settled, Tool, ToolError,
};
use toolgate::registry::Plugin;

use super::{Guests, HandlerEvent, Scenario};
use script::{Script, Surroundings};
use template::Values;

const TOOLS: &str = "tools";

/// Makes native ones.
pub struct Native;

/// A plugin `name` with these tools, given as the scripted tool component takes them in its config.
///
/// # Errors
///
/// One of them is described in another way.
pub fn tools(name: &str, tools: &[Value]) -> Result<Plugin, String> {
    tools.iter().try_fold(Plugin::native(name), |plugin, tool| Ok(plugin.tool(ScriptedTool::read(tool)?)))
}

/// A plugin `name` with this hook, its entries given as the scripted hook component takes them in its config.
///
/// # Errors
///
/// One of them is described in another way.
pub fn hook(name: &str, event: HandlerEvent, entries: &[Value]) -> Result<Plugin, String> {
    let entries = entries.iter().cloned().map(serde_json::from_value).collect::<Result<_, _>>();
    let entries = entries.map_err(|error: serde_json::Error| error.to_string())?;
    Ok(Plugin::native(name).hook(ScriptedHook { plugin: name.to_owned(), event, name: None, entries }))
}

impl Guests for Native {
    async fn plugins(&self, scenario: &Scenario) -> Result<Vec<Plugin>, String> {
        let mut tools = Plugin::native(TOOLS);
        for tool in scenario.scenario.tools.iter().flatten() {
            tools = tools.tool(ScriptedTool::read(tool)?);
        }
        let mut plugins = vec![tools];
        for handler in scenario.handlers() {
            let entries = handler.entries.iter().cloned().map(serde_json::from_value);
            let hook = ScriptedHook {
                plugin: handler.plugin.clone(),
                event: handler.event,
                name: handler.name,
                entries: entries.collect::<Result<_, _>>().map_err(|error| error.to_string())?,
            };
            plugins.push(Plugin::native(handler.plugin).hook(hook).on_error(handler.on_error));
        }
        Ok(plugins)
    }
}

/// Sends a row out as the scripted components do.
fn say(cx: &CallContext, plugin: &str, word: &str, row: &Value) {
    cx.logs.log(&LogLine {
        plugin,
        tool_call_id: Some(&cx.call.id),
        stream: "log",
        level: LogLevel::Info,
        message: &format!("{word} {row}"),
    });
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ToolScript {
    name: String,
    parameters: Value,
    #[serde(default)]
    execution_mode: Option<ExecutionMode>,
    #[serde(default)]
    prepare_arguments: Option<Script>,
    #[serde(default)]
    script: Option<Script>,
    /// Where in a call's arguments its script is.
    #[serde(default)]
    script_at: Option<String>,
    #[serde(default)]
    by_call: HashMap<String, Script>,
    #[serde(default)]
    exclusive: Vec<Exclusive>,
}

/// An exclusive key that is a plain value.
#[derive(Deserialize)]
struct Exclusive {
    pointer: String,
    write: bool,
}

struct ScriptedTool {
    definition: ToolDefinition,
    script: ToolScript,
}

impl ScriptedTool {
    fn read(tool: &Value) -> Result<Self, String> {
        let script: ToolScript = serde_json::from_value(tool.clone()).map_err(|error| error.to_string())?;
        let parameters = Json::from_value(script.parameters.clone());
        let mut definition = ToolDefinition::new(&script.name, "Follows a script.", parameters);
        definition.execution_mode = script.execution_mode;
        definition.prepares_arguments = script.prepare_arguments.is_some();
        let key = |key: &Exclusive| ExclusiveKey {
            pointer: key.pointer.clone(),
            is_path: false,
            access: if key.write { Access::Write } else { Access::Read },
        };
        definition.exclusive = script.exclusive.iter().map(key).collect();
        Ok(Self { definition, script })
    }

    fn values(&self, cx: &CallContext, arguments: &Json) -> Values {
        Values { args: arguments.value().clone(), ..Values::of(cx) }
    }
}

#[async_trait]
impl Tool for ScriptedTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn prepare_arguments(&self, cx: &CallContext, arguments: &Json) -> Result<Json, ToolError> {
        say(
            cx,
            TOOLS,
            "probe",
            &json!({"probe": "prepare_arguments", "toolName": self.script.name, "args": arguments}),
        );
        let Some(script) = &self.script.prepare_arguments else { return Ok(arguments.clone()) };
        let by = format!("prepare:{}", self.script.name);
        let mut surroundings = Surroundings { cx, plugin: TOOLS, values: self.values(cx, arguments), by };
        let returned = script.run(&mut surroundings).await.map_err(ToolError::failed)?;
        Ok(Json::from_value(returned.unwrap_or(surroundings.values.args)))
    }

    async fn execute(
        &self,
        cx: &CallContext,
        arguments: &Json,
        _slot: toolgate::pipeline::Slot,
    ) -> Result<ToolResult, ToolError> {
        let id = &*cx.call.id;
        let aborted = cx.cancel.is_cancelled();
        say(
            cx,
            TOOLS,
            "probe",
            &json!({"probe": "execute_enter", "toolCallId": id, "args": arguments, "aborted": aborted}),
        );
        let by = format!("tool:{id}");
        let mut surroundings = Surroundings { cx, plugin: TOOLS, values: self.values(cx, arguments), by };
        let carried = self.script.script_at.as_ref().map(|pointer| Script::at(arguments.value(), pointer)).transpose();
        let carried = carried.map_err(ToolError::failed)?;
        let result = match carried.as_ref().or(self.script.by_call.get(id)).or(self.script.script.as_ref()) {
            None => Ok(ToolResult::text("ok")),
            Some(script) => match script.run(&mut surroundings).await {
                Ok(returned) => wire::result_in(&returned.unwrap_or(json!({}))),
                Err(message) => Err(message),
            },
        };
        let outcome = if result.is_ok() { "return" } else { "throw" };
        say(cx, TOOLS, "probe", &json!({"probe": "execute_exit", "toolCallId": id, "outcome": outcome}));
        result.map_err(ToolError::failed)
    }
}

struct ScriptedHook {
    plugin: String,
    event: HandlerEvent,
    name: Option<String>,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(rename = "match", default)]
    matches: Match,
    #[serde(default)]
    script: Script,
    /// Where in the arguments, as the model wrote them, the script is instead.
    #[serde(default, rename = "scriptAt")]
    script_at: Option<String>,
}

impl Entry {
    fn script(&self, cx: &CallContext) -> Result<Script, HookError> {
        let Some(pointer) = &self.script_at else { return Ok(self.script.clone()) };
        Script::at(cx.call.arguments.value(), pointer).map_err(HookError::Returned)
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Match {
    tool_name: Option<String>,
    tool_call_id: Option<String>,
}

impl Match {
    fn fits(&self, cx: &CallContext) -> bool {
        self.tool_name.as_ref().is_none_or(|name| **name == *cx.call.name)
            && self.tool_call_id.as_ref().is_none_or(|id| **id == *cx.call.id)
    }
}

impl ScriptedHook {
    /// The handler's name in probes, and its script. `None` where an extension's handler does not want the call.
    fn find(&self, cx: &CallContext) -> Result<Option<(String, Option<Script>)>, HookError> {
        let fitting = self.entries.iter().enumerate().find(|(_, entry)| entry.matches.fits(cx));
        let script = fitting.map(|(_, entry)| entry.script(cx)).transpose()?;
        Ok(match (fitting, &self.name) {
            (Some(_), Some(name)) => Some((name.clone(), script)),
            (Some((at, _)), None) => Some((format!("{}[{at}]", self.event.word()), script)),
            (None, None) => Some(("none".to_owned(), None)),
            (None, Some(_)) => None,
        })
    }

    fn surroundings<'a>(&'a self, cx: &'a CallContext, handler: &str, values: Values) -> Surroundings<'a> {
        let by = format!("{}:{handler}:{}", self.event.word(), cx.call.id);
        Surroundings { cx, plugin: &self.plugin, values, by }
    }
}

#[async_trait]
impl Hook for ScriptedHook {
    fn wants(&self, event: HookEvent, _tool: &str) -> bool {
        match self.event {
            HandlerEvent::Before => event == HookEvent::BeforeToolCall,
            HandlerEvent::After => event == HookEvent::AfterToolCall,
            HandlerEvent::Settled => event == HookEvent::Settled,
        }
    }

    async fn before_tool_call(&self, cx: &CallContext, arguments: &Json) -> Result<Decision, HookError> {
        let Some((handler, script)) = self.find(cx)? else { return Ok(Decision::Allow) };
        let mut row = json!({"probe": "before", "handler": handler, "toolCallId": &*cx.call.id, "args": arguments});
        if self.name.is_none() {
            row["rawArgs"] = cx.call.arguments.value().clone();
        }
        say(cx, &self.plugin, "probe", &row);
        let Some(script) = script else { return Ok(Decision::Allow) };
        let values = Values { args: arguments.value().clone(), ..Values::of(cx) };
        let mut surroundings = self.surroundings(cx, &handler, values);
        let returned = script.run(&mut surroundings).await.map_err(HookError::Returned)?.unwrap_or_default();
        if let Some(title) = returned["ask"].as_str() {
            return Ok(Decision::Ask { title: title.to_owned(), text: String::new() });
        }
        if returned["block"] == true {
            return Ok(Decision::Block {
                reason: returned["reason"].as_str().map(str::to_owned),
                terminate: returned["terminate"] == true,
            });
        }
        let changed = surroundings.values.args;
        Ok(if changed == *arguments.value() {
            Decision::Allow
        } else {
            Decision::ReplaceArguments(Json::from_value(changed))
        })
    }

    async fn after_tool_call(
        &self,
        cx: &CallContext,
        arguments: &Json,
        result: &ToolResult,
        is_error: bool,
        _error: Option<&ErrorInfo>,
    ) -> Result<Option<Override>, HookError> {
        let Some((handler, script)) = self.find(cx)? else { return Ok(None) };
        let shown = serde_json::to_value(result).map_err(|error| HookError::Returned(error.to_string()))?;
        let mut row = Map::new();
        row.insert("probe".into(), "after".into());
        row.insert("handler".into(), handler.clone().into());
        row.insert("toolCallId".into(), (*cx.call.id).into());
        row.insert("args".into(), arguments.value().clone());
        match shown {
            Value::Object(mut fields) if self.name.is_some() => row.append(&mut fields),
            shown => {
                row.insert("result".into(), shown);
            }
        }
        row.insert("isError".into(), is_error.into());
        say(cx, &self.plugin, "probe", &row.into());
        let Some(script) = script else { return Ok(None) };
        let values = Values {
            args: arguments.value().clone(),
            text: Some(wire::joined_text(result)),
            is_error: Some(is_error),
            details: result.details.as_ref().map(|details| details.value().clone()),
            ..Values::of(cx)
        };
        let mut surroundings = self.surroundings(cx, &handler, values);
        let returned = script.run(&mut surroundings).await.map_err(HookError::Returned)?;
        returned.as_ref().map(wire::override_in).transpose().map_err(HookError::Returned)
    }

    /// Its script can only take time and fail.
    async fn settled(&self, cx: &CallContext, settled: &Settled) -> Result<(), HookError> {
        let Some((handler, script)) = self.find(cx)? else { return Ok(()) };
        let kind = settled.error.as_ref().map(|error| error.kind.as_str());
        let row = json!({
            "probe": "settled",
            "handler": handler,
            "toolCallId": &*cx.call.id,
            "isError": settled.is_error,
            "kind": kind,
        });
        say(cx, &self.plugin, "probe", &row);
        let mut surroundings = self.surroundings(cx, &handler, Values::of(cx));
        script.unwrap_or_default().run(&mut surroundings).await.map(drop).map_err(HookError::Returned)
    }
}

impl Values {
    fn of(cx: &CallContext) -> Self {
        let (call_id, tool_name) = (cx.call.id.to_string(), cx.call.name.to_string());
        Self { call_id, tool_name, cancel: Some(cx.cancel.clone()), ..Self::default() }
    }
}
