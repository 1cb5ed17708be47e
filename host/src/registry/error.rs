//! Why a plugin is not loaded, replaced or unloaded. The registry is as it was before.

use crate::model::DefinitionError;
use crate::schema::SchemaError;

/// Why the registry refused a change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The name is taken.
    #[error("a plugin named {plugin:?} is loaded already: give this one another name, or replace that one")]
    PluginExists {
        /// The name.
        plugin: String,
    },
    /// Nothing to replace or unload.
    #[error("no plugin named {plugin:?} is loaded")]
    NotLoaded {
        /// The name.
        plugin: String,
    },
    /// Another plugin has the tool.
    #[error("plugins {other:?} and {plugin:?} both offer a tool named {tool:?}: load only one of them")]
    ToolExists {
        /// The tool.
        tool: String,
        /// The plugin that was to be loaded.
        plugin: String,
        /// The plugin that has it.
        other: String,
    },
    /// The plugin has the tool twice.
    #[error("plugin {plugin:?} offers two tools named {tool:?}")]
    ToolTwice {
        /// The tool.
        tool: String,
        /// The plugin.
        plugin: String,
    },
    /// The plugin's settings name a tool it does not have.
    #[error("{setting} of plugin {plugin:?} names the tool {tool:?}, which it does not offer: it has {}", list(.offered))]
    NoSuchTool {
        /// The name as set.
        tool: String,
        /// The plugin.
        plugin: String,
        /// The setting.
        setting: &'static str,
        /// What it has.
        offered: Vec<String>,
    },
    /// A definition is not accepted.
    #[error("plugin {plugin:?}: {source}")]
    Definition {
        /// The plugin.
        plugin: String,
        /// Why.
        source: DefinitionError,
    },
    /// A schema does not compile.
    #[error("plugin {plugin:?}: the {which} schema of tool {tool:?} cannot be used: {source}")]
    Schema {
        /// The plugin.
        plugin: String,
        /// The tool.
        tool: String,
        /// `parameters` or `output`.
        which: &'static str,
        /// Why.
        source: SchemaError,
    },
    /// Each schema is small enough, all together are not.
    #[error(
        "plugin {plugin:?}: the patterns of its schemas take more than {limit} bytes together; simplify them (`\\w{{500}}` is large), or load only some tools"
    )]
    Patterns {
        /// The plugin.
        plugin: String,
        /// At most.
        limit: u64,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "no tools".into() } else { names.join(", ") }
}
