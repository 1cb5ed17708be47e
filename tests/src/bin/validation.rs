//! `validation [FILE]`: checks rows of `{schema, arguments, expect}`, one line each: its name or number and `same` or the
//! first difference.

use std::path::PathBuf;
use std::process::ExitCode;

use toolgate_tests::validation;

fn main() -> ExitCode {
    let file = std::env::args_os().nth(1).map_or_else(toolgate_tests::validation_rows, PathBuf::from);
    let rows = match validation::load(&file) {
        Ok(rows) => rows,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut all_same = true;
    for (at, row) in rows.iter().enumerate() {
        let difference = validation::difference(row);
        all_same &= difference.is_none();
        let name = row.name.clone().unwrap_or_else(|| (at + 1).to_string());
        println!("{name} {}", difference.as_deref().unwrap_or("same").replace('\n', "\\n"));
    }
    if all_same && !rows.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
