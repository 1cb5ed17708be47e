//! `toolgate compile`: fills the cache, so that the first call after it starts warm.

use std::time::Instant;

use serde::Serialize;

use crate::args::{Compile, Output, Shared};
use crate::exit::{Exit, Failure};
use crate::view::text::duration;
use crate::{output, setup};

/// A plugin as a program reads it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    plugin: &'a str,
    file: String,
    tools: usize,
    hooks: bool,
    duration_ms: f64,
}

pub fn run(shared: &Shared, args: &Compile) -> Result<Exit, Failure> {
    let config = setup::config(shared)?;
    let Some(cache_dir) = &config.cache_dir else {
        return Err(Failure::usage("there is no cache directory; set `cache-dir` in toolgate.toml"));
    };
    let runtime = setup::small_runtime()?;
    let (out, writer) = output::open();
    let loader = setup::loader(&config)?;
    let mut errors = Vec::new();
    // One after another: compiling one component uses all processors already.
    for plugin in &config.plugins {
        let started = Instant::now();
        match runtime.block_on(config.load_plugin(plugin, &loader)) {
            Err(error) => errors.push(error),
            Ok(loaded) => {
                let line = Line {
                    plugin: &plugin.name,
                    file: plugin.file.display().to_string(),
                    tools: loaded.tools.len(),
                    hooks: loaded.hook.is_some(),
                    duration_ms: (started.elapsed().as_secs_f64() * 1_000_000.0).round() / 1_000.0,
                };
                match args.output {
                    Output::Json => out.json(&line).map_err(Failure::load)?,
                    Output::Text => {
                        out.write(format!("{}  {}  {}\n", line.plugin, line.file, duration(line.duration_ms)))
                    }
                }
            }
        }
    }
    if args.output == Output::Text {
        out.write(format!("compiled code is kept in {}\n", cache_dir.display()));
    }
    drop(out);
    runtime.shutdown_background();
    let written = writer.finish();
    if errors.is_empty() { written.map(|()| Exit::Ok) } else { Err(setup::all(errors)) }
}
