//! `toolgate call`.

use serde_json::Value;

use crate::support::{PLUGINS, Workspace};

#[test]
fn the_answer_is_printed_and_nothing_else() {
    let done = Workspace::new(PLUGINS).run(&["call", "calc", r#"{"expression": "6*7"}"#]);
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "42\n", ""));
}

#[test]
fn an_error_result_goes_to_standard_error() {
    let done = Workspace::new(PLUGINS).run(&["call", "calc", r#"{"expression": "6*"}"#]);
    assert_eq!((done.code, done.out.as_str()), (1, ""));
    assert!(done.err.contains("Expected a number"), "{}", done.err);
}

#[test]
fn json_is_the_message_also_of_an_error() {
    let done = Workspace::new(PLUGINS).run(&["call", "calc", "{}", "--output", "json"]);
    assert_eq!(done.code, 1);
    let message: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&message["role"], &message["error"]["kind"]), (&"toolResult".into(), &"invalid-arguments".into()));
}

#[test]
fn arguments_come_from_standard_input_with_their_digits() {
    let done = Workspace::new(PLUGINS).run_with(&["call", "echo", "-"], r#"{"n": 9007199254740993}"#);
    assert_eq!((done.code, done.out.as_str()), (0, "{\"n\": 9007199254740993}\n"), "{}", done.err);
}

#[test]
fn a_plugin_that_is_known_not_to_have_the_tool_is_not_loaded() {
    let workspace = Workspace::new(PLUGINS);
    let arguments = ["call", "calc", r#"{"expression": "1"}"#];
    assert_eq!(workspace.run(&["compile"]).code, 0);
    // Its tools are known by now; it would be refused if it were loaded.
    let config = std::fs::read_to_string(workspace.path().join("toolgate.toml")).unwrap();
    workspace.write("toolgate.toml", &config.replace("20_000 }", "20_000, memory-bytes = \"64KiB\" }"));
    let done = workspace.run(&arguments);
    assert_eq!((done.code, done.out.as_str()), (0, "1\n"), "{}", done.err);
    let done = workspace.run(&["call", "echo"]);
    assert_eq!(done.code, 3);
    assert!(done.err.contains("plugin misbehave: it needs"), "{}", done.err);
}

#[test]
fn an_unknown_tool_and_bad_json_are_usage_errors() {
    let workspace = Workspace::new(PLUGINS);
    let done = workspace.run(&["call", "clac"]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains(r#"there is no tool "clac"; there are: calc, "#), "{}", done.err);
    let done = workspace.run(&["call", "calc", "{"]);
    assert_eq!((done.code, done.err.starts_with("error: the arguments are not a JSON document")), (2, true));
}

#[test]
fn what_guests_log_goes_to_standard_error_if_asked_for() {
    let workspace = Workspace::new(PLUGINS);
    let arguments = r#"{"text": "hello from inside"}"#;
    let quiet = workspace.run(&["call", "print", arguments]);
    assert!(!quiet.err.contains("hello from inside"), "{}", quiet.err);
    let loud = workspace.run(&["--log", "toolgate::guest=trace", "call", "print", arguments]);
    assert!(loud.err.contains("hello from inside") && !loud.out.contains("hello from inside"), "{}", loud.err);
}
