//! `toolgate serve jsonl` as other programs use it: the clients of this repository and the pi adapter, and how it ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::support::Workspace;

/// The plugins that the clients' own checks count on.
const CHECKED: &str = r#"
grace-ms = 300

[plugins.calc]
file = "GUESTS/calc.wasm"

[plugins.misbehave]
file = "GUESTS/misbehave.wasm"
initially-active = { config = false }

[plugins.gate]
file = "GUESTS/permission-gate.wasm"
config = { default = "allow", rules = [{ tools = "now", action = "ask" }, { tools = "print*", action = "block" }] }

[[hooks]]
plugin = "gate"
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Where the clients for Node.js are built, or what is missing for that.
pub fn node() -> Result<PathBuf, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let build = || {
        for program in ["node", "npm", "bash"] {
            if !Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success()) {
                return Err(format!("{program} is not here"));
            }
        }
        let status = Command::new(root().join("scripts/build-node.sh")).status().unwrap();
        match status.code() {
            Some(0) => Ok(root().join("target/node")),
            Some(75) => Err("npm could not install what the clients need".into()),
            _ => panic!("scripts/build-node.sh failed"),
        }
    };
    BUILT.get_or_init(build).clone()
}

/// Runs a client's check with the server's command as its arguments.
fn check(client: &mut Command, server: &[&str]) {
    let workspace = Workspace::new(CHECKED);
    let output = client.args(server).current_dir(workspace.path()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.contains("ok"), "{client:?}\n{out}{err}");
    for (name, definition) in [("from-client", "clientMessage"), ("from-server", "serverMessage")] {
        if let Ok(lines) = std::fs::read_to_string(workspace.path().join(name)) {
            let validator = validator(definition);
            for line in lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
                // A check sends one request that is wrong on purpose.
                if line["params"]["message"] != 7 {
                    let problems: Vec<String> = validator.iter_errors(&line).map(|error| error.to_string()).collect();
                    assert!(problems.is_empty(), "{line}\nis no {definition}: {problems:?}");
                }
            }
            assert!(lines.lines().count() > 10, "{name}: {lines}");
        }
    }
}

fn validator(definition: &str) -> jsonschema::Validator {
    let mut schema: Value = serde_json::from_str(include_str!("../../../jsonl/schema.json")).unwrap();
    let root = schema.as_object_mut().unwrap();
    root.remove("anyOf");
    root.insert("$ref".into(), format!("#/$defs/{definition}").into());
    jsonschema::options().build(&schema).unwrap()
}

const SERVER: [&str; 5] = [env!("CARGO_BIN_EXE_toolgate"), "--log", "off", "serve", "jsonl"];

/// The server's command, with what is said on either side kept in files.
#[cfg(unix)]
const OVERHEARD: [&str; 4] =
    ["sh", "-c", "tee from-client | \"$0\" --log off serve jsonl | tee from-server", env!("CARGO_BIN_EXE_toolgate")];

#[cfg(unix)]
#[test]
fn the_python_client() {
    let python = Command::new("python3").args(["-c", "import sys; sys.exit(sys.version_info < (3, 11))"]).status();
    if !python.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: python3, 3.11 or newer, is not here");
        return;
    }
    check(Command::new("python3").arg("-B").arg(root().join("host/jsonl/clients/python/check.py")), &OVERHEARD);
}

#[cfg(unix)]
#[test]
fn the_typescript_client() {
    match node() {
        Ok(node) => check(Command::new("node").arg(node.join("jsonl/check.mjs")), &OVERHEARD),
        Err(missing) => eprintln!("SKIPPED: {missing}"),
    }
}

#[test]
fn pi_of_0_84() {
    pi("pi-0.84");
}

#[test]
fn pi_as_it_is_now() {
    pi("pi-current");
}

fn pi(version: &str) {
    match node() {
        Ok(node) => check(Command::new("node").arg(node.join(version).join("turn.mjs")), &SERVER),
        Err(missing) => eprintln!("SKIPPED: {missing}"),
    }
}

/// A server that has begun to run a call which sleeps.
fn sleeping(workspace: &Workspace) -> (Child, impl Iterator<Item = Value>) {
    let mut command = workspace.command(&["serve", "jsonl"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let run = json!({ "message": [{ "id": "a", "name": "sleep", "arguments": { "ms": 60_000 } }] });
    let input = child.stdin.as_mut().unwrap();
    for (id, method, params) in
        [(1, "hello", json!({ "protocol": 1, "capabilities": { "steps": true } })), (2, "run", run)]
    {
        writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).unwrap();
    }
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut lines = output.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    lines.find(|line| line["params"]["step"] == "executing").unwrap();
    (child, lines)
}

#[cfg(unix)]
#[test]
fn a_signal_cancels_what_runs_and_its_results_are_written() {
    use rustix::process::{Pid, Signal, kill_process};
    for (signal, code) in [(Signal::TERM, 0), (Signal::INT, 130)] {
        let workspace = Workspace::new(crate::support::PLUGINS);
        let (mut child, mut lines) = sleeping(&workspace);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let answer = lines.find(|line| line["id"] == 2).unwrap();
        assert_eq!(answer["result"]["messages"][0]["error"]["kind"], "aborted");
        assert!(lines.next().is_none());
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
}

#[test]
fn the_end_of_the_input_ends_the_server() {
    let workspace = Workspace::new(crate::support::PLUGINS);
    let done = workspace.run_with(
        &["serve", "jsonl"],
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"protocol\":1}}\n",
    );
    assert_eq!((done.code, done.lines().len()), (0, 1), "{}", done.err);
    let done = Workspace::bare().run(&["serve", "jsonl"]);
    assert_eq!((done.code, &*done.out), (2, ""), "{}", done.err);
}

/// New plugins, of which one does not come to an end: the server answers with the other.
#[test]
fn a_plugin_that_does_not_come_to_an_end_holds_nobody_up() {
    let stuck = "[plugins.stuck]\nfile = \"GUESTS/scripted-tool.wasm\"\nconfig = { describe = \"sleep\" }\nlimits = { load-ms = 3_600_000 }\n";
    let workspace =
        Workspace::new_plugins(&format!("list-wait-ms = 1\n{stuck}[plugins.calc]\nfile = \"GUESTS/calc.wasm\"\n"));
    let mut requests = String::new();
    let run = json!({ "message": [{ "id": "a", "name": "calc", "arguments": { "expression": "6*7" } }] });
    for (id, method, params) in [(1, "hello", json!({ "protocol": 1 })), (2, "run", run), (3, "tools", json!({}))] {
        requests += &format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }
    let done = workspace.run_with(&["serve", "jsonl"], &requests);
    let answer = |id: u32| done.lines().into_iter().find(|line| line["id"] == id).unwrap();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(answer(2)["result"]["messages"][0]["content"][0]["text"], "42");
    assert!(answer(3)["result"]["tools"].is_array());
    assert!(done.err.contains("compiling stuck (") && done.err.contains("calc is ready"), "{}", done.err);

    // What can be said without compiling ends it at once.
    let workspace = Workspace::new_plugins(&format!("{stuck}[plugins.text]\nfile = \"text.wasm\"\n"));
    workspace.write("text.wasm", "not wasm");
    let done = workspace.run_with(&["serve", "jsonl"], &requests);
    assert_eq!((done.code, &*done.out), (3, ""), "{}", done.err);
    assert!(done.err.starts_with("error: plugin text: the file is text"), "{}", done.err);
}

/// With `--watch` a component that is replaced on the disk has other tools, and the client is told.
#[test]
fn tools_that_change_on_the_disk_are_made_known() {
    let workspace = Workspace::new("[plugins.p]\nfile = \"p.wasm\"\n");
    let place = workspace.path().join("p.wasm");
    std::fs::copy(crate::support::component("calc"), &place).unwrap();
    let mut command = workspace.command(&["serve", "jsonl", "--watch"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let hello = json!({ "protocol": 1, "capabilities": { "toolsChanged": true } });
    let hello = json!({ "jsonrpc": "2.0", "id": "hello", "method": "hello", "params": hello });
    writeln!(input, "{hello}").unwrap();
    // Asks for the tools when a line like this has come, and gives the first one's name.
    let mut first_tool = |id: u32, after: &str| {
        let list = json!({ "jsonrpc": "2.0", "id": id, "method": "tools" });
        loop {
            let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            if line["method"] == after || line["id"] == after {
                writeln!(input, "{list}").unwrap();
            }
            if line["id"] == id {
                break line["result"]["tools"][0]["name"].as_str().unwrap().to_owned();
            }
        }
    };
    assert_eq!(first_tool(1, "hello"), "calc");
    std::fs::copy(crate::support::component("misbehave"), &place).unwrap();
    assert_eq!(first_tool(2, "tools_changed"), "loop-forever");
    let _ = child.kill();
    let _ = child.wait();
}
