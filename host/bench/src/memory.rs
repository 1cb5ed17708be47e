//! What a live instance takes of the machine's memory.

use std::time::Duration;

use toolgate::Host;
use toolgate::component::Loader;
use toolgate::pipeline::Batch;

use crate::floor::SLOTS;
use crate::product::{self, Hooks};
use crate::report::Report;
use crate::{Bench, Fallible};

/// Instances that live at once while it is measured.
const LIVE: usize = 100;

pub async fn run(bench: &Bench, report: &mut Report) -> Fallible<()> {
    let loader = Loader::new(product::engine(Some(bench.cache.path()), SLOTS)?);
    let host = product::host(&loader, &bench.guest, Hooks::default()).await?;
    let kib = per_instance(&host).await?;
    report.numbers("Memory", &[("per live instance of the Rust guest".into(), kib, "KiB")]);
    Ok(())
}

/// The process's own share of its memory, more with instances that wait than before, for each, in KiB. The first use of
/// the slots, which is when they get their pages.
pub async fn per_instance(host: &Host) -> Fallible<f64> {
    let before = pss_kib()?;
    let waiting = tokio::spawn({
        let host = host.clone();
        async move { host.run(Batch::new(product::message("wait", r#"{"n":1500}"#, LIVE))).await }
    });
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    let during = pss_kib()?;
    let outcome = waiting.await?;
    if let Some(failed) = outcome.messages.iter().find(|message| message.is_error) {
        return Err(format!("{failed:?}").into());
    }
    Ok((during - before) / LIVE as f64)
}

fn pss_kib() -> Fallible<f64> {
    field("/proc/self/smaps_rollup", "Pss:")
}

/// A number of a file in /proc, in KiB.
pub fn field(file: &str, name: &str) -> Fallible<f64> {
    let text = std::fs::read_to_string(file)?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    value.ok_or_else(|| format!("{file} has no {name}").into())
}
