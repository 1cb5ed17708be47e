//! toolgate.toml and components that change on disk while calls run.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use toolgate::Host;
use toolgate::component::Loader;
use toolgate::config::{Config, Reloaded, Reloader, watch};
use toolgate_tests::guests::{self, Events, batch, run_one};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

struct Folder(TempDir);

impl Folder {
    fn new(config: &str) -> Self {
        let folder = Self(TempDir::new().unwrap());
        folder.configure(config);
        folder
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn configure(&self, config: &str) {
        std::fs::write(self.path("toolgate.toml"), config).unwrap();
    }

    /// As tools that build do: a new file, moved over the old one.
    fn put(&self, name: &str, guest: &str) {
        self.put_bytes(name, &component(guest));
    }

    fn put_bytes(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path("new"), bytes).unwrap();
        std::fs::rename(self.path("new"), self.path(name)).unwrap();
    }

    async fn open(&self) -> (Host, Reloader) {
        let config = Config::load(&self.path("toolgate.toml")).unwrap();
        let loader = Loader::new(guests::engine());
        let host = config.host().build();
        config.load_plugins(&host, &loader).await.unwrap();
        (host, Reloader::new(config, loader))
    }
}

fn component(guest: &str) -> Vec<u8> {
    std::fs::read(guests::component(guest)).unwrap()
}

const ONE: &str = "[plugins.one]\nfile = \"one.wasm\"\n";
const TWO: &str = "[plugins.one]\nfile = \"one.wasm\"\n[plugins.two]\nfile = \"two.wasm\"\n";

async fn calc(host: &Host) -> String {
    run_one(host, "calc", json!({"expression": "6*7"})).await.text()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_component_serves_new_calls_and_old_ones_end_on_the_old_code() {
    let folder = Folder::new(ONE);
    std::fs::copy(guests::component("misbehave"), folder.path("one.wasm")).unwrap();
    let (host, mut reloader) = folder.open().await;
    let nothing = reloader.check(&host).await;
    assert!(!nothing.changed() && nothing.refused.is_empty(), "{nothing:?}");

    let events = Arc::new(Events::default());
    let running = {
        let (host, events) = (host.clone(), events.clone());
        tokio::spawn(async move { host.run(batch([("sleep", json!({"ms": 700}))]).sink(events)).await })
    };
    while events.all().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut changes = host.changes();
    changes.mark_unchanged();
    folder.put("one.wasm", "calc");
    let report = reloader.check(&host).await;
    assert_eq!((report.replaced, report.refused), (vec!["one".to_owned()], vec![]));
    assert!(changes.has_changed().unwrap());
    assert_eq!(calc(&host).await, "42");
    assert_eq!(run_one(&host, "sleep", json!({"ms": 1})).await.kind(), "not-found");
    assert!(!running.await.unwrap().messages[0].is_error);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_broken_or_only_touched_changes_nothing_and_is_told_once() {
    let folder = Folder::new(ONE);
    folder.put("one.wasm", "calc");
    let (host, mut reloader) = folder.open().await;
    let mut changes = host.changes();
    changes.mark_unchanged();
    folder.put("one.wasm", "calc");
    let report = reloader.check(&host).await;
    assert!(!report.changed() && report.refused.is_empty(), "{report:?}");

    let whole = component("calc");
    folder.put_bytes("one.wasm", &whole[..whole.len() / 2]);
    let report = reloader.check(&host).await;
    assert!(report.refused[0].contains("one.wasm") && report.refused[0].contains("stays"), "{report:?}");
    assert!(reloader.check(&host).await.refused.is_empty());
    folder.configure("[plugins.one]\nfiel = \"one.wasm\"\n");
    let report = reloader.check(&host).await;
    assert!(
        report.refused[0].contains("fiel") && report.refused[0].contains("settings from before stay"),
        "{report:?}"
    );
    assert!(reloader.check(&host).await.refused.is_empty());
    assert_eq!(calc(&host).await, "42");
    assert!(!changes.has_changed().unwrap());

    folder.configure(ONE);
    folder.put("one.wasm", "misbehave");
    assert_eq!(reloader.check(&host).await.replaced, ["one"]);
    assert_eq!(run_one(&host, "sleep", json!({"ms": 1})).await.kind(), "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_come_and_go_in_one_change() {
    let folder = Folder::new(ONE);
    folder.put("one.wasm", "misbehave");
    let (host, mut reloader) = folder.open().await;
    let before = *host.changes().borrow();
    folder.put("two.wasm", "calc");
    folder.configure("grace-ms = 1\n[plugins.two]\nfile = \"two.wasm\"\n");
    let report = reloader.check(&host).await;
    assert_eq!((report.loaded, report.unloaded), (vec!["two".to_owned()], vec!["one".to_owned()]));
    assert_eq!(report.needs_restart, ["grace-ms"]);
    assert_eq!(*host.changes().borrow(), before + 1);
    assert_eq!(calc(&host).await, "42");
    folder.configure("grace-ms = 1\n");
    assert_eq!(reloader.check(&host).await.needs_restart, [""; 0], "no plugins need no tables");
    folder.configure("grace-ms = 1\n[plugins.two]\nfile = \"two.wasm\"\n");
    assert_eq!(reloader.check(&host).await.needs_restart, [""; 0]);

    std::fs::remove_file(folder.path("two.wasm")).unwrap();
    assert_eq!(reloader.check(&host).await.unloaded, ["two"]);
    assert_eq!(calc(&host).await, "Tool calc not found");
    folder.put("two.wasm", "calc");
    assert_eq!(reloader.check(&host).await.loaded, ["two"]);
    assert_eq!(calc(&host).await, "42");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_plugins_with_one_tool_do_not_keep_others_back() {
    let folder = Folder::new(TWO);
    folder.put("one.wasm", "calc");
    folder.put("two.wasm", "misbehave");
    let (host, mut reloader) = folder.open().await;
    folder.put("two.wasm", "calc");
    let report = reloader.check(&host).await;
    assert!(!report.changed() && report.refused[0].contains("both offer a tool named \"calc\""), "{report:?}");
    // They exchange their files: fine as one change.
    folder.put("two.wasm", "calc");
    folder.put("one.wasm", "misbehave");
    let mut report = reloader.check(&host).await;
    report.replaced.sort();
    assert_eq!(report.replaced, ["one", "two"]);
    assert_eq!(calc(&host).await, "42");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_does_not_end_with_its_file() {
    let hooks = "[plugins.gate]\nfile = \"gate.wasm\"\nconfig = { default = \"allow\", rules = [{ tools = \"calc\", action = \"block\" }] }\n[[hooks]]\nplugin = \"gate\"\n";
    let folder = Folder::new(&format!("{ONE}{hooks}"));
    folder.put("one.wasm", "calc");
    folder.put("gate.wasm", "permission-gate");
    let (host, mut reloader) = folder.open().await;
    assert_eq!(run_one(&host, "calc", json!({"expression": "1"})).await.kind(), "blocked");
    reloader.check(&host).await;
    std::fs::remove_file(folder.path("gate.wasm")).unwrap();
    let report = reloader.check(&host).await;
    assert!(report.unloaded.is_empty() && report.refused[0].contains("its hooks go on running"), "{report:?}");
    assert!(reloader.check(&host).await.refused.is_empty());
    assert_eq!(run_one(&host, "calc", json!({"expression": "1"})).await.kind(), "blocked");
    folder.configure(ONE);
    assert_eq!(reloader.check(&host).await.unloaded, ["gate"]);
    assert_eq!(calc(&host).await, "42");
}

/// Until a report fulfils the condition.
async fn until(reports: &Mutex<Vec<Reloaded>>, what: &str, wanted: impl Fn(&Reloaded) -> bool) {
    let found = async {
        while !reports.lock().unwrap().iter().any(&wanted) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("{what}: {:?}", reports.lock().unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn watching_takes_up_a_file_that_is_written_in_pieces_as_one_change() {
    let folder = Folder::new(ONE);
    folder.put("one.wasm", "misbehave");
    let (host, reloader) = folder.open().await;
    let before = *host.changes().borrow();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let watching = {
        let (host, reports) = (host.clone(), reports.clone());
        tokio::spawn(async move { watch(reloader, &host, |report| reports.lock().unwrap().push(report)).await })
    };
    tokio::time::sleep(Duration::from_millis(100)).await;
    write_in_pieces(&folder.path("one.wasm"), &component("calc")).await;
    until(&reports, "replaced", |report| report.replaced == ["one"]).await;
    assert_eq!(calc(&host).await, "42");
    assert_eq!(*host.changes().borrow(), before + 1);
    watching.abort();
}

async fn write_in_pieces(path: &Path, bytes: &[u8]) {
    use std::io::Write as _;
    let mut file = std::fs::File::create(path).unwrap();
    for piece in bytes.chunks(bytes.len() / 8 + 1) {
        file.write_all(piece).unwrap();
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
}
