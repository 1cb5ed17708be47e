//! `tools`, `inspect`, `compile`, `--help`.

use serde_json::Value;

use crate::support::{PLUGINS, Workspace, component};

#[test]
fn tools_are_listed_with_their_plugin() {
    let workspace = Workspace::new(&format!("{PLUGINS}initially-active = {{ echo = false }}\n"));
    let done = workspace.run(&["tools"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("calc\n  calc "), "{}", done.out);
    assert!(done.out.contains("Evaluates an arithmetic expression"), "{}", done.out);
    assert!(done.out.contains("(not active from the start) Answers with"), "{}", done.out);

    let lines = workspace.run(&["tools", "--output", "json"]).lines();
    let calc = lines.iter().find(|line| line["name"] == "calc").unwrap();
    assert_eq!((&calc["plugin"], &calc["active"]), (&"calc".into(), &true.into()));
    assert_eq!(calc["parameters"]["required"], serde_json::json!(["expression"]));
}

#[test]
fn only_the_tools_that_are_named_are_there() {
    let workspace = Workspace::new(&format!("{PLUGINS}tools = [\"echo\", \"now\"]\n"));
    let lines = workspace.run(&["tools", "--output", "json"]).lines();
    let names: Vec<&str> = lines.iter().map(|line| line["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["calc", "echo", "now"]);
}

#[test]
fn the_tools_of_a_component_alone_are_listed_without_a_config() {
    let done = Workspace::bare().run(&["tools", &component("calc")]);
    assert_eq!((done.code, done.out.starts_with("calc\n  calc ")), (0, true), "{}{}", done.out, done.err);
}

#[test]
fn a_config_without_plugins_is_told() {
    let done = Workspace::new("").run(&["tools"]);
    assert_eq!((done.code, done.out.as_str()), (0, ""));
    assert!(done.err.contains("toolgate.toml has no plugins, so there are no tools"), "{}", done.err);
}

#[test]
fn a_component_is_inspected_without_a_config() {
    let workspace = Workspace::new(PLUGINS);
    let config = std::fs::read_to_string(workspace.path().join("toolgate.toml")).unwrap();
    let file = config.lines().find_map(|line| line.strip_prefix("file = ")).unwrap().trim_matches('"').to_owned();
    std::fs::remove_file(workspace.path().join("toolgate.toml")).unwrap();
    let done = workspace.run(&["inspect", &file]);
    assert_eq!(done.code, 0, "{}", done.err);
    for part in ["contract   toolgate:plugin@0.1.0", "offers     tools\n", "toolgate:plugin/tools@0.1.0", "sha256 "] {
        assert!(done.out.contains(part), "{part} in {}", done.out);
    }
    let info: Value = serde_json::from_str(&workspace.run(&["inspect", &file, "--output", "json"]).out).unwrap();
    assert_eq!((&info["tools"], &info["hooks"]), (&true.into(), &false.into()));
}

#[test]
fn what_is_no_component_says_why() {
    let workspace = Workspace::new("");
    workspace.write("text.wasm", "(module)");
    let done = workspace.run(&["inspect", "text.wasm"]);
    assert_eq!(done.code, 3);
    assert!(done.err.contains("text.wasm: the file is text, not a component"), "{}", done.err);
    assert_eq!(workspace.run(&["inspect", "missing.wasm"]).code, 2);
}

#[test]
fn compile_fills_the_cache_and_says_where() {
    let workspace = Workspace::new(PLUGINS);
    let done = workspace.run(&["compile"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("calc.wasm") && done.out.contains("compiled code is kept in"), "{}", done.out);
    let lines = workspace.run(&["compile", "--output", "json"]).lines();
    assert_eq!(lines.iter().map(|line| line["plugin"].as_str().unwrap()).collect::<Vec<_>>(), ["calc", "misbehave"]);
}

#[test]
fn help_names_the_exit_codes() {
    let help = Workspace::new("").run(&["run", "--help"]);
    assert_eq!(help.code, 0);
    assert!(help.out.contains("130  cancelled by Ctrl-C") && help.out.contains("turn_end"), "{}", help.out);
    let help = Workspace::new("").run(&["call", "--help"]).out;
    assert!(help.contains("toolgate call [OPTIONS] FILE.wasm TOOL [JSON]"), "{help}");
}
