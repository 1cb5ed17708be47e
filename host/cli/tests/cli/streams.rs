//! What the program does when a stream or a file that it is given is not what it hoped for: lost, closed, endless,
//! never opened.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{PLUGINS, Workspace, interrupt};

/// Longer than anything here takes: a test that hangs fails.
const PATIENCE: Duration = Duration::from_secs(60);

const CALL: &str = r#"[{"id": "c1", "name": "calc", "arguments": {"expression": "1"}}]"#;
const WAIT: &str = r#"[{"id": "c1", "name": "wait-cancel", "arguments": {"ms": 60000}}]"#;

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// The exit code, and what was written to standard error.
fn ended(mut child: Child) -> (i32, String) {
    let started = Instant::now();
    let mut pipe = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(pipe) = &mut pipe {
            pipe.read_to_string(&mut text).unwrap();
        }
        text
    });
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return (status.code().expect("ended by itself"), reader.join().unwrap());
        }
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("still running: {}", reader.join().unwrap());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn full() -> Stdio {
    std::fs::File::options().write(true).open("/dev/full").unwrap().into()
}

#[test]
fn output_that_could_not_be_written_is_no_success() {
    let workspace = Workspace::new(PLUGINS);
    workspace.write("batch.json", CALL);
    let calc = crate::support::component("calc");
    for command in [
        &["run", "batch.json"][..],
        &["run", "--output", "text", "batch.json"],
        &["call", "calc", r#"{"expression": "1"}"#],
        &["call", "calc", r#"{"expression": "1"}"#, "--output", "json"],
        &["tools"],
        &["inspect", &calc],
        &["compile"],
    ] {
        let child = workspace.command(command).stdout(full()).stderr(Stdio::piped()).spawn().unwrap();
        let (code, err) = ended(child);
        assert_eq!(code, 4, "{command:?}: {err}");
        assert!(err.contains("error: standard output: No space left on device"), "{command:?}: {err}");
    }
}

#[test]
fn a_reader_that_goes_away_cancels_what_is_done_for_it() {
    let workspace = Workspace::new(PLUGINS);
    workspace.write("batch.json", &format!("{WAIT}\n{WAIT}"));
    let mut child =
        workspace.command(&["run", "batch.json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.contains("tool_execution_start"), "{line}");
    // The pipe is closed, but nothing is written that would tell: an update or the next event must.
    drop(out);
    interrupt_once_quiet(&child);
    let (code, err) = ended(child);
    assert!(matches!(code, 4 | 130), "{code} {err}");

    // One that is written to.
    workspace.write("flood.json", r#"[{"id": "c1", "name": "flood-updates", "arguments": {"n": 1000000, "bytes": 100}}]"#);
    let mut child =
        workspace.command(&["run", "flood.json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    drop(out);
    let (code, err) = ended(child);
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("standard output was closed before everything was written"), "{err}");
}

/// A closed pipe is seen when it is written to; a call that says nothing goes on until then.
fn interrupt_once_quiet(child: &Child) {
    std::thread::sleep(Duration::from_millis(300));
    interrupt(child);
}

#[test]
fn sigterm_cancels_as_ctrl_c_does() {
    let workspace = Workspace::new(PLUGINS);
    workspace.write("batch.json", WAIT);
    let mut child = workspace.command(&["run", "batch.json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    out.read_line(&mut text).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    out.read_to_string(&mut text).unwrap();
    assert_eq!(ended(child).0, 143, "{text}");
    let last = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).find(|l| l["type"] == "message_end");
    assert_eq!(last.unwrap()["message"]["error"]["kind"], "aborted", "{text}");
}

#[test]
fn ctrl_c_ends_the_wait_for_messages_that_nobody_writes() {
    let workspace = Workspace::new(PLUGINS);
    fifo(&workspace.path().join("messages"));
    let child = workspace.command(&["run", "messages", "--log", "debug"]).stderr(Stdio::piped()).spawn().unwrap();
    // Loaded, listening for signals, waiting for a writer.
    std::thread::sleep(Duration::from_millis(1_500));
    interrupt(&child);
    let (code, err) = ended(child);
    assert_eq!(code, 130, "{err}");
}

#[test]
fn a_fifo_with_messages_is_read() {
    let workspace = Workspace::new(PLUGINS);
    let path = workspace.path().join("messages");
    fifo(&path);
    let writer = std::thread::spawn(move || std::fs::write(path, CALL).unwrap());
    let done = workspace.run(&["run", "messages"]);
    writer.join().unwrap();
    assert_eq!(done.message("c1")["content"][0]["text"], "1", "{}", done.err);
}

#[test]
fn files_that_never_end_or_never_open_are_refused() {
    let workspace = Workspace::new(PLUGINS);
    fifo(&workspace.path().join("pipe"));
    workspace.write("batch.json", CALL);
    let file = std::fs::File::create(workspace.path().join("huge.toml")).unwrap();
    file.set_len(1 << 30).unwrap();
    let huge = std::fs::File::create(workspace.path().join("huge.wasm")).unwrap();
    huge.set_len(1 << 30).unwrap();
    for (command, code, expected) in [
        (&["--config", "pipe", "tools"][..], 2, "pipe: not a regular file"),
        (&["--config", "/dev/zero", "tools"], 2, "/dev/zero: not a regular file"),
        (&["--config", "huge.toml", "tools"], 2, "huge.toml: it has more than 4194304 bytes"),
        (&["--config", ".", "tools"], 2, "is a directory"),
        (&["run", "batch.json", "--journal", "pipe"], 2, "not a regular file"),
        (&["run", "batch.json", "--journal", "/dev/zero"], 2, "not a regular file"),
        (&["run", "batch.json", "--journal", "huge.wasm", "--resume"], 2, "journal"),
        (&["inspect", "pipe"], 2, "pipe: not a regular file"),
        (&["inspect", "/dev/zero"], 2, "/dev/zero: not a regular file"),
        (&["inspect", "huge.wasm"], 2, "it has more than 268435456 bytes"),
        (&["tools", "huge.wasm"], 3, "it has more than 268435456 bytes"),
        (&["tools", "pipe"], 2, "is not a file"),
    ] {
        let child =
            workspace.command(command).stdout(Stdio::null()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let (found, err) = ended(child);
        assert_eq!(found, code, "{command:?}: {err}");
        assert!(err.contains(expected), "{command:?}: {err}");
    }
    let child = workspace
        .command(&["call", "calc", "-"])
        .stdin(std::fs::File::open("/dev/zero").unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (code, err) = ended(child);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("standard input has more than 67108864 bytes"), "{err}");
}

/// A pager that is not scrolled: nobody is cut off, nothing is lost, and everything is there once it reads on.
#[test]
fn a_slow_reader_loses_nothing() {
    let workspace = Workspace::new(PLUGINS);
    let call = |n: usize| format!(r#"{{"id": "c{n}", "name": "flood-output", "arguments": {{"mb": 4}}}}"#);
    workspace.write("batch.json", &format!("[{}]", (0..8).map(call).collect::<Vec<_>>().join(",")));
    let mut config = std::fs::read_to_string(workspace.path().join("toolgate.toml")).unwrap();
    config.insert_str(0, "sink-timeout-ms = 200\n");
    workspace.write("toolgate.toml", &config);
    let mut child =
        workspace.command(&["run", "batch.json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let (code, err) = ended(child);
    assert_eq!((code, err.as_str()), (0, ""));
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 8 * 4 + 1);
    let texts = lines.iter().filter(|line| line["type"] == "message_end");
    assert!(texts.clone().count() == 8 && texts.clone().all(|l| l["message"]["content"][0]["text"].as_str().unwrap().len() == 4 << 20));
}
