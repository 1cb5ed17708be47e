//! toolgate.toml: which plugins there are, what each may reach and use, which hooks run in which order.
//!
//! `raw` is the file as it is written, [`Config`] what it means; `read` collects every problem on the way. Every key is
//! described in docs/configuration.md.

#[cfg(feature = "component")]
mod begin;
mod error;
mod http;
mod limits;
#[cfg(feature = "component")]
mod open;
mod raw;
mod read;
#[cfg(feature = "component")]
mod reload;
mod validate;
#[cfg(feature = "watch")]
mod watch;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::files;
use crate::model::{ExecutionMode, Json};
use crate::pipeline::OnError;
use crate::sandbox::{Grants, Limits};

#[cfg(feature = "component")]
pub use begin::Rest;
pub use error::{ConfigError, Problem};
#[cfg(feature = "component")]
pub use open::OpenError;
#[cfg(feature = "component")]
pub use reload::{Reloaded, Reloader};
#[cfg(feature = "watch")]
pub use watch::watch;

/// Largest toolgate.toml that is read: 4 MiB, several thousand plugins.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// A checked toolgate.toml. Paths are absolute or relative to the current directory.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Where it was read from.
    pub file: PathBuf,
    /// `mode`: how calls of a batch run. Default parallel.
    pub mode: ExecutionMode,
    /// `grace-ms`: what a running call gets after a cancellation. Default 5 s.
    pub grace: Duration,
    /// `approval-timeout-ms`: how long an approver may take. Default 120 s.
    pub approval_timeout: Duration,
    /// `sink-timeout-ms`: how long an event sink may hold one event. Default 5 s.
    pub sink_timeout: Duration,
    /// `key-wait-ms`: how long a call may wait for its exclusive keys. Default 300 s.
    pub key_wait: Duration,
    /// `batch-result-bytes`: what the results of one message may take together. Default 64 MiB.
    pub batch_result_bytes: usize,
    /// `compile-ms`: how long a component may take to compile. Default 600 s.
    pub compile_time: Duration,
    /// `cache-dir`: where compiled code is kept. Default: `toolgate` in the user's cache directory; none where the
    /// user has no such directory.
    pub cache_dir: Option<PathBuf>,
    /// `cache-bytes`: how large the cache may grow. Default 1 GiB.
    pub cache_bytes: u64,
    /// `instances`: live instances at once, tools and hooks together. Default 128.
    pub instances: u32,
    /// `queue-length`: calls that may wait for an instance. Default 1024.
    pub queue_length: usize,
    /// `queue-wait-ms`: how long one may wait. Default 30 s.
    pub queue_wait: Duration,
    /// `compile-threads`: threads that compile. Default one for each core.
    pub compile_threads: Option<usize>,
    /// `compile-wait-ms`: how long a call may wait for a plugin that is still being compiled or loaded. Default 300 s.
    pub compile_wait: Duration,
    /// `list-wait-ms`: how long somebody who lists the tools may be kept waiting for plugins that are still being loaded.
    /// Default 20 s.
    pub list_wait: Duration,
    /// `[plugins.NAME]`, in the order of the file.
    pub plugins: Vec<PluginConfig>,
    /// `[[hooks]]`: in the order they run.
    pub hooks: Vec<HookConfig>,
    /// What works but hands a plugin more than it seems.
    pub warnings: Vec<String>,
}

/// One plugin.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PluginConfig {
    /// Its name in this host.
    pub name: String,
    /// `file`: the component; was there when the config was read.
    pub file: PathBuf,
    /// `sha256`: what the file must hash to, in lower-case hexadecimal.
    pub sha256: Option<String>,
    /// `trusted`: may run unmetered.
    pub trusted: bool,
    /// `tools`: only these of the file. Default all.
    pub tools: Option<Vec<String>>,
    /// `initially-active`.
    pub initially_active: Active,
    /// `idempotent`: tools that may be called again when it is unknown how far a call came.
    pub idempotent: Vec<String>,
    /// `limits`, over the defaults and under the ceiling.
    pub limits: Limits,
    /// `dirs`, `env`, `env-from`, `wall-clock`; `http`, `secrets` and the limits of both.
    pub grants: Grants,
    /// `config`: the plugin's own settings, a JSON object.
    pub config: Json,
}

/// Which tools are callable before any result has added them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Active {
    /// Of those not named.
    pub all: bool,
    /// By tool.
    pub each: BTreeMap<String, bool>,
}

impl Default for Active {
    fn default() -> Self {
        Self { all: true, each: BTreeMap::new() }
    }
}

impl Active {
    /// Whether this tool is active from the start.
    pub fn of(&self, tool: &str) -> bool {
        self.each.get(tool).copied().unwrap_or(self.all)
    }
}

/// One place in the order of hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookConfig {
    /// Whose hooks.
    pub plugin: String,
    /// `on-error`: what becomes of a result when an after hook fails. Default fail.
    pub on_error: OnError,
    /// `tools`: only for calls of these. Default all.
    pub tools: Option<Vec<String>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            file: PathBuf::new(),
            mode: ExecutionMode::Parallel,
            grace: Duration::from_secs(5),
            approval_timeout: Duration::from_secs(120),
            sink_timeout: Duration::from_secs(5),
            key_wait: Duration::from_secs(300),
            batch_result_bytes: 64 << 20,
            compile_time: Duration::from_secs(600),
            cache_dir: default_cache_dir(),
            cache_bytes: 1 << 30,
            instances: 128,
            queue_length: 1_024,
            queue_wait: Duration::from_secs(30),
            compile_threads: None,
            compile_wait: Duration::from_secs(300),
            list_wait: Duration::from_secs(20),
            plugins: Vec::new(),
            hooks: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

fn default_cache_dir() -> Option<PathBuf> {
    use etcetera::BaseStrategy as _;
    Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("toolgate"))
}

impl Config {
    /// Reads and checks a file. Relative paths in it are relative to the file.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let text = files::read_text(file, MAX_FILE_BYTES).map_err(|error| ConfigError::of_file(file, cause(&error)))?;
        Self::parse(file, &text, &|name| std::env::var_os(name))
    }

    /// One component alone, with the default limits and without grants, settings and hooks. The plugin is called as the
    /// file is, as far as a plugin's name may hold that.
    pub fn of_component(file: &Path) -> Self {
        let plugin = PluginConfig {
            name: plugin_name(file),
            file: file.to_owned(),
            sha256: None,
            trusted: false,
            tools: None,
            initially_active: Active::default(),
            idempotent: Vec::new(),
            limits: Limits::default(),
            grants: Grants::default(),
            config: Json::from_value(serde_json::Value::Object(serde_json::Map::new())),
        };
        Self { file: file.to_owned(), plugins: vec![plugin], ..Self::default() }
    }

    /// Checks a text as if it stood in `file`: relative paths are relative to its folder, and problems name it.
    pub fn of_text(file: &Path, text: &str) -> Result<Self, ConfigError> {
        Self::parse(file, text, &|name| std::env::var_os(name))
    }

    /// Checks a text as if it stood in `file`, with some environment.
    fn parse(file: &Path, text: &str, env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, ConfigError> {
        let source = read::Source::new(text);
        let base = file.parent().unwrap_or(Path::new(""));
        let config = source.parse().map(|table| {
            let raw = raw::RawConfig::read(source.root(table.get_ref()));
            validate::Validator { source: &source, file, base, env }.config(raw)
        });
        let problems = source.problems();
        match config {
            Some(config) if problems.is_empty() => Ok(config),
            _ => Err(ConfigError { file: file.to_owned(), problems }),
        }
    }
}

/// What a component that nobody has named is called: as its file is, as far as a plugin's name may hold that.
pub fn plugin_name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = stem.chars().map(allowed).take(64).collect();
    if name.is_empty() { "component".into() } else { name }
}

/// The system's word without its number.
fn cause(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "not found".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        std::io::ErrorKind::InvalidData => "is not UTF-8".into(),
        std::io::ErrorKind::IsADirectory => "is a directory".into(),
        _ => error.to_string(),
    }
}
