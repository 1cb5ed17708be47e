//! Tools that follow a golden scenario. The plugin's config holds the scenario's `tools`; see `tests/guests/README.md`.

use std::collections::HashMap;

use guest_script::{Script, Surroundings, Values, probe, result_in, run};
use toolgate_sdk::prelude::*;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScriptedTool {
    name: String,
    parameters: Value,
    execution_mode: Option<String>,
    prepare_arguments: Option<Script>,
    script: Option<Script>,
    /// Where in a call's arguments its script is.
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

impl Tool for ScriptedTool {
    fn definition(&self) -> Definition {
        let mut definition = Definition::new(&self.name, "Follows a script.").parameters(self.parameters.clone());
        if self.execution_mode.as_deref() == Some("sequential") {
            definition = definition.sequential();
        }
        for key in &self.exclusive {
            definition = definition.exclusive_value(&key.pointer, if key.write { Access::Write } else { Access::Read });
        }
        if self.prepare_arguments.is_some() {
            definition = definition.prepares_arguments();
        }
        definition
    }

    fn prepare_arguments(&self, args: &str) -> Result<String, ToolError> {
        let args: Value = serde_json::from_str(args)?;
        probe(&json!({"probe": "prepare_arguments", "toolName": self.name, "args": args}));
        let script = self.prepare_arguments.clone().unwrap_or_default();
        let values = Values { args, tool_name: self.name.clone(), ..Values::default() };
        let update = |_: &Value| Err("prepareArguments sends no updates".to_owned());
        let mut surroundings = Surroundings { values, by: format!("prepare:{}", self.name), update: &update };
        let returned = run(&script, &mut surroundings)?;
        Ok(returned.unwrap_or(surroundings.values.args).to_string())
    }

    fn execute(&self, cx: &ToolContext) -> Result<ToolResult, ToolError> {
        let id = &cx.call().id;
        let args: Value = cx.parse_arguments()?;
        let carried = self.script_at.as_ref().map(|pointer| Script::at(&args, pointer)).transpose()?;
        probe(&json!({"probe": "execute_enter", "toolCallId": id, "args": args, "aborted": cx.is_cancelled()}));

        let values = Values { args, call_id: id.clone(), tool_name: self.name.clone(), ..Values::default() };
        let update = |partial: &Value| {
            cx.update(result_in(partial)?);
            Ok(())
        };
        let mut surroundings = Surroundings { values, by: format!("tool:{id}"), update: &update };
        let result = match carried.as_ref().or(self.by_call.get(id)).or(self.script.as_ref()) {
            None => Ok(ToolResult::text("ok")),
            Some(script) => {
                run(script, &mut surroundings).and_then(|returned| result_in(&returned.unwrap_or(json!({}))))
            }
        };

        let outcome = if result.is_ok() { "return" } else { "throw" };
        probe(&json!({"probe": "execute_exit", "toolCallId": id, "outcome": outcome}));
        Ok(result?)
    }
}

/// What is wrong with the definitions as a whole.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Describe {
    Trap,
    Loop,
    Sleep,
    /// One tool of so many MiB.
    Large(usize),
    /// So many tools.
    Many(usize),
}

fn tools() -> Result<Vec<Box<dyn Tool>>, HostError> {
    let plain = |name: String| -> Box<dyn Tool> {
        let parameters = json!({"type": "object"});
        Box::new(ScriptedTool {
            name,
            parameters,
            execution_mode: None,
            prepare_arguments: None,
            script: None,
            by_call: HashMap::new(),
        })
    };
    match Host.config_key::<Describe>("describe")? {
        Some(Describe::Trap) => panic!("no definitions today"),
        Some(Describe::Loop) => loop {
            std::hint::black_box(());
        },
        Some(Describe::Sleep) => std::thread::sleep(std::time::Duration::from_secs(3_600)),
        Some(Describe::Large(mib)) => return Ok(vec![plain("x".repeat(mib << 20))]),
        Some(Describe::Many(tools)) => return Ok((0..tools).map(|n| plain(format!("tool-{n}"))).collect()),
        None => {}
    }
    let tools: Vec<ScriptedTool> = Host.config_key("tools")?.unwrap_or_default();
    Ok(tools.into_iter().map(|tool| Box::new(tool) as Box<dyn Tool>).collect())
}

toolgate_sdk::plugin! { tools: tools }
