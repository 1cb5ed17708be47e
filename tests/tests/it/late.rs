//! A host that answers while plugins that nobody has seen before are still being compiled. Their compiler is held up until a
//! test lets it go on.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolgate::component::{Loader, Progress, Watcher};
use toolgate::config::{Config, OpenError, Reloader};
use toolgate::{Host, Loading};
use toolgate_tests::guests::{self, batch, run_one};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a cache of its own, so that no plugin is known.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// What stands before the first table, and the plugins; `GUESTS` is where the components are.
    fn config(&self, host: &str, plugins: &str) -> Config {
        let components = guests::component("calc").canonicalize().unwrap();
        let plugins = plugins.replace("GUESTS", components.parent().unwrap().to_str().unwrap());
        let text = format!("instances = 4\ncompile-threads = 1\ncache-dir = \"cache\"\n{host}\n{plugins}");
        std::fs::write(self.path("toolgate.toml"), text).unwrap();
        Config::load(&self.path("toolgate.toml")).unwrap()
    }
}

const CALC: &str = "[plugins.calc]\nfile = \"GUESTS/calc.wasm\"\n";
const MISBEHAVE: &str = "[plugins.misbehave]\nfile = \"GUESTS/misbehave.wasm\"\n";
/// Refuses every call of calc.
const GATE: &str = r#"
[plugins.gate]
file = "GUESTS/permission-gate.wasm"
config = { default = "allow", rules = [{ tools = "calc", action = "block", reason = "No sums." }] }
[[hooks]]
plugin = "gate"
"#;
/// Says what it offers after an hour.
const STUCK: &str = r#"
[plugins.stuck]
file = "GUESTS/scripted-tool.wasm"
config = { describe = "sleep" }
limits = { load-ms = LOAD }
"#;

fn stuck(load_ms: u32) -> String {
    STUCK.replace("LOAD", &load_ms.to_string())
}

/// Holds the compiler up when it comes to a plugin.
#[derive(Clone)]
struct Held {
    plugin: &'static str,
    compiled: Arc<Mutex<Vec<String>>>,
    begun: watch::Sender<bool>,
    release: watch::Sender<bool>,
}

impl Held {
    fn new(plugin: &'static str) -> Self {
        let (begun, release) = (watch::Sender::new(false), watch::Sender::new(false));
        Self { plugin, compiled: Arc::default(), begun, release }
    }

    fn watcher(&self) -> Watcher {
        let (held, runtime) = (self.clone(), tokio::runtime::Handle::current());
        Arc::new(move |progress| {
            let Progress::Compiling { plugin, .. } = progress else { return };
            held.compiled.lock().unwrap().push(plugin.to_string());
            if **plugin == *held.plugin {
                held.begun.send_replace(true);
                let mut release = held.release.subscribe();
                let released =
                    async { tokio::time::timeout(PATIENCE, release.wait_for(|release| *release)).await.is_ok() };
                assert!(runtime.block_on(released), "nobody let the compiler go on");
            }
        })
    }

    async fn begun(&self) {
        self.begun.subscribe().wait_for(|begun| *begun).await.unwrap();
    }

    fn go_on(&self) {
        self.release.send_replace(true);
    }

    fn compiled(&self) -> Vec<String> {
        let mut compiled = self.compiled.lock().unwrap().clone();
        compiled.sort();
        compiled
    }
}

fn loader(config: &Config, held: &Held) -> Loader {
    Loader::new(config.engine().unwrap()).in_background().with_progress(held.watcher())
}

/// Makes the plugins of a config known, under the same folder.
async fn know(folder: &Folder, plugins: &str) {
    let config = folder.config("", plugins);
    config.load_plugins(&Host::new(), &Loader::new(config.engine().unwrap())).await.unwrap();
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("in time")
}

async fn calc(host: &Host) -> guests::Answer {
    run_one(host, "calc", json!({"expression": "6*7"})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_runs_before_the_hooks_that_guard_it() {
    let folder = Folder::new();
    know(&folder, CALC).await;
    let config = folder.config("", &format!("{CALC}{GATE}"));
    let (host, held) = (config.host().build(), Held::new("gate"));
    let rest = config.begin(&host, &loader(&config, &held)).await.unwrap();
    assert!(host.tools().tool("calc").is_some());
    assert_eq!(host.loading(), Loading::Hooks);
    let calls = async {
        let mut call = pin!(calc(&host));
        let cancel = CancellationToken::new();
        let mut given_up = pin!(host.run(batch([("calc", json!({"expression": "1"}))]).cancel(cancel.clone())));
        tokio::select! {
            biased;
            answer = &mut call => panic!("{answer:?}"),
            outcome = &mut given_up => panic!("{outcome:?}"),
            () = held.begun() => {}
        }
        cancel.cancel();
        let outcome = given_up.await;
        assert_eq!(outcome.messages[0].error.as_ref().unwrap().kind.as_str(), "aborted");
        assert!(host.run(batch([])).await.messages.is_empty());
        held.go_on();
        call.await
    };
    let (loaded, answer) = within(async { tokio::join!(rest.load(), calls) }).await;
    assert_eq!(loaded.unwrap(), [] as [String; 0]);
    assert_eq!((answer.kind(), &*answer.text()), ("blocked", "No sums."));
    assert_eq!(host.loading(), Loading::Done);
    assert_eq!(held.compiled(), ["gate"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_waits_too_long_for_its_hooks() {
    let folder = Folder::new();
    know(&folder, CALC).await;
    let config = folder.config("compile-wait-ms = 1", &format!("{CALC}{GATE}"));
    let (host, held) = (config.host().build(), Held::new("gate"));
    let rest = config.begin(&host, &loader(&config, &held)).await.unwrap();
    let answer = within(calc(&host)).await;
    assert_eq!(answer.kind(), "unavailable", "{}", answer.text());
    assert!(answer.text().contains("hooks that every call has to pass are still being loaded"), "{}", answer.text());
    // Nobody loads them any more.
    drop(rest);
    assert_eq!(calc(&host).await.kind(), "unavailable");
    held.go_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_are_there_run_beside_the_compiler_and_others_are_waited_for() {
    let folder = Folder::new();
    know(&folder, CALC).await;
    let config = folder.config("list-wait-ms = 1", &format!("{MISBEHAVE}{CALC}"));
    let (host, held) = (config.host().build(), Held::new("misbehave"));
    let rest = config.begin(&host, &loader(&config, &held)).await.unwrap();
    assert_eq!(host.loading(), Loading::Tools);
    let calls = async {
        held.begun().await;
        assert_eq!(calc(&host).await.text(), "42");
        // Not longer than `list-wait-ms`.
        host.listable().await;
        assert!(host.tools().tool("panic").is_none());
        let both = batch([("calc", json!({"expression": "1"})), ("panic", json!({"message": "at last"}))]);
        let (mut late, mut nobody) = (pin!(host.run(both)), pin!(run_one(&host, "nobody", json!({}))));
        tokio::select! {
            biased;
            outcome = &mut late => panic!("{outcome:?}"),
            answer = &mut nobody => panic!("{answer:?}"),
            () = tokio::task::yield_now() => held.go_on(),
        }
        tokio::join!(late, nobody)
    };
    let (loaded, (late, nobody)) = within(async { tokio::join!(rest.load(), calls) }).await;
    assert_eq!(loaded.unwrap(), [] as [String; 0]);
    assert_eq!(late.messages[1].error.as_ref().unwrap().kind.as_str(), "trap");
    assert_eq!(nobody.kind(), "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_never_says_what_it_offers_holds_nobody_up() {
    let folder = Folder::new();
    let config = folder.config("compile-wait-ms = 30000", &format!("{}{CALC}", stuck(3_600_000)));
    let (host, held) = (config.host().build(), Held::new("nobody"));
    let rest = config.begin(&host, &loader(&config, &held)).await.unwrap();
    within(async {
        tokio::select! {
            loaded = rest.load() => panic!("{loaded:?}"),
            answer = calc(&host) => assert_eq!(answer.text(), "42"),
        }
    })
    .await;
    // Given up: what is not there does not come.
    assert_eq!(host.loading(), Loading::Done);
    assert_eq!(run_one(&host, "nobody", json!({})).await.kind(), "not-found");

    let config = folder.config("compile-wait-ms = 1", &format!("{}{CALC}", stuck(300)));
    let host = config.host().build();
    let rest = config.begin(&host, &loader(&config, &held)).await.unwrap();
    let unavailable = run_one(&host, "nobody", json!({})).await;
    assert_eq!(unavailable.kind(), "unavailable", "{}", unavailable.text());
    assert_eq!(within(rest.load()).await.unwrap(), ["stuck"]);
    assert_eq!(calc(&host).await.text(), "42");
    assert_eq!(run_one(&host, "nobody", json!({})).await.kind(), "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_where_a_hook_cannot_be_loaded() {
    let folder = Folder::new();
    know(&folder, CALC).await;
    // Without rules it would allow everything, which it refuses.
    let gate = "[plugins.gate]\nfile = \"GUESTS/permission-gate.wasm\"\nconfig = { default = \"allow\" }\n[[hooks]]\nplugin = \"gate\"\n";
    let config = folder.config("", &format!("{CALC}{gate}"));
    let host = config.host().build();
    let rest = config.begin(&host, &loader(&config, &Held::new("nobody"))).await.unwrap();
    let (loaded, answer) = within(async { tokio::join!(rest.load(), calc(&host)) }).await;
    let errors = loaded.unwrap_err();
    assert!(matches!(&errors[..], [OpenError::Load(_)]), "{errors:?}");
    assert_eq!(answer.kind(), "unavailable");
    let hint = answer.0.error.as_ref().unwrap().hint.clone().unwrap();
    assert!(hint.contains("plugin gate") && !answer.text().contains("plugin gate"), "{hint}\n{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_for_a_tool_that_nobody_offers_is_an_error_when_all_are_there() {
    let folder = Folder::new();
    let plugins = format!("{CALC}{GATE}tools = [\"clac\"]\n");
    let config = folder.config("", &plugins);
    let (host, held) = (config.host().build(), Held::new("nobody"));
    let rest = config.begin(&host, &loader(&config, &held)).await.unwrap();
    let errors = within(rest.load()).await.unwrap_err();
    assert!(matches!(&errors[..], [OpenError::HookTool { tool, .. }] if tool == "clac"), "{errors:?}");
    assert_eq!(calc(&host).await.kind(), "unavailable");
    // Known by now, it is one at once.
    let host = config.host().build();
    let errors = config.begin(&host, &loader(&config, &held)).await.err().unwrap();
    assert!(matches!(&errors[..], [OpenError::HookTool { .. }]), "{errors:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_said_without_the_compiler_is_said_before_it() {
    let folder = Folder::new();
    std::fs::write(folder.path("text.wasm"), "not wasm").unwrap();
    let plugins = format!(
        "{CALC}sha256 = \"{}\"\n[plugins.text]\nfile = \"text.wasm\"\n[plugins.gate]\nfile = \"GUESTS/permission-gate.wasm\"\n{MISBEHAVE}[[hooks]]\nplugin = \"misbehave\"\n",
        "0".repeat(64)
    );
    let config = folder.config("", &plugins);
    let (host, held) = (config.host().build(), Held::new("nobody"));
    let errors = config.begin(&host, &loader(&config, &held)).await.err().unwrap();
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let said = ["not the pinned one", "the file is text", "exports only hooks", "exports no hooks"];
    assert_eq!(errors.len(), said.len(), "{errors:?}");
    for (error, said) in errors.iter().zip(said) {
        assert!(error.contains(said), "{error}");
    }
    assert_eq!(held.compiled(), [] as [String; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_goes_on_from_what_came_late() {
    let folder = Folder::new();
    std::fs::copy(guests::component("scripted-tool"), folder.path("stuck.wasm")).unwrap();
    let plugins = format!("{}{CALC}", stuck(300).replace("GUESTS/scripted-tool", "stuck"));
    let config = folder.config("", &plugins);
    let (host, held) = (config.host().build(), Held::new("nobody"));
    let loader = loader(&config, &held);
    let mut reloader = Reloader::new(config.clone(), loader.clone());
    let rest = config.begin(&host, &loader).await.unwrap();
    reloader.refused(&within(rest.load()).await.unwrap());
    for _ in 0..2 {
        let report = reloader.check(&host).await;
        assert!(!report.changed() && report.refused.is_empty(), "{report:?}");
    }
    assert_eq!(held.compiled(), ["calc", "stuck"]);
    std::fs::copy(guests::component("misbehave"), folder.path("new.wasm")).unwrap();
    std::fs::rename(folder.path("new.wasm"), folder.path("stuck.wasm")).unwrap();
    assert_eq!(reloader.check(&host).await.loaded, ["stuck"]);
    assert_eq!(run_one(&host, "panic", json!({"message": "here"})).await.kind(), "trap");
}
