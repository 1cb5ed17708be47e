//! From what is written to what it means: paths are resolved, files and directories looked for, names checked against
//! each other, limits worked out.

use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::limits::RawLimits;
use super::raw::{RawActive, RawConfig, RawHook, RawPlugin};
use super::read::{At, Place, Source, nearest};
use super::{Active, Config, HookConfig, PluginConfig, cause};
use crate::model::{Json, is_name};
use crate::sandbox::{DirAccess, DirGrant, Grants, Limits};

/// Looks at the file system and the operator's environment, and reports to the source.
pub(super) struct Validator<'s, 'a> {
    pub source: &'s Source<'a>,
    /// The toolgate.toml.
    pub file: &'s Path,
    /// What relative paths are relative to.
    pub base: &'s Path,
    /// The operator's environment.
    pub env: &'s dyn Fn(&str) -> Option<std::ffi::OsString>,
}

impl Validator<'_, '_> {
    pub fn config(&self, raw: RawConfig) -> Config {
        let defaults = Config::default();
        let is_hook =
            |name: &str| raw.hooks.iter().filter_map(|hook| hook.plugin.as_ref()).any(|plugin| **plugin == name);
        let plugins: Vec<_> =
            raw.plugins.iter().filter_map(|plugin| self.plugin(plugin, is_hook(&plugin.name), &raw.limits)).collect();
        let names: Vec<&str> = raw.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        let hooks = self.hooks(&raw.hooks, &names);
        let cache_dir = match &raw.cache_dir {
            Some(dir) => Some(self.base.join(&dir.value)),
            None => defaults.cache_dir,
        };
        if let Some(cache_dir) = &cache_dir {
            self.cache_out_of_reach(cache_dir, raw.cache_dir.as_ref(), &raw.plugins);
        }
        let warnings = self.warnings(&plugins);
        Config {
            file: self.file.to_owned(),
            mode: raw.mode.unwrap_or(defaults.mode),
            grace: raw.grace.unwrap_or(defaults.grace),
            approval_timeout: raw.approval_timeout.unwrap_or(defaults.approval_timeout),
            sink_timeout: raw.sink_timeout.unwrap_or(defaults.sink_timeout),
            key_wait: raw.key_wait.unwrap_or(defaults.key_wait),
            batch_result_bytes: raw
                .batch_result_bytes
                .map_or(defaults.batch_result_bytes, |n| usize::try_from(n).unwrap_or(usize::MAX)),
            compile_time: raw.compile_time.unwrap_or(defaults.compile_time),
            cache_dir,
            cache_bytes: raw.cache_bytes.unwrap_or(defaults.cache_bytes),
            instances: raw.instances.map_or(defaults.instances, |n| u32::try_from(n).unwrap_or(u32::MAX)),
            queue_length: raw.queue_length.map_or(defaults.queue_length, |n| usize::try_from(n).unwrap_or(usize::MAX)),
            queue_wait: raw.queue_wait.unwrap_or(defaults.queue_wait),
            compile_threads: raw.compile_threads.and_then(|n| usize::try_from(n).ok()),
            compile_wait: raw.compile_wait.unwrap_or(defaults.compile_wait),
            list_wait: raw.list_wait.unwrap_or(defaults.list_wait),
            plugins,
            hooks,
            warnings,
        }
    }

    fn wrong(&self, place: &Place, wrong: impl Into<String>, accepted: impl Into<String>) {
        self.source.wrong(place, wrong.into(), Some(accepted.into()));
    }

    fn plugin(&self, raw: &RawPlugin, is_hook: bool, ceiling: &RawLimits) -> Option<PluginConfig> {
        self.name(&raw.name, "a plugin's name");
        let file = raw.file.as_ref().and_then(|file| self.file(file));
        let sha256 = raw.sha256.as_ref().map(|pin| self.sha256(pin));
        if let Some(fuel) = &raw.limits.fuel
            && fuel.value.is_none()
            && !raw.trusted
        {
            self.wrong(
                &fuel.place,
                "only a trusted plugin may run unmetered",
                "a number of instructions, or `trusted = true` beside it",
            );
        }
        let defaults = if is_hook { Limits::for_hooks() } else { Limits::default() };
        let limits = raw.limits.over(defaults, ceiling);
        let tools = raw.tools.as_ref().map(|tools| self.tools(tools));
        let listed = |tool: &At<String>| {
            self.name(tool, "a tool's name");
            if let Some(tools) = &tools
                && !tools.contains(&tool.value)
            {
                self.wrong(&tool.place, format!("{:?} is not in this plugin's `tools`", tool.value), tools.join(", "));
            }
            tool.value.clone()
        };
        let initially_active = match &raw.initially_active {
            None => Active::default(),
            Some(RawActive::All(active)) => Active { all: *active, each: BTreeMap::new() },
            Some(RawActive::Each(each)) => {
                Active { all: true, each: each.iter().map(|(tool, active)| (listed(tool), *active)).collect() }
            }
        };
        let idempotent = raw.idempotent.iter().map(listed).collect();
        let mut grants = self.grants(raw);
        grants.http = Some(Arc::new(raw.http.policy(self.source, self.base, self.env, limits.http)));
        Some(PluginConfig {
            name: raw.name.value.clone(),
            file: file?,
            sha256: sha256.flatten(),
            trusted: raw.trusted,
            tools,
            initially_active,
            idempotent,
            limits: limits.plugin,
            grants,
            config: Json::from_value(serde_json::Value::Object(raw.config.clone())),
        })
    }

    /// Plugins' and tools' names have the same form.
    fn name(&self, name: &At<String>, what: &str) {
        if !is_name(&name.value) {
            self.wrong(&name.place, format!("{:?} can't be {what}", name.value), "1 to 64 of A-Z, a-z, 0-9, _ and -");
        }
    }

    fn tools(&self, tools: &At<Vec<At<String>>>) -> Vec<String> {
        let mut seen: Vec<String> = Vec::new();
        for tool in &tools.value {
            self.name(tool, "a tool's name");
            if seen.contains(&tool.value) {
                self.wrong(&tool.place, format!("{:?} is listed twice", tool.value), "each tool once");
            }
            seen.push(tool.value.clone());
        }
        seen
    }

    fn file(&self, file: &At<String>) -> Option<PathBuf> {
        let path = self.base.join(&file.value);
        match std::fs::metadata(&path) {
            Ok(found) if found.is_file() => return Some(path),
            Ok(_) => {
                self.wrong(&file.place, format!("{:?} is not a file", file.value), "the path of a component (.wasm)")
            }
            Err(error) => self.wrong(
                &file.place,
                format!("{:?}: {}", file.value, cause(&error)),
                "the path of a component (.wasm), relative to this file",
            ),
        }
        None
    }

    fn sha256(&self, pin: &At<String>) -> Option<String> {
        let digits = pin.strip_prefix("sha256:").unwrap_or(pin);
        let good = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !good {
            self.wrong(&pin.place, "is no SHA-256", "64 hexadecimal digits, as `sha256sum FILE` prints them");
        }
        good.then(|| digits.to_ascii_lowercase())
    }

    fn grants(&self, raw: &RawPlugin) -> Grants {
        let mut grants = Grants { wall_clock: raw.wall_clock.unwrap_or(true), ..Grants::default() };
        let mut seen = Vec::new();
        for dir in &raw.dirs {
            let host = dir.host.as_ref().and_then(|host| self.host_dir(host));
            let guest = dir.guest.as_ref().and_then(|guest| self.guest_dir(guest, &mut seen));
            if let (Some(guest), Some(host), Some(access)) = (guest, host, dir.access) {
                grants.dirs.push(DirGrant { guest, host, access });
            }
        }
        for (name, value) in &raw.env {
            self.variable(name);
            if value.contains('\0') {
                self.wrong(&value.place, "holds a NUL", "a string without one");
            }
            grants.env.insert(name.value.clone(), value.value.clone());
        }
        for name in &raw.env_from {
            self.variable(name);
            if raw.env.iter().any(|(other, _)| other.value == name.value) {
                self.wrong(&name.place, format!("{} is in `env` too", name.value), "each variable once");
            }
            match (self.env)(&name.value).map(std::ffi::OsString::into_string) {
                // One that is not set here is not set there.
                None => {}
                Some(Ok(value)) => {
                    grants.env.insert(name.value.clone(), value);
                }
                Some(Err(_)) => {
                    self.wrong(
                        &name.place,
                        format!("the value of {} is not UTF-8", name.value),
                        "a variable with a UTF-8 value",
                    );
                }
            }
        }
        grants
    }

    fn variable(&self, name: &At<String>) {
        if name.is_empty() || name.contains(['=', '\0']) {
            self.wrong(&name.place, format!("{:?} is no variable's name", name.value), "a name without = and NUL");
        }
    }

    fn host_dir(&self, raw: &At<String>) -> Option<PathBuf> {
        let host = self.base.join(&raw.value);
        match std::fs::metadata(&host) {
            Ok(found) if found.is_dir() => return Some(host),
            Ok(_) => self.wrong(
                &raw.place,
                format!("{:?} is not a directory", raw.value),
                "a directory; grant the one that holds the file",
            ),
            Err(error) => self.wrong(
                &raw.place,
                format!("{:?}: {}", raw.value, cause(&error)),
                "a directory that exists, relative to this file",
            ),
        }
        None
    }

    fn guest_dir(&self, raw: &At<String>, seen: &mut Vec<String>) -> Option<String> {
        let Some(guest) = guest_path(raw) else {
            self.wrong(
                &raw.place,
                format!("{:?} is no guest path", raw.value),
                "an absolute path without `..`, for example \"/project\", or \".\"",
            );
            return None;
        };
        if seen.contains(&guest) {
            self.wrong(&raw.place, format!("{guest:?} is granted twice"), "each guest path once");
        }
        seen.push(guest.clone());
        Some(guest)
    }

    fn hooks(&self, raw: &[RawHook], plugins: &[&str]) -> Vec<HookConfig> {
        let mut first: HashMap<&str, usize> = HashMap::new();
        for hook in raw {
            if let Some(plugin) = &hook.plugin {
                self.hook_plugin(plugin, plugins, &mut first);
            }
            for tool in hook.tools.iter().flatten() {
                self.name(tool, "a tool's name");
            }
        }
        raw.iter()
            .filter_map(|hook| {
                Some(HookConfig {
                    plugin: hook.plugin.as_ref()?.value.clone(),
                    on_error: hook.on_error.unwrap_or_default(),
                    tools: hook.tools.as_ref().map(|all| all.iter().map(|tool| tool.value.clone()).collect()),
                })
            })
            .collect()
    }

    fn hook_plugin<'p>(&self, plugin: &'p At<String>, plugins: &[&str], first: &mut HashMap<&'p str, usize>) {
        let name = plugin.as_str();
        if !plugins.contains(&name) {
            let wrong = match nearest(name, plugins.iter().copied()) {
                Some(near) => format!("there is no plugin {name:?}; did you mean {near:?}?"),
                None => format!("there is no plugin {name:?}"),
            };
            self.wrong(&plugin.place, wrong, "the name of a [plugins.NAME] table");
        }
        if let Some(line) = first.insert(name, plugin.place.line) {
            self.wrong(
                &plugin.place,
                format!("{name:?} is listed already in line {line}"),
                "each plugin once; one plugin's hooks run at one place in the order",
            );
        }
    }

    /// Native code is loaded from the cache: a plugin that could write there would leave the sandbox.
    fn cache_out_of_reach(&self, cache: &Path, written: Option<&At<String>>, plugins: &[RawPlugin]) {
        let cache = resolved(cache);
        let writable = plugins.iter().flat_map(|plugin| &plugin.dirs);
        let writable = writable.filter(|dir| dir.access == Some(DirAccess::ReadWrite));
        for granted in writable.filter_map(|dir| dir.host.as_ref()) {
            let host = resolved(&self.base.join(&granted.value));
            if cache.starts_with(&host) || host.starts_with(&cache) {
                let place = written.map_or(&granted.place, |written| &written.place);
                self.wrong(
                    place,
                    format!(
                        "{} can be written to through {} (line {}), and compiled code is loaded from there",
                        cache.display(),
                        granted.place.key,
                        granted.place.line
                    ),
                    "a `cache-dir` outside of every directory granted read-write",
                );
            }
        }
    }

    /// What works but hands a plugin more than it seems.
    fn warnings(&self, plugins: &[PluginConfig]) -> Vec<String> {
        let mut warnings = Vec::new();
        for plugin in plugins {
            for dir in plugin.grants.dirs.iter().filter(|dir| dir.access == DirAccess::ReadWrite) {
                let host = resolved(&dir.host);
                let unpinned = plugins.iter().filter(|other| other.sha256.is_none()).map(|other| &*other.file);
                for file in std::iter::once(self.file).chain(unpinned) {
                    if resolved(file).starts_with(&host) {
                        warnings.push(format!(
                            "plugin {} may write to {}, which the next start reads: grant a directory without it{}",
                            plugin.name,
                            file.display(),
                            if file == self.file { "" } else { ", or pin it by sha256" }
                        ));
                    }
                }
            }
        }
        warnings
    }
}

/// A guest path in its plain form; none where it is none.
fn guest_path(text: &str) -> Option<String> {
    if text == "." || text == "/" {
        return Some(text.to_owned());
    }
    let plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    let path = Path::new(text);
    let good = text.starts_with('/') && !text.contains(['\0', '\\']) && path.components().all(plain);
    good.then(|| {
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        format!("/{}", parts.join("/"))
    })
}

/// The path without links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut rest = Vec::new();
    let mut at = absolute.as_path();
    loop {
        if let Ok(real) = at.canonicalize() {
            return rest.into_iter().rev().fold(real, |path: PathBuf, part| path.join(part));
        }
        match (at.parent(), at.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name.to_owned());
                at = parent;
            }
            _ => return absolute,
        }
    }
}
