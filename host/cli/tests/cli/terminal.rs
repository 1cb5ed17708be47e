//! What a person sees, on a terminal of the kernel's making.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::support::{PLUGINS, Workspace, interrupt};

struct Terminal {
    child: Child,
    keyboard: File,
    screen: mpsc::Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn open(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        tcsetwinsize(&master, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let terminal = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let stdio = || Stdio::from(OwnedFd::from(terminal.try_clone().unwrap()));
        let child =
            command.env("TERM", "xterm-256color").stdin(stdio()).stdout(stdio()).stderr(stdio()).spawn().unwrap();
        let keyboard = File::from(master);
        let mut reader = keyboard.try_clone().unwrap();
        let (sender, screen) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // A terminal without a writer is an error on Linux, the end of file elsewhere.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keyboard, screen, seen: String::new() }
    }

    fn read(&mut self) -> bool {
        match self.screen.recv_timeout(Duration::from_secs(60)) {
            Ok(bytes) => {
                self.seen.push_str(&String::from_utf8_lossy(&bytes));
                true
            }
            Err(_) => false,
        }
    }

    fn wait_for(&mut self, text: &str) {
        self.wait_for_nth(text, 1);
    }

    fn wait_for_nth(&mut self, text: &str, times: usize) {
        while self.seen.matches(text).count() < times {
            assert!(self.read(), "{text:?} did not appear in {:?}", self.seen);
        }
    }

    fn type_line(&mut self, line: &str) {
        writeln!(self.keyboard, "{line}").unwrap();
    }

    /// Everything that was shown, and the exit code.
    fn end(mut self) -> (String, i32) {
        let code = self.child.wait().unwrap().code().unwrap();
        let modes = tcgetattr(&self.keyboard).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ECHO), "the terminal is left without echo");
        while let Ok(bytes) = self.screen.recv_timeout(Duration::from_millis(200)) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        (self.seen, code)
    }
}

fn asking() -> Workspace {
    let workspace = Workspace::new(&format!(
        r#"{PLUGINS}
[plugins.gate]
file = "GUESTS/permission-gate.wasm"
config = {{ default = "allow", rules = [{{ tools = "echo", action = "ask", reason = "Sure\u001B[2J?" }}] }}

[[hooks]]
plugin = "gate"
"#
    ));
    workspace.write(
        "batch.json",
        r#"[{"id": "c1", "name": "echo", "arguments": {"n": 1, "t": "\u001b[31m"}}, {"id": "c2", "name": "echo", "arguments": {"n": 2}}]"#,
    );
    workspace
}

#[test]
fn a_person_is_asked_and_one_answer_may_hold_for_all_calls() {
    let workspace = asking();
    let mut terminal = Terminal::open(workspace.command(&["run", "batch.json"]));
    terminal.wait_for("or say why not: ");
    std::thread::sleep(Duration::from_millis(50));
    terminal.type_line("a");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("Sure␛[2J?") && seen.contains("2 ok") && seen.contains(", a question open for "), "{seen}");
    assert_eq!(seen.matches("or say why not: ").count(), 1);
    assert!(!seen.contains("\x1b[2J") && !seen.contains("\x1b[31m\""), "{seen:?}");
}

#[test]
fn a_reason_given_at_the_prompt_is_what_the_model_reads() {
    let workspace = asking();
    let mut terminal = Terminal::open(workspace.command(&["call", "echo", "{}"]));
    terminal.wait_for("or say why not: ");
    terminal.type_line("use another tool");
    let (seen, code) = terminal.end();
    assert_eq!(code, 1, "{seen}");
    assert!(seen.contains("Tool execution was declined") && seen.matches("use another tool").count() >= 2, "{seen}");
}

#[test]
fn ctrl_c_at_a_question_cancels() {
    let workspace = asking();
    let mut terminal = Terminal::open(workspace.command(&["run", "batch.json"]));
    terminal.wait_for("or say why not: ");
    interrupt(&terminal.child);
    let (seen, code) = terminal.end();
    assert_eq!(code, 130, "{seen}");
    assert!(seen.contains("2 aborted") && seen.ends_with("cancelled by Ctrl-C\x1b[0m\r\n"), "{seen:?}");
    assert!(seen.contains("or say why not: \r\n"), "what comes next has a line of its own: {seen:?}");
}

#[test]
fn running_calls_are_shown_with_their_progress_and_colours() {
    let workspace = Workspace::new(PLUGINS);
    workspace.write(
        "batch.json",
        r#"[{"id": "c1", "name": "sleep", "arguments": {"ms": 700}}, {"id": "c2", "name": "nothing"}]"#,
    );
    let (seen, code) = Terminal::open(workspace.command(&["run", "batch.json"])).end();
    assert_eq!(code, 1, "{seen}");
    assert!(seen.contains("\x1b[31m✗\x1b[0m") && seen.contains("\x1b[32m✓\x1b[0m"), "{seen:?}");
    // The spinner and the call it stands for, before the call has ended.
    let running = seen.find("sleep ms=700").unwrap();
    assert!(running < seen.find("✓").unwrap(), "{seen:?}");
}

#[test]
fn what_is_typed_before_a_question_is_neither_shown_nor_an_answer_to_it() {
    let workspace = asking();
    let sleep = r#"[{"id": "s", "name": "sleep", "arguments": {"ms": 1500}}]"#;
    let echo = r#"[{"id": "e", "name": "echo", "arguments": {}}]"#;
    workspace.write("turns.json", &[sleep, echo, sleep, echo].join("\n"));
    let mut terminal = Terminal::open(workspace.command(&["run", "turns.json"]));
    terminal.wait_for("sleep ms=1500");
    terminal.type_line("y");
    terminal.wait_for("or say why not: ");
    terminal.type_line("not this one");
    // Now somebody has read from the terminal before.
    terminal.wait_for("turn 3");
    let before = terminal.seen.matches("sleep ms=1500").count();
    terminal.wait_for_nth("sleep ms=1500", before + 1);
    write!(terminal.keyboard, "typed\nahead").unwrap();
    terminal.wait_for_nth("or say why not: ", 2);
    terminal.type_line("y");
    let (seen, code) = terminal.end();
    assert_eq!(code, 1, "{seen}");
    assert!(seen.contains("Tool execution was declined: not this one"), "{seen}");
    let last = seen.rsplit("turn 4").next().unwrap();
    assert!(last.contains("1 ok"), "{seen}");
    assert!(!seen.contains("typed") && !seen.contains("ahead"), "{seen}");
}

#[test]
fn a_terminal_as_the_input_is_asked_for_messages_and_for_nothing_else() {
    let workspace = asking();
    let mut terminal = Terminal::open(workspace.command(&["run"]));
    terminal.wait_for("Reading from the terminal: messages");
    terminal.type_line(r#"[{"id": "e", "name": "echo", "arguments": {}}]"#);
    terminal.wait_for("1 blocked");
    terminal.keyboard.write_all(b"\x04").unwrap();
    let (seen, code) = terminal.end();
    assert_eq!(code, 1, "{seen}");
    assert!(seen.contains("the terminal is read for messages") && !seen.contains("or say why not"), "{seen}");
}

#[test]
fn nothing_a_guest_says_reaches_the_terminal_as_a_control_character() {
    let workspace = Workspace::new(PLUGINS);
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\r\u{202e}end";
    let calls = serde_json::json!([
        {"id": "c1", "name": "panic", "arguments": {"message": evil}},
        {"id": "c2", "name": "print", "arguments": {"text": evil}},
        {"id": "c3", "name": "flood-updates", "arguments": {"n": 3}},
    ]);
    workspace.write("batch.json", &calls.to_string());
    let arguments = serde_json::json!({"message": evil}).to_string();
    let log = ["--log", "warn,toolgate::guest=trace"];
    for command in [&["run", "batch.json"][..], &["call", "panic", &arguments]] {
        let command = [command, &log].concat();
        let (seen, code) = Terminal::open(workspace.command(&command)).end();
        assert_eq!(code, 1, "{seen:?}");
        assert!(seen.contains("end"), "it is shown: {seen:?}");
        for raw in ["\u{1b}]0", "\u{7}", "\u{1b}[2J", "\u{9b}", "\u{202e}"] {
            assert!(!seen.contains(raw), "{raw:?} in {seen:?}");
        }
    }
}
