//! Short interleaved rounds: every case runs for a few milliseconds, then the next, and all over again. A busy machine
//! slows all cases of a round alike, so that the ratio within a round is worth more than any time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Serialize;

/// What is measured: one call.
pub type Run = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// One row of a table.
pub struct Case {
    /// What is called.
    pub name: String,
    /// One call.
    pub run: Run,
}

impl Case {
    /// A case from an async closure.
    pub fn new<F>(name: impl Into<String>, run: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self { name: name.into(), run: Arc::new(move || Box::pin(run())) }
    }
}

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds over all cases.
    pub rounds: usize,
    /// Time for a case in each round.
    pub slice: Duration,
}

/// What came of a case.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Series {
    /// The case.
    pub name: String,
    /// Median over all calls, in microseconds.
    pub median_us: f64,
    /// 99 % of the calls took no longer, in microseconds.
    pub p99_us: f64,
    /// To the first case: the median over the rounds of the ratio of the rounds' medians.
    pub ratio: f64,
    /// The quarter and the three-quarter point of those ratios: the noise.
    pub spread: [f64; 2],
    /// Calls measured.
    pub calls: u64,
}

/// Measures all cases side by side. Ratios are to the first one.
pub async fn side_by_side(cases: &[Case], effort: Effort) -> Vec<Series> {
    let mut all: Vec<Histogram<u64>> = cases.iter().map(|_| histogram()).collect();
    let mut medians: Vec<Vec<f64>> = cases.iter().map(|_| Vec::new()).collect();
    // Not counted: caches fill, slots get their memory.
    for case in cases {
        slice(case, effort.slice).await;
    }
    for _ in 0..effort.rounds {
        for ((case, all), medians) in cases.iter().zip(&mut all).zip(&mut medians) {
            let round = slice(case, effort.slice).await;
            medians.push(round.value_at_quantile(0.5) as f64);
            let _ = all.add(&round);
        }
    }
    let base = medians.first().cloned().unwrap_or_default();
    cases
        .iter()
        .zip(&all)
        .zip(&medians)
        .map(|((case, all), medians)| {
            let ratios = sorted(medians.iter().zip(&base).map(|(this, base)| this / base));
            Series {
                name: case.name.clone(),
                median_us: all.value_at_quantile(0.5) as f64 / 1e3,
                p99_us: all.value_at_quantile(0.99) as f64 / 1e3,
                ratio: quantile(&ratios, 0.5),
                spread: [quantile(&ratios, 0.25), quantile(&ratios, 0.75)],
                calls: all.len(),
            }
        })
        .collect()
}

/// Calls for as long as given, at least three times; on a worker thread, where calls run in a server.
async fn slice(case: &Case, slice: Duration) -> Histogram<u64> {
    let run = case.run.clone();
    let calls = tokio::spawn(async move {
        let mut into = histogram();
        let end = Instant::now() + slice;
        loop {
            let begin = Instant::now();
            run().await;
            let now = Instant::now();
            record(&mut into, now - begin);
            if into.len() >= 3 && now >= end {
                return into;
            }
        }
    });
    match calls.await {
        Ok(measured) => measured,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// Calls at once for as long as given.
pub struct Load {
    /// Calls that came to their end.
    pub calls: u64,
    /// How long they all took.
    pub elapsed: Duration,
    /// How long each took, waiting included.
    pub latency: Histogram<u64>,
}

/// Keeps `in_flight` calls going.
pub async fn under_load(run: &Run, in_flight: usize, slice: Duration) -> Load {
    // Latencies are noted in lists: a histogram for each task would take longer to clear than the calls take.
    let begin = Instant::now();
    let end = begin + slice;
    let tasks: Vec<_> = (0..in_flight)
        .map(|_| {
            let run = run.clone();
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                while Instant::now() < end {
                    let begin = Instant::now();
                    // To the end of the queue, as a request that comes in: a call that is never kept waiting would
                    // otherwise be followed by the next of the same task, and all other tasks would stand still.
                    tokio::task::yield_now().await;
                    run().await;
                    latencies.push(begin.elapsed());
                }
                latencies
            })
        })
        .collect();
    let mut latencies = Vec::with_capacity(in_flight);
    for task in tasks {
        latencies.extend(task.await);
    }
    let elapsed = begin.elapsed();
    let mut latency = histogram();
    latencies.into_iter().flatten().for_each(|took| record(&mut latency, took));
    Load { calls: latency.len(), elapsed, latency }
}

/// Nanoseconds up to a minute, to three digits.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(60_000_000_000, 3).unwrap_or_else(|error| unreachable!("bounds that are allowed: {error}"))
}

fn record(into: &mut Histogram<u64>, took: Duration) {
    into.saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
}

/// In order.
pub fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Of sorted values.
pub fn quantile(sorted: &[f64], at: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((at * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
}
