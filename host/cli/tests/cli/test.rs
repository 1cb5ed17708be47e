//! `toolgate test`.

use serde_json::Value;

use crate::support::{Workspace, component};

const CASES: &str = r#"{"cases": [
    {"name": "adds", "tool": "calc", "arguments": {"expression": "1+1"}, "expect": {"text": "2"}},
    {"name": "knows \u001b[31m", "tool": "calc", "arguments": {"expression": "6*7"}, "expect": {"text": "43"}}
]}"#;

fn workspace(cases: &str) -> Workspace {
    let workspace = Workspace::bare();
    std::fs::copy(component("calc"), workspace.path().join("calc.wasm")).unwrap();
    workspace.write("cases.json", cases);
    workspace
}

#[test]
fn a_case_that_fails_shows_what_differs() {
    let done = workspace(CASES).run(&["test"]);
    assert_eq!(done.code, 1, "{}", done.err);
    assert!(done.out.starts_with("✓ adds  "), "{}", done.out);
    assert!(done.out.contains("✗ knows ␛[31m  ") && done.out.contains("  text:\n    - 43\n    + 42\n"), "{}", done.out);
    assert!(done.out.ends_with("1 of 2 cases failed, `-` is what was expected\n"), "{}", done.out);
}

#[test]
fn component_and_cases_are_found_from_either() {
    let workspace = workspace(&CASES.replace("43", "42"));
    for path in [".", "calc.wasm", "cases.json"] {
        let done = workspace.run(&["test", path]);
        assert_eq!((done.code, done.out.ends_with("2 cases passed\n")), (0, true), "{path}: {}{}", done.out, done.err);
    }
    workspace.write("more.json", CASES);
    assert_eq!(workspace.run(&["test", "calc.wasm", "--cases", "more.json"]).code, 1);
}

#[test]
fn programs_read_json() {
    let done = workspace(CASES).run(&["test", "--json"]);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&report["passed"], &report["cases"][0]["passed"]), (&false.into(), &true.into()));
    let difference = &report["cases"][1]["differences"][0];
    assert_eq!(
        (&difference["part"], &difference["expected"], &difference["got"]),
        (&"text".into(), &"43".into(), &"42".into())
    );
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let bare = Workspace::bare();
    assert_eq!(bare.run(&["test"]).code, 2);
    let workspace = workspace(r#"{"plugin": {"limits": {"fule": 1}}, "cases": [{"name": "a", "tool": "calc"}]}"#);
    let done = workspace.run(&["test"]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("cases.json: ") && done.err.contains("did you mean `fuel`?"), "{}", done.err);
    workspace.write("cases.json", r#"{"cases": []}"#);
    assert!(workspace.run(&["test"]).err.contains("there are no cases in it"));
    workspace.write("cases.json", CASES);
    workspace.write("calc.wasm", "nonsense");
    let done = workspace.run(&["test"]);
    assert_eq!((done.code, done.err.contains("calc.wasm: the file is text")), (3, true), "{}", done.err);
    let done = workspace.run(&["test", "gone.wasm"]);
    assert_eq!((done.code, done.err.contains("`toolgate build` makes it")), (2, true), "{}", done.err);
}
