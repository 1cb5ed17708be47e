//! From bytes to compiled code: out of the cache, or by the compiler, on as many cores as it may use; and code that is
//! still being compiled while its plugin is loaded already.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::SetOnce;
use wasmtime::component::{Component, InstancePre};

use super::cache::CompileCache;
use super::engine::Engine;
use super::exports::{HookExports, ToolExports};
use super::inspect::{ComponentInfo, check_code};
use super::instance::CallState;
use super::known;
use super::load::{COMPILE_STACK, HOOKS, MAX_GIVEN_UP, Source, TOOLS};
use super::load_error::{LoadErrorReason, shape};
use crate::model::ErrorKind;
use crate::pipeline::ToolError;

/// Components of this size and more are compiled one at a time: each takes hundreds of MiB meanwhile, and all cores
/// anyway. 2 MiB, above what a tool in Rust has and below a language runtime.
const LARGE: usize = 2 << 20;

/// News of the compiler, for whoever waits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Progress {
    /// It begins with a plugin's component.
    Compiling {
        /// The plugin.
        plugin: Arc<str>,
        /// Bytes of the component.
        bytes: usize,
    },
    /// It is done with it, well or not.
    Compiled {
        /// The plugin.
        plugin: Arc<str>,
        /// How long it took.
        took: Duration,
    },
}

/// Who hears of [`Progress`], on the thread that compiles: keep it quick.
pub type Watcher = Arc<dyn Fn(&Progress) + Send + Sync>;

/// A component that can be instantiated.
pub struct Code {
    pub pre: InstancePre<CallState>,
    pub tools: Option<ToolExports>,
    pub hooks: Option<HookExports>,
}

/// Code that is there, or will be.
#[derive(Default)]
pub struct Pending(SetOnce<Result<Arc<Code>, String>>);

impl Pending {
    /// Code that is there.
    pub fn ready(code: Arc<Code>) -> Self {
        Self(SetOnce::new_with(Some(Ok(code))))
    }

    /// Whoever waits goes on.
    pub fn settle(&self, code: Result<Arc<Code>, String>) {
        // Set once: by the task that compiles.
        let _ = self.0.set(code);
    }

    /// The code, if it is there by now.
    pub fn get(&self) -> Result<&Code, ToolError> {
        self.0.get().map_or_else(|| Err(unavailable("its code is still being compiled", None)), answer)
    }

    /// Waits for the code, for as long as a call may wait for it.
    pub async fn wait(&self, limit: Duration) -> Result<&Code, ToolError> {
        if let Some(code) = self.0.get() {
            return answer(code);
        }
        match tokio::time::timeout(limit, self.0.wait()).await {
            Ok(code) => answer(code),
            Err(_) => {
                let text = format!("its code is still being compiled, after {} ms. Try again later", limit.as_millis());
                Err(unavailable(&text, Some("raise compile-wait-ms, or run `toolgate compile` beforehand")))
            }
        }
    }
}

fn answer(code: &Result<Arc<Code>, String>) -> Result<&Code, ToolError> {
    code.as_deref().map_err(|reason| unavailable(reason, None))
}

fn unavailable(reason: &str, hint: Option<&str>) -> ToolError {
    let error = ToolError::of(ErrorKind::Unavailable, format!("The tool was not started: {reason}."));
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Code that is loaded, by key: a file that is loaded under several names has one in memory, and shares warm slots.
pub type Loaded = Mutex<HashMap<String, Weak<Code>>>;

/// Code of a component: that of another plugin, from the cache, or from the compiler.
pub fn code(
    engine: &Engine,
    source: &Source,
    found: known::Found,
    news: &News<'_>,
) -> Result<Arc<Code>, LoadErrorReason> {
    let key = key(engine, &found.info);
    if let Some(code) = loaded(engine, &key) {
        return Ok(code);
    }
    let component = match cached(engine, &key, CompileCache::find) {
        Some(component) => component,
        None => compile(engine, source, &found, news)?,
    };
    link(engine, key, &component, &found.info)
}

/// The same where that is quick: code that is loaded, or in the cache and unchanged.
pub fn recall(engine: &Engine, info: &ComponentInfo) -> Option<Arc<Code>> {
    let key = key(engine, info);
    if let Some(code) = loaded(engine, &key) {
        return Some(code);
    }
    let component = cached(engine, &key, CompileCache::find_unchanged)?;
    link(engine, key, &component, info).ok()
}

fn loaded(engine: &Engine, key: &str) -> Option<Arc<Code>> {
    engine.0.codes.lock().unwrap_or_else(PoisonError::into_inner).get(key).and_then(Weak::upgrade)
}

fn link(
    engine: &Engine,
    key: String,
    component: &Component,
    info: &ComponentInfo,
) -> Result<Arc<Code>, LoadErrorReason> {
    let link = |error: wasmtime::Error| LoadErrorReason::Link(format!("{error:#}"));
    let pre = engine.0.linker.instantiate_pre(component).map_err(link)?;
    let tools = info.tools.then(|| ToolExports::new(&pre)).transpose().map_err(shape(TOOLS))?;
    let hooks = info.hooks.then(|| HookExports::new(&pre)).transpose().map_err(shape(HOOKS))?;
    let code = Arc::new(Code { pre, tools, hooks });
    let mut loaded = engine.0.codes.lock().unwrap_or_else(PoisonError::into_inner);
    loaded.retain(|_, code| code.strong_count() > 0);
    loaded.insert(key, Arc::downgrade(&code));
    Ok(code)
}

/// Whether the cache seems to have the code.
pub fn is_cached(engine: &Engine, info: &ComponentInfo) -> bool {
    engine.0.cache.as_ref().is_some_and(|cache| cache.has(&key(engine, info)))
}

/// Whom to tell, and of which plugin.
pub struct News<'a> {
    pub plugin: &'a Arc<str>,
    pub watcher: Option<&'a Watcher>,
}

impl News<'_> {
    fn tell(&self, progress: impl FnOnce(Arc<str>) -> Progress) {
        if let Some(watcher) = self.watcher {
            watcher(&progress(self.plugin.clone()));
        }
    }
}

fn key(engine: &Engine, info: &ComponentInfo) -> String {
    format!("{}-{:016x}", info.sha256, engine.0.compatibility)
}

fn cached(engine: &Engine, key: &str, find: impl FnOnce(&CompileCache, &str) -> Option<PathBuf>) -> Option<Component> {
    let cache = engine.0.cache.as_ref()?;
    let path = find(cache, key)?;
    // SAFETY: the file lies in a directory that only this user can write to, and is what this host wrote when it compiled
    // the component: it has the digest noted then, or has not changed since it was last found to; the engine checks its own
    // version and settings besides.
    #[allow(unsafe_code)]
    match unsafe { Component::deserialize_file(&engine.0.wasm, &path) } {
        Ok(component) => Some(component),
        Err(error) => {
            tracing::warn!(file = %path.display(), "cached code is not usable and is compiled again: {error:#}");
            cache.remove(key);
            None
        }
    }
}

fn compile(
    engine: &Engine,
    source: &Source,
    found: &known::Found,
    news: &News<'_>,
) -> Result<Component, LoadErrorReason> {
    let bytes = match &found.bytes {
        Some(bytes) => bytes.clone(),
        None => {
            let bytes = known::read(source)?;
            if super::cache::sha256_hex(&bytes) != found.info.sha256 {
                return Err(LoadErrorReason::Compile("its file changed while it was loaded; load it again".into()));
            }
            bytes
        }
    };
    check_code(&bytes)?;
    let busy = engine.0.given_up.load(Ordering::SeqCst);
    if busy >= MAX_GIVEN_UP {
        return Err(LoadErrorReason::CompilerBusy(busy));
    }
    let is_large = bytes.len() >= LARGE;
    let _turn = is_large.then(|| engine.0.compilers.turn.lock().unwrap_or_else(PoisonError::into_inner));
    let begun = Instant::now();
    news.tell(|plugin| Progress::Compiling { plugin, bytes: bytes.len() });
    let component = engine.0.compilers.run(is_large, || Component::new(&engine.0.wasm, &bytes));
    news.tell(|plugin| Progress::Compiled { plugin, took: begun.elapsed() });
    let component = component?.map_err(|error| LoadErrorReason::Compile(format!("{error:#}")))?;
    if let Some(cache) = &engine.0.cache {
        let kept = component.serialize().map_err(|error| format!("{error:#}"));
        let kept =
            kept.and_then(|code| cache.store(&key(engine, &found.info), &code).map_err(|error| error.to_string()));
        if let Err(error) = kept {
            tracing::warn!("compiled code was not cached: {error}");
        }
    }
    Ok(component)
}

/// The threads that compile. Small components have threads of their own, where they do not queue behind the thousands of
/// functions of a large one: the system shares the processors between both.
pub struct Compilers {
    turn: Mutex<()>,
    /// Of each pool; none is one for each core.
    threads: Option<usize>,
    small: Pool,
    large: Pool,
}

/// Made when it is first needed: most starts compile nothing.
type Pool = OnceLock<Result<rayon::ThreadPool, rayon::ThreadPoolBuildError>>;

impl Compilers {
    /// So many threads; without a number one for each core.
    pub fn new(threads: Option<usize>) -> Self {
        Self { turn: Mutex::default(), threads, small: Pool::new(), large: Pool::new() }
    }

    fn run<R: Send>(&self, is_large: bool, compile: impl FnOnce() -> R + Send) -> Result<R, LoadErrorReason> {
        let pool = if is_large { &self.large } else { &self.small };
        let pool = pool.get_or_init(|| {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(self.threads.unwrap_or(0));
            builder.thread_name(|n| format!("toolgate-compile-{n}")).stack_size(COMPILE_STACK).build()
        });
        match pool {
            Ok(pool) => Ok(pool.install(compile)),
            Err(error) => Err(LoadErrorReason::Compile(format!("there are no threads for it: {error}"))),
        }
    }
}

/// The engine's settings and version as a number.
pub fn compatibility(wasm: &wasmtime::Engine) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    wasm.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}
