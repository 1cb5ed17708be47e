//! One call at a time: the floor, the execute stage, the pipeline with and without hooks, and what others take.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;

use toolgate::component::Loader;
use toolgate::model::Json;
use wasmtime::component::Component;

use crate::floor::{Allocation, Bare, Raw, SLOTS, engine};
use crate::measure::{Case, Series, side_by_side};
use crate::product::{self, Hooks, Surroundings};
use crate::report::{Goal, Report};
use crate::{Bench, Fallible, extism};

pub const BARE: &str = "bare component call";
const EXECUTE: &str = "execute stage";
const PIPELINE: &str = "pipeline, no hooks";
const UNINTERESTED: &str = "pipeline, 8 uninterested hooks";
const ONE: &str = "pipeline, 1 before + 1 after hook";
const FOUR: &str = "pipeline, 4 before + 4 after hooks";
const NATIVE: &str = "pipeline, native tool";

pub async fn run(bench: &Bench, report: &mut Report) -> Fallible<()> {
    let arguments: Arc<str> = product::arguments().into();
    let loader = Loader::new(product::engine(Some(bench.cache.path()), SLOTS)?);
    let mut cases = vec![bare(bench, Allocation::Pooled, BARE, &arguments)?];
    cases.push(raw(&arguments)?);
    cases.push(bare_hooks(bench, &arguments)?);
    cases.push(bare(bench, Allocation::OnDemand, "bare, on-demand allocation", &arguments)?);
    cases.push(execute(bench, &loader, &arguments).await?);
    for (name, hooks) in [
        (PIPELINE, Hooks::default()),
        (UNINTERESTED, Hooks { uninterested: 8, ..Hooks::default() }),
        (ONE, Hooks { before: 1, after: 1, ..Hooks::default() }),
        (FOUR, Hooks { before: 4, after: 4, ..Hooks::default() }),
    ] {
        let host = product::host(&loader, &bench.guest, hooks).await?;
        cases.push(pipeline(name, host, &arguments));
    }
    cases.push(pipeline(NATIVE, product::native_host(1)?, &arguments));
    let host = product::host(&loader, &bench.guest, Hooks::default()).await?;
    let text: Arc<str> = format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"I will edit it."}},{{"type":"toolCall","id":"call-1","name":"echo","arguments":{arguments}}}]}}"#).into();
    cases.push(Case::new("pipeline, from the message's text", move || {
        let (host, text) = (host.clone(), text.clone());
        async move {
            let message =
                toolgate::model::AssistantMessage::parse(&text).unwrap_or_else(|error| unreachable!("{error}"));
            let outcome = host.run(toolgate::pipeline::Batch::new(message)).await;
            assert!(!outcome.messages[0].is_error);
        }
    }));
    let native: Arc<str> = arguments.clone();
    cases.push(Case::new("spawned native process (cat)", move || {
        let arguments = native.clone();
        async move { spawn_cat(&arguments) }
    }));
    let series = side_by_side(&cases, bench.effort).await;
    goals(report, &series);
    report.series("One call, 1 KB of arguments", &series);
    match extism::run(bench.quick)? {
        Some(rows) => report.series("Extism, the same echo (its own process)", &rows),
        None => println!("\nExtism: skipped, host/bench/extism is not built (`just bench-extism` does)"),
    }
    Ok(())
}

/// wasmtime used directly.
pub fn bare(bench: &Bench, allocation: Allocation, name: &str, arguments: &Arc<str>) -> Fallible<Case> {
    let engine = engine(allocation, SLOTS)?;
    let component = Component::from_file(&engine, &bench.guest)?;
    let bare = Arc::new(Bare::new(engine, &component)?);
    let arguments = arguments.clone();
    Ok(Case::new(name, move || {
        let (bare, arguments) = (bare.clone(), arguments.clone());
        async move {
            let answered = bare.call("echo", &arguments).await;
            assert!(matches!(answered, Ok(1)), "{answered:?}");
        }
    }))
}

/// What hooks cost without Toolgate: they are handed more than a tool is.
fn bare_hooks(bench: &Bench, arguments: &Arc<str>) -> Fallible<Case> {
    let engine = engine(Allocation::Pooled, SLOTS)?;
    let component = Component::from_file(&engine, &bench.guest)?;
    let bare = Arc::new(Bare::new(engine, &component)?);
    let arguments = arguments.clone();
    Ok(Case::new("bare, 1 before + 1 after hook", move || {
        let (bare, arguments) = (bare.clone(), arguments.clone());
        async move {
            let answered = bare.hooks(&arguments).await;
            assert!(answered.is_ok(), "{answered:?}");
        }
    }))
}

fn raw(arguments: &Arc<str>) -> Fallible<Case> {
    let raw = Arc::new(Raw::new(engine(Allocation::Pooled, SLOTS)?)?);
    let arguments = arguments.clone();
    Ok(Case::new("raw core module", move || {
        let (raw, arguments) = (raw.clone(), arguments.clone());
        async move {
            let answered = raw.call(&arguments).await;
            assert!(answered.is_ok(), "{answered:?}");
        }
    }))
}

async fn execute(bench: &Bench, loader: &Loader, arguments: &Arc<str>) -> Fallible<Case> {
    let plugin = product::tools(loader, &bench.guest).await?;
    let tool = plugin.tools.first().ok_or("the guest has no tools")?.clone();
    let surroundings = Arc::new(Surroundings::new("echo"));
    let arguments = Json::parse(&**arguments)?;
    Ok(Case::new(EXECUTE, move || {
        let (tool, surroundings, arguments) = (tool.clone(), surroundings.clone(), arguments.clone());
        async move { product::execute(&*tool, &surroundings, &arguments).await }
    }))
}

/// The whole pipeline, from the text of a call's arguments to its message.
pub fn pipeline(name: &str, host: toolgate::Host, arguments: &Arc<str>) -> Case {
    let arguments = arguments.clone();
    Case::new(name, move || {
        let (host, arguments) = (host.clone(), arguments.clone());
        async move {
            let outcome = product::call(&host, "echo", &arguments).await;
            assert!(!outcome.messages[0].is_error, "{:?}", outcome.messages[0]);
        }
    })
}

/// What a tool as a program of its own takes at least: start, a pipe each way, its end.
fn spawn_cat(arguments: &str) {
    let answer = || -> std::io::Result<Vec<u8>> {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(arguments.as_bytes())?;
        }
        let mut answer = Vec::new();
        if let Some(output) = &mut child.stdout {
            output.read_to_end(&mut answer)?;
        }
        child.wait()?;
        Ok(answer)
    };
    let answer = answer();
    assert!(answer.is_ok_and(|answer| answer.len() == arguments.len()));
}

fn goals(report: &mut Report, series: &[Series]) {
    let ratio = |name: &str| series.iter().find(|row| row.name == name).map_or(f64::NAN, |row| row.ratio);
    let pipeline = ratio(PIPELINE);
    report.goal(Goal::at_most("execute stage to bare call", ratio(EXECUTE), 1.2, "×"));
    report.goal(Goal::at_most("pipeline without hooks to bare call", pipeline, 2.0, "×"));
    report.goal(Goal::at_most("each of 1 + 1 hooks", (ratio(ONE) - pipeline) / 2.0, 1.1, "×"));
    report.goal(Goal::at_most("each of 4 + 4 hooks", (ratio(FOUR) - pipeline) / 8.0, 1.1, "×"));
    report.goal(Goal::at_most("an uninterested hook", (ratio(UNINTERESTED) - pipeline) / 8.0, 0.05, "×"));
    report.goal(Goal::at_most("native tool through the pipeline", ratio(NATIVE), 0.5, "×"));
}
