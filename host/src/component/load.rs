//! From a file to a plugin: read, pinned, inspected, compiled or found in the cache, linked, described, checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wasmtime::component::Component;

use super::bindings::v0_1::{hooks, tools};
use super::cache::sha256_hex;
use super::engine::Engine;
use super::failure::Failure;
use super::inspect::{CONTRACT_VERSION, ComponentInfo, InspectError, check_code, inspect};
use super::plugin::{ComponentHook, ComponentTool, Described, Loaded, PluginInfo};
use crate::model::{DefinitionError, Json, ToolDefinition};
use crate::pipeline::{HookEvent, LogSink, NoLogs};
use crate::registry::Plugin;
use crate::sandbox::{Grants, Limits};

/// Largest component file that is read: 256 MiB, ten times the largest language runtime.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// Most tools of one component.
const MAX_TOOLS: usize = 1_000;
/// Most subscriptions of one component, and tool names in each.
const MAX_SUBSCRIPTIONS: usize = 1_000;
/// Largest description of a component: all its definitions and subscriptions as JSON. 500 tools with schemas of 8 KiB.
pub(super) const MAX_DESCRIPTION_BYTES: usize = 4 << 20;

/// Where a component comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Bytes at hand.
    Bytes(Arc<[u8]>),
}

/// Everything about one plugin that the operator decides.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PluginSpec {
    /// The plugin instance's name; one file may be loaded under several.
    pub name: Arc<str>,
    /// The component.
    pub source: Source,
    /// The file must have this digest (hexadecimal).
    pub sha256: Option<String>,
    /// What it may use.
    pub limits: Limits,
    /// What it may reach.
    pub grants: Grants,
    /// Its settings, a JSON object.
    pub config: Json,
    /// Only these of its tools; `None` is all.
    pub tools: Option<Vec<String>>,
}

impl PluginSpec {
    /// A plugin with default limits, no grants and no settings.
    pub fn new(name: impl Into<Arc<str>>, source: Source) -> Self {
        Self {
            name: name.into(),
            source,
            sha256: None,
            limits: Limits::default(),
            grants: Grants::default(),
            config: Json::empty_object(),
            tools: None,
        }
    }
}

/// Why a component is not loaded.
#[derive(Debug, thiserror::Error)]
#[error("plugin {plugin}: {reason}")]
pub struct LoadError {
    /// The plugin.
    pub plugin: Arc<str>,
    /// What is wrong and what to do.
    pub reason: LoadErrorReason,
}

/// What is wrong with a component.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadErrorReason {
    /// The file cannot be read.
    #[error("{path}: {error}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Not the file that was pinned.
    #[error("the file is not the pinned one: its sha256 is {found}, the pin says {pinned}")]
    Pin {
        /// Of the file.
        found: String,
        /// Of the configuration.
        pinned: String,
    },
    /// Not a component of this contract.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// It needs more memory than it may have before it does anything.
    #[error(
        "it needs {needs} bytes of memory at the start and may have {limit}; raise limits.memory-bytes of this plugin"
    )]
    Memory {
        /// The sum of its memories' minimums.
        needs: u64,
        /// Its limit.
        limit: usize,
    },
    /// It does not compile.
    #[error("the component does not compile: {0}")]
    Compile(String),
    /// It wants what nobody provides, or what we provide in another shape.
    #[error("the component cannot be linked: {0}")]
    Link(String),
    /// It failed to say what it offers.
    #[error("reading its definitions failed: {0}")]
    Describe(String),
    /// It offers too much.
    #[error("it defines {found} {what}, more than {limit}")]
    TooMany {
        /// Tools or subscriptions.
        what: &'static str,
        /// How many.
        found: usize,
        /// At most.
        limit: usize,
    },
    /// A definition is ill-formed.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// Two tools of one name.
    #[error("it defines the tool {0} twice")]
    Duplicate(String),
    /// The operator chose a tool it does not have.
    #[error("`tools` names {wanted}, which it does not define; it defines: {offered}")]
    NoSuchTool {
        /// What was chosen.
        wanted: String,
        /// What there is.
        offered: String,
    },
}

/// Loads components into one engine. Cheap to clone.
#[derive(Clone)]
pub struct Loader {
    engine: Engine,
    logs: Arc<dyn LogSink>,
}

impl Loader {
    /// A loader that drops what guests log while they are read.
    pub fn new(engine: Engine) -> Self {
        Self { engine, logs: Arc::new(NoLogs) }
    }

    /// Hands on what guests log while they are read.
    pub fn with_logs(mut self, logs: Arc<dyn LogSink>) -> Self {
        self.logs = logs;
        self
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Loads a component: compiles it, or takes it from the cache, and reads what it offers.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the file, its pin, its limits or its definitions; it names the plugin.
    pub async fn load(&self, spec: PluginSpec) -> Result<Plugin, LoadError> {
        let plugin = spec.name.clone();
        self.load_inner(spec).await.map_err(|reason| LoadError { plugin, reason })
    }

    async fn load_inner(&self, spec: PluginSpec) -> Result<Plugin, LoadErrorReason> {
        let engine = self.engine.clone();
        // Reading, hashing and compiling take a thread for long.
        let (spec, info, component) = tokio::task::spawn_blocking(move || {
            let bytes = read(&spec.source)?;
            let info = inspect(&bytes)?;
            check_pin(&spec, &info)?;
            if info.minimum_memory_bytes > spec.limits.memory_bytes as u64 {
                return Err(LoadErrorReason::Memory {
                    needs: info.minimum_memory_bytes,
                    limit: spec.limits.memory_bytes,
                });
            }
            let component = compile(&engine, &bytes, &info)?;
            Ok((spec, info, component))
        })
        .await
        .map_err(|panicked| LoadErrorReason::Compile(panicked.to_string()))??;

        let link = |error: wasmtime::Error| LoadErrorReason::Link(format!("{error:#}"));
        let pre = self.engine.0.linker.instantiate_pre(&component).map_err(link)?;
        let tools = info.tools.then(|| tools::GuestIndices::new(&pre)).transpose().map_err(link)?;
        let hooks = info.hooks.then(|| hooks::GuestIndices::new(&pre)).transpose().map_err(link)?;
        let (name, chosen) = (spec.name.clone(), spec.tools);
        let about = PluginInfo {
            name: spec.name,
            limits: spec.limits,
            grants: spec.grants,
            config: spec.config,
            imports_wasi: info.imports.iter().any(|name| name.starts_with("wasi:")),
        };
        let loaded = Arc::new(Loaded { engine: self.engine.clone(), info: Arc::new(about), pre, tools, hooks });
        let mut described = self.describe(&loaded, &info).await?;
        check(&described)?;
        if let Some(chosen) = &chosen {
            choose(&mut described.tools, chosen)?;
        }
        let mut plugin = Plugin::native(name);
        plugin.arguments_bytes = Some(loaded.info.limits.arguments_bytes);
        plugin.digest = Some(info.sha256.as_str().into());
        for definition in described.tools {
            plugin = plugin.tool(ComponentTool { loaded: loaded.clone(), definition });
        }
        if info.hooks {
            plugin = plugin.hook(ComponentHook::new(loaded, described.subscriptions));
        }
        Ok(plugin)
    }

    /// Names of the tools in the component, where an earlier load with the same settings has noted them: for whoever
    /// wants one tool and would rather not load all plugins. Reads the file, compiles and runs nothing.
    pub async fn known_tools(&self, spec: &PluginSpec) -> Option<Vec<String>> {
        let (engine, source, config) = (self.engine.clone(), spec.source.clone(), spec.config.clone());
        let known = tokio::task::spawn_blocking(move || {
            let name = description_name(&sha256_hex(&read(&source).ok()?), &config);
            engine.0.cache.as_ref()?.find_document(&name)
        });
        let described = serde_json::from_slice::<Description>(&known.await.ok()??).ok()?;
        Some(described.tools.into_iter().map(|definition| definition.name).collect())
    }

    /// From the cache, or from the component itself.
    async fn describe(&self, loaded: &Loaded, info: &ComponentInfo) -> Result<Described, LoadErrorReason> {
        let name = description_name(&info.sha256, &loaded.info.config);
        let cache = self.engine.0.cache.as_ref();
        if let Some(known) = cache.and_then(|cache| cache.find_document(&name))
            && let Ok(described) = serde_json::from_slice::<Description>(&known)
        {
            return Ok(Described { tools: described.tools, subscriptions: described.subscriptions });
        }
        let described = loaded.describe(&self.logs).await.map_err(|Failure { message, hint, .. }| {
            // Where in its source the plugin gave up is of no use to who configures it.
            let text = message.strip_prefix("panicked at ").and_then(|m| m.split_once(": ")).map_or(&*message, |m| m.1);
            LoadErrorReason::Describe(hint.map_or(text.to_owned(), |hint| format!("{text}; {hint}")))
        })?;
        let description = Description { tools: described.tools, subscriptions: described.subscriptions };
        let bytes = serde_json::to_vec(&description).map_err(|e| LoadErrorReason::Describe(e.to_string()))?;
        if bytes.len() > MAX_DESCRIPTION_BYTES {
            let text = format!("its definitions take {} bytes, more than {MAX_DESCRIPTION_BYTES}", bytes.len());
            return Err(LoadErrorReason::Describe(text));
        }
        if let Some(cache) = cache
            && let Err(error) = cache.store_document(&name, &bytes)
        {
            tracing::warn!(plugin = &*loaded.info.name, %error, "the definitions were not cached");
        }
        Ok(Described { tools: description.tools, subscriptions: description.subscriptions })
    }
}

/// What a component describes may depend on its settings.
fn description_name(sha256: &str, config: &Json) -> String {
    format!("{sha256}-{CONTRACT_VERSION}-{}.description", sha256_hex(config.text().as_bytes()))
}

/// [`Described`] as it is kept beside the compiled code.
#[derive(Serialize, Deserialize)]
struct Description {
    tools: Vec<ToolDefinition>,
    subscriptions: Vec<(HookEvent, Option<Vec<String>>)>,
}

fn read(source: &Source) -> Result<Arc<[u8]>, LoadErrorReason> {
    match source {
        Source::Bytes(bytes) => Ok(bytes.clone()),
        Source::File(path) => {
            let read = read_component(path).map_err(|error| LoadErrorReason::Io { path: path.clone(), error })?;
            Ok(read.into())
        }
    }
}

/// Reads a component file: a regular one, and not a larger one than a plugin may be (256 MiB).
///
/// # Errors
///
/// The file cannot be read, is something else than a file, or is too large.
pub fn read_component(path: &Path) -> std::io::Result<Vec<u8>> {
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    if meta.len() > MAX_FILE_BYTES {
        return Err(std::io::Error::other(format!("it has {} bytes, more than {MAX_FILE_BYTES}", meta.len())));
    }
    std::fs::read(path)
}

fn check_pin(spec: &PluginSpec, info: &ComponentInfo) -> Result<(), LoadErrorReason> {
    match &spec.sha256 {
        Some(pin) if !pin.eq_ignore_ascii_case(&info.sha256) => {
            Err(LoadErrorReason::Pin { found: info.sha256.clone(), pinned: pin.clone() })
        }
        _ => Ok(()),
    }
}

fn compile(engine: &Engine, bytes: &[u8], info: &ComponentInfo) -> Result<Component, LoadErrorReason> {
    let wasm = &engine.0.wasm;
    let fail = |error: wasmtime::Error| LoadErrorReason::Compile(format!("{error:#}"));
    let Some(cache) = &engine.0.cache else {
        check_code(bytes)?;
        return Component::new(wasm, bytes).map_err(fail);
    };
    let key = format!("{}-{:016x}", info.sha256, compatibility(wasm));
    if let Some(path) = cache.find(&key) {
        // SAFETY: the file lies in a directory that only this user can write to, and has the digest that was noted when
        // this host compiled it; the engine checks its own version and settings besides.
        #[allow(unsafe_code)]
        match unsafe { Component::deserialize_file(wasm, &path) } {
            Ok(component) => return Ok(component),
            Err(error) => {
                tracing::warn!(file = %path.display(), "cached code is not usable and is compiled again: {error:#}");
                cache.remove(&key);
            }
        }
    }
    check_code(bytes)?;
    let component = Component::new(wasm, bytes).map_err(fail)?;
    match component.serialize() {
        Ok(code) => {
            if let Err(error) = cache.store(&key, &code) {
                tracing::warn!(%error, "compiled code was not cached");
            }
        }
        Err(error) => tracing::warn!("compiled code was not cached: {error:#}"),
    }
    Ok(component)
}

/// The engine's settings and version as a number.
fn compatibility(wasm: &wasmtime::Engine) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    wasm.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

/// Leaves only the tools the operator chose.
fn choose(tools: &mut Vec<ToolDefinition>, chosen: &[String]) -> Result<(), LoadErrorReason> {
    if let Some(wanted) = chosen.iter().find(|wanted| tools.iter().all(|tool| tool.name != **wanted)) {
        let offered = tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>().join(", ");
        return Err(LoadErrorReason::NoSuchTool { wanted: wanted.clone(), offered });
    }
    tools.retain(|tool| chosen.contains(&tool.name));
    Ok(())
}

fn check(described: &Described) -> Result<(), LoadErrorReason> {
    let too_many = |what, found, limit| {
        if found > limit { Err(LoadErrorReason::TooMany { what, found, limit }) } else { Ok(()) }
    };
    too_many("tools", described.tools.len(), MAX_TOOLS)?;
    too_many("subscriptions", described.subscriptions.len(), MAX_SUBSCRIPTIONS)?;
    let mut names = std::collections::HashSet::new();
    for definition in &described.tools {
        definition.check()?;
        if !names.insert(&*definition.name) {
            return Err(LoadErrorReason::Duplicate(definition.name.clone()));
        }
    }
    Ok(())
}
