//! Extism is measured by a program of its own, since it brings another wasmtime; where that is built, its rows are shown.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::Fallible;
use crate::measure::Series;

/// As host/bench/extism leaves it.
const PROGRAM: &str = "host/bench/extism/target/release/toolgate-bench-extism";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    median_us: f64,
    p99_us: f64,
    ratio: f64,
    spread: [f64; 2],
    calls: u64,
}

/// Its rows; none where it is not built.
pub fn run(quick: bool) -> Fallible<Option<Vec<Series>>> {
    if !Path::new(PROGRAM).is_file() {
        return Ok(None);
    }
    let output = Command::new(PROGRAM).args(quick.then_some("--quick")).output()?;
    if !output.status.success() {
        return Err(format!("{PROGRAM}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let rows: Vec<Row> = serde_json::from_slice(&output.stdout)?;
    let series = |row: Row| Series {
        name: row.name,
        median_us: row.median_us,
        p99_us: row.p99_us,
        ratio: row.ratio,
        spread: row.spread,
        calls: row.calls,
    };
    Ok(Some(rows.into_iter().map(series).collect()))
}
