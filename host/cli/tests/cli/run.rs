//! `toolgate run`, piped.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{PLUGINS, Workspace};

#[test]
fn every_event_is_a_line_and_every_call_gets_its_message() {
    let workspace = Workspace::new(PLUGINS);
    workspace.write(
        "batch.json",
        r#"{"content": [{"type": "text", "text": "Let me see."},
            {"type": "toolCall", "id": "c1", "name": "calc", "arguments": {"expression": "6*7"}},
            {"type": "toolCall", "id": "c2", "name": "nothing", "arguments": {}}]}"#,
    );
    let done = workspace.run(&["run", "batch.json"]);
    assert_eq!(done.code, 1, "{}", done.err);
    let kinds: Vec<String> = done.lines().iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
    let starts_and_ends = ["tool_execution_start", "tool_execution_start", "tool_execution_end", "tool_execution_end"];
    let messages = ["message_start", "message_end", "message_start", "message_end", "turn_end"];
    assert_eq!(kinds, [&starts_and_ends[..], &messages[..]].concat());
    assert_eq!(done.message("c1")["content"], json!([{"type": "text", "text": "42"}]));
    assert_eq!(done.message("c2")["error"]["kind"], "not-found");
    assert_eq!(done.lines().last().unwrap(), &json!({"type": "turn_end", "turn": 1, "terminate": false}));
}

#[test]
fn all_calls_well_is_exit_0() {
    let done = Workspace::new(PLUGINS)
        .run_with(&["run"], r#"[{"id": "c1", "name": "calc", "arguments": {"expression": "1"}}]"#);
    assert_eq!((done.code, done.err.as_str()), (0, ""));
}

#[test]
fn a_message_runs_as_soon_as_it_is_read_and_state_follows_the_turns() {
    let workspace = Workspace::new(PLUGINS);
    let mut child = workspace.command(&["run", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut turn = |scope: &str| {
        let call = json!([{"id": "c", "name": "state-add", "arguments": {"scope": scope, "key": "n", "delta": 1}}]);
        writeln!(stdin, "{call}").unwrap();
        let mut text = Value::Null;
        loop {
            let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            if line["type"] == "message_end" {
                text = line["message"]["content"][0]["text"].clone();
            }
            if line["type"] == "turn_end" {
                return text.as_str().unwrap().to_owned();
            }
        }
    };
    assert_eq!(["conversation", "conversation", "turn", "turn"].map(&mut turn), ["1", "2", "1", "1"]);
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_tool_that_a_result_adds_is_callable_from_the_next_turn_on() {
    let workspace = Workspace::new(
        r#"
[plugins.scripted]
file = "GUESTS/scripted-tool.wasm"
initially-active = { late = false }

[[plugins.scripted.config.tools]]
name = "unlock"
parameters = { type = "object" }
script = [{ op = "return", value = { content = [], addedToolNames = ["late"] } }]

[[plugins.scripted.config.tools]]
name = "late"
parameters = { type = "object" }
"#,
    );
    let both = r#"[{"id": "a", "name": "unlock"}, {"id": "b", "name": "late"}]"#;
    let done = workspace.run_with(&["run"], &format!("{both}\n[{{\"id\": \"c\", \"name\": \"late\"}}]"));
    assert_eq!(done.message("a")["addedToolNames"], json!(["late"]), "{}", done.err);
    assert_eq!(done.message("b")["error"]["kind"], "not-found");
    assert_eq!(done.message("c")["isError"], false);
}

#[test]
fn what_was_read_before_a_bad_message_has_run() {
    let good = r#"[{"id": "c1", "name": "calc", "arguments": {"expression": "1"}}]"#;
    let done = Workspace::new(PLUGINS).run_with(&["run"], &format!("{good}\n{{\"content\": 5}}\n{good}"));
    assert_eq!(done.code, 2);
    assert_eq!(done.lines().iter().filter(|line| line["type"] == "turn_end").count(), 1);
    assert!(done.err.contains("standard input, message 2: not an assistant message"), "{}", done.err);
}

#[test]
fn a_closed_standard_output_is_no_panic() {
    let workspace = Workspace::new(PLUGINS);
    workspace.write("batch.json", r#"[{"id": "c1", "name": "calc", "arguments": {"expression": "1"}}]"#);
    let mut child =
        workspace.command(&["run", "batch.json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4), "{err}");
    assert!(!err.contains("panic"), "{err}");
}

#[test]
fn text_for_people_has_no_escape_sequences_when_it_is_piped() {
    let workspace = Workspace::new(PLUGINS);
    let call = json!([{"id": "c1", "name": "echo", "arguments": {"t": "\u{1b}[2J\u{202e}"}},
        {"id": "c2", "name": "panic", "arguments": {"message": "a\u{1b}]0;b\u{7}"}}]);
    let done = workspace.run_with(&["run", "--output", "text", "--log", "off"], &call.to_string());
    assert_eq!(done.code, 1);
    assert!(done.out.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", done.out);
    assert!(done.out.contains("✓ echo t=\"␛[2J\u{fffd}\"") && done.out.contains("✗ panic"), "{}", done.out);
    assert!(done.out.contains("a␛]0;b␇") && done.out.contains("1 ok, 1 failed in "), "{}", done.out);
}

#[test]
fn refused_arguments_are_shown_once_to_people() {
    let call = r#"[{"id": "c1", "name": "calc", "arguments": {"expresion": "1"}}]"#;
    let workspace = Workspace::new(PLUGINS);
    let done = workspace.run_with(&["run", "--output", "text"], call);
    assert!(done.out.contains("required property is missing"), "{}", done.out);
    assert_eq!(done.out.matches("expresion").count(), 1, "{}", done.out);
    let text = workspace.run_with(&["run"], call).message("c1")["content"][0]["text"].to_string();
    assert!(text.contains("Received arguments"), "{text}");
}

#[test]
fn a_question_without_a_terminal_is_declined_unless_answered_beforehand() {
    let workspace = Workspace::new(&format!(
        r#"{PLUGINS}
[plugins.gate]
file = "GUESTS/permission-gate.wasm"
config = {{ default = "allow", rules = [{{ tools = "calc", action = "ask", reason = "Arithmetic?" }}] }}

[[hooks]]
plugin = "gate"
"#
    ));
    let call = r#"[{"id": "c1", "name": "calc", "arguments": {"expression": "1"}}]"#;
    let done = workspace.run_with(&["run"], call);
    assert_eq!((done.code, &done.message("c1")["error"]["kind"]), (1, &json!("declined")));
    assert!(done.err.contains("--approve calc"), "{}", done.err);
    assert_eq!(workspace.run_with(&["run", "--yes"], call).code, 0);
    assert_eq!(workspace.run_with(&["run", "--approve", "calc"], call).code, 0);
    assert_eq!(workspace.run_with(&["run", "--approve", "echo"], call).code, 1);
}

#[cfg(unix)]
#[test]
fn ctrl_c_cancels_and_every_call_still_gets_its_message() {
    let workspace = Workspace::new(PLUGINS);
    workspace.write(
        "batch.json",
        r#"[{"id": "c1", "name": "wait-cancel", "arguments": {"ms": 60000}},
            {"id": "c2", "name": "loop-forever", "arguments": {}}]"#,
    );
    let mut child = workspace.command(&["run", "batch.json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut out = String::new();
    while out.matches("tool_execution_start").count() < 2 {
        assert!(reader.read_line(&mut out).unwrap() > 0, "{out}");
    }
    crate::support::interrupt(&child);
    reader.read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{out}");
    let ended: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["type"] == "message_end")
        .collect();
    assert_eq!(ended.len(), 2, "{out}");
    assert!(ended.iter().all(|line| line["message"]["error"]["kind"] == "aborted"), "{out}");
}
