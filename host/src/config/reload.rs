//! Brings a host up to what toolgate.toml and the component files say now, while it runs.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;

use super::open::OpenError;
use super::{Config, PluginConfig};
use crate::Host;
use crate::component::{EngineSettings, Loader, Source, Stamp, read_component, sha256_hex};
use crate::registry::{Plugin, RegistryError, Update};

/// Compares what is loaded with toolgate.toml and the component files, and loads the difference.
///
/// Nothing that runs is disturbed: a batch goes on with the code it began with. What can't be loaded leaves the old code
/// in its place. All differences of one [`check`](Self::check) are one change of the registry.
pub struct Reloader {
    config: Config,
    config_stamp: Option<Stamp>,
    /// Why the file was refused, so that it is said once.
    config_refused: Option<String>,
    loader: Loader,
    plugins: HashMap<String, Known>,
}

/// What is known of a plugin.
#[derive(Default)]
struct Known {
    /// How the file looked whose code is loaded.
    loaded: Option<Stamp>,
    /// A look of the file that was tried and refused. It is not tried again until it looks different.
    refused: Option<Stamp>,
    /// How the file looked at first.
    first: Option<Stamp>,
}

/// How the file looks without reading it; none where it is gone.
fn look(path: &Path) -> Option<Stamp> {
    std::fs::metadata(path).ok().map(|meta| Stamp::of(&meta))
}

/// What a check did.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Reloaded {
    /// Plugins that are new.
    pub loaded: Vec<String>,
    /// Plugins that run other code or have other settings for calls to come.
    pub replaced: Vec<String>,
    /// Plugins that are gone.
    pub unloaded: Vec<String>,
    /// What could not be loaded, and why; what was there before stays. Each is told once.
    pub refused: Vec<String>,
    /// Changed keys that count only after a restart.
    pub needs_restart: Vec<&'static str>,
    /// A file changed while it was read: check again soon.
    pub unsettled: bool,
}

impl Reloaded {
    /// Whether calls to come find something else than before.
    pub fn changed(&self) -> bool {
        !(self.loaded.is_empty() && self.replaced.is_empty() && self.unloaded.is_empty())
    }
}

/// A plugin that is to be loaded.
struct Candidate {
    config: PluginConfig,
    stamp: Stamp,
    plugin: Plugin,
}

enum Tried {
    /// As it was.
    Same,
    /// The file looks different and is the same.
    Touched(Stamp),
    Load(Box<Candidate>),
    Refused(Option<Stamp>, String),
    Unsettled,
}

impl Reloader {
    /// Goes on from a config whose plugins this loader has loaded, or will have before the first
    /// [`check`](Self::check): make it before them, so that no change is missed.
    pub fn new(config: Config, loader: Loader) -> Self {
        let config_stamp = look(&config.file);
        // What stands on disk now need not be what is loaded: the first check compares digests.
        let known = |plugin: &PluginConfig| Known { first: look(&plugin.file), ..Known::default() };
        let plugins = config.plugins.iter().map(|plugin| (plugin.name.clone(), known(plugin))).collect();
        Self { config, config_stamp, config_refused: None, loader, plugins }
    }

    /// Takes note of plugins that could not be loaded: they are not tried again until their files look different than
    /// when this was made.
    pub fn refused(&mut self, plugins: &[String]) {
        for name in plugins {
            if let Some(known) = self.plugins.get_mut(name) {
                known.refused = known.first.take();
            }
        }
    }

    /// Files whose change is worth a check.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&*self.config.file).chain(self.config.plugins.iter().map(|plugin| &*plugin.file))
    }

    /// Loads what is new or different, unloads what is gone. A file that is being written is refused or taken up by a
    /// later check: wait until it was still for a moment before you call this.
    pub async fn check(&mut self, host: &Host) -> Reloaded {
        let mut report = Reloaded::default();
        let new = self.read_config(&mut report);
        let config = new.as_ref().unwrap_or(&self.config);
        let tried = join_all(config.plugins.iter().map(|plugin| self.try_plugin(config, plugin, host))).await;

        let mut candidates = Vec::new();
        for (plugin, tried) in config.plugins.iter().zip(tried) {
            let known = self.plugins.entry(plugin.name.clone()).or_default();
            match tried {
                Tried::Same => {}
                Tried::Touched(stamp) => known.loaded = Some(stamp),
                Tried::Load(candidate) => candidates.push(*candidate),
                Tried::Refused(stamp, why) => {
                    known.refused = stamp;
                    report.refused.push(why);
                }
                Tried::Unsettled => report.unsettled = true,
            }
        }
        let mut gone = Vec::new();
        for name in host.tools().plugins() {
            // Plugins that the embedder loaded by itself are not the config's.
            if !self.plugins.contains_key(&**name) {
                continue;
            }
            let Some(plugin) = config.plugins.iter().find(|plugin| *plugin.name == **name) else {
                gone.push(name.to_string());
                continue;
            };
            let known = self.plugins.entry(name.to_string()).or_default();
            if look(&plugin.file).is_some() {
                continue;
            }
            if config.hook_of(plugin).is_none() {
                gone.push(name.to_string());
            } else if known.loaded.take().is_some() {
                report.refused.push(format!(
                    "plugin {name:?}: {} is gone; its hooks go on running, since a policy does not end with its file: take the plugin out of {} to end it",
                    plugin.file.display(),
                    config.file.display()
                ));
            }
        }
        let order = new.as_ref().filter(|new| new.hooks != self.config.hooks).map(Config::hook_names);
        self.apply(host, candidates, gone, order, &mut report);
        if let Some(new) = new {
            self.plugins.retain(|name, _| new.plugins.iter().any(|plugin| plugin.name == *name));
            self.config = new;
        }
        report
    }

    /// The file's new meaning, if it has one.
    fn read_config(&mut self, report: &mut Reloaded) -> Option<Config> {
        let stamp = look(&self.config.file);
        if stamp == self.config_stamp && self.config_refused.is_none() {
            return None;
        }
        // A component alone has no toolgate.toml.
        if self.config.plugins.iter().any(|plugin| plugin.file == self.config.file) {
            return None;
        }
        match Config::load(&self.config.file) {
            Ok(new) => {
                self.config_stamp = stamp;
                self.config_refused = None;
                report.needs_restart = self.config.fixed_differences(&new);
                Some(new)
            }
            Err(error) => {
                let error = format!("{error}\nthe settings from before stay");
                if self.config_refused.as_ref() != Some(&error) {
                    report.refused.push(error.clone());
                }
                self.config_stamp = stamp;
                self.config_refused = Some(error);
                None
            }
        }
    }

    async fn try_plugin(&self, config: &Config, plugin: &PluginConfig, host: &Host) -> Tried {
        let Some(stamp) = look(&plugin.file) else { return Tried::Same };
        let known = self.plugins.get(&plugin.name);
        let settings_same = self.config.plugins.iter().any(|old| old == plugin)
            && self.config.hook_of(plugin) == config.hook_of(plugin)
            && host.tools().plugins().any(|name| **name == *plugin.name);
        if known.is_some_and(|known| known.refused.as_ref() == Some(&stamp)) && self.config.plugins.contains(plugin) {
            return Tried::Same;
        }
        if settings_same && known.is_some_and(|known| known.loaded.as_ref() == Some(&stamp)) {
            return Tried::Same;
        }
        let path = plugin.file.clone();
        let read = tokio::task::spawn_blocking(move || {
            let bytes = read_component(&path)?;
            let digest = sha256_hex(&bytes);
            Ok::<_, std::io::Error>((Arc::<[u8]>::from(bytes), digest))
        });
        let (bytes, digest) = match read.await {
            Ok(Ok(read)) => read,
            Ok(Err(error)) => {
                return Tried::Refused(
                    Some(stamp),
                    format!("plugin {:?}: {}: {error}", plugin.name, plugin.file.display()),
                );
            }
            Err(_) => return Tried::Unsettled,
        };
        if look(&plugin.file).as_ref() != Some(&stamp) {
            return Tried::Unsettled;
        }
        if settings_same && host.tools().digest(&plugin.name) == Some(&*digest) {
            return Tried::Touched(stamp);
        }
        match config.load_from(plugin, Source::Bytes(bytes), &self.loader).await {
            Ok(plugin_loaded) => {
                Tried::Load(Box::new(Candidate { config: plugin.clone(), stamp, plugin: plugin_loaded }))
            }
            Err(error) => Tried::Refused(Some(stamp), refusal(plugin, &error, host)),
        }
    }

    /// One change of the registry with everything in it that is accepted.
    fn apply(
        &mut self,
        host: &Host,
        mut candidates: Vec<Candidate>,
        gone: Vec<String>,
        order: Option<Vec<String>>,
        report: &mut Reloaded,
    ) {
        let there: Vec<String> = host.tools().plugins().map(ToString::to_string).collect();
        loop {
            if candidates.is_empty() && gone.is_empty() && order.is_none() {
                return;
            }
            let mut update = gone.iter().fold(Update::new(), Update::unload);
            update = candidates.iter().fold(update, |update, candidate| update.load(candidate.plugin.clone()));
            if let Some(order) = &order {
                update = update.hook_order(order);
            }
            let Err(error) = host.update(update) else { break };
            let culprit = candidates.iter().position(|candidate| candidate.config.name == error.plugin());
            // A tool that two have: where the one that is named was there before, the newest gives way.
            let Some(at) = culprit.or_else(|| candidates.len().checked_sub(1)) else {
                report.refused.push(error.to_string());
                return;
            };
            let refused = candidates.remove(at);
            let why = refusal(&refused.config, &OpenError::Registry(error), host);
            self.plugins.entry(refused.config.name).or_default().refused = Some(refused.stamp);
            report.refused.push(why);
        }
        for candidate in candidates {
            let name = candidate.config.name;
            let known = self.plugins.entry(name.clone()).or_default();
            *known = Known { loaded: Some(candidate.stamp), ..Known::default() };
            if there.contains(&name) { report.replaced.push(name) } else { report.loaded.push(name) }
        }
        for name in gone {
            self.plugins.entry(name.clone()).or_default().loaded = None;
            report.unloaded.push(name);
        }
    }
}

fn refusal(plugin: &PluginConfig, error: &OpenError, host: &Host) -> String {
    let stays = host.tools().plugins().any(|name| **name == *plugin.name);
    let then = if stays { "what was loaded before stays" } else { "it is not loaded" };
    format!("{}: {error}; {then}", plugin.file.display())
}

impl RegistryError {
    /// The plugin that was to be loaded or unloaded.
    fn plugin(&self) -> &str {
        match self {
            Self::PluginExists { plugin }
            | Self::NotLoaded { plugin }
            | Self::ToolExists { plugin, .. }
            | Self::ToolTwice { plugin, .. }
            | Self::NoSuchTool { plugin, .. }
            | Self::Definition { plugin, .. }
            | Self::Schema { plugin, .. }
            | Self::Patterns { plugin, .. } => plugin,
        }
    }
}

impl Config {
    fn hook_names(&self) -> Vec<String> {
        self.hooks.iter().map(|hook| hook.plugin.clone()).collect()
    }

    /// Keys that differ and are fixed once a host and its engine are made.
    fn fixed_differences(&self, new: &Self) -> Vec<&'static str> {
        let tables = |config: &Self| {
            config
                .plugins
                .iter()
                .map(|plugin| plugin.limits.table_elements)
                .max()
                .unwrap_or(0)
                .max(EngineSettings::default().max_table_elements)
        };
        [
            ("mode", self.mode != new.mode),
            ("grace-ms", self.grace != new.grace),
            ("approval-timeout-ms", self.approval_timeout != new.approval_timeout),
            ("sink-timeout-ms", self.sink_timeout != new.sink_timeout),
            ("key-wait-ms", self.key_wait != new.key_wait),
            ("batch-result-bytes", self.batch_result_bytes != new.batch_result_bytes),
            ("compile-ms", self.compile_time != new.compile_time),
            ("cache-dir", self.cache_dir != new.cache_dir),
            ("cache-bytes", self.cache_bytes != new.cache_bytes),
            ("instances", self.instances != new.instances),
            ("queue-length", self.queue_length != new.queue_length),
            ("queue-wait-ms", self.queue_wait != new.queue_wait),
            ("limits.table-elements", tables(new) > tables(self)),
        ]
        .into_iter()
        .filter_map(|(key, differs)| differs.then_some(key))
        .collect()
    }
}
