//! A directory with a toolgate.toml, and `toolgate` run in it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

/// The plugins most tests use.
pub const PLUGINS: &str = r#"
grace-ms = 300

[plugins.calc]
file = "GUESTS/calc.wasm"

[plugins.misbehave]
file = "GUESTS/misbehave.wasm"
limits = { deadline-ms = 20_000 }
"#;

/// Where the guests' components are. The first use brings them up to date, unless `TOOLGATE_GUESTS_BUILT` says that
/// whoever runs the tests has done so.
fn guests() -> &'static Path {
    static GUESTS: OnceLock<PathBuf> = OnceLock::new();
    GUESTS.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        if std::env::var_os("TOOLGATE_GUESTS_BUILT").is_none() {
            let needed = ["calc", "fs", "misbehave", "scripted-tool", "permission-gate"];
            let built = Command::new(root.join("scripts/build-guests.sh")).args(needed).status().unwrap();
            assert!(built.success(), "scripts/build-guests.sh failed");
        }
        root.join("target/guests/components")
    })
}

/// A guest's file.
pub fn component(name: &str) -> String {
    guests().join(name).with_extension("wasm").to_str().unwrap().to_owned()
}

pub struct Workspace(TempDir);

/// What a run of the program left.
pub struct Done {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Workspace {
    /// Without a toolgate.toml.
    pub fn bare() -> Self {
        Self(TempDir::new().unwrap())
    }

    /// With a toolgate.toml in which `GUESTS` stands for the directory of the components.
    pub fn new(config: &str) -> Self {
        // Compiled code is shared by all tests, outside of what they grant.
        Self::with_cache(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"), config)
    }

    /// The same with a cache of its own, so that its plugins are new.
    pub fn new_plugins(config: &str) -> Self {
        Self::with_cache(Path::new("cache"), config)
    }

    fn with_cache(cache: &Path, config: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let config = format!("cache-dir = {cache:?}\n{config}").replace("GUESTS", guests().to_str().unwrap());
        std::fs::write(dir.path().join("toolgate.toml"), config).unwrap();
        Self(dir)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolgate"));
        command.args(args).current_dir(self.path()).env_remove("NO_COLOR").env("RUST_BACKTRACE", "0");
        command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        command
    }

    pub fn run(&self, args: &[&str]) -> Done {
        self.run_with(args, "")
    }

    pub fn run_with(&self, args: &[&str], stdin: &str) -> Done {
        let mut command = self.command(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It may end before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        Done {
            code: output.status.code().expect("ended by itself"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Done {
    /// Standard output as JSON lines.
    pub fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The messages that ended, by call id.
    pub fn message(&self, id: &str) -> Value {
        let found =
            self.lines().into_iter().find(|line| line["type"] == "message_end" && line["message"]["toolCallId"] == id);
        found.unwrap_or_else(|| panic!("no message for {id} in {}{}", self.out, self.err))["message"].take()
    }
}

/// Ctrl-C.
#[cfg(unix)]
pub fn interrupt(child: &std::process::Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
}
