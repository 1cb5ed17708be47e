//! The cost of a call against numbers that grow: tools, hooks, calls of a batch, messages of a transcript. Flat or linear.

use std::sync::Arc;
use std::time::Duration;

use toolgate::component::Loader;
use toolgate::model::{Json, ToolResult, ToolResultMessage};
use toolgate::pipeline::Batch;
use toolgate::registry::ActiveTools;

use crate::floor::SLOTS;
use crate::measure::{Case, Effort, Series, side_by_side};
use crate::product::{self, Hooks};
use crate::report::Report;
use crate::svg::{Plot, draw};
use crate::{Bench, Fallible};

pub async fn run(bench: &Bench, report: &mut Report) -> Fallible<()> {
    let effort = Effort { rounds: if bench.quick { 10 } else { 60 }, slice: Duration::from_millis(3) };
    let arguments: Arc<str> = product::arguments().into();
    let loader = Loader::new(product::engine(Some(bench.cache.path()), SLOTS)?);

    let numbers = [1, 10, 100, 1_000, 10_000];
    let mut cases = Vec::new();
    for tools in numbers {
        cases.push(crate::calls::pipeline(&tools.to_string(), product::native_host(tools)?, &arguments));
    }
    let tools = side_by_side(&cases, effort).await;
    plot(bench, report, "tools", "registered tools", &[("a native tool's call", &numbers, &tools, false)])?;

    let numbers = [0, 1, 2, 4, 8, 16];
    let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
    for hooks in numbers {
        let host = product::host(&loader, &bench.guest, Hooks { before: hooks, ..Hooks::default() }).await?;
        wanted.push(crate::calls::pipeline(&hooks.to_string(), host, &arguments));
        let host = product::host(&loader, &bench.guest, Hooks { uninterested: hooks, ..Hooks::default() }).await?;
        unwanted.push(crate::calls::pipeline(&hooks.to_string(), host, &arguments));
    }
    let wanted = side_by_side(&wanted, effort).await;
    let unwanted = side_by_side(&unwanted, effort).await;
    let lines = [
        ("before hooks that want the call", &numbers[..], &wanted, false),
        ("before hooks that want other tools", &numbers[..], &unwanted, false),
    ];
    plot(bench, report, "hooks", "hooks", &lines)?;

    let host = product::host(&loader, &bench.guest, Hooks::default()).await?;
    let numbers = [1, 4, 16, 64, 256];
    let cases: Vec<Case> = numbers.iter().map(|&calls| batch(&host, &arguments, calls)).collect();
    let batches = side_by_side(&cases, effort).await;
    plot(bench, report, "batch", "calls of a batch", &[("for each call", &numbers, &batches, true)])?;

    let numbers = [0, 10, 100, 1_000, 10_000];
    let cases: Vec<Case> = numbers.iter().map(|&messages| transcript(&host, &arguments, messages)).collect();
    let transcripts = side_by_side(&cases, effort).await;
    let lines = [("a call, active tools computed from the transcript", &numbers[..], &transcripts, false)];
    plot(bench, report, "transcript", "tool results in the transcript", &lines)
}

fn batch(host: &toolgate::Host, arguments: &Arc<str>, calls: usize) -> Case {
    let (host, arguments) = (host.clone(), arguments.clone());
    Case::new(calls.to_string(), move || {
        let (host, arguments) = (host.clone(), arguments.clone());
        async move {
            let outcome = host.run(Batch::new(product::message("echo", &arguments, calls))).await;
            assert!(outcome.messages.iter().all(|message| !message.is_error));
        }
    })
}

fn transcript(host: &toolgate::Host, arguments: &Arc<str>, messages: usize) -> Case {
    let message = |n: usize| ToolResultMessage {
        tool_call_id: format!("call-{n}").into(),
        tool_name: "echo".into(),
        result: Arc::new(ToolResult {
            details: Some(Json::empty_object()),
            // One in a hundred results unlocks a tool.
            added_tool_names: n.is_multiple_of(100).then(|| vec![format!("tool-{n}")]),
            ..ToolResult::text("a result")
        }),
        is_error: false,
        error: None,
        timestamp: 0,
    };
    let transcript: Arc<Vec<ToolResultMessage>> = Arc::new((0..messages).map(message).collect());
    let (host, arguments) = (host.clone(), arguments.clone());
    Case::new(messages.to_string(), move || {
        let (host, arguments, transcript) = (host.clone(), arguments.clone(), transcript.clone());
        async move {
            let active = ActiveTools::after(transcript.iter());
            let outcome = host.run(Batch::new(product::message("echo", &arguments, 1)).active(active)).await;
            assert!(!outcome.messages[0].is_error);
        }
    })
}

type Line<'a> = (&'a str, &'a [usize], &'a Vec<Series>, bool);

fn plot(bench: &Bench, report: &mut Report, file: &str, x: &str, lines: &[Line<'_>]) -> Fallible<()> {
    let mut plot = Plot { title: format!("Cost of a call against {x}"), x: x.to_owned(), lines: Vec::new() };
    for (name, numbers, series, each) in lines {
        let points = numbers.iter().zip(series.iter()).map(|(&n, row)| {
            let share = if *each { n.max(1) as f64 } else { 1.0 };
            (n as f64, row.median_us / share)
        });
        let points: Vec<(f64, f64)> = points.collect();
        let rows: Vec<(String, f64, &'static str)> =
            points.iter().map(|(n, us)| (format!("{n} {x}"), *us, "µs")).collect();
        report.numbers(&format!("Growth: {name}"), &rows);
        plot.lines.push(((*name).to_owned(), points));
    }
    crate::write(&bench.svg.join(format!("growth-{file}.svg")), &draw(&plot))
}
