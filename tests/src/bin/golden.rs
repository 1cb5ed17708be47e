//! `golden [--native] [DIR]`: replays the scenarios of a folder with native tools and hooks, one line each: the name and
//! `same` or the first difference.

use std::path::PathBuf;
use std::process::ExitCode;

use toolgate_tests::golden;

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> ExitCode {
    let dir = std::env::args_os().skip(1).find(|argument| argument != "--native");
    let dir = dir.map_or_else(toolgate_tests::scenarios, PathBuf::from);
    let scenarios = match golden::load_dir(&dir) {
        Ok(scenarios) => scenarios,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut all_same = true;
    for scenario in &scenarios {
        let difference = golden::check(scenario, &golden::native::Native).await;
        all_same &= difference.is_none();
        println!("{} {}", scenario.name, difference.as_deref().unwrap_or("same"));
    }
    if all_same && !scenarios.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
