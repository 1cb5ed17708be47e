//! A hook that follows a golden scenario. The plugin's config holds the entries; see `tests/guests/README.md`.

use guest_script::{Script, Surroundings, Values, override_in, probe, result_out, run};
use toolgate_sdk::ToolCall;
use toolgate_sdk::prelude::*;
use toolgate_sdk::serde_json::Map;

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Event {
    Before,
    After,
    Settled,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedHook {
    event: Event,
    /// The handler's name in probes. Without it the entries are handlers of their own: `before[0]`, `before[1]`, ..
    handler: Option<String>,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "match", default)]
    matches: Match,
    #[serde(default)]
    script: Script,
    /// Where in the arguments, as the model wrote them, the script is instead.
    #[serde(rename = "scriptAt")]
    script_at: Option<String>,
}

impl Entry {
    fn script(&self, call: &ToolCall) -> Result<Script, String> {
        let Some(pointer) = &self.script_at else { return Ok(self.script.clone()) };
        let args = serde_json::from_str(&call.arguments).map_err(|error| error.to_string())?;
        Script::at(&args, pointer)
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Match {
    tool_name: Option<String>,
    tool_call_id: Option<String>,
}

impl Match {
    fn fits(&self, call: &ToolCall) -> bool {
        self.tool_name.as_ref().is_none_or(|name| *name == call.name)
            && self.tool_call_id.as_ref().is_none_or(|id| *id == call.id)
    }
}

/// The first entry that fits a call, and its name.
struct Found {
    handler: String,
    script: Option<Script>,
}

impl ScriptedHook {
    /// Whether this is one handler of an extension, whose probes differ.
    fn is_extension(&self) -> bool {
        self.handler.is_some()
    }

    /// None where an extension's handler does not want the call.
    fn find(&self, call: &ToolCall) -> Result<Option<Found>, String> {
        let fitting = self.entries.iter().enumerate().find(|(_, entry)| entry.matches.fits(call));
        let event = match self.event {
            Event::Before => "before",
            Event::After => "after",
            Event::Settled => "settled",
        };
        let script = fitting.map(|(_, entry)| entry.script(call)).transpose()?;
        Ok(match (fitting, &self.handler) {
            (Some(_), Some(handler)) => Some(Found { handler: handler.clone(), script }),
            (Some((index, _)), None) => Some(Found { handler: format!("{event}[{index}]"), script }),
            (None, None) => Some(Found { handler: "none".into(), script: None }),
            (None, Some(_)) => None,
        })
    }
}

fn no_updates(_: &Value) -> Result<(), String> {
    Err("a hook sends no updates".into())
}

impl Hook for ScriptedHook {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![match self.event {
            Event::Before => Subscription::before(),
            Event::After => Subscription::after(),
            Event::Settled => Subscription::settled(),
        }]
    }

    fn before_tool_call(&self, cx: &BeforeContext) -> Result<Decision, HookError> {
        let call = cx.call();
        let Some(Found { handler, script }) = self.find(call)? else { return Ok(Decision::allow()) };
        let args: Value = cx.parse_arguments()?;
        let mut row = json!({"probe": "before", "handler": handler, "toolCallId": call.id, "args": args});
        if !self.is_extension() {
            row["rawArgs"] = serde_json::from_str(&call.arguments)?;
        }
        probe(&row);

        let Some(script) = script else { return Ok(Decision::allow()) };
        let values =
            Values { args: args.clone(), call_id: call.id.clone(), tool_name: call.name.clone(), ..Values::default() };
        let by = format!("before:{handler}:{}", call.id);
        let mut surroundings = Surroundings { values, by, update: &no_updates };
        let returned = run(&script, &mut surroundings)?.unwrap_or_default();
        if let Some(title) = returned["ask"].as_str() {
            return Ok(Decision::ask(title, ""));
        }
        if returned["block"].as_bool() == Some(true) {
            return Ok(Decision::Block(toolgate_sdk::Block {
                reason: returned["reason"].as_str().map(str::to_owned),
                terminate: returned["terminate"].as_bool().unwrap_or(false),
            }));
        }
        let changed = surroundings.values.args;
        Ok(if changed == args { Decision::allow() } else { Decision::replace(changed) })
    }

    fn after_tool_call(&self, cx: &AfterContext) -> Result<Option<Override>, HookError> {
        let call = cx.call();
        let Some(Found { handler, script }) = self.find(call)? else { return Ok(None) };
        let args: Value = cx.parse_arguments()?;
        let mut result = result_out(cx.result())?;
        let details = result.get("details").cloned();

        let mut row = Map::new();
        row.insert("probe".into(), "after".into());
        row.insert("handler".into(), handler.clone().into());
        row.insert("toolCallId".into(), call.id.clone().into());
        row.insert("args".into(), args.clone());
        if self.is_extension() {
            row.append(&mut result);
        } else {
            row.insert("result".into(), result.into());
        }
        row.insert("isError".into(), cx.is_error().into());
        probe(&row.into());

        let Some(script) = script else { return Ok(None) };
        let values = Values {
            args,
            call_id: call.id.clone(),
            tool_name: call.name.clone(),
            text: Some(cx.result().joined_text()),
            is_error: Some(cx.is_error()),
            details,
        };
        let by = format!("after:{handler}:{}", call.id);
        let returned = run(&script, &mut Surroundings { values, by, update: &no_updates })?;
        Ok(returned.as_ref().map(override_in).transpose()?)
    }

    /// Its script can only take time and fail.
    fn settled(&self, cx: &SettledContext) {
        let call = cx.call();
        let Ok(Some(Found { handler, script })) = self.find(call) else { return };
        let row = json!({
            "probe": "settled",
            "handler": handler,
            "toolCallId": call.id,
            "isError": cx.is_error(),
            "kind": cx.error().map(|error| error.kind.clone()),
        });
        probe(&row);
        let values = Values { call_id: call.id.clone(), tool_name: call.name.clone(), ..Values::default() };
        let by = format!("settled:{handler}:{}", call.id);
        let mut surroundings = Surroundings { values, by, update: &no_updates };
        if let Err(error) = run(&script.unwrap_or_default(), &mut surroundings) {
            toolgate_sdk::log::error(error);
        }
    }
}

fn hooks() -> Result<Vec<Box<dyn Hook>>, HostError> {
    Ok(vec![Box::new(Host.config::<ScriptedHook>()?)])
}

toolgate_sdk::plugin! { hooks: hooks }
