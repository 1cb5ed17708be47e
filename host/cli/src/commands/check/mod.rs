//! `toolgate check`: what a component offers, wants, costs and does wrong, for its author and for CI.

mod print;
mod providers;
mod report;
mod trial;

use std::path::Path;

use toolgate::component::{PluginSpec, Source, inspect, read_component};
use toolgate::config::{Config, PluginConfig};
use toolgate::sandbox::Grants;

use crate::args::{Check, Shared};
use crate::exit::{Exit, Failure};
use crate::setup;
use report::{Findings, Report};

pub fn run(shared: &Shared, args: &Check) -> Result<Exit, Failure> {
    let name = args.file.display();
    let content = read_component(&args.file).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    let config = config(shared, &args.file)?;
    let mut report = Report::of(&args.file);
    let mut findings = Findings::default();
    let exit = match inspect(&content) {
        Err(error) => {
            findings.problem(None, error.to_string());
            Exit::Load
        }
        Ok(info) => {
            report.component(info);
            loaded(args, &config, &mut report, &mut findings)?
        }
    };
    report.finish(findings);
    let exit = if exit == Exit::Ok && !report.ok { Exit::CallFailed } else { exit };
    let (out, writer) = crate::output::open();
    if args.json {
        out.json(&report).map_err(Failure::load)?;
    } else {
        print::print(&report, &out);
    }
    drop(out);
    writer.finish()?;
    Ok(exit)
}

/// The settings for this file alone, and nothing granted: nobody asked for the trial calls to reach anything.
fn config(shared: &Shared, file: &Path) -> Result<Config, Failure> {
    let mut config = match &shared.config {
        None => Config::of_component(file),
        Some(_) => setup::config(shared)?,
    };
    let own = file.canonicalize().ok();
    config.plugins.retain(|plugin| shared.config.is_none() || plugin.file.canonicalize().ok() == own);
    let Some(plugin) = config.plugins.first_mut() else {
        let (config, file) = (config.file.display().to_string(), file.display());
        return Err(Failure::usage(format!("{config} has no plugin with the file {file}")));
    };
    plugin.grants = Grants::default();
    plugin.limits.deadline = plugin.limits.deadline.min(trial::LONGEST);
    Ok(config)
}

fn spec(plugin: &PluginConfig) -> PluginSpec {
    let mut spec = PluginSpec::new(plugin.name.as_str(), Source::File(plugin.file.clone()));
    spec.limits = plugin.limits;
    spec.config = plugin.config.clone();
    spec.tools.clone_from(&plugin.tools);
    spec
}

/// Everything that needs it to be compiled.
fn loaded(args: &Check, config: &Config, report: &mut Report, findings: &mut Findings) -> Result<Exit, Failure> {
    let Some(plugin) = config.plugins.first() else { return Ok(Exit::Ok) };
    let runtime = setup::runtime(None)?;
    let loader = setup::loader(config)?;
    let done = runtime.block_on(async {
        // Definitions first: they are what most authors get wrong.
        let loaded = match loader.load(spec(plugin)).await {
            Ok(loaded) => loaded,
            Err(error) => {
                findings.problem(None, error.reason.to_string());
                return Exit::Load;
            }
        };
        match loader.probe(spec(plugin)).await {
            Ok(probe) => report.costs(&probe),
            Err(error) => {
                findings.problem(None, error.reason.to_string());
                return Exit::Load;
            }
        }
        let host = config.host().build();
        let mut tools_only = loaded.clone();
        tools_only.hook = None;
        if let Err(error) = host.load(tools_only) {
            findings.problem(None, error.to_string());
            return Exit::Load;
        }
        for tool in host.tools().tools() {
            let mut about = report::ToolReport::of(tool, findings);
            about.providers = providers::look(tool.definition(), findings);
            if !args.no_calls {
                about.trial = Some(trial::call(&host, tool, findings).await);
            }
            report.tools.push(about);
        }
        if loaded.hook.is_some() && !args.no_calls {
            trial::hooks(config, loaded, report, findings).await;
        }
        Exit::Ok
    });
    runtime.shutdown_background();
    Ok(done)
}
