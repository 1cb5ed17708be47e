//! Puts the SDKs and the templates of `toolgate new` into the program, so that it works where this repository is not.
//! An SDK that is not there is left out, and the command says so.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const LANGUAGES: [&str; 4] = ["rust", "js", "go", "python"];

/// What lies in an SDK's folder and is no part of it: what tools make, and its own tests.
const LEFT_OUT: [&str; 11] = [
    "node_modules",
    "target",
    "dist",
    "tests",
    "test",
    "testdata",
    "__pycache__",
    ".venv",
    ".toolgate",
    ".git",
    "Cargo.lock",
];

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| io::Error::other("not run by cargo"))?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("not run by cargo"))?);
    let root = own.join("../..");
    let mut list = String::from("pub static SDKS: &[(&str, &[u8])] = &[\n");
    for language in LANGUAGES {
        let sdk = root.join("guest-sdk").join(language);
        if !sdk.is_dir() {
            // Looked at again when it comes.
            println!("cargo::rerun-if-changed={}", root.join("guest-sdk").display());
            continue;
        }
        add(&mut list, &sdk, &format!("{language}/guest-sdk/{language}"))?;
        add_file(&mut list, &root.join("LICENSE"), &format!("{language}/LICENSE"))?;
        if language == "rust" {
            add(&mut list, &root.join("wit/plugin"), "rust/wit/plugin")?;
            let workspace = out.join("sdk-workspace.toml");
            fs::write(&workspace, sdk_workspace(&root)?)?;
            let _ = writeln!(list, "(\"rust/Cargo.toml\", include_bytes!({workspace:?})),");
        }
    }
    list.push_str("];\npub static WIT: &[(&str, &str)] = &[\n");
    for file in sorted(&root.join("wit/plugin"))? {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.file_name().unwrap_or_default();
        let _ = writeln!(list, "({name:?}, include_str!({file:?})),");
    }
    list.push_str("];\npub static TEMPLATES: &[(&str, &[u8])] = &[\n");
    add(&mut list, &own.join("templates"), "")?;
    list.push_str("];\n");
    fs::write(out.join("embedded.rs"), list)
}

fn sorted(dir: &Path) -> io::Result<BTreeSet<PathBuf>> {
    fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect()
}

fn add(list: &mut String, dir: &Path, name: &str) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", dir.display());
    for path in sorted(dir)? {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if LEFT_OUT.contains(&file.as_str()) || file.ends_with(".egg-info") || file.ends_with(".pyc") {
            continue;
        }
        let name = if name.is_empty() { file } else { format!("{name}/{file}") };
        if path.is_dir() { add(list, &path, &name)? } else { add_file(list, &path, &name)? }
    }
    Ok(())
}

fn add_file(list: &mut String, path: &Path, name: &str) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", path.display());
    let _ = writeln!(list, "({name:?}, include_bytes!({:?})),", path.canonicalize()?);
    Ok(())
}

/// The Rust SDK takes versions and lints from its workspace: this one with only what it asks for.
fn sdk_workspace(root: &Path) -> io::Result<String> {
    let file = root.join("Cargo.toml");
    println!("cargo::rerun-if-changed={}", file.display());
    let workspace = fs::read_to_string(file)?;
    let sdk = root.join("guest-sdk/rust");
    let manifests = fs::read_to_string(sdk.join("Cargo.toml"))? + &fs::read_to_string(sdk.join("macros/Cargo.toml"))?;
    let mut text =
        String::from("[workspace]\nresolver = \"3\"\nmembers = [\"guest-sdk/rust\", \"guest-sdk/rust/macros\"]\n");
    let mut section = "";
    for line in workspace.lines() {
        if line.starts_with('[') {
            section = line;
            if kept(section) {
                let _ = writeln!(text, "\n{line}");
            }
            continue;
        }
        let name = line.split(['=', ' ']).next().unwrap_or_default();
        let asked_for = section != "[workspace.dependencies]"
            || [".workspace", " = { workspace"].iter().any(|how| manifests.contains(&format!("\n{name}{how}")));
        if kept(section) && !name.is_empty() && !line.starts_with('#') && asked_for {
            let _ = writeln!(text, "{line}");
        }
    }
    Ok(text)
}

fn kept(section: &str) -> bool {
    matches!(section, "[workspace.package]" | "[workspace.dependencies]") || section.starts_with("[workspace.lints")
}
