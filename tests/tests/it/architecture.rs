//! What ARCHITECTURE.md says is never the case, where a test can see it.

use std::path::{Path, PathBuf};

use toolgate_tests::guests::root;

/// Rust sources below a folder of the library.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_engine_is_named_in_component_only() {
    let library = root().join("host/src");
    let mut seen = 0;
    for path in sources(&library) {
        if path.starts_with(library.join("component")) {
            continue;
        }
        seen += 1;
        assert!(!code(&path).contains("wasmtime"), "{} names wasmtime", path.display());
    }
    assert!(seen > 40, "only {seen} files were looked at");
}

#[test]
fn the_pipeline_and_what_it_stands_on_know_no_components() {
    let library = root().join("host/src");
    for module in ["model", "pipeline", "schema", "sandbox", "registry", "journal"] {
        for path in sources(&library.join(module)) {
            assert!(!code(&path).contains("crate::component"), "{} knows components", path.display());
        }
    }
}

#[test]
fn generated_types_stay_in_their_folder() {
    let library = root().join("host/src");
    for path in sources(&library) {
        if !path.starts_with(library.join("component")) {
            assert!(!code(&path).contains("bindings"), "{} names generated types", path.display());
        }
    }
}
