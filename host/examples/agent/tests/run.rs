//! The example does what its README says.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::path::Path;
use std::process::Command;

#[test]
fn the_loop_runs_to_its_answer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    if std::env::var_os("TOOLGATE_GUESTS_BUILT").is_none() {
        assert!(Command::new(root.join("scripts/build-guests.sh")).arg("calc").status().unwrap().success());
    }
    let output = Command::new(env!("CARGO_BIN_EXE_example-agent"))
        .arg(root.join("target/guests/components/calc.wasm"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for line in
        ["  < calc done", "  < send_mail failed", "  ? Send mail?: The agent wants to write to ann@example.com."]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.ends_with("It is 42, and Ann knows.\n"), "{text}");
}
