//! A server process, and the other end of its lines or its HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than anything takes, so that a test fails rather than hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);

const CONFIG: &str = r#"
grace-ms = 1000

[plugins.fixtures]
file = "GUESTS/mcp-conformance.wasm"
initially-active = { hidden = false }

[plugins.misbehave]
file = "GUESTS/misbehave.wasm"
limits = { deadline-ms = 120_000 }
tools = ["echo", "env", "flood-logs", "now", "print", "sleep", "state-add", "wait-cancel"]

[plugins.gate]
file = "GUESTS/permission-gate.wasm"
[plugins.gate.config]
default = "allow"
rules = [
  { tools = "now", action = "ask", reason = "It tells the time." },
  { tools = "env", action = "block", reason = "The environment is private." },
]

[[hooks]]
plugin = "gate"
"#;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn guests() -> &'static Path {
    static GUESTS: OnceLock<PathBuf> = OnceLock::new();
    GUESTS.get_or_init(|| {
        if std::env::var_os("TOOLGATE_GUESTS_BUILT").is_none() {
            let needed = ["calc", "mcp-conformance", "misbehave", "permission-gate", "scripted-tool"];
            let built = Command::new(root().join("scripts/build-guests.sh")).args(needed).status().unwrap();
            assert!(built.success(), "scripts/build-guests.sh failed");
        }
        root().join("target/guests/components")
    })
}

/// A folder with the toolgate.toml of these tests.
pub fn workspace() -> TempDir {
    workspace_of(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"), CONFIG)
}

/// A folder with a cache of its own, so that its plugins are new.
pub fn new_plugins(config: &str) -> TempDir {
    workspace_of(Path::new("cache"), config)
}

fn workspace_of(cache: &Path, config: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    let config = format!("cache-dir = {cache:?}\n{config}").replace("GUESTS", guests().to_str().unwrap());
    std::fs::write(dir.path().join("toolgate.toml"), config).unwrap();
    dir
}

/// `toolgate serve mcp` in that folder.
pub fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolgate"));
    command.args(["serve", "mcp"]).args(args).current_dir(dir);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Asks a process to terminate.
pub fn terminate(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}

/// Waits for a process to end, not for ever.
pub fn ended(child: &mut Child) -> i32 {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().expect("ended by itself");
        }
        assert!(Instant::now() < until, "the server did not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server on standard input and output, and the client.
pub struct Pipe {
    pub dir: TempDir,
    pub child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// What came and was not asked for yet.
    pub kept: Vec<Value>,
    next: i64,
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

impl Pipe {
    /// Before anything was said.
    pub fn silent(args: &[&str]) -> Self {
        Self::silent_in(workspace(), args)
    }

    /// The same in a folder.
    pub fn silent_in(dir: TempDir, args: &[&str]) -> Self {
        let mut child = command(dir.path(), args).spawn().unwrap();
        let (sender, lines) = channel();
        let output = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if line.is_ok_and(|line| sender.send(line).is_ok()) {
                    continue;
                }
                return;
            }
        });
        let input = child.stdin.take();
        Self { dir, child, input, lines, kept: Vec::new(), next: 100 }
    }

    /// After the handshake of revision 2025-11-25.
    pub fn open(args: &[&str], capabilities: Value) -> Self {
        let mut client = Self::silent(args);
        client.shake_hands(capabilities);
        client
    }

    pub fn shake_hands(&mut self, capabilities: Value) {
        let answer = self.initialize("2025-11-25", capabilities);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    pub fn initialize(&mut self, version: &str, capabilities: Value) -> Value {
        let info = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": info });
        self.request("initialize", params)
    }

    pub fn send_text(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    /// Sends a request and does not wait.
    pub fn start(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params);
        self.answer(id)
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// The answer to a request, leaving the rest for later.
    pub fn answer(&mut self, id: i64) -> Value {
        self.find(|message| message["id"] == id && message.get("method").is_none())
    }

    /// The next message, kept or new, of a kind.
    pub fn find(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&is_it) {
            return self.kept.remove(at);
        }
        loop {
            let message = self.next();
            if is_it(&message) {
                return message;
            }
            self.kept.push(message);
        }
    }

    pub fn notification(&mut self, method: &str) -> Value {
        self.find(|message| message["method"] == method)
    }

    fn next(&mut self) -> Value {
        let line = match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(error) => panic!("no line: {error}; kept {:?}", self.kept),
        };
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// The next line as it came.
    pub fn next_line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    /// Ends the input, and gives the exit code, all that still came, and standard error.
    pub fn close(mut self) -> (i32, Vec<Value>, String) {
        drop(self.input.take());
        let code = ended(&mut self.child);
        let mut rest = std::mem::take(&mut self.kept);
        rest.extend(self.lines.iter().map(|line| serde_json::from_str(&line).unwrap()));
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (code, rest, errors)
    }
}

/// The text of a result.
pub fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"))
}

/// A server that listens.
pub struct Http {
    _dir: TempDir,
    pub child: Child,
    pub address: String,
    /// Kept open, so that the server can write.
    _errors: BufReader<std::process::ChildStderr>,
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// A response.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The JSON-RPC messages of a body, JSON or events.
    pub fn messages(&self) -> Vec<Value> {
        if self.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
            return vec![serde_json::from_str(&self.body).unwrap()];
        }
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
        data.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
    }

    /// The answer among them.
    pub fn answer(&self) -> Value {
        let found = self.messages().into_iter().find(|message| message.get("method").is_none());
        found.unwrap_or_else(|| panic!("no answer in {self:?}"))
    }
}

impl Http {
    pub fn start(args: &[&str]) -> Self {
        Self::start_with(args, &[])
    }

    pub fn start_with(args: &[&str], env: &[(&str, &str)]) -> Self {
        Self::start_in(workspace(), args, env)
    }

    pub fn start_in(dir: TempDir, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut all = vec!["--http", "127.0.0.1:0"];
        all.extend(args);
        let mut child = command(dir.path(), &all).envs(env.iter().copied()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("serving MCP at http://") {
            let mut line = String::new();
            assert!(errors.read_line(&mut line).unwrap() > 0, "the server did not start: {said}");
            said.push_str(&line);
        }
        let at = said.find("http://").unwrap() + "http://".len();
        let address = said[at..].trim().trim_end_matches("/mcp").to_owned();
        Self { _dir: dir, child, address, _errors: errors }
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Sends a request head and body on a connection of its own, and does not read.
    pub fn connect(&self, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        send(&mut stream, &self.address, method, headers, body);
        stream
    }

    /// One request on a connection of its own.
    pub fn request(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut stream = self.connect(method, headers, body);
        read(&mut stream)
    }

    pub fn post(&self, headers: &[(&str, &str)], body: &Value) -> Response {
        self.request("POST", headers, &body.to_string())
    }

    /// Opens a session of revision 2025-11-25; its id.
    pub fn session(&self) -> String {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let opened = self.post(&[], &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
        assert_eq!(opened.status, 200, "{opened:?}");
        let id = opened.header("mcp-session-id").unwrap().to_owned();
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(&[("Mcp-Session-Id", &id)], &initialized).status, 202);
        id
    }

    pub fn call(&self, session: &str, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        self.post(&[("Mcp-Session-Id", session)], &body).answer()
    }
}

/// The body of a call of revision 2026-07-28, and its headers.
pub fn modern(tool: &str, arguments: Value, capabilities: Value) -> (Value, [(&'static str, String); 3]) {
    let mut params = json!({ "name": tool, "arguments": arguments });
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28".to_owned()),
        ("Mcp-Method", "tools/call".to_owned()),
        ("Mcp-Name", tool.to_owned()),
    ];
    (body, headers)
}

/// Writes a request. Headers given replace those that MCP clients send.
pub fn send(stream: &mut TcpStream, address: &str, method: &str, headers: &[(&str, &str)], body: &str) {
    let mut head = format!("{method} /mcp HTTP/1.1\r\n");
    let usual =
        [("Host", address), ("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")];
    let given = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    for (key, value) in usual.iter().filter(|(key, _)| !given(key)).chain(headers) {
        head.push_str(&format!("{key}: {value}\r\n"));
    }
    if !given("Content-Length") {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(b"\r\n").unwrap();
    // The server may have answered and closed before it read it all.
    let _ = stream.write_all(body.as_bytes());
}

/// Reads one whole response.
pub fn read(stream: &mut TcpStream) -> Response {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the connection ended: {head}");
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut response = Response { status, head, body: String::new() };
    if let Some(length) = response.header("content-length") {
        let mut body = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
        response.body = String::from_utf8(body).unwrap();
    } else if response.header("transfer-encoding").is_some() {
        loop {
            let mut size = String::new();
            stream.read_line(&mut size).unwrap();
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).unwrap();
            if size == 0 {
                break;
            }
            response.body.push_str(std::str::from_utf8(&chunk[..size]).unwrap());
        }
    }
    response
}
