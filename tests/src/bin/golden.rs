//! Replays golden scenarios through the scripted components, or natively: one line each, the name and `same` or the
//! first difference. The exit status is 1 where any differs.

use std::path::PathBuf;
use std::process::ExitCode;

use toolgate_tests::golden::{self, Scenario};

const USAGE: &str = "usage: golden [--native] [DIR]";

fn main() -> ExitCode {
    let (mut native, mut dir) = (false, None);
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("--native") => native = true,
            Some(flag) if flag.starts_with('-') => return failed(USAGE, 2),
            _ if dir.is_some() => return failed(USAGE, 2),
            _ => dir = Some(PathBuf::from(argument)),
        }
    }
    let dir = dir.unwrap_or_else(toolgate_tests::scenarios);
    let scenarios = match golden::load_dir(&dir) {
        Ok(scenarios) if scenarios.is_empty() => {
            return failed(&format!("{}: no scenarios (*.json) in there", dir.display()), 1);
        }
        Ok(scenarios) => scenarios,
        Err(error) => return failed(&error, 1),
    };
    let all_same = if native { natively(&scenarios) } else { components(scenarios) };
    match all_same {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => failed(&error, 1),
    }
}

fn failed(message: &str, status: u8) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(status)
}

/// One scenario's line; whether it is the same.
fn report(name: &str, difference: Option<&str>) -> bool {
    println!("{name} {}", difference.unwrap_or("same"));
    difference.is_none()
}

/// One after another on one thread, on a clock that stands still while anything can run.
fn natively(scenarios: &[Scenario]) -> Result<bool, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let mut all_same = true;
        for scenario in scenarios {
            let difference = golden::check(scenario, &golden::native::Native).await;
            all_same &= report(&scenario.name, difference.as_deref());
        }
        Ok(all_same)
    })
}

#[cfg(feature = "component")]
fn components(scenarios: Vec<Scenario>) -> Result<bool, String> {
    let guests = golden::component::Components::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let mut all_same = true;
        for replay in guests.check_all(scenarios) {
            let (name, difference) = replay.await.map_err(|error| error.to_string())?;
            all_same &= report(&name, difference.as_deref());
        }
        Ok(all_same)
    })
}

#[cfg(not(feature = "component"))]
fn components(_: Vec<Scenario>) -> Result<bool, String> {
    Err("this build has no components; use --native".into())
}
