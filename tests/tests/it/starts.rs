//! What a start is spared: files that are known, code that is kept, and waiting for a compiler that others need not. What
//! comes later while a host answers is in `late`.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use toolgate::Host;
use toolgate::component::{Engine, EngineSettings, Loader, PluginSpec, Progress, Source};
use toolgate_tests::guests::{self, run_one};

/// After this long a file's times tell whether it has changed since.
const SETTLED: Duration = Duration::from_millis(2_200);

fn engine(cache: &Path, compile_wait: Duration) -> Engine {
    let mut settings = EngineSettings::default();
    settings.instances = 4;
    settings.cache_dir = Some(cache.to_owned());
    settings.compile_wait = compile_wait;
    settings.compile_threads = Some(1);
    Engine::new(settings).unwrap()
}

fn spec(file: &Path) -> PluginSpec {
    PluginSpec::new("p", Source::File(file.to_owned()))
}

fn forget_code(cache: &Path) {
    for entry in std::fs::read_dir(cache).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "cwasm") {
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_without_kept_code_is_there_at_once_and_its_calls_wait_for_the_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, file) = (folder.path().join("cache"), guests::component("misbehave"));
    let first = Loader::new(engine(&cache, Duration::from_secs(100))).load(spec(&file)).await.unwrap();
    forget_code(&cache);

    let news = Arc::new(Mutex::new(Vec::new()));
    let heard = news.clone();
    let loader = Loader::new(engine(&cache, Duration::from_secs(100)))
        .in_background()
        .with_progress(Arc::new(move |progress: &Progress| heard.lock().unwrap().push(progress.clone())));
    let plugin = loader.load(spec(&file)).await.unwrap();
    assert_eq!(plugin.tools.len(), first.tools.len());
    let host = Host::new();
    host.load(plugin).unwrap();
    // Other plugins answer meanwhile.
    let calc = loader.load(PluginSpec::new("calc", Source::File(guests::component("calc")))).await.unwrap();
    host.load(calc).unwrap();
    assert_eq!(run_one(&host, "calc", json!({"expression": "6*7"})).await.text(), "42");

    let answer = run_one(&host, "panic", json!({"message": "compiled"})).await;
    assert_eq!(answer.kind(), "trap", "{}", answer.text());
    let news = news.lock().unwrap();
    let of = |name: &str| {
        news.iter()
            .filter(|progress| match progress {
                Progress::Compiling { plugin, .. } | Progress::Compiled { plugin, .. } => &**plugin == name,
                _ => false,
            })
            .count()
    };
    assert_eq!((of("p"), of("calc")), (2, 2), "{news:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_too_long_for_the_compiler_is_unavailable() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, file) = (folder.path().join("cache"), guests::component("misbehave"));
    Loader::new(engine(&cache, Duration::from_secs(100))).load(spec(&file)).await.unwrap();
    forget_code(&cache);
    let loader = Loader::new(engine(&cache, Duration::from_millis(1))).in_background();
    let host = Host::new();
    host.load(loader.load(spec(&file)).await.unwrap()).unwrap();
    let answer = run_one(&host, "panic", json!({"message": "too early"})).await;
    assert_eq!(answer.kind(), "unavailable", "{}", answer.text());
    assert!(answer.text().contains("still being compiled"), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_file_that_changed_is_looked_at_again() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, file) = (folder.path().join("cache"), folder.path().join("tool.wasm"));
    let copy = |guest: &str| std::fs::copy(guests::component(guest), &file).unwrap();
    copy("calc");
    let loader = Loader::new(engine(&cache, Duration::from_secs(100)));
    let names = async || {
        let plugin = loader.load(spec(&file)).await.unwrap();
        plugin.tools.iter().map(|tool| tool.definition().name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["calc"]);
    tokio::time::sleep(SETTLED).await;
    assert_eq!(names().await, ["calc"]);
    let known = |cache: &Path| {
        std::fs::read_dir(cache).unwrap().any(|entry| entry.unwrap().path().extension().is_some_and(|e| e == "file"))
    };
    assert!(known(&cache), "what the file holds is noted once it has settled");
    assert_eq!(names().await, ["calc"]);
    copy("http-fetch");
    assert_eq!(names().await, ["http-fetch"]);

    // A pin is held against what is noted, too.
    let mut pinned = spec(&file);
    pinned.sha256 = Some("0".repeat(64));
    let refused = loader.load(pinned).await.err().unwrap().to_string();
    assert!(refused.contains("not the pinned one"), "{refused}");
}
