//! `--dashboard`: the page in a real browser, and who gets to see it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::jsonl::node;
use crate::support::Workspace;

const SHOWN: &str = r#"
[plugins.calc]
file = "GUESTS/calc.wasm"

[plugins.misbehave]
file = "GUESTS/misbehave.wasm"
limits = { deadline-ms = 600_000 }
env = { MODE = "the-value" }
dirs = [{ guest = "/workspace", host = ".", access = "read-write" }]
http = [{ host = "api.example.com", methods = ["GET", "POST"], path = "/v1" }]

[plugins.gate]
file = "GUESTS/permission-gate.wasm"
config = { default = "allow", rules = [{ tools = "print", action = "block" }] }

[[hooks]]
plugin = "gate"
"#;

/// A server with a page, one batch that is over and one that runs.
struct Shown {
    child: Child,
    url: String,
    _workspace: Workspace,
}

impl Shown {
    fn new() -> Self {
        let workspace = Workspace::new(SHOWN);
        let mut command = workspace.command(&["--log", "off", "serve", "jsonl", "--dashboard"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap()).lines().next().unwrap().unwrap();
        let url = said.strip_prefix("dashboard: ").unwrap().to_owned();
        let call = |id: &str, name: &str, arguments: Value| json!({ "id": id, "name": name, "arguments": arguments });
        let hostile = "<img src=x onerror=alert(1)> \u{202e}backwards \u{7}";
        let first = [
            call("a", "calc", json!({ "expression": "6*7" })),
            call("b", "echo", json!({ "text": hostile })),
            call("c", "print", json!({ "text": "x" })),
            call("d", "panic", json!({ "message": hostile })),
            call("e", "nothing", json!({})),
        ];
        let second = [call("f", "sleep", json!({ "ms": 600_000 }))];
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let input = child.stdin.as_mut().unwrap();
        for (id, method, params) in [
            (1, "hello", json!({ "protocol": 1, "capabilities": { "events": false } })),
            (2, "run", json!({ "message": first, "conversation": "chat" })),
            (3, "run", json!({ "message": second })),
        ] {
            writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).unwrap();
            if id < 3 {
                lines.next().unwrap().unwrap();
            }
        }
        Self { child, url, _workspace: workspace }
    }

    /// `host:port` and the secret.
    fn address(&self) -> (&str, &str) {
        self.url.strip_prefix("http://").unwrap().trim_end_matches('/').split_once('/').unwrap()
    }

    /// The answer to a request, its body cut where the stream does not end.
    fn get(&self, host: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address().0).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = vec![0; 1 << 16];
        let mut read = 0;
        while !String::from_utf8_lossy(&answer[..read]).contains("\r\n\r\n") {
            match stream.read(&mut answer[read..]).unwrap() {
                0 => break,
                more => read += more,
            }
        }
        String::from_utf8_lossy(&answer[..read]).into_owned()
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_browser_shows_live_batches_and_plugins() {
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()));
    let (Some(browser), Ok(node)) = (browser, node()) else {
        eprintln!("SKIPPED: chromium or node is not here");
        return;
    };
    let shown = Shown::new();
    let which = Command::new("which").arg(browser).output().unwrap();
    let browser = String::from_utf8(which.stdout).unwrap();
    let mut look = Command::new("node");
    look.arg(node.join("dashboard/page.mjs")).args([browser.trim(), &shown.url]);
    let output = look.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn only_who_knows_the_address_on_this_machine_sees_the_page() {
    let shown = Shown::new();
    let (host, token) = shown.address();
    let port = host.rsplit_once(':').unwrap().1;
    let page = shown.get(host, &format!("/{token}/"));
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    let head = page.split("\r\n\r\n").next().unwrap().to_lowercase();
    for header in [
        "content-security-policy: default-src 'none'; script-src 'nonce-",
        "cache-control: no-store",
        "referrer-policy: no-referrer",
        "x-frame-options: deny",
    ] {
        assert!(head.contains(header), "{header}: {head}");
    }
    assert!(!head.contains("access-control"), "{head}");
    assert!(shown.get(&format!("localhost:{port}"), &format!("/{token}/changes")).starts_with("HTTP/1.1 200"));
    // A name that resolves here, and no or another secret.
    for path in [format!("/{token}/"), format!("/{token}/changes")] {
        for name in ["rebound.example".to_owned(), format!("rebound.example:{port}"), String::new(), "localhost".into()]
        {
            let answer = shown.get(&name, &path);
            assert!(answer.starts_with("HTTP/1.1 421") || answer.starts_with("HTTP/1.1 400"), "{name}: {answer}");
        }
    }
    for path in ["/", "/favicon.ico", "/changes", "//changes", "/0123456789abcdef0123456789abcdef/", "/x/changes"] {
        let answer = shown.get(host, path);
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
}

#[test]
fn the_page_is_for_this_machine_only_and_off_by_default() {
    let workspace = Workspace::new(crate::support::PLUGINS);
    let done = workspace.run(&["serve", "jsonl", "--dashboard", "0.0.0.0:0"]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("loopback"), "{}", done.err);
    assert!(!workspace.run(&["serve", "jsonl"]).err.contains("http://"));
}
