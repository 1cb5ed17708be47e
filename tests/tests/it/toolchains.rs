//! One guest crate, several ways to build it: each gives a component that loads and answers.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use toolgate::Host;
use toolgate::component::{PluginSpec, Source};
use toolgate_tests::guests::{self, root, run_one};

async fn answers(component: &Path) {
    let spec = PluginSpec::new("calc", Source::File(component.into()));
    let host = guests::host(Host::builder(), [spec]).await;
    assert_eq!(run_one(&host, "calc", json!({"expression": "2*(3+4)"})).await.text(), "14");
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_cargo_for_wasm32_wasip2() {
    answers(&guests::component("calc")).await;
}

/// Needs cargo-component, and a toolchain that already has wasm32-wasip1: cargo-component would ask rustup for it.
#[tokio::test(flavor = "multi_thread")]
async fn cargo_component() {
    let there = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    if !there(Command::new("cargo").args(["component", "--version"])) {
        // Past the test harness's capture, so that a skip is seen.
        let _ = writeln!(std::io::stderr(), "skipped: cargo_component (cargo-component is not installed)");
        return;
    }
    let toolchain = Command::new(root().join("scripts/build-guests.sh"))
        .args(["--target", "wasm32-wasip1", "--toolchain-only"])
        .output()
        .unwrap();
    assert!(toolchain.status.success(), "{}", String::from_utf8_lossy(&toolchain.stderr));
    let rustc = String::from_utf8(toolchain.stdout).unwrap();
    let bin = Path::new(rustc.trim()).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).env("PATH", &path).current_dir(root()).output();
    let sysroot = String::from_utf8(sysroot.unwrap().stdout).unwrap();
    let std = Path::new(sysroot.trim()).join("lib/rustlib/wasm32-wasip1");
    assert!(std.is_dir(), "{} is missing, and cargo-component must not ask rustup for it", std.display());
    let target = root().join("target/cargo-component");
    let status = Command::new("cargo")
        .args(["component", "build", "--profile", "guest", "-p", "calc", "--target-dir"])
        .arg(&target)
        .env("PATH", &path)
        .current_dir(root())
        .status();
    assert!(status.unwrap().success());
    answers(&target.join("wasm32-wasip1/guest/calc.wasm")).await;
}
