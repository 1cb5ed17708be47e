//! The languages' own programs: found, run with their output to be seen, and missed with a hint.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::exit::Failure;

/// A program of the path.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = if cfg!(windows) { vec![format!("{name}.exe"), format!("{name}.cmd")] } else { vec![name.to_owned()] };
    std::env::split_paths(&path)
        .flat_map(|dir| names.iter().map(move |name| dir.join(name)))
        .find(|file| file.is_file())
}

/// A program that has to be there.
pub fn need(name: &str, hint: &str) -> Result<PathBuf, Failure> {
    find(name).ok_or_else(|| Failure::usage(format!("{name} is not in the path. {hint}")))
}

/// A program to be run in a project. rustup is never to install something on the way.
pub fn command(program: impl AsRef<OsStr>, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).env("RUSTUP_AUTO_INSTALL", "0").stdin(Stdio::null());
    command
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    let arguments: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    format!("{program} {}", arguments.join(" "))
}

/// Runs it. What it prints goes to standard error, as it comes.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    let shown = shown(command);
    tracing::info!("running {shown}");
    let status = command.stdout(Stdio::from(std::io::stderr())).status();
    let status = status.map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::load(format!("`{shown}` failed ({status}); it says why above")))
    }
}

/// Runs it and gives what it printed on standard output.
pub fn output(command: &mut Command) -> Result<String, Failure> {
    let shown = shown(command);
    tracing::info!("running {shown}");
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    if !output.status.success() {
        return Err(Failure::load(format!("`{shown}` failed ({}); it says why above", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
