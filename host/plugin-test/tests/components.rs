//! Real components, as their authors would test them.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};

use serde_json::json;
use toolgate::model::{ErrorKind, Event};
use toolgate_plugin_test::{Cases, PluginTest, StandIn, TestError};

fn component(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    static BUILT: std::sync::Once = std::sync::Once::new();
    BUILT.call_once(|| {
        if std::env::var_os("TOOLGATE_GUESTS_BUILT").is_none() {
            let needed = ["calc", "fs", "misbehave", "permission-gate"];
            let built = std::process::Command::new(root.join("scripts/build-guests.sh")).args(needed).status().unwrap();
            assert!(built.success());
        }
    });
    root.join("target/guests/components").join(name).with_extension("wasm")
}

#[test]
fn three_lines_call_a_tool() {
    let plugin = PluginTest::new(component("calc")).load().unwrap();
    let done = plugin.call("calc", json!({ "expression": "6*7" }));
    assert_eq!(done.text(), "42");
    assert!(!done.is_error());
    let kinds: Vec<bool> = done.events.iter().map(|event| matches!(event, Event::MessageEnd { .. })).collect();
    assert_eq!(kinds, [false, false, false, true]);
}

#[test]
fn the_whole_pipeline_runs() {
    let plugin = PluginTest::new(component("calc")).load().unwrap();
    assert_eq!(plugin.call("calc", json!({})).error_kind(), Some(ErrorKind::InvalidArguments));
    assert_eq!(plugin.call("gone", json!({})).error_kind(), Some(ErrorKind::NotFound));
    assert_eq!(plugin.call("calc", json!({ "expression": "1/0" })).error_kind(), Some(ErrorKind::ToolFailed));
}

#[test]
fn limits_grants_and_settings_are_those_of_toolgate_toml() {
    let plugin = PluginTest::new(component("misbehave")).limit("deadline-ms", 200).load().unwrap();
    assert_eq!(plugin.call("loop-forever", json!({})).error_kind(), Some(ErrorKind::Deadline));

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "hello").unwrap();
    let granted = PluginTest::new(component("fs")).dir("/project", folder.path()).load().unwrap();
    assert!(granted.call("read", json!({ "path": "/project/a.txt" })).text().contains("hello"));
    let without = PluginTest::new(component("fs")).load().unwrap();
    assert!(without.call("read", json!({ "path": "/project/a.txt" })).is_error());

    let wrong = PluginTest::new(component("calc")).limit("deadlne-ms", 1).load().err().unwrap().to_string();
    assert!(wrong.contains("plugins.calc.limits.deadlne-ms: unknown key; did you mean `deadline-ms`?"), "{wrong}");
    assert!(matches!(PluginTest::new("gone.wasm").load(), Err(TestError::Read { .. })));
    assert!(matches!(PluginTest::new(file!()).load(), Err(TestError::Read { .. } | TestError::Inspect { .. })));
}

#[test]
fn what_is_logged_comes_with_the_call() {
    let plugin = PluginTest::new(component("misbehave")).load().unwrap();
    let done = plugin.call("print", json!({ "text": "from inside" }));
    assert!(done.logs.iter().any(|line| line.message.contains("from inside")), "{:?}", done.logs);
    assert!(plugin.call("echo", json!({})).logs.is_empty());
}

#[test]
fn state_lasts_from_call_to_call_of_one_conversation() {
    let plugin = PluginTest::new(component("misbehave")).load().unwrap();
    let add = json!({ "scope": "conversation", "key": "n", "delta": 1 });
    assert_eq!(plugin.call("state-add", add.clone()).text(), "1");
    assert_eq!(plugin.call("state-add", add.clone()).text(), "2");
    let json = toolgate::model::Json::from_value(add);
    assert_eq!(plugin.call_in("another", "state-add", json).text(), "1");
}

#[test]
fn hooks_see_stand_ins() {
    let gate = PluginTest::new(component("permission-gate"))
        .config(json!({ "default": "allow", "rules": [{ "tools": "rm", "action": "block" }, { "tools": "push", "action": "ask" }] }))
        .stand_in("ls", StandIn { text: Some("a.txt".into()), is_error: false })
        .stand_in("rm", StandIn::default())
        .stand_in("push", StandIn::default())
        .load()
        .unwrap();
    assert_eq!(gate.call("ls", json!({})).text(), "a.txt");
    assert_eq!(gate.call("rm", json!({})).error_kind(), Some(ErrorKind::Blocked));
    assert_eq!(gate.call("push", json!({ "to": "x" })).error_kind(), Some(ErrorKind::Declined));
    assert_eq!(gate.call_approved("push", json!({ "to": "x" })).text(), r#"{"to":"x"}"#);
}

#[tokio::test]
async fn it_runs_within_another_runtime_too() {
    let plugin = PluginTest::new(component("calc")).load().unwrap();
    assert_eq!(plugin.call("calc", json!({ "expression": "1+1" })).text(), "2");
}

fn cases(text: &str) -> Result<Cases, TestError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cases.json");
    std::fs::write(&file, text).unwrap();
    Cases::read(&file)
}

#[test]
fn cases_say_what_differs() {
    let cases = cases(
        r#"{"cases": [
            {"name": "right", "tool": "calc", "arguments": {"expression": "6*7"}, "expect": {"text": "42", "textContains": ["4", "2"], "content": [{"type": "text", "text": "42"}]}},
            {"name": "wrong", "tool": "calc", "arguments": {"expression": "6*7"}, "expect": {"text": "43", "textContains": "x", "structuredContent": {"a": 1}}},
            {"name": "no error", "tool": "calc", "arguments": {"expression": "1"}, "expect": {"isError": true, "errorKind": "tool-failed"}},
            {"name": "error", "tool": "calc"},
            {"name": "an error that is expected", "tool": "calc", "expect": {"isError": true, "errorKind": "invalid-arguments"}}
        ]}"#,
    )
    .unwrap();
    let report = cases.run(&component("calc")).unwrap();
    let found: Vec<(bool, Vec<&str>)> = report
        .cases
        .iter()
        .map(|case| (case.passed, case.differences.iter().map(|difference| difference.part).collect()))
        .collect();
    assert_eq!(
        found,
        [
            (true, vec![]),
            (false, vec!["text", "textContains", "structuredContent"]),
            (false, vec!["isError", "errorKind"]),
            (false, vec!["isError"]),
            (true, vec![])
        ]
    );
    assert_eq!(report.cases[1].differences[0].diff, "- 43\n+ 42\n");
    assert!(report.cases[3].differences[0].diff.contains("+ an error (invalid-arguments): Validation failed"));
}

#[test]
fn digits_are_compared() {
    let text = |n: &str| {
        format!(
            r#"{{"cases": [{{"name": "n", "tool": "echo", "arguments": {{"n": {n}}}, "expect": {{"text": "{{\"n\": {n}}}"}}}}]}}"#
        )
    };
    for n in ["9007199254740993", "0.10000"] {
        let report = cases(&text(n)).unwrap().run(&component("misbehave")).unwrap();
        assert!(report.passed(), "{:?}", report.cases[0].differences);
    }
}

#[test]
fn cases_that_are_not_in_their_form_say_where() {
    for (text, why) in [
        ("{", "EOF"),
        ("{}", "missing field `cases`"),
        (r#"{"cases": [{"name": "a", "tool": "t", "expect": {"txt": "x"}}]}"#, "unknown field `txt`"),
        (r#"{"cases": [{"name": "a", "tool": "t", "expect": {"errorKind": "odd"}}]}"#, "unknown variant `odd`"),
        (r#"{"cases": [], "plugins": {}}"#, "unknown field `plugins`"),
    ] {
        let error = cases(text).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("cases.json: "), "{error}");
    }
    let settings = cases(r#"{"plugin": {"limits": {"deadline-ms": null}}, "cases": []}"#).unwrap();
    assert!(matches!(settings.run(&component("calc")), Err(TestError::Settings(_))));
}
