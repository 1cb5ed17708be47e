//! Megabytes in and out, and a hundred thousand updates: linear in the size, near a copy and one parse, and without
//! keeping more copies than needed.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolgate::Host;
use toolgate::component::{Loader, PluginSpec, Source};
use toolgate::pipeline::{Batch, EventSink};
use wasmtime::component::Component;

use crate::floor::{Allocation, Bare, engine};
use crate::measure::{Case, Effort, side_by_side};
use crate::product::{self, Count, Hooks};
use crate::report::{Goal, Report};
use crate::{Bench, Fallible, memory};

const UPDATES: u64 = 100_000;

/// The case that compiles its component and does nothing else.
pub const COMPILE: &str = "compile";

pub async fn run(bench: &Bench, report: &mut Report) -> Fallible<()> {
    let loader = Loader::new(product::engine(Some(bench.cache.path()), 8)?);
    let host = product::host(&loader, &bench.guest, Hooks::default()).await?;
    let effort = Effort { rounds: if bench.quick { 5 } else { 30 }, slice: Duration::from_millis(30) };
    for bytes in [1 << 10, 100 << 10, 1 << 20] {
        let arguments: Arc<str> = text_arguments(bytes).into();
        let copy = arguments.clone();
        let cases = [
            Case::new("copy in, copy out, one parse", move || {
                let text = copy.clone();
                async move {
                    let twice = (String::from(&*text), String::from(&*text));
                    let value: Result<serde_json::Value, _> = serde_json::from_str(std::hint::black_box(&twice.0));
                    assert!(value.is_ok() && !std::hint::black_box(twice.1).is_empty());
                }
            }),
            call(&host, "large", arguments),
        ];
        let series = side_by_side(&cases, effort).await;
        report.series(&format!("{} KiB of arguments, echoed", bytes >> 10), &series);
    }
    for bytes in [1_000_000, 10_000_000] {
        let arguments: Arc<str> = format!(r#"{{"n":{bytes}}}"#).into();
        let cases = [bare(bench, &arguments)?, call(&host, "image", arguments)];
        report.series(&format!("An image of {} MB", bytes / 1_000_000), &side_by_side(&cases, effort).await);
    }

    let mut best = 0f64;
    let mut rates = Vec::new();
    for _ in 0..if bench.quick { 2 } else { 9 } {
        let rate = updates(&host).await?;
        best = best.max(rate);
        rates.push(rate);
    }
    let median = crate::measure::quantile(&crate::measure::sorted(rates.into_iter()), 0.5);
    report.numbers(
        "100 000 updates of one call",
        &[("median".into(), median, "updates/s"), ("best".into(), best, "updates/s")],
    );
    report.goal(Goal::at_least("updates", median, 200_000.0, "/s"));

    let mut peaks = Vec::new();
    for (case, payload, most) in [
        ("arguments 1 MiB", 2 << 20, 3.0),
        ("image 10 MB", 10_000_000, 3.0),
        ("image 10 MB, written as JSON", 10_000_000, f64::NAN),
    ] {
        let peak = peak(bench, case)?;
        peaks.push((format!("{case}: peak"), peak / 1024.0, "MiB"));
        let times = peak * 1024.0 / f64::from(payload);
        peaks.push((format!("{case}: peak to payload"), times, "×"));
        if !most.is_nan() {
            report.goal(Goal::at_most(format!("peak memory, {case}"), times, most, "×"));
        }
    }
    peaks.push(("100 000 updates: peak".into(), peak(bench, "updates")? / 1024.0, "MiB"));
    report.numbers("Memory above what was there before the call", &peaks);
    Ok(())
}

fn text_arguments(bytes: usize) -> String {
    let line = "The quick brown fox jumps over the lazy dog, again and again.\\n";
    format!(r#"{{"path":"a.txt","content":"{}"}}"#, line.repeat(bytes / line.len()))
}

/// wasmtime directly, for what the guest and its memory cost by themselves.
fn bare(bench: &Bench, arguments: &Arc<str>) -> Fallible<Case> {
    let engine = engine(Allocation::Pooled, 8)?;
    let component = Component::from_file(&engine, &bench.guest)?;
    let bare = Arc::new(Bare::new(engine, &component)?);
    let arguments = arguments.clone();
    Ok(Case::new("bare", move || {
        let (bare, arguments) = (bare.clone(), arguments.clone());
        async move {
            let answered = bare.call("image", &arguments).await;
            assert!(matches!(answered, Ok(1)), "{answered:?}");
        }
    }))
}

fn call(host: &Host, tool: &'static str, arguments: Arc<str>) -> Case {
    let host = host.clone();
    Case::new("pipeline", move || {
        let (host, arguments) = (host.clone(), arguments.clone());
        async move {
            let outcome = product::call(&host, tool, &arguments).await;
            assert!(!outcome.messages[0].is_error, "{:?}", outcome.messages[0].error);
        }
    })
}

async fn updates(host: &Host) -> Fallible<f64> {
    let count = Arc::new(Count::default());
    let sink: Arc<dyn EventSink> = count.clone();
    let message = product::message("updates", &format!(r#"{{"n":{UPDATES}}}"#), 1);
    let begin = Instant::now();
    let outcome = host.run(Batch::new(message).sink(sink)).await;
    let took = begin.elapsed();
    let counted = count.0.load(std::sync::atomic::Ordering::Relaxed);
    if outcome.messages[0].is_error || counted != UPDATES {
        return Err(format!("{counted} updates arrived; {:?}", outcome.messages[0].error).into());
    }
    Ok(UPDATES as f64 / took.as_secs_f64())
}

fn peak(bench: &Bench, case: &str) -> Fallible<f64> {
    peak_of(bench, &bench.guest, case)
}

/// Peak memory of one call, or of compiling, in a process of its own, in KiB above what was there before.
pub fn peak_of(bench: &Bench, component: &Path, case: &str) -> Fallible<f64> {
    let output = Command::new(std::env::current_exe()?)
        .arg("--guest")
        .arg(component)
        .args(["once", &format!("peak: {case}"), "1", "--cache"])
        .arg(bench.cache.path())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| format!("{case}: {text}{}", String::from_utf8_lossy(&output.stderr)).into())
}

/// In the process of its own: prints the number.
pub async fn measure_peak(guest: &Path, cache: &Path, case: &str) -> Fallible<()> {
    if case == COMPILE {
        let loader = Loader::new(product::engine(None, 8)?);
        let before = memory::field("/proc/self/status", "VmRSS:")?;
        loader.load(PluginSpec::new("compiled", Source::File(guest.to_owned()))).await?;
        println!("{}", memory::field("/proc/self/status", "VmHWM:")? - before);
        return Ok(());
    }
    let loader = Loader::new(product::engine(Some(cache), 8)?);
    let host = product::host(&loader, guest, Hooks::default()).await?;
    // What the first call makes once.
    product::call(&host, "large", r#"{"n":1}"#).await;
    let arguments = text_arguments(1 << 20);
    // The kernel's own high-water mark, started anew.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let before = memory::field("/proc/self/status", "VmRSS:")?;
    match case {
        "arguments 1 MiB" => drop(product::call(&host, "large", &arguments).await),
        "image 10 MB" => drop(product::call(&host, "image", r#"{"n":10000000}"#).await),
        "image 10 MB, written as JSON" => {
            let outcome = product::call(&host, "image", r#"{"n":10000000}"#).await;
            let mut out = std::io::sink();
            serde_json::to_writer(&mut out, &outcome.messages[0])?;
        }
        "updates" => drop(updates(&host).await?),
        other => return Err(format!("no case {other}").into()),
    }
    let peak = memory::field("/proc/self/status", "VmHWM:")?;
    println!("{}", peak - before);
    Ok(())
}
