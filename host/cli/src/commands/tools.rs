//! `toolgate tools`: what there is to call.

use std::collections::BTreeMap;
use std::io::Write as _;

use serde::Serialize;
use toolgate::model::{ExecutionMode, ToolDefinition};
use toolgate::registry::Snapshot;
use toolgate_formats::{Format, Level};

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
    if let Some(format) = args.format {
        let complete = export(format.into(), args, &tools, &out)?;
        drop(out);
        runtime.shutdown_background();
        writer.finish()?;
        return Ok(if complete { Exit::Ok } else { Exit::CallFailed });
    }
    match if args.json { Output::Json } else { args.output } {
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
                    // The first paragraph: sources wrap their lines.
                    let lines = tool.definition().description.trim().lines();
                    let first = lines.take_while(|line| !line.trim().is_empty()).collect::<Vec<_>>().join(" ");
                    let text = fit(&format!("{notes}{}", clean_line(&first)), paint.columns.saturating_sub(width + 4));
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

/// Definitions in a provider's form. Whether all of them could be put into it.
fn export(format: Format, args: &Tools, tools: &Snapshot, out: &Out) -> Result<bool, Failure> {
    if args.strict && !format.has_strict_mode() {
        return Err(Failure::usage(format!("--strict: {} has no strict mode", format.as_str())));
    }
    let export = toolgate_formats::export(format, args.strict, tools.tools().map(|tool| tool.definition()));
    if args.json || args.output == Output::Json {
        let document = serde_json::json!({ "tools": export.document(), "changes": export.notes });
        out.json(&document).map_err(Failure::load)?;
    } else {
        print(out, &serde_json::to_string_pretty(&export.document()).map_err(Failure::load)?);
        for note in &export.notes {
            let level = if note.level == Level::Refused { "left out" } else { "note" };
            // A closed standard error leaves nobody to tell.
            let _ = writeln!(std::io::stderr().lock(), "{level}: {}", clean_line(&note.to_string()));
        }
    }
    Ok(export.is_complete())
}

fn print(out: &Out, line: &str) {
    out.write(format!("{line}\n"));
}
