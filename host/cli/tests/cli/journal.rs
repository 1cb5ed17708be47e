//! `toolgate run --journal`, killed in the middle and resumed.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Done, Workspace};

/// `write-file`, `sleep` and `echo` are done once; `wait-cancel` is idempotent.
const PLUGINS: &str = r#"
[plugins.once]
file = "GUESTS/misbehave.wasm"
tools = ["write-file", "sleep", "echo"]
limits = { deadline-ms = 600_000 }

[[plugins.once.dirs]]
guest = "/files"
host = "files"
access = "read-write"

[plugins.again]
file = "GUESTS/misbehave.wasm"
tools = ["wait-cancel"]
idempotent = ["wait-cancel"]
limits = { deadline-ms = 599_000 }
"#;

fn workspace() -> Workspace {
    let workspace = Workspace::new(PLUGINS);
    std::fs::create_dir(workspace.path().join("files")).unwrap();
    workspace
}

fn write(id: &str, name: &str) -> Value {
    json!({"id": id, "name": "write-file", "arguments": {"path": format!("/files/{name}"), "text": id}})
}

/// What a journal says: `begun c1`, `settled c1`, …, sorted.
fn records(workspace: &Workspace) -> Vec<String> {
    let text = std::fs::read_to_string(workspace.path().join("journal")).unwrap_or_default();
    // A last line may be under way.
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut records: Vec<_> = lines
        .filter(|line| line["record"].is_string())
        .map(|line| format!("{} {}", line["record"].as_str().unwrap(), line["toolCallId"].as_str().unwrap()))
        .collect();
    records.sort();
    records
}

fn kinds(done: &Done) -> Vec<(String, Value)> {
    let ended = done.lines().into_iter().filter(|line| line["type"] == "message_end");
    let kind = |line: Value| {
        let message = &line["message"];
        (message["toolCallId"].as_str().unwrap().to_owned(), message["error"]["kind"].clone())
    };
    ended.map(kind).collect()
}

#[cfg(unix)]
#[test]
fn a_killed_run_is_finished_without_running_anything_twice() {
    let workspace = workspace();
    let files = workspace.path().join("files");
    let messages = [
        json!([write("c1", "one")]),
        json!([
            write("c2", "two"),
            {"id": "c3", "name": "sleep", "arguments": {"ms": 600_000}},
            {"id": "c4", "name": "wait-cancel", "arguments": {"ms": 600_000}},
            write("c5", "five"),
        ]),
        json!([write("c6", "six")]),
    ];
    workspace.write("batch.json", &messages.map(|message| message.to_string()).join("\n"));

    let mut child = workspace
        .command(&["run", "--journal", "journal", "--fsync", "batch", "batch.json"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let expected =
        ["begun c1", "begun c2", "begun c3", "begun c4", "begun c5", "settled c1", "settled c2", "settled c5"];
    let patience = Instant::now() + Duration::from_secs(120);
    while records(&workspace) != expected {
        assert!(Instant::now() < patience, "{:?}", records(&workspace));
        std::thread::sleep(Duration::from_millis(5));
    }
    // SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    for done in ["one", "two", "five"] {
        std::fs::remove_file(files.join(done)).unwrap();
    }
    // Where the waiting call runs again, it is stopped: the operator has grown impatient.
    let settings = std::fs::read_to_string(workspace.path().join("toolgate.toml")).unwrap();
    workspace.write("toolgate.toml", &settings.replace("599_000", "300"));

    let refused = workspace.run(&["run", "--journal", "journal", "batch.json"]);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    assert!(refused.err.contains("journal journal: it holds the records of an earlier run"), "{}", refused.err);

    let done = workspace.run(&["run", "--journal", "journal", "--resume", "batch.json"]);
    assert_eq!(done.code, 1, "{}", done.err);
    let as_expected = |id: &str| {
        let kind = match id {
            "c3" => "interrupted".into(),
            "c4" => "deadline".into(),
            _ => Value::Null,
        };
        (id.to_owned(), kind)
    };
    assert_eq!(kinds(&done), ["c1", "c2", "c3", "c4", "c5", "c6"].map(as_expected));
    for name in ["one", "two", "five"] {
        assert!(!files.join(name).exists(), "{name} was written again");
    }
    assert_eq!(std::fs::read_to_string(files.join("six")).unwrap(), "c6");
    let replayed: Vec<_> = done
        .lines()
        .into_iter()
        .filter(|line| line["type"] == "tool_execution_end" && line["replayed"] == true)
        .map(|line| line["toolCallId"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(replayed, ["c1", "c2", "c5"]);
    assert_eq!(done.lines().iter().filter(|line| line["type"] == "turn_end").count(), 3);

    // Once more: all is done, and all is said again.
    std::fs::remove_file(files.join("six")).unwrap();
    let again = workspace.run(&["run", "--journal", "journal", "--resume", "batch.json"]);
    assert_eq!(kinds(&again), kinds(&done));
    assert!(!files.join("six").exists());
}

#[test]
fn a_journal_of_other_messages_is_refused_before_anything_runs() {
    let workspace = workspace();
    let run = |text: &str, args: &[&str]| workspace.run_with(&[&["run", "--journal", "journal"], args].concat(), text);
    let one = |text: &str| json!([{"id": "c1", "name": "echo", "arguments": {"text": text}}]).to_string();
    let done = run(&one("a"), &["--resume"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("journal journal: there is none yet"), "{}", done.err);
    let other = run(&one("b"), &["--resume"]);
    assert_eq!((other.code, other.out.as_str()), (2, ""));
    assert!(other.err.contains("line 3: batch 1, call 1: the arguments of its \"echo\" are others"), "{}", other.err);
    let text = run(&one("a"), &["--resume", "--output", "text"]);
    assert!(text.out.contains("(from the journal) echo"), "{}", text.out);

    // A torn last line is cut off and said; damage is an error.
    let journal = workspace.path().join("journal");
    let mut bytes = std::fs::read(&journal).unwrap();
    bytes.extend(b"{\"record\":\"beg");
    std::fs::write(&journal, &bytes).unwrap();
    let torn = run(&one("a"), &["--resume"]);
    assert_eq!(torn.code, 0, "{}", torn.err);
    assert!(torn.err.contains("line 4: it was not complete; its 14 bytes were cut off"), "{}", torn.err);
    bytes.push(b'\n');
    std::fs::write(&journal, &bytes).unwrap();
    let damaged = run(&one("a"), &["--resume"]);
    assert_eq!(damaged.code, 2);
    assert!(damaged.err.contains("journal journal, line 4: not a record"), "{}", damaged.err);
    assert_eq!(run("", &["--fsync", "perhaps"]).code, 2);
    assert_eq!(workspace.run(&["run", "--resume"]).code, 2);
}
