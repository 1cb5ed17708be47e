//! A few thousand calls of every fate leave nothing behind; `just soak` makes a hundred thousand. In a process of its own,
//! since memory and open files are the process's.

use std::process::Command;

#[test]
fn a_few_thousand_calls_of_every_fate_leave_nothing_behind() {
    let output = Command::new(env!("CARGO_BIN_EXE_soak")).arg("4400").output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{said}");
    assert!(said.ends_with("nothing is left of them\n"), "{said}");
}
