//! Calls at once: how many a second, and how long each waits, beside the same harness on wasmtime alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::Semaphore;
use toolgate::component::Loader;
use wasmtime::component::Component;

use crate::floor::{Allocation, Bare, SLOTS, engine};
use crate::measure::{Case, histogram, quantile, sorted, under_load};
use crate::product::{self, Hooks};
use crate::report::{Goal, Report};
use crate::{Bench, Fallible};

const IN_FLIGHT: [usize; 4] = [1, 8, 64, 512];

pub async fn run(bench: &Bench, report: &mut Report) -> Fallible<()> {
    let arguments: Arc<str> = product::arguments().into();
    let bare_case = queued(bench, &arguments)?;
    let loader = Loader::new(product::engine(Some(bench.cache.path()), SLOTS)?);
    let host = product::host(&loader, &bench.guest, Hooks::default()).await?;
    let waits = host.clone();
    let product_case = crate::calls::pipeline("pipeline", host, &arguments);
    let (rounds, slice) = if bench.quick { (5, 40) } else { (25, 100) };
    let mut rows = Vec::new();
    println!("\nCalls at once, 1 KB of arguments (bare: wasmtime directly, the same number of slots)");
    println!(
        "{:>9}  {:>12}  {:>12}  {:>6}  {:>22}  {:>22}",
        "in flight", "bare/s", "pipeline/s", "ratio", "bare p50, p99 µs", "pipeline p50, p99 µs"
    );
    for in_flight in IN_FLIGHT {
        let mut rates = [Vec::new(), Vec::new()];
        let mut latencies = [histogram(), histogram()];
        for _ in 0..rounds {
            for (at, case) in [&bare_case, &product_case].into_iter().enumerate() {
                let load = under_load(&case.run, in_flight, Duration::from_millis(slice)).await;
                rates[at].push(load.calls as f64 / load.elapsed.as_secs_f64());
                let _ = latencies[at].add(&load.latency);
            }
        }
        let ratios = sorted(rates[1].iter().zip(&rates[0]).map(|(product, bare)| product / bare));
        let ratio = quantile(&ratios, 0.5);
        let rate = |at: usize| quantile(&sorted(rates[at].iter().copied()), 0.5);
        let us = |at: usize, q: f64| latencies[at].value_at_quantile(q) as f64 / 1e3;
        println!(
            "{in_flight:>9}  {:>12.0}  {:>12.0}  {ratio:>6.2}  {:>10.0}, {:>10.0}  {:>10.0}, {:>10.0}",
            rate(0),
            rate(1),
            us(0, 0.5),
            us(0, 0.99),
            us(1, 0.5),
            us(1, 0.99)
        );
        if in_flight >= 64 {
            report.goal(Goal::at_least(format!("throughput at {in_flight} to bare"), ratio, 0.7, "×"));
            let tail = us(1, 0.99) / us(1, 0.5);
            report.goal(Goal::at_most(format!("p99 to p50 at {in_flight}"), tail, 5.0, "×"));
        }
        rows.push(json!({
            "inFlight": in_flight, "barePerSecond": rate(0), "pipelinePerSecond": rate(1), "ratio": ratio,
            "quartiles": [quantile(&ratios, 0.25), quantile(&ratios, 0.75)],
            "bareUs": {"p50": us(0, 0.5), "p99": us(0, 0.99)}, "pipelineUs": {"p50": us(1, 0.5), "p99": us(1, 0.99)},
        }));
    }
    report.keep("Calls at once", &rows);
    batch_of_waits(&waits, report).await;
    Ok(())
}

/// wasmtime directly, with a queue for its slots.
fn queued(bench: &Bench, arguments: &Arc<str>) -> Fallible<Case> {
    let engine = engine(Allocation::Pooled, SLOTS)?;
    let component = Component::from_file(&engine, &bench.guest)?;
    let bare = Arc::new(Bare::new(engine, &component)?);
    let slots = Arc::new(Semaphore::new(SLOTS as usize));
    let arguments = arguments.clone();
    Ok(Case::new("bare", move || {
        let (bare, arguments, slots) = (bare.clone(), arguments.clone(), slots.clone());
        async move {
            let _slot = slots.acquire_owned().await;
            let answered = bare.call("echo", &arguments).await;
            assert!(matches!(answered, Ok(1)), "{answered:?}");
        }
    }))
}

/// Sixteen calls that each wait 50 ms take about 50 ms together.
async fn batch_of_waits(host: &toolgate::Host, report: &mut Report) {
    let mut took = Vec::new();
    for _ in 0..9 {
        let begin = Instant::now();
        let outcome = host.run(toolgate::pipeline::Batch::new(product::message("wait", r#"{"n":50}"#, 16))).await;
        assert!(outcome.messages.iter().all(|message| !message.is_error));
        took.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let median = quantile(&sorted(took.into_iter()), 0.5);
    report.numbers("A batch of 16 calls that each wait 50 ms", &[("wall time".into(), median, "ms")]);
    report.goal(Goal::at_most("16 calls of 50 ms each", median, 60.0, "ms"));
}
