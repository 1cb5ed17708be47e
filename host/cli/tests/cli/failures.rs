//! Wrong configurations and plugins that don't load.

use crate::support::{PLUGINS, Workspace};

#[test]
fn every_problem_of_the_config_is_reported_with_its_line() {
    let workspace = Workspace::new("mode = \"both\"\n[plugins.x]\nflie = \"x.wasm\"\n");
    for command in [&["run"][..], &["call", "x"], &["tools"], &["compile"]] {
        let done = workspace.run(command);
        assert_eq!(done.code, 2, "{command:?}");
        assert_eq!(done.out, "");
        assert!(done.err.starts_with("error: toolgate.toml:2: mode: \"both\" is not accepted"), "{}", done.err);
        assert!(
            done.err.contains("toolgate.toml:4: plugins.x.flie: unknown key; did you mean `file`?"),
            "{}",
            done.err
        );
    }
}

#[test]
fn a_missing_config_is_named() {
    let done = Workspace::new("").run(&["--config", "other.toml", "tools"]);
    assert_eq!((done.code, done.err.starts_with("error: other.toml: not found")), (2, true));
}

#[test]
fn every_plugin_that_does_not_load_is_named() {
    let workspace = Workspace::new(
        "[plugins.a]\nfile = \"a.wasm\"\n[plugins.b]\nfile = \"GUESTS/calc.wasm\"\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"\n",
    );
    workspace.write("a.wasm", "not wasm");
    let done = workspace.run(&["tools"]);
    assert_eq!(done.code, 3);
    assert!(done.err.contains("plugin a: the file is text"), "{}", done.err);
    assert!(done.err.contains("plugin b: the file is not the pinned one"), "{}", done.err);
}

#[test]
fn hooks_and_plugins_must_fit() {
    let done = Workspace::new(&format!("{PLUGINS}[[hooks]]\nplugin = \"calc\"\n")).run(&["tools"]);
    assert_eq!(done.code, 3);
    assert!(done.err.contains("[[hooks]] names plugin \"calc\", but its component exports no hooks"), "{}", done.err);

    let gate = "[plugins.gate]\nfile = \"GUESTS/permission-gate.wasm\"\nconfig = { default = \"block\" }\n";
    let done = Workspace::new(gate).run(&["tools"]);
    assert_eq!(done.code, 3);
    assert!(done.err.contains("plugin \"gate\" exports only hooks and is not in [[hooks]]"), "{}", done.err);
}

#[test]
fn a_hook_limited_to_a_tool_that_is_not_there_is_refused() {
    let gate = "[plugins.gate]\nfile = \"GUESTS/permission-gate.wasm\"\nconfig = { default = \"block\" }\n";
    let done =
        Workspace::new(&format!("{PLUGINS}{gate}[[hooks]]\nplugin = \"gate\"\ntools = [\"clac\"]\n")).run(&["tools"]);
    assert_eq!(done.code, 3);
    assert!(
        done.err.contains("limited to the tool \"clac\", which no plugin offers; there are: calc, "),
        "{}",
        done.err
    );
}

#[test]
fn settings_that_name_an_unknown_tool_are_refused() {
    let done = Workspace::new(&format!("{PLUGINS}idempotent = [\"ecko\"]\n")).run(&["tools"]);
    assert_eq!(done.code, 3);
    assert!(done.err.contains("idempotent") && done.err.contains("ecko"), "{}", done.err);
}

#[test]
fn a_plugin_that_may_rewrite_the_config_is_warned_about() {
    let dirs = "[[plugins.misbehave.dirs]]\nguest = \"/w\"\nhost = \".\"\naccess = \"read-write\"\n";
    let done = Workspace::new(&format!("{PLUGINS}{dirs}")).run(&["tools"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("plugin misbehave may write to toolgate.toml"), "{}", done.err);
}

#[test]
fn a_bad_log_level_is_a_usage_error() {
    let done = Workspace::new("").run(&["--log", "a=b=c", "tools"]);
    assert_eq!((done.code, done.err.starts_with("error: --log")), (2, true), "{}", done.err);
}
