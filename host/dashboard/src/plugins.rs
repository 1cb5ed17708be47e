//! What the page says about plugins: what is loaded, and what the operator's file grants each.

use serde::Serialize;
use toolgate::config::{Config, PluginConfig};
use toolgate::registry::Snapshot;
use toolgate::sandbox::{DirAccess, Grants, Limits};

/// A plugin's grants and limits as a person reads them. Values of environment variables and secrets are not among them.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginCard {
    name: String,
    file: String,
    pinned: bool,
    trusted: bool,
    grants: Vec<[String; 2]>,
    limits: Vec<[String; 2]>,
}

impl PluginCard {
    /// One card for each plugin of a toolgate.toml.
    pub fn of_config(config: &Config) -> Vec<Self> {
        config.plugins.iter().map(Self::of).collect()
    }

    fn of(plugin: &PluginConfig) -> Self {
        Self {
            name: plugin.name.clone(),
            file: plugin.file.display().to_string(),
            pinned: plugin.sha256.is_some(),
            trusted: plugin.trusted,
            grants: grants(&plugin.grants),
            limits: limits(&plugin.limits),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

fn grants(grants: &Grants) -> Vec<[String; 2]> {
    let mut all = Vec::new();
    let mut add = |what: &str, words: String| all.push([what.to_owned(), words]);
    for dir in &grants.dirs {
        let access = match dir.access {
            DirAccess::ReadOnly => "read",
            DirAccess::ReadWrite => "read and write",
        };
        add("files", format!("{} → {} ({access})", dir.guest, dir.host.display()));
    }
    if let Some(http) = &grants.http {
        http.grants().for_each(|grant| add("http", grant));
        http.secrets().for_each(|name| add("secret", name.to_owned()));
    }
    grants.env.keys().for_each(|name| add("env", name.clone()));
    if !grants.wall_clock {
        add("clock", "frozen".into());
    }
    all
}

fn limits(limits: &Limits) -> Vec<[String; 2]> {
    let fuel = limits.fuel.map_or("unmetered".into(), count);
    let pairs = [
        ("fuel", fuel),
        ("deadline", format!("{} ms", limits.deadline.as_millis())),
        ("load", format!("{} ms", limits.load.as_millis())),
        ("memory", bytes(limits.memory_bytes)),
        ("table elements", count(limits.table_elements as u64)),
        ("host-call bytes", bytes(limits.hostcall_bytes)),
        ("result", bytes(limits.result_bytes)),
        ("arguments", bytes(limits.arguments_bytes)),
        ("updates", format!("{}, {}", count(limits.updates), bytes(limits.update_bytes))),
        ("log lines", format!("{}, {}", count(limits.log_lines), bytes(limits.log_bytes))),
        ("state", format!("{} keys, {}", limits.state.keys, bytes(limits.state.bytes))),
    ];
    pairs.map(|(what, words)| [what.to_owned(), words]).into()
}

fn count(n: u64) -> String {
    match n {
        n if n >= 1_000_000_000 && n % 100_000_000 == 0 => format!("{} G", n as f64 / 1e9),
        n if n >= 1_000_000 && n % 100_000 == 0 => format!("{} M", n as f64 / 1e6),
        n if n >= 10_000 && n % 100 == 0 => format!("{} k", n as f64 / 1e3),
        n => n.to_string(),
    }
}

fn bytes(n: usize) -> String {
    match n {
        n if n >= 1 << 20 && n % (1 << 18) == 0 => format!("{} MiB", n as f64 / f64::from(1 << 20)),
        n if n >= 1 << 10 && n % (1 << 8) == 0 => format!("{} KiB", n as f64 / 1024.0),
        n => format!("{n} B"),
    }
}

/// A plugin that is loaded, for the page.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Loaded<'a> {
    name: &'a str,
    /// Its place in the order of hooks, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    hook: Option<usize>,
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    card: Option<&'a PluginCard>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    active: bool,
    sequential: bool,
    description: &'a str,
}

/// What is loaded now, with what the operator's file says of it.
pub(crate) fn loaded<'a>(snapshot: &'a Snapshot, cards: &'a [PluginCard]) -> Vec<Loaded<'a>> {
    use toolgate::model::ExecutionMode::Sequential;
    let plugin = |name: &'a std::sync::Arc<str>| Loaded {
        name,
        hook: snapshot.hooks().iter().position(|hook| hook.plugin() == name).map(|at| at + 1),
        tools: snapshot
            .tools()
            .filter(|tool| tool.plugin() == name)
            .map(|tool| Tool {
                name: tool.name(),
                active: tool.is_initially_active(),
                sequential: tool.definition().execution_mode == Some(Sequential),
                description: tool.definition().description.lines().next().unwrap_or_default(),
            })
            .collect(),
        card: cards.iter().find(|card| card.name() == &**name),
    };
    snapshot.plugins().map(plugin).collect()
}
