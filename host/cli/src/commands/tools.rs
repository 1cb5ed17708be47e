//! `toolgate tools`: what there is to call.

use std::collections::BTreeMap;

use serde::Serialize;
use toolgate::model::{ExecutionMode, ToolDefinition};

use crate::args::{Output, Shared, Tools};
use crate::exit::{Exit, Failure};
use crate::output::Out;
use crate::view::Paint;
use crate::view::text::{clean_line, fit};
use crate::{output, setup};

/// A tool as a program reads it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    plugin: &'a str,
    active: bool,
    #[serde(flatten)]
    definition: &'a ToolDefinition,
}

pub fn run(shared: &Shared, args: &Tools) -> Result<Exit, Failure> {
    let config = setup::config_or_component(shared, args.file.as_deref())?;
    let runtime = setup::small_runtime()?;
    let (out, writer) = output::open();
    let host = runtime.block_on(setup::host(&config, None))?;
    let tools = host.tools();
    match args.output {
        Output::Json => {
            for tool in tools.tools() {
                let (plugin, active) = (tool.plugin(), tool.is_initially_active());
                out.json(&Line { plugin, active, definition: tool.definition() }).map_err(Failure::load)?;
            }
        }
        Output::Text => {
            let paint = Paint::of_stdout();
            let mut by_plugin: BTreeMap<&str, Vec<_>> = BTreeMap::new();
            for tool in tools.tools() {
                by_plugin.entry(tool.plugin()).or_default().push(tool);
            }
            let width = tools.tools().map(|tool| tool.name().len()).max().unwrap_or(0);
            for (plugin, tools) in by_plugin {
                print(&out, &paint.bold(clean_line(plugin)));
                for tool in tools {
                    let mut notes = Vec::new();
                    if !tool.is_initially_active() {
                        notes.push("not active from the start");
                    }
                    if tool.definition().execution_mode == Some(ExecutionMode::Sequential) {
                        notes.push("sequential");
                    }
                    let notes = if notes.is_empty() { String::new() } else { format!("({}) ", notes.join(", ")) };
                    let first = tool.definition().description.lines().next().unwrap_or_default();
                    let text = fit(&format!("{notes}{}", clean_line(first)), paint.columns.saturating_sub(width + 4));
                    print(&out, &format!("  {:width$}  {}", tool.name(), paint.dim(text)));
                }
            }
            if !tools.hooks().is_empty() {
                let names: Vec<String> = tools.hooks().iter().map(|hook| clean_line(hook.name())).collect();
                print(&out, &format!("{} {}", paint.bold("hooks, in order:"), names.join(", ")));
            }
        }
    }
    drop(out);
    runtime.shutdown_background();
    writer.finish()?;
    Ok(Exit::Ok)
}

fn print(out: &Out, line: &str) {
    out.write(format!("{line}\n"));
}
