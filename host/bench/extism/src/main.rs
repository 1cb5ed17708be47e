//! The echo on Extism: a plugin for each call, from compiled code, and one that is used again. Prints rows as JSON for
//! `toolgate-bench`, which shows them; ratios are to the first row.

use std::time::{Duration, Instant};

use extism::{CompiledPlugin, Plugin, PluginBuilder};
use hdrhistogram::Histogram;
use serde_json::json;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Copies its input, eight bytes at a time, as Extism's own kits do.
const ECHO: &str = r#"(module
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u64" (func $load (param i64) (result i64)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 17)
  (func (export "echo") (result i32)
    (local $len i64) (local $out i64) (local $at i64)
    (local.set $len (call $input_length))
    (local.set $out (call $alloc (local.get $len)))
    (loop $next
      (call $store (i64.add (local.get $out) (local.get $at)) (call $load (local.get $at)))
      (local.set $at (i64.add (local.get $at) (i64.const 8)))
      (br_if $next (i64.lt_u (local.get $at) (local.get $len))))
    (call $output_set (local.get $out) (local.get $len))
    (i32.const 0)))"#;

fn main() -> Fallible<()> {
    let rounds = if std::env::args().any(|word| word == "--quick") { 10 } else { 100 };
    let arguments = "x".repeat(1_024);
    let compiled = |wasi| CompiledPlugin::new(PluginBuilder::new(ECHO).with_wasi(wasi));
    let (plain, wasi) = (compiled(false)?, compiled(true)?);
    let mut kept = Plugin::new_from_compiled(&plain)?;
    let once = |compiled: &CompiledPlugin| -> Fallible<usize> {
        Ok(Plugin::new_from_compiled(compiled)?.call::<&str, &str>("echo", &arguments)?.len())
    };
    type Case<'a> = (&'static str, Box<dyn FnMut() -> Fallible<usize> + 'a>);
    let mut cases: Vec<Case<'_>> = vec![
        ("Extism, plugin per call", Box::new(|| once(&plain))),
        ("Extism, plugin per call, with WASI", Box::new(|| once(&wasi))),
        ("Extism, one plugin used again", Box::new(|| Ok(kept.call::<&str, &str>("echo", &arguments)?.len()))),
    ];
    let mut all = vec![Histogram::<u64>::new_with_max(60_000_000_000, 3)?; cases.len()];
    let mut medians: Vec<Vec<f64>> = vec![Vec::new(); cases.len()];
    for _ in 0..rounds {
        for (at, (name, run)) in cases.iter_mut().enumerate() {
            let mut round = Histogram::<u64>::new_with_max(60_000_000_000, 3)?;
            let end = Instant::now() + Duration::from_millis(4);
            while round.len() < 3 || Instant::now() < end {
                let begin = Instant::now();
                if run()? != arguments.len() {
                    return Err(format!("{name}: the echo is not what was said").into());
                }
                round.saturating_record(u64::try_from(begin.elapsed().as_nanos())?);
            }
            medians[at].push(round.value_at_quantile(0.5) as f64);
            all[at].add(&round)?;
        }
    }
    let base = medians[0].clone();
    let row = |at: usize, name: &str| {
        let mut ratios: Vec<f64> = medians[at].iter().zip(&base).map(|(this, base)| this / base).collect();
        ratios.sort_by(f64::total_cmp);
        let quantile = |q: f64| ratios[(q * (ratios.len() - 1) as f64).round() as usize];
        json!({
            "name": name,
            "medianUs": all[at].value_at_quantile(0.5) as f64 / 1e3,
            "p99Us": all[at].value_at_quantile(0.99) as f64 / 1e3,
            "ratio": quantile(0.5),
            "spread": [quantile(0.25), quantile(0.75)],
            "calls": all[at].len(),
        })
    };
    let rows: Vec<_> = cases.iter().enumerate().map(|(at, (name, _))| row(at, name)).collect();
    println!("{}", serde_json::Value::Array(rows));
    Ok(())
}
