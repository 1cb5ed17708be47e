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

/// What is loaded at one moment.
#[derive(Default)]
pub struct Snapshot {
    plugins: Vec<Loaded>,
    by_name: HashMap<String, Arc<RegisteredTool>>,
    hooks: Vec<Arc<RegisteredHook>>,
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

    /// Names of all plugins, in the order they were loaded.
    pub fn plugins(&self) -> impl Iterator<Item = &Arc<str>> {
        self.plugins.iter().map(|plugin| &plugin.name)
    }

    fn of(plugins: Vec<Loaded>, hook_order: &[String]) -> Self {
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
        Self { plugins, by_name, hooks }
    }
}

/// The changing set of loaded plugins.
pub(crate) struct Registry {
    current: Mutex<Arc<Snapshot>>,
    hook_order: Vec<String>,
    changes: watch::Sender<u64>,
}

impl Registry {
    /// An empty registry. Hooks are called in `hook_order`, those it does not name after them as they were loaded.
    pub(crate) fn new(hook_order: Vec<String>) -> Self {
        Self { current: Mutex::default(), hook_order, changes: watch::Sender::new(0) }
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn load(&self, plugin: Plugin) -> Result<(), RegistryError> {
        let loaded = Loaded::new(plugin)?;
        self.change(|plugins| {
            if plugins.iter().any(|other| other.name == loaded.name) {
                return Err(RegistryError::PluginExists { plugin: loaded.name.to_string() });
            }
            no_tool_of_others(plugins, &loaded)?;
            plugins.push(loaded);
            Ok(())
        })
    }

    pub(crate) fn replace(&self, plugin: Plugin) -> Result<(), RegistryError> {
        let loaded = Loaded::new(plugin)?;
        self.change(|plugins| {
            no_tool_of_others(plugins, &loaded)?;
            let Some(old) = plugins.iter_mut().find(|other| other.name == loaded.name) else {
                return Err(RegistryError::NotLoaded { plugin: loaded.name.to_string() });
            };
            *old = loaded;
            Ok(())
        })
    }

    pub(crate) fn unload(&self, name: &str) -> Result<(), RegistryError> {
        self.change(|plugins| {
            let Some(at) = plugins.iter().position(|plugin| &*plugin.name == name) else {
                return Err(RegistryError::NotLoaded { plugin: name.to_owned() });
            };
            plugins.remove(at);
            Ok(())
        })
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Loaded>) -> Result<(), RegistryError>) -> Result<(), RegistryError> {
        let replaced = {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            let mut plugins = current.plugins.clone();
            change(&mut plugins)?;
            std::mem::replace(&mut *current, Arc::new(Snapshot::of(plugins, &self.hook_order)))
        };
        // Whatever the old plugin holds is dropped outside the lock.
        drop(replaced);
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }
}

fn no_tool_of_others(plugins: &[Loaded], loaded: &Loaded) -> Result<(), RegistryError> {
    for other in plugins.iter().filter(|other| other.name != loaded.name) {
        for tool in &other.tools {
            if loaded.tools.iter().any(|new| new.name() == tool.name()) {
                return Err(RegistryError::ToolExists {
                    tool: tool.name().to_owned(),
                    plugin: loaded.name.to_string(),
                    other: other.name.to_string(),
                });
            }
        }
    }
    Ok(())
}
