//! Tools by name and hooks in order; loading, replacing and unloading at run time.
//!
//! Every change makes a new immutable [`Snapshot`] and swaps it in, so that a batch works on what it found when it began
//! and readers never wait. A change that fails leaves everything as it was.

pub mod active;
mod error;
mod plugin;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

pub use active::ActiveTools;
pub use error::RegistryError;
pub use plugin::{HookSettings, Plugin, RegisteredHook, RegisteredTool};

use plugin::Loaded;

use crate::model::ExecutionMode;

/// What is loaded at one moment.
#[derive(Default)]
pub struct Snapshot {
    plugins: Vec<Loaded>,
    by_name: HashMap<String, Arc<RegisteredTool>>,
    hooks: Vec<Arc<RegisteredHook>>,
    /// As the operator wants it; names that are not loaded stand in it too.
    hook_order: Vec<String>,
    has_sequential: bool,
}

impl Snapshot {
    /// All tools, in the order their plugins were loaded; a plugin that was replaced keeps its place.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<RegisteredTool>> {
        self.plugins.iter().flat_map(|plugin| &plugin.tools)
    }

    /// A tool by its exact name.
    pub fn tool(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.by_name.get(name)
    }

    /// All hooks, in the order they are called.
    pub fn hooks(&self) -> &[Arc<RegisteredHook>] {
        &self.hooks
    }

    /// Whether any tool makes its batch sequential.
    pub(crate) fn has_sequential(&self) -> bool {
        self.has_sequential
    }

    /// Names of all plugins, in the order they were loaded.
    pub fn plugins(&self) -> impl Iterator<Item = &Arc<str>> {
        self.plugins.iter().map(|plugin| &plugin.name)
    }

    /// The sha256 of the component a plugin was loaded from, in hexadecimal.
    pub fn digest(&self, plugin: &str) -> Option<&str> {
        self.plugins.iter().find(|loaded| *loaded.name == *plugin)?.digest.as_deref()
    }

    fn of(plugins: Vec<Loaded>, hook_order: Vec<String>) -> Self {
        let mut by_name = HashMap::new();
        for tool in plugins.iter().flat_map(|plugin| &plugin.tools) {
            by_name.insert(tool.name().to_owned(), tool.clone());
        }
        let rank = |hook: &Arc<RegisteredHook>| {
            hook_order.iter().position(|name| **name == **hook.name()).unwrap_or(hook_order.len())
        };
        let mut hooks: Vec<_> = plugins.iter().filter_map(|plugin| plugin.hook.clone()).collect();
        // Stable: those that are not named follow in the order they were loaded.
        hooks.sort_by_key(rank);
        let has_sequential =
            by_name.values().any(|tool| tool.definition().execution_mode == Some(ExecutionMode::Sequential));
        Self { plugins, by_name, hooks, hook_order, has_sequential }
    }
}

/// Several changes as one: all of them or none, and whoever waits for changes is woken once.
#[derive(Default)]
pub struct Update {
    unload: Vec<String>,
    load: Vec<Plugin>,
    hook_order: Option<Vec<String>>,
}

impl Update {
    /// No change yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Loads a plugin, or puts it in the place of the one with its name.
    pub fn load(mut self, plugin: Plugin) -> Self {
        self.load.push(plugin);
        self
    }

    /// Takes a plugin out. Plugins are taken out before others are loaded, so a tool may move between two.
    pub fn unload(mut self, plugin: impl Into<String>) -> Self {
        self.unload.push(plugin.into());
        self
    }

    /// Sets the order hooks are called in, by plugin name.
    pub fn hook_order(mut self, plugins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hook_order = Some(plugins.into_iter().map(Into::into).collect());
        self
    }
}

/// The changing set of loaded plugins.
pub(crate) struct Registry {
    current: Mutex<Arc<Snapshot>>,
    changes: watch::Sender<u64>,
}

impl Registry {
    /// An empty registry. Hooks are called in `hook_order`, those it does not name after them as they were loaded.
    pub(crate) fn new(hook_order: Vec<String>) -> Self {
        let empty = Snapshot::of(Vec::new(), hook_order);
        Self { current: Mutex::new(Arc::new(empty)), changes: watch::Sender::new(0) }
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn load(&self, plugin: Plugin) -> Result<(), RegistryError> {
        let loaded = Loaded::new(plugin)?;
        self.change(|plugins, _| {
            if plugins.iter().any(|other| other.name == loaded.name) {
                return Err(RegistryError::PluginExists { plugin: loaded.name.to_string() });
            }
            put(plugins, loaded);
            Ok(())
        })
    }

    pub(crate) fn replace(&self, plugin: Plugin) -> Result<(), RegistryError> {
        let loaded = Loaded::new(plugin)?;
        self.change(|plugins, _| {
            if plugins.iter().all(|other| other.name != loaded.name) {
                return Err(RegistryError::NotLoaded { plugin: loaded.name.to_string() });
            }
            put(plugins, loaded);
            Ok(())
        })
    }

    pub(crate) fn unload(&self, name: &str) -> Result<(), RegistryError> {
        self.change(|plugins, _| take(plugins, name))
    }

    pub(crate) fn update(&self, update: Update) -> Result<(), RegistryError> {
        let loaded = update.load.into_iter().map(Loaded::new).collect::<Result<Vec<_>, _>>()?;
        self.change(|plugins, hook_order| {
            update.unload.iter().try_for_each(|name| take(plugins, name))?;
            loaded.into_iter().for_each(|loaded| put(plugins, loaded));
            if let Some(order) = update.hook_order {
                *hook_order = order;
            }
            Ok(())
        })
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Loaded>, &mut Vec<String>) -> Result<(), RegistryError>,
    ) -> Result<(), RegistryError> {
        let replaced = {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            let (mut plugins, mut hook_order) = (current.plugins.clone(), current.hook_order.clone());
            change(&mut plugins, &mut hook_order)?;
            no_tool_twice(&plugins)?;
            std::mem::replace(&mut *current, Arc::new(Snapshot::of(plugins, hook_order)))
        };
        // Whatever the old plugin holds is dropped outside the lock.
        drop(replaced);
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }
}

/// Puts a plugin in the place of the one with its name, or behind all others.
fn put(plugins: &mut Vec<Loaded>, loaded: Loaded) {
    match plugins.iter_mut().find(|other| other.name == loaded.name) {
        Some(old) => *old = loaded,
        None => plugins.push(loaded),
    }
}

fn take(plugins: &mut Vec<Loaded>, name: &str) -> Result<(), RegistryError> {
    let Some(at) = plugins.iter().position(|plugin| &*plugin.name == name) else {
        return Err(RegistryError::NotLoaded { plugin: name.to_owned() });
    };
    plugins.remove(at);
    Ok(())
}

fn no_tool_twice(plugins: &[Loaded]) -> Result<(), RegistryError> {
    let mut seen: HashMap<&str, &Loaded> = HashMap::new();
    for plugin in plugins {
        for tool in &plugin.tools {
            if let Some(other) = seen.insert(tool.name(), plugin) {
                return Err(RegistryError::ToolExists {
                    tool: tool.name().to_owned(),
                    plugin: plugin.name.to_string(),
                    other: other.name.to_string(),
                });
            }
        }
    }
    Ok(())
}
