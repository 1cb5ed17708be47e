//! Rust: cargo for wasm32-wasip2, whose linker leaves a component.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::tools::{command, need, output};
use crate::exit::Failure;
use crate::project::Project;

const TARGET: &str = "wasm32-wasip2";

pub fn build(project: &Project, component: &Path) -> Result<(), Failure> {
    let cargo = need("cargo", "Rust is installed with rustup: https://rustup.rs")?;
    // cargo takes the compiler from this variable too.
    let rustc = match std::env::var_os("RUSTC") {
        Some(rustc) => PathBuf::from(rustc),
        None => need("rustc", "Rust is installed with rustup: https://rustup.rs")?,
    };
    if rustc.components().count() > 1 && !rustc.is_file() {
        return Err(Failure::usage(format!("the variable RUSTC names {}, which is no file", rustc.display())));
    }
    let sysroot = output(command(&rustc, &project.dir).args(["--print", "sysroot"]))?;
    if !Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).join("lib").is_dir() {
        return Err(Failure::usage(format!(
            "the Rust toolchain has no target {TARGET}. Add it with: rustup target add {TARGET}\n\
             Where that is not possible, name a compiler that has it in the variable RUSTC; Toolgate's own repository makes one \
             from Debian's packages: export RUSTC=$(scripts/build-guests.sh --toolchain-only)"
        )));
    }
    let built = output(command(cargo, &project.dir).args([
        "build",
        "--release",
        "--target",
        TARGET,
        "--message-format",
        "json-render-diagnostics",
    ]))?;
    let file = artifact(&built, &project.dir).ok_or_else(|| {
        Failure::usage(format!(
            "cargo built no component: {} needs `crate-type = [\"cdylib\"]` under [lib]",
            project.dir.join("Cargo.toml").display()
        ))
    })?;
    super::install(&file, component)
}

/// The component among what cargo says that it made.
fn artifact(messages: &str, dir: &Path) -> Option<PathBuf> {
    let manifest = dir.join("Cargo.toml").canonicalize().ok()?;
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let own = |message: &Value| {
        let at = message["manifest_path"].as_str().and_then(|path| Path::new(path).canonicalize().ok());
        message["reason"] == "compiler-artifact" && at.as_ref() == Some(&manifest)
    };
    messages
        .filter(own)
        .flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default())
        .filter_map(|file| file.as_str().map(PathBuf::from))
        .find(|file| file.extension().is_some_and(|kind| kind == "wasm"))
}
