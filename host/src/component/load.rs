//! From a file to a plugin: read, pinned, inspected, compiled or found in the cache, linked, described, checked.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cache::sha256_hex;
use super::compile::{self, Code, News, Pending, Watcher};
use super::engine::Engine;
use super::inspect::{CONTRACT_VERSION, ComponentInfo};
use super::known::{Found, look, recall};
use super::load_error::{LoadError, LoadErrorReason};
use super::plugin::{ComponentHook, ComponentTool, Described, Loaded, PluginInfo, Subscription};
use crate::files;
use crate::model::{Json, ToolDefinition};
use crate::pipeline::{LogSink, NoLogs};
use crate::registry::Plugin;
use crate::sandbox::{Grants, Limits};

/// Largest component file that is read: 256 MiB, ten times the largest language runtime.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// Compilations that were given up and still go on; no further one is begun beside so many.
pub(super) const MAX_GIVEN_UP: usize = 2;
/// Stack of a compiling thread: four times a usual one, since the compiler recurses along what the component nests.
pub(super) const COMPILE_STACK: usize = 8 << 20;
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

/// Loads components into one engine. Cheap to clone.
#[derive(Clone)]
pub struct Loader {
    engine: Engine,
    logs: Arc<dyn LogSink>,
    watcher: Option<Watcher>,
    is_eager: bool,
}

impl Loader {
    /// A loader that drops what guests log while they are read.
    pub fn new(engine: Engine) -> Self {
        Self { engine, logs: Arc::new(NoLogs), watcher: None, is_eager: false }
    }

    /// Tells when a component is being compiled.
    pub fn with_progress(mut self, watcher: Watcher) -> Self {
        self.watcher = Some(watcher);
        self
    }

    /// Loads a component whose definitions are known from an earlier load without waiting for its code, where that has to
    /// be compiled anew: it is compiled in the background, and a call waits for it, for at most
    /// [`compile_wait`](super::EngineSettings::compile_wait). An error of the compiler is then the call's.
    pub fn in_background(mut self) -> Self {
        self.is_eager = true;
        self
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
        match self.look(spec).await? {
            Looked::Plugin(plugin) => Ok(*plugin),
            Looked::Unread(unread) => self.read(*unread).await,
        }
    }

    /// The first half of [`load`](Self::load), which compiles nothing: everything, for a component that an earlier load
    /// has come to know.
    pub(crate) async fn look(&self, spec: PluginSpec) -> Result<Looked, LoadError> {
        let plugin = spec.name.clone();
        self.look_inner(spec).await.map_err(|reason| LoadError { plugin, reason })
    }

    /// The second half.
    pub(crate) async fn read(&self, unread: Unread) -> Result<Plugin, LoadError> {
        let plugin = unread.spec.name.clone();
        self.read_inner(unread).await.map_err(|reason| LoadError { plugin, reason })
    }

    async fn look_inner(&self, spec: PluginSpec) -> Result<Looked, LoadErrorReason> {
        let (spec, info, known, code) = match self.recall(&spec) {
            Some((info, known, code)) => {
                check_spec(&spec, &info)?;
                (spec, info, known, Ok(code))
            }
            None => match self.look_aside(spec).await? {
                Ok(known) => known,
                Err(unread) => return Ok(Looked::Unread(unread)),
            },
        };
        let (code, later) = match code {
            Ok(code) => (Pending::ready(code), None),
            Err(found) => (Pending::default(), Some(found)),
        };
        let loaded = self.loaded(&spec, &info, code);
        if let Some(found) = later {
            self.compile_later(&loaded, spec.source.clone(), found);
        }
        plugin(loaded, &spec, &info, known).map(|plugin| Looked::Plugin(Box::new(plugin)))
    }

    async fn read_inner(&self, unread: Unread) -> Result<Plugin, LoadErrorReason> {
        let Unread { spec, info, known, found } = unread;
        let (engine, watcher) = (self.engine.clone(), self.watcher.clone());
        let (name, source) = (spec.name.clone(), spec.source.clone());
        let code = self.aside(move || {
            let news = News { plugin: &name, watcher: watcher.as_ref() };
            compile::code(&engine, &source, found, &news)
        });
        let loaded = self.loaded(&spec, &info, Pending::ready(code.await?));
        let described = match known {
            Some(known) => known,
            None => self.describe(&loaded, &info).await?,
        };
        plugin(loaded, &spec, &info, described)
    }

    fn loaded(&self, spec: &PluginSpec, info: &ComponentInfo, code: Pending) -> Arc<Loaded> {
        let about = PluginInfo {
            name: spec.name.clone(),
            limits: spec.limits,
            grants: spec.grants.clone(),
            config: spec.config.clone(),
            imports_wasi: info.imports.iter().any(|name| name.starts_with("wasi:")),
        };
        Arc::new(Loaded { engine: self.engine.clone(), info: Arc::new(about), code })
    }

    /// Everything about a component that has not changed since an earlier load, without a thread to wait for: a few small
    /// reads.
    fn recall(&self, spec: &PluginSpec) -> Option<(ComponentInfo, Described, Arc<Code>)> {
        let info = recall(&spec.source, self.engine.0.cache.as_ref()?)?;
        let known = known_description(&self.engine, &info, &spec.config)?;
        let code = compile::recall(&self.engine, &info)?;
        Some((info, known, code))
    }

    /// The same of one that has to be read and hashed, or whose code has.
    async fn look_aside(&self, spec: PluginSpec) -> Result<Result<Known, Box<Unread>>, LoadErrorReason> {
        let (engine, watcher, is_eager) = (self.engine.clone(), self.watcher.clone(), self.is_eager);
        let work = move || {
            let found = look(&spec.source, engine.0.cache.as_ref())?;
            let info = found.info.clone();
            check_spec(&spec, &info)?;
            let known = known_description(&engine, &info, &spec.config);
            Ok(match known {
                Some(known) if compile::is_cached(&engine, &info) => {
                    let news = News { plugin: &spec.name, watcher: watcher.as_ref() };
                    let code = compile::code(&engine, &spec.source, found, &news)?;
                    Ok((spec, info, known, Ok(code)))
                }
                Some(known) if is_eager => Ok((spec, info, known, Err(found))),
                known => Err(Box::new(Unread { spec, info, known, found })),
            })
        };
        self.aside(work).await
    }

    /// Reads, hashes and compiles on a thread of its own, not one of the runtime's: compiling can't be stopped, and a
    /// runtime that ends would wait for it.
    pub(super) async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, LoadErrorReason> + Send + 'static,
    ) -> Result<T, LoadErrorReason> {
        let engine = self.engine.clone();
        let limit = engine.0.settings.compile_time;
        // Set by whoever ends first, the work or the one who waits for it.
        let over = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let done = over.clone();
        compile_thread(move || {
            let ended = std::panic::catch_unwind(AssertUnwindSafe(work));
            let ended = ended.unwrap_or_else(|_| Err(LoadErrorReason::Compile("the compiler failed on it".into())));
            // Nobody waits where loading was given up; what was compiled is in the cache then.
            let _ = sender.send(ended);
            if done.swap(true, Ordering::SeqCst) {
                engine.0.given_up.fetch_sub(1, Ordering::SeqCst);
            }
        })?;
        match tokio::time::timeout(limit, receiver).await {
            Ok(Ok(ended)) => ended,
            Ok(Err(_)) => Err(LoadErrorReason::Compile("its thread ended".into())),
            Err(_) => {
                self.engine.0.given_up.fetch_add(1, Ordering::SeqCst);
                if over.swap(true, Ordering::SeqCst) {
                    self.engine.0.given_up.fetch_sub(1, Ordering::SeqCst);
                }
                Err(LoadErrorReason::CompileTime { limit })
            }
        }
    }

    /// Names of the tools in the component, where an earlier load with the same settings has noted them: for whoever
    /// wants one tool and would rather not load all plugins. Reads the file, compiles and runs nothing.
    pub async fn known_tools(&self, spec: &PluginSpec) -> Option<Vec<String>> {
        let (engine, source, config) = (self.engine.clone(), spec.source.clone(), spec.config.clone());
        if let Some(info) = engine.0.cache.as_ref().and_then(|cache| recall(&source, cache)) {
            return Some(known_description(&engine, &info, &config)?.names());
        }
        let known = tokio::task::spawn_blocking(move || {
            let found = look(&source, engine.0.cache.as_ref()).ok()?;
            known_description(&engine, &found.info, &config)
        });
        Some(known.await.ok()??.names())
    }

    /// Compiles for a plugin that is loaded already.
    fn compile_later(&self, loaded: &Arc<Loaded>, source: Source, found: Found) {
        let (engine, watcher) = (self.engine.clone(), self.watcher.clone());
        let (plugin, waiting) = (loaded.info.name.clone(), Arc::downgrade(loaded));
        let begun = compile_thread(move || {
            let news = News { plugin: &plugin, watcher: watcher.as_ref() };
            let compiled = AssertUnwindSafe(|| compile::code(&engine, &source, found, &news));
            let code = match std::panic::catch_unwind(compiled) {
                Ok(code) => code.map_err(|reason| reason.to_string()),
                Err(_) => Err("the compiler failed on it".to_owned()),
            };
            if let Err(reason) = &code {
                tracing::error!(plugin = &*plugin, reason, "the plugin cannot be called");
            }
            if let Some(loaded) = waiting.upgrade() {
                loaded.code.settle(code);
            }
        });
        if let Err(reason) = begun {
            loaded.code.settle(Err(reason.to_string()));
        }
    }

    /// From the component itself; kept for the next time.
    async fn describe(&self, loaded: &Loaded, info: &ComponentInfo) -> Result<Described, LoadErrorReason> {
        let described = loaded.describe(&self.logs).await?;
        let bytes = serde_json::to_vec(&described).map_err(|e| LoadErrorReason::Describe(e.to_string()))?;
        if bytes.len() > MAX_DESCRIPTION_BYTES {
            let text = format!("its definitions take {} bytes, more than {MAX_DESCRIPTION_BYTES}", bytes.len());
            return Err(LoadErrorReason::Describe(text));
        }
        let name = description_name(&info.sha256, &loaded.info.config);
        if let Some(cache) = &self.engine.0.cache
            && let Err(error) = cache.store_document(&name, &bytes)
        {
            tracing::warn!(plugin = &*loaded.info.name, %error, "the definitions were not cached");
        }
        Ok(described)
    }
}

/// What an earlier load has noted of what a component offers.
fn known_description(engine: &Engine, info: &ComponentInfo, config: &Json) -> Option<Described> {
    let known = engine.0.cache.as_ref()?.find_document(&description_name(&info.sha256, config))?;
    serde_json::from_slice(&known).ok()
}

/// What a component describes may depend on its settings.
fn description_name(sha256: &str, config: &Json) -> String {
    format!("{sha256}-{CONTRACT_VERSION}-{}.description", sha256_hex(config.text().as_bytes()))
}

/// What it is, what it is known to offer, and its code or what to compile later.
type Known = (PluginSpec, ComponentInfo, Described, Result<Arc<Code>, Found>);

/// A component looked at.
pub(crate) enum Looked {
    /// All that there is to know was known.
    Plugin(Box<Plugin>),
    /// Some of it is not.
    Unread(Box<Unread>),
}

/// A component that has to be compiled, and mostly run, before it is known what it offers.
pub(crate) struct Unread {
    spec: PluginSpec,
    info: ComponentInfo,
    known: Option<Described>,
    found: Found,
}

impl Unread {
    /// What it exports.
    pub(crate) fn info(&self) -> &ComponentInfo {
        &self.info
    }
}

/// A plugin with what its component is known to offer, as far as the operator chose it.
fn plugin(
    loaded: Arc<Loaded>,
    spec: &PluginSpec,
    info: &ComponentInfo,
    described: Described,
) -> Result<Plugin, LoadErrorReason> {
    let Described { mut tools, subscriptions } = described;
    check(&tools, &subscriptions)?;
    if let Some(chosen) = &spec.tools {
        choose(&mut tools, chosen)?;
    }
    let mut plugin = Plugin::native(spec.name.clone());
    plugin.arguments_bytes = Some(spec.limits.arguments_bytes);
    plugin.digest = Some(info.sha256.as_str().into());
    for definition in tools {
        plugin = plugin.tool(ComponentTool { loaded: loaded.clone(), definition });
    }
    if info.hooks {
        plugin = plugin.hook(ComponentHook::new(loaded, subscriptions));
    }
    Ok(plugin)
}

/// Reads a component file: a regular one, and not a larger one than a plugin may be (256 MiB).
///
/// # Errors
///
/// The file cannot be read, is something else than a file, or is too large.
pub fn read_component(path: &Path) -> std::io::Result<Vec<u8>> {
    files::read(path, MAX_FILE_BYTES)
}

fn compile_thread(work: impl FnOnce() + Send + 'static) -> Result<(), LoadErrorReason> {
    let thread = std::thread::Builder::new().name("toolgate-compile".into()).stack_size(COMPILE_STACK);
    let begun = thread.spawn(work);
    begun.map(drop).map_err(|error| LoadErrorReason::Compile(format!("there is no thread for it: {error}")))
}

pub(super) const TOOLS: &str = "toolgate:plugin/tools";
pub(super) const HOOKS: &str = "toolgate:plugin/hooks";

/// What the operator demands of a component before it is compiled.
fn check_spec(spec: &PluginSpec, info: &ComponentInfo) -> Result<(), LoadErrorReason> {
    if let Some(pin) = &spec.sha256
        && !pin.eq_ignore_ascii_case(&info.sha256)
    {
        return Err(LoadErrorReason::Pin { found: info.sha256.clone(), pinned: pin.clone() });
    }
    if info.minimum_memory_bytes > spec.limits.memory_bytes as u64 {
        let (needs, limit) = (info.minimum_memory_bytes, spec.limits.memory_bytes);
        return Err(LoadErrorReason::Memory { needs, limit });
    }
    Ok(())
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

fn check(tools: &[ToolDefinition], subscriptions: &[Subscription]) -> Result<(), LoadErrorReason> {
    let too_many = |what, found, limit| {
        if found > limit { Err(LoadErrorReason::TooMany { what, found, limit }) } else { Ok(()) }
    };
    too_many("tools", tools.len(), MAX_TOOLS)?;
    too_many("subscriptions", subscriptions.len(), MAX_SUBSCRIPTIONS)?;
    let mut names = std::collections::HashSet::new();
    for definition in tools {
        definition.check()?;
        if !names.insert(&*definition.name) {
            return Err(LoadErrorReason::Duplicate(definition.name.clone()));
        }
    }
    Ok(())
}
