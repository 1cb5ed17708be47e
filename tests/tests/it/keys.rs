//! Exclusive keys of components: the `fs` example under two plugins, which see one directory at different paths. A native
//! tool that holds the same file's key says when the others may go on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::component::PluginSpec;
use toolgate::model::{Access, AssistantMessage, ExclusiveKey, Json, ToolCall, ToolDefinition, ToolResult};
use toolgate::pipeline::{Batch, BatchOutcome, CallContext, Key, KeySpace, Slot, Tool, ToolError};
use toolgate::registry::Plugin;
use toolgate::sandbox::{DirAccess, DirGrant};
use toolgate_tests::guests::{self, call, run_one};

/// Holds the key of one file until it is let go; as a writer it then writes `held` into the file.
struct Hold {
    definition: ToolDefinition,
    file: PathBuf,
    access: Access,
    entered: Arc<Semaphore>,
    gate: Arc<Semaphore>,
}

#[async_trait]
impl Tool for Hold {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn exclusive_keys(&self, _cx: &CallContext, _arguments: &Json) -> Vec<Key> {
        let value = self.file.to_str().unwrap().to_owned();
        vec![Key { space: KeySpace::HostPath, value, access: self.access }]
    }

    async fn execute(&self, _cx: &CallContext, _arguments: &Json, _slot: Slot) -> Result<ToolResult, ToolError> {
        self.entered.add_permits(1);
        self.gate.acquire().await.unwrap().forget();
        if self.access == Access::Write {
            std::fs::write(&self.file, "held").unwrap();
        }
        Ok(ToolResult::default())
    }
}

/// A directory with `sub/file` holding `old` and `other` holding `other`, a symbolic link to each of file and directory;
/// `read` in a plugin that sees it as `/a`, `write` and `edit` in one that sees it as `/b/c`, and `hold`.
struct Setup {
    _dir: tempfile::TempDir,
    root: PathBuf,
    host: Host,
    entered: Arc<Semaphore>,
    gate: Arc<Semaphore>,
}

/// Every spelling of `sub/file`, for the tool whose plugin sees the directory at `guest`.
fn spellings(guest: &str) -> Vec<String> {
    let relative = ["sub/file", "./sub//file", "link", "dir/file", "dir/../link", "sub/../dir/./file"];
    relative.iter().flat_map(|path| [path.to_string(), format!("{guest}/{path}")]).collect()
}

impl Setup {
    async fn new(access: Access) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/file"), "old").unwrap();
        std::fs::write(root.join("other"), "other").unwrap();
        std::os::unix::fs::symlink("sub/file", root.join("link")).unwrap();
        std::os::unix::fs::symlink("sub", root.join("dir")).unwrap();
        let (entered, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));

        let specs = [fs("reader", "/a", &root, &["read"]), fs("writer", "/b/c", &root, &["write", "edit"])];
        let host = guests::host(Host::builder(), specs).await;
        let mut definition = ToolDefinition::new("hold", "", json!({"type": "object"}).into());
        // Keys are asked for only where some are declared.
        definition.exclusive = vec![ExclusiveKey { pointer: "/path".into(), is_path: true, access }];
        let file = root.join("sub/file");
        let hold = Hold { definition, file, access, entered: entered.clone(), gate: gate.clone() };
        host.load(Plugin::native("hold").tool(hold)).unwrap();
        Self { _dir: dir, root, host, entered, gate }
    }

    fn start(&self, batch: Batch) -> JoinHandle<BatchOutcome> {
        let host = self.host.clone();
        tokio::spawn(async move { host.run(batch).await })
    }

    /// Starts a batch whose first call holds the key; returns once it does. The keys of the others are asked for by then.
    async fn start_holding(&self, others: impl IntoIterator<Item = ToolCall>) -> JoinHandle<BatchOutcome> {
        let calls = std::iter::once(call("held", "hold", json!({}))).chain(others);
        let running = self.start(Batch::new(AssistantMessage::of_calls(calls)));
        self.entered.acquire().await.unwrap().forget();
        running
    }

    /// Time enough for whoever does not wait: many calls that wait for nothing come and go.
    async fn others_come_and_go(&self) {
        for _ in 0..20 {
            let answer = run_one(&self.host, "edit", edit("other", "other", "other!")).await;
            assert_eq!(answer.kind(), "ok", "{}", answer.text());
            let answer = run_one(&self.host, "edit", edit("/b/c/other", "other!", "other")).await;
            assert_eq!(answer.kind(), "ok", "{}", answer.text());
            assert_eq!(run_one(&self.host, "read", json!({"path": "/a/other"})).await.text(), "other");
        }
    }

    fn content(&self) -> String {
        std::fs::read_to_string(self.root.join("sub/file")).unwrap()
    }
}

fn fs(name: &'static str, guest: &str, root: &Path, tools: &[&str]) -> PluginSpec {
    let mut spec = guests::spec("fs");
    spec.name = name.into();
    spec.tools = Some(tools.iter().map(ToString::to_string).collect());
    spec.grants.dirs.push(DirGrant { guest: guest.into(), host: root.to_path_buf(), access: DirAccess::ReadWrite });
    spec
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "edits": [{"oldText": old, "newText": new}]})
}

fn texts(outcome: &BatchOutcome) -> Vec<String> {
    let text = |message: &Arc<toolgate::model::ToolResultMessage>| {
        message.result.content.iter().filter_map(|block| block.as_text()).collect()
    };
    outcome.messages.iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_spelling_of_a_file_waits_for_its_writer_in_either_plugin() {
    let setup = Setup::new(Access::Write).await;
    let reads = spellings("/a");
    let reads = reads.iter().enumerate().map(|(at, path)| call(&format!("c{at}"), "read", json!({"path": path})));
    let running = setup.start_holding(reads).await;
    // Where a read did not wait it would be over by now, and would have read `old`.
    setup.others_come_and_go().await;
    setup.gate.add_permits(1);
    let texts = texts(&running.await.unwrap());
    assert_eq!(texts[1..], vec!["held"; spellings("/a").len()]);

    for path in spellings("/b/c") {
        std::fs::write(setup.root.join("sub/file"), "old").unwrap();
        let running = setup.start_holding([call("c1", "edit", edit(&path, "held", "edited"))]).await;
        setup.others_come_and_go().await;
        setup.gate.add_permits(1);
        running.await.unwrap();
        assert_eq!(setup.content(), "edited", "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_on_one_file_run_in_source_order_across_plugins() {
    let setup = Setup::new(Access::Write).await;
    let running = setup
        .start_holding([
            call("c1", "read", json!({"path": "/a/link"})),
            call("c2", "edit", edit("dir/file", "held", "first")),
            call("c3", "edit", edit("/b/c/sub/file", "first", "second")),
            call("c4", "read", json!({"path": "sub/file"})),
            call("c5", "write", json!({"path": "link", "content": "third"})),
            call("c6", "edit", edit("/b/c/dir/file", "third", "fourth")),
            call("c7", "read", json!({"path": "dir/../link"})),
        ])
        .await;
    setup.gate.add_permits(1);
    let outcome = running.await.unwrap();
    assert!(outcome.messages.iter().all(|message| !message.is_error), "{:?}", outcome.messages);
    let texts = texts(&outcome);
    assert_eq!([&*texts[1], &*texts[4], &*texts[7]], ["held", "second", "fourth"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_overlap_and_an_edit_of_another_file_too() {
    let setup = Setup::new(Access::Read).await;
    let holding = setup.start_holding([]).await;
    // This batch ends while the file is held by a reader.
    let beside = Batch::new(AssistantMessage::of_calls([
        call("c1", "read", json!({"path": "sub/file"})),
        call("c2", "read", json!({"path": "/a/link"})),
        call("c3", "read", json!({"path": "dir/file"})),
        call("c4", "edit", edit("other", "other", "changed")),
    ]));
    let outcome = setup.start(beside).await.unwrap();
    assert_eq!(texts(&outcome)[..3], ["old", "old", "old"]);
    assert_eq!(std::fs::read_to_string(setup.root.join("other")).unwrap(), "changed");
    std::fs::write(setup.root.join("other"), "other").unwrap();

    // A writer waits, and a reader that came after it stays behind it.
    let waiting = setup.start(Batch::new(AssistantMessage::of_calls([
        call("c1", "write", json!({"path": "link", "content": "new"})),
        call("c2", "read", json!({"path": "/a/sub/file"})),
    ])));
    setup.others_come_and_go().await;
    assert_eq!(setup.content(), "old");
    assert!(!waiting.is_finished());
    setup.gate.add_permits(1);
    assert_eq!(texts(&waiting.await.unwrap())[1], "new");
    holding.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_waiter_is_answered_at_once_and_leaves_the_queue() {
    let setup = Setup::new(Access::Write).await;
    let holding = setup.start_holding([]).await;
    let cancel = CancellationToken::new();
    let write = |content: &str| {
        let arguments = json!({"path": "/b/c/link", "content": content});
        Batch::new(AssistantMessage::of_calls([call("c1", "write", arguments)]))
    };
    let waiting = setup.start(write("never").cancel(cancel.clone()));
    setup.others_come_and_go().await;
    let behind = setup.start(write("last"));
    setup.others_come_and_go().await;
    assert!(!waiting.is_finished() && !behind.is_finished());
    cancel.cancel();
    // It ends while the key is still held.
    let outcome = waiting.await.unwrap();
    assert_eq!(texts(&outcome), ["Operation aborted"]);
    assert_eq!(setup.content(), "old");
    setup.gate.add_permits(1);
    assert!(!behind.await.unwrap().messages[0].is_error);
    assert_eq!(setup.content(), "last");
    holding.await.unwrap();
}
