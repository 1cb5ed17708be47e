//! From a checked config to a host with its plugins.

use futures_util::future::join_all;

use super::{Config, HookConfig, PluginConfig};
use crate::component::{ComponentInfo, Engine, EngineError, EngineSettings, LoadError, Loader, PluginSpec, Source};
use crate::registry::{Plugin, RegistryError};
use crate::{Host, HostBuilder};

/// Why a plugin of a config is not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The engine does not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The component is not accepted.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The host does not accept what it offers.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A `[[hooks]]` entry names a plugin without hooks.
    #[error(
        "[[hooks]] names plugin {0:?}, but its component exports no hooks; remove the entry or name another plugin"
    )]
    NoHooks(String),
    /// Nothing of the plugin would be used.
    #[error(
        "plugin {0:?} exports only hooks and is not in [[hooks]], so it would do nothing; add a [[hooks]] entry with plugin = {0:?}"
    )]
    HooksNotListed(String),
    /// A hook is limited to a tool that is not there, so it would guard nothing.
    #[error(
        "[[hooks]] of plugin {plugin:?} is limited to the tool {tool:?}, which no plugin offers; there are: {there}"
    )]
    HookTool {
        /// The hook's plugin.
        plugin: String,
        /// The tool.
        tool: String,
        /// All tools.
        there: String,
    },
}

impl Config {
    /// Starts the engine that these plugins need.
    pub fn engine(&self) -> Result<Engine, EngineError> {
        let tables = self.plugins.iter().map(|plugin| plugin.limits.table_elements).max().unwrap_or(0);
        let defaults = EngineSettings::default();
        let settings = EngineSettings {
            instances: self.instances,
            queue_length: self.queue_length,
            queue_wait: self.queue_wait,
            cache_dir: self.cache_dir.clone(),
            cache_bytes: self.cache_bytes,
            compile_time: self.compile_time,
            compile_threads: self.compile_threads,
            compile_wait: self.compile_wait,
            max_table_elements: tables.max(defaults.max_table_elements),
        };
        match Engine::new(settings.clone()) {
            // Nobody asked for this directory: a user without a home can do without.
            Err(EngineError::Cache(error)) if self.cache_dir == super::default_cache_dir() => {
                tracing::warn!("compiled code is not kept, so every start compiles: {error}");
                Engine::new(EngineSettings { cache_dir: None, ..settings })
            }
            started => started,
        }
    }

    /// A host with these settings and without plugins, for the embedder to give an approver and sinks.
    pub fn host(&self) -> HostBuilder {
        Host::builder()
            .mode(self.mode)
            .grace(self.grace)
            .approval_timeout(self.approval_timeout)
            .sink_timeout(self.sink_timeout)
            .key_timeout(self.key_wait)
            .load_wait(self.compile_wait)
            .list_wait(self.list_wait)
            .batch_result_bytes(self.batch_result_bytes)
            .hook_order(self.hooks.iter().map(|hook| hook.plugin.as_str()))
    }

    /// Loads all plugins, side by side, in the order of the file. Reports every plugin that fails; those that do not
    /// are loaded.
    pub async fn load_plugins(&self, host: &Host, loader: &Loader) -> Result<(), Vec<OpenError>> {
        let mut errors = load(host, join_all(self.plugins.iter().map(|plugin| self.load_plugin(plugin, loader))).await);
        if errors.is_empty() {
            errors.extend(self.hooks_without_tool(host));
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Loads what one call of this tool needs: the plugins in `[[hooks]]`, the plugin that offers the tool, and those
    /// of which that is not known before they are loaded.
    pub async fn load_for_tool(&self, tool: &str, host: &Host, loader: &Loader) -> Result<(), Vec<OpenError>> {
        let plugins = self.plugins.iter().map(async |plugin| {
            if self.hook_of(plugin).is_none()
                && let Some(known) = loader.known_tools(&plugin.spec()).await
                && !known.iter().any(|name| name == tool)
            {
                return None;
            }
            Some(self.load_plugin(plugin, loader).await)
        });
        let errors = load(host, join_all(plugins).await.into_iter().flatten());
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    pub(super) fn hook_of(&self, plugin: &PluginConfig) -> Option<&HookConfig> {
        self.hooks.iter().find(|hook| hook.plugin == plugin.name)
    }

    pub(super) fn hooks_without_tool(&self, host: &Host) -> Vec<OpenError> {
        let tools = host.tools();
        let missing = |hook: &HookConfig, tool: &String| {
            let there = tools.tools().map(|tool| tool.name()).collect::<Vec<_>>().join(", ");
            OpenError::HookTool { plugin: hook.plugin.clone(), tool: tool.clone(), there }
        };
        let named = self.hooks.iter().flat_map(|hook| hook.tools.iter().flatten().map(move |tool| (hook, tool)));
        named.filter(|(_, tool)| tools.tool(tool).is_none()).map(|(hook, tool)| missing(hook, tool)).collect()
    }

    /// Loads one plugin as this config wants it, for [`Host::load`] or [`Host::replace`].
    pub async fn load_plugin(&self, plugin: &PluginConfig, loader: &Loader) -> Result<Plugin, OpenError> {
        self.load_from(plugin, Source::File(plugin.file.clone()), loader).await
    }

    /// The same from bytes that were read already.
    pub(super) async fn load_from(
        &self,
        plugin: &PluginConfig,
        source: Source,
        loader: &Loader,
    ) -> Result<Plugin, OpenError> {
        let loaded = loader.load(PluginSpec { source, ..plugin.spec() }).await?;
        plugin.settle(loaded, self.hook_of(plugin))
    }
}

fn load(host: &Host, plugins: impl IntoIterator<Item = Result<Plugin, OpenError>>) -> Vec<OpenError> {
    let loaded = plugins.into_iter().map(|plugin| plugin.and_then(|plugin| Ok(host.load(plugin)?)));
    loaded.filter_map(Result::err).collect()
}

impl PluginConfig {
    pub(super) fn spec(&self) -> PluginSpec {
        let mut spec = PluginSpec::new(self.name.as_str(), Source::File(self.file.clone()));
        spec.sha256.clone_from(&self.sha256);
        spec.limits = self.limits;
        spec.grants = self.grants.clone();
        spec.config = self.config.clone();
        spec.tools.clone_from(&self.tools);
        spec
    }

    /// What [`settle`](Self::settle) would refuse, where that can be told from what the component exports.
    pub(super) fn check_exports(&self, hook: Option<&HookConfig>, info: &ComponentInfo) -> Result<(), OpenError> {
        match hook {
            Some(_) if !info.hooks => Err(OpenError::NoHooks(self.name.clone())),
            None if !info.tools => Err(OpenError::HooksNotListed(self.name.clone())),
            _ => Ok(()),
        }
    }

    /// Puts the operator's word over what the component offers.
    pub(super) fn settle(&self, mut plugin: Plugin, hook: Option<&HookConfig>) -> Result<Plugin, OpenError> {
        let offered: Vec<String> = plugin.tools.iter().map(|tool| tool.definition().name.clone()).collect();
        let known = |setting: &'static str, tool: &String| match offered.contains(tool) {
            true => Ok(()),
            false => Err(RegistryError::NoSuchTool {
                tool: tool.clone(),
                plugin: self.name.clone(),
                setting,
                offered: offered.clone(),
            }),
        };
        self.initially_active.each.keys().try_for_each(|tool| known("initially-active", tool))?;
        self.idempotent.iter().try_for_each(|tool| known("idempotent", tool))?;
        plugin.inactive_tools = plugin
            .tools
            .iter()
            .map(|tool| &tool.definition().name)
            .filter(|tool| !self.initially_active.of(tool))
            .cloned()
            .collect();
        plugin.idempotent_tools.clone_from(&self.idempotent);
        plugin.arguments_bytes = Some(self.limits.arguments_bytes);
        match hook {
            Some(_) if plugin.hook.is_none() => return Err(OpenError::NoHooks(self.name.clone())),
            Some(hook) => {
                plugin.hook_settings.on_error = hook.on_error;
                plugin.hook_settings.tools.clone_from(&hook.tools);
            }
            // Seeing everyone's calls is the operator's to grant.
            None if plugin.hook.take().is_some() => {
                if offered.is_empty() {
                    return Err(OpenError::HooksNotListed(self.name.clone()));
                }
                tracing::info!(plugin = self.name, "its hooks are not in [[hooks]] and do not run");
            }
            None => {}
        }
        Ok(plugin)
    }
}
