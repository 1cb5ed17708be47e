//! The echo in other languages, whose runtimes are large: what a fresh instance of them costs.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolgate::Host;
use toolgate::component::{Loader, PluginSpec, Source};

use crate::floor::SLOTS;
use crate::measure::{Effort, quantile, side_by_side, sorted, under_load};
use crate::product;
use crate::report::{Goal, Report};
use crate::{Bench, Fallible, large, memory};

const LANGUAGES: [(&str, &str); 2] = [("QuickJS", "quickjs.wasm"), ("StarlingMonkey", "starlingmonkey.wasm")];

pub async fn run(bench: &Bench, report: &mut Report) -> Fallible<()> {
    for (language, file) in LANGUAGES {
        let component = bench.languages.join(file);
        if component.is_file() {
            one(bench, report, language, &component).await?;
        } else {
            println!("\n{language}: skipped, {} is missing (`just bench-languages` makes it)", component.display());
        }
    }
    Ok(())
}

async fn one(bench: &Bench, report: &mut Report, language: &str, component: &Path) -> Fallible<()> {
    let arguments: Arc<str> = product::arguments().into();
    let loader = Loader::new(product::engine(Some(bench.cache.path()), SLOTS)?);
    let mut numbers = Vec::new();
    let begin = Instant::now();
    let host = host(&loader, component).await?;
    numbers.push(("compile and load".to_owned(), begin.elapsed().as_secs_f64(), "s"));
    let megabytes = std::fs::metadata(component)?.len() as f64 / 1e6;
    let peak = large::peak_of(bench, component, large::COMPILE)? * 1024.0 / 1e6;
    numbers.push((format!("compiling its {megabytes:.1} MB, peak memory"), peak, "MB"));
    if megabytes > 12.0 {
        report.goal(Goal::at_most(format!("memory to compile {megabytes:.1} MB"), peak, 1_000.0, "MB"));
    }
    let begin = Instant::now();
    drop(self::host(&loader, component).await?);
    numbers.push(("load, cached".to_owned(), begin.elapsed().as_secs_f64() * 1e3, "ms"));

    let case = crate::calls::pipeline(&format!("{language}, pipeline"), host.clone(), &arguments);
    let effort = Effort { rounds: if bench.quick { 5 } else { 30 }, slice: Duration::from_millis(20) };
    let series = side_by_side(&[case], effort).await;
    if let Some(row) = series.first() {
        numbers.push(("one call, median".to_owned(), row.median_us, "µs"));
        numbers.push(("one call, p99".to_owned(), row.p99_us, "µs"));
    }
    let run = crate::calls::pipeline("", host.clone(), &arguments).run;
    for in_flight in [1, 8, 64, 512] {
        let rounds = if bench.quick { 1 } else { 5 };
        let mut rates = Vec::new();
        let mut latency = crate::measure::histogram();
        for _ in 0..rounds {
            let load = under_load(&run, in_flight, Duration::from_millis(500)).await;
            rates.push(load.calls as f64 / load.elapsed.as_secs_f64());
            let _ = latency.add(&load.latency);
        }
        let us = |q| latency.value_at_quantile(q) as f64 / 1e3;
        numbers.push((format!("{in_flight} in flight"), quantile(&sorted(rates.into_iter()), 0.5), "calls/s"));
        numbers.push((format!("{in_flight} in flight, p50"), us(0.5), "µs"));
        numbers.push((format!("{in_flight} in flight, p99"), us(0.99), "µs"));
    }
    numbers.push(("memory per live instance".to_owned(), memory::per_instance(&host).await?, "KiB"));
    report.numbers(language, &numbers);
    Ok(())
}

async fn host(loader: &Loader, component: &Path) -> Fallible<Host> {
    let host = Host::new();
    host.load(loader.load(PluginSpec::new("language", Source::File(component.to_owned()))).await?)?;
    Ok(host)
}
