//! A plugin's project: in which language, what it is called, where its component is.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::args::Language;
use crate::exit::Failure;

/// The manifest of each language.
const MANIFESTS: [(&str, Language); 4] = [
    ("Cargo.toml", Language::Rust),
    ("package.json", Language::Js),
    ("go.mod", Language::Go),
    ("pyproject.toml", Language::Python),
];

pub struct Project {
    pub dir: PathBuf,
    pub language: Language,
    pub name: String,
}

impl Project {
    /// Finds the manifest in a folder.
    pub fn find(dir: &Path) -> Result<Self, Failure> {
        if !dir.is_dir() {
            return Err(Failure::usage(format!("{}: is not a folder", dir.display())));
        }
        let found: Vec<_> = MANIFESTS.iter().filter(|(file, _)| dir.join(file).is_file()).collect();
        let (file, language) = match *found {
            [one] => one,
            [] => {
                let names: Vec<&str> = MANIFESTS.iter().map(|(file, _)| *file).collect();
                return Err(Failure::usage(format!(
                    "{}: no project here: there is none of {}. `toolgate new LANGUAGE NAME` begins one",
                    dir.display(),
                    names.join(", ")
                )));
            }
            ref several => {
                let names: Vec<&str> = several.iter().map(|(file, _)| *file).collect();
                return Err(Failure::usage(format!(
                    "{}: there are several projects here: {}. Give each a folder of its own",
                    dir.display(),
                    names.join(", ")
                )));
            }
        };
        let manifest = dir.join(file);
        let wrong = |what: String| Failure::usage(format!("{}: {what}", manifest.display()));
        let text = std::fs::read_to_string(&manifest).map_err(|error| wrong(error.to_string()))?;
        let name = match language {
            Language::Rust => toml_name(&text, "package").map_err(wrong)?,
            Language::Python => toml_name(&text, "project").map_err(wrong)?,
            Language::Js => {
                let package: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
                package["name"].as_str().map(str::to_owned)
            }
            Language::Go => {
                let module = text.lines().find_map(|line| line.trim().strip_prefix("module "));
                module.map(|module| module.trim().trim_matches('"').to_owned())
            }
        };
        let name = name.ok_or_else(|| wrong("it gives the project no name".into()))?;
        // A scope or a path is not part of a file's name.
        let name = name.rsplit('/').next().unwrap_or_default().to_owned();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')) {
            return Err(wrong(format!("{name:?} can't be the name of a component's file")));
        }
        let dir = std::path::absolute(dir).map_err(|error| wrong(error.to_string()))?;
        Ok(Self { dir, language: *language, name })
    }

    /// Where the component is left.
    pub fn component(&self) -> PathBuf {
        self.dir.join(format!("{}.wasm", self.name))
    }
}

fn toml_name(text: &str, table: &str) -> Result<Option<String>, String> {
    let manifest: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    Ok(manifest.get(table).and_then(|table| table.get("name")).and_then(|name| name.as_str()).map(str::to_owned))
}

/// A path as one would type it here.
pub fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
