//! toolgate.toml as it is written: its keys and their types, before anything is looked up. What it means is in
//! `validate`.

use std::time::Duration;

use serde_json::{Map, Value};

use super::http::RawHttp;
use super::limits::{DAY_MS, RawLimits};
use super::read::{At, Node, Table};
use crate::model::ExecutionMode;
use crate::pipeline::OnError;
use crate::sandbox::DirAccess;

#[derive(Default)]
pub(super) struct RawConfig {
    pub mode: Option<ExecutionMode>,
    pub grace: Option<Duration>,
    pub approval_timeout: Option<Duration>,
    pub sink_timeout: Option<Duration>,
    pub key_wait: Option<Duration>,
    pub batch_result_bytes: Option<u64>,
    pub compile_time: Option<Duration>,
    pub cache_dir: Option<At<String>>,
    pub cache_bytes: Option<u64>,
    pub instances: Option<u64>,
    pub queue_length: Option<u64>,
    pub queue_wait: Option<Duration>,
    pub compile_threads: Option<u64>,
    pub compile_wait: Option<Duration>,
    pub list_wait: Option<Duration>,
    pub limits: RawLimits,
    pub plugins: Vec<RawPlugin>,
    pub hooks: Vec<RawHook>,
}

pub(super) struct RawPlugin {
    pub name: At<String>,
    pub file: Option<At<String>>,
    pub sha256: Option<At<String>>,
    pub trusted: bool,
    pub tools: Option<At<Vec<At<String>>>>,
    pub initially_active: Option<RawActive>,
    pub idempotent: Vec<At<String>>,
    pub limits: RawLimits,
    pub config: Map<String, Value>,
    pub dirs: Vec<RawDir>,
    pub env: Vec<(At<String>, At<String>)>,
    pub env_from: Vec<At<String>>,
    pub wall_clock: Option<bool>,
    pub http: RawHttp,
}

pub(super) enum RawActive {
    All(bool),
    Each(Vec<(At<String>, bool)>),
}

/// What is missing or of a wrong type is none: it has been reported, and the rest is looked at all the same.
pub(super) struct RawDir {
    pub guest: Option<At<String>>,
    pub host: Option<At<String>>,
    pub access: Option<DirAccess>,
}

pub(super) struct RawHook {
    /// As in [`RawDir`].
    pub plugin: Option<At<String>>,
    pub on_error: Option<OnError>,
    pub tools: Option<Vec<At<String>>>,
}

impl RawConfig {
    pub fn read(mut table: Table<'_, '_>) -> Self {
        let timeout = |node: Node<'_, '_>| node.millis(1..=DAY_MS);
        let raw = Self {
            mode: table.get("mode").and_then(|node| {
                node.choice(&[("parallel", ExecutionMode::Parallel), ("sequential", ExecutionMode::Sequential)])
            }),
            grace: table.get("grace-ms").and_then(|node| node.millis(0..=DAY_MS)),
            approval_timeout: table.get("approval-timeout-ms").and_then(timeout),
            sink_timeout: table.get("sink-timeout-ms").and_then(timeout),
            key_wait: table.get("key-wait-ms").and_then(timeout),
            batch_result_bytes: table.get("batch-result-bytes").and_then(|node| node.bytes(1 << 10)),
            compile_time: table.get("compile-ms").and_then(timeout),
            cache_dir: table.get("cache-dir").and_then(|node| node.string()),
            cache_bytes: table.get("cache-bytes").and_then(|node| node.bytes(0)),
            instances: table.get("instances").and_then(|node| node.integer(1..=10_000)),
            queue_length: table.get("queue-length").and_then(|node| node.integer(0..=1 << 32)),
            queue_wait: table.get("queue-wait-ms").and_then(timeout),
            compile_threads: table.get("compile-threads").and_then(|node| node.integer(1..=1_024)),
            compile_wait: table.get("compile-wait-ms").and_then(timeout),
            list_wait: table.get("list-wait-ms").and_then(|node| node.millis(0..=DAY_MS)),
            limits: table.get("limits").map(|node| RawLimits::read(&node, true)).unwrap_or_default(),
            plugins: plugins(table.get("plugins")),
            hooks: list(table.get("hooks"), "[[hooks]] tables", RawHook::read),
        };
        table.finish();
        raw
    }
}

fn plugins(node: Option<Node<'_, '_>>) -> Vec<RawPlugin> {
    let Some(table) = node.and_then(|node| node.table("a table of plugins, [plugins.NAME]")) else { return Vec::new() };
    table.entries().into_iter().filter_map(|(name, node)| RawPlugin::read(name, &node)).collect()
}

/// The tables of an array of tables.
pub(super) fn list<T>(node: Option<Node<'_, '_>>, what: &str, read: impl Fn(Table<'_, '_>) -> T) -> Vec<T> {
    let items = node.and_then(|node| node.items(what)).unwrap_or_default();
    items.iter().filter_map(|item| Some(read(item.table("a table")?))).collect()
}

impl RawPlugin {
    fn read(name: At<String>, node: &Node<'_, '_>) -> Option<Self> {
        let mut table = node.table("a table, [plugins.NAME]")?;
        let raw = Self {
            name: At { value: name.value, place: table.place.clone() },
            file: table.need("file", "the path of a component, relative to this file").and_then(|node| node.string()),
            sha256: table.get("sha256").and_then(|node| node.string()),
            trusted: table.get("trusted").and_then(|node| node.boolean()).unwrap_or(false),
            tools: table.get("tools").and_then(|node| node.strings()),
            initially_active: table.get("initially-active").and_then(|node| RawActive::read(&node)),
            idempotent: table.get("idempotent").and_then(|node| node.strings()).map_or_else(Vec::new, |all| all.value),
            limits: table.get("limits").map(|node| RawLimits::read(&node, false)).unwrap_or_default(),
            config: table.get("config").map(|node| settings(&node)).unwrap_or_default(),
            dirs: list(table.get("dirs"), "[[plugins.NAME.dirs]] tables", RawDir::read),
            env: table.get("env").map(|node| env(&node)).unwrap_or_default(),
            env_from: table.get("env-from").and_then(|node| node.strings()).map_or_else(Vec::new, |all| all.value),
            wall_clock: table.get("wall-clock").and_then(|node| node.boolean()),
            http: RawHttp::read(&mut table),
        };
        table.finish();
        Some(raw)
    }
}

fn settings(node: &Node<'_, '_>) -> Map<String, Value> {
    let Some(table) = node.table("a table: the plugin's own settings") else { return Map::new() };
    table.entries().into_iter().filter_map(|(name, node)| Some((name.value, node.json()?))).collect()
}

fn env(node: &Node<'_, '_>) -> Vec<(At<String>, At<String>)> {
    let Some(table) = node.table("a table of names and strings") else { return Vec::new() };
    table.entries().into_iter().filter_map(|(name, node)| Some((name, node.text()?))).collect()
}

impl RawActive {
    fn read(node: &Node<'_, '_>) -> Option<Self> {
        if !node.is_table() {
            return node.boolean_or(Some("a table of tools")).map(Self::All);
        }
        let entries = node.table("true, false, or a table of tools")?.entries();
        Some(Self::Each(entries.into_iter().filter_map(|(tool, node)| Some((tool, node.boolean()?))).collect()))
    }
}

impl RawDir {
    fn read(mut table: Table<'_, '_>) -> Self {
        let guest = table.need("guest", "where the plugin sees the directory, for example \"/project\"");
        let host = table.need("host", "the directory, relative to this file");
        let access = table
            .get("access")
            .map(|node| node.choice(&[("read-only", DirAccess::ReadOnly), ("read-write", DirAccess::ReadWrite)]));
        table.finish();
        Self {
            guest: guest.and_then(|node| node.string()),
            host: host.and_then(|node| node.string()),
            access: access.unwrap_or(Some(DirAccess::ReadOnly)),
        }
    }
}

impl RawHook {
    fn read(mut table: Table<'_, '_>) -> Self {
        let plugin = table.need("plugin", "the name of a plugin that exports hooks");
        let on_error =
            table.get("on-error").and_then(|node| node.choice(&[("fail", OnError::Fail), ("skip", OnError::Skip)]));
        let tools = table.get("tools").and_then(|node| node.strings());
        table.finish();
        Self { plugin: plugin.and_then(|node| node.string()), on_error, tools: tools.map(|all| all.value) }
    }
}
