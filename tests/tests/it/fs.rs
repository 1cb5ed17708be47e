//! The `fs` example in a host: what it does within its grants, and that it stays there.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolgate::Host;
use toolgate::component::PluginSpec;
use toolgate::sandbox::{DirAccess, DirGrant};
use toolgate_tests::guests::{self, Events, batch, run_one};

fn spec(dir: &Path, access: DirAccess) -> PluginSpec {
    let mut spec = guests::spec("fs");
    spec.grants.dirs.push(DirGrant { guest: "/w".into(), host: dir.to_path_buf(), access });
    spec
}

async fn host(dir: &Path, access: DirAccess) -> Host {
    guests::host(Host::builder(), [spec(dir, access)]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_reads_edits_and_finds_within_its_grant() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path(), DirAccess::ReadWrite).await;
    let answer = run_one(&host, "write", json!({"path": "src/a.txt", "content": "one\ntwo\n"})).await;
    assert_eq!(answer.kind(), "ok", "{}", answer.text());
    assert_eq!(std::fs::read_to_string(dir.path().join("src/a.txt")).unwrap(), "one\ntwo\n");

    let answer = run_one(&host, "read", json!({"path": "/w/src/a.txt", "offset": 2})).await;
    assert!(answer.text().starts_with("two\n"), "{}", answer.text());

    let edits = json!({"path": "src/a.txt", "edits": [{"oldText": "two", "newText": "zwei"}]});
    let answer = run_one(&host, "edit", edits).await;
    let diff = answer.json()["details"]["diff"].as_str().unwrap().to_owned();
    assert!(diff.contains("-two\n+zwei\n"), "{diff}");

    // The older argument shape still works.
    let answer = run_one(&host, "edit", json!({"path": "src/a.txt", "oldText": "one", "newText": "eins"})).await;
    assert_eq!(answer.kind(), "ok", "{}", answer.text());
    assert_eq!(std::fs::read_to_string(dir.path().join("src/a.txt")).unwrap(), "eins\nzwei\n");

    assert!(run_one(&host, "find", json!({"pattern": "*.txt"})).await.text().contains("src/a.txt"));
    assert!(run_one(&host, "grep", json!({"pattern": "zw.i"})).await.text().contains("src/a.txt:2:"));
    assert_eq!(run_one(&host, "ls", json!({})).await.text().trim(), "src/");
    let answer = run_one(&host, "grep", json!({"pattern": "nowhere"})).await;
    assert_eq!((answer.kind(), answer.text().as_str()), ("tool-failed", "No matches found"));
}

#[tokio::test(flavor = "multi_thread")]
async fn stays_within_its_grant_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("secret"), "classified").unwrap();
    let granted = dir.path().join("granted");
    std::fs::create_dir(&granted).unwrap();
    std::fs::write(granted.join("file"), "inside").unwrap();
    std::os::unix::fs::symlink(dir.path().join("secret"), granted.join("absolute")).unwrap();
    std::os::unix::fs::symlink("../secret", granted.join("relative")).unwrap();
    let host = host(&granted, DirAccess::ReadOnly).await;
    for path in ["../secret", "/w/../secret", "absolute", "relative", "/etc/passwd", "/proc/self/environ"] {
        let answer = run_one(&host, "read", json!({"path": path})).await;
        assert_eq!(answer.kind(), "tool-failed", "{path}: {}", answer.text());
        assert!(!answer.text().contains("classified") && !answer.text().contains("root:"), "{path}: {}", answer.text());
        assert!(answer.text().contains("/w"), "{path}: the grant is not named: {}", answer.text());
    }
    let answer = run_one(&host, "write", json!({"path": "file", "content": "changed"})).await;
    assert_eq!(answer.kind(), "tool-failed", "{}", answer.text());
    let denials = answer.json()["error"]["denials"].clone();
    assert_eq!(denials[0]["capability"], "filesystem", "{denials}");
    assert_eq!(denials[0]["plugin"], "fs");
    assert_eq!(std::fs::read_to_string(granted.join("file")).unwrap(), "inside");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fifo_or_a_device_does_not_open_and_stops_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("pipe")).status().unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("/dev/zero", dir.path().join("zero")).unwrap();
    // The fs tools look before they open; this one does not.
    let mut plain = guests::spec("misbehave");
    plain.tools = Some(vec!["read-file".into()]);
    plain.grants.dirs.push(DirGrant { guest: "/w".into(), host: dir.path().into(), access: DirAccess::ReadWrite });
    let host = guests::host(Host::builder(), [spec(dir.path(), DirAccess::ReadWrite), plain]).await;
    for path in ["/w/pipe", "/w/zero"] {
        for tool in ["read", "read-file"] {
            let answer = run_one(&host, tool, json!({"path": path})).await;
            assert_eq!(answer.kind(), "tool-failed", "{}", answer.text());
        }
    }
    let answer = run_one(&host, "read-file", json!({"path": "/w/pipe"})).await;
    assert!(answer.json()["error"]["denials"].to_string().contains("only regular files"), "{}", answer.json());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_directory_is_named_for_the_operator() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(&dir.path().join("gone"), DirAccess::ReadOnly).await;
    let answer = run_one(&host, "ls", json!({})).await;
    assert_eq!(answer.kind(), "unavailable", "{}", answer.text());
    assert!(answer.0.error.as_ref().unwrap().hint.as_ref().unwrap().contains("plugins.fs.dirs"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_search_reports_at_least_once_a_second() {
    let dir = tempfile::tempdir().unwrap();
    for folder in 0..100 {
        let folder = dir.path().join(format!("d{folder}"));
        std::fs::create_dir(&folder).unwrap();
        for file in 0..100 {
            std::fs::write(folder.join(format!("f{file}.txt")), "a line\nanother line\n").unwrap();
        }
    }
    std::fs::write(dir.path().join("d99/last.txt"), "the needle\n").unwrap();
    let mut spec = spec(dir.path(), DirAccess::ReadOnly);
    spec.limits.deadline = Duration::from_secs(300);
    let host = guests::host(Host::builder(), [spec]).await;
    let seen = Arc::new(Gaps::default());
    let events = Arc::new(Events::default());
    let outcome =
        host.run(batch([("grep", json!({"pattern": "needle"}))]).sink(seen.clone()).sink(events.clone())).await;
    let text = outcome.messages[0].result.content[0].as_text().unwrap().to_owned();
    assert!(text.contains("d99/last.txt:1:"), "{text}");
    let updates = events.of_type("tool_execution_update").len();
    let took = seen.took();
    // One a second, as the requirement says; on a machine that stalls the clock of the guest stalls as well.
    assert!(updates as u64 >= took.as_secs(), "{updates} updates in {took:?}");
    assert!(seen.longest() < Duration::from_secs(3), "no update for {:?}", seen.longest());
}

/// When events came.
#[derive(Default)]
struct Gaps(std::sync::Mutex<Vec<Instant>>);

impl Gaps {
    fn took(&self) -> Duration {
        let times = self.0.lock().unwrap();
        *times.last().unwrap() - times[0]
    }

    fn longest(&self) -> Duration {
        let times = self.0.lock().unwrap();
        times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
    }
}

#[async_trait::async_trait]
impl toolgate::pipeline::EventSink for Gaps {
    fn name(&self) -> &str {
        "gaps"
    }

    async fn event(&self, _event: &toolgate::model::Event) -> Result<(), toolgate::pipeline::SinkError> {
        self.0.lock().unwrap().push(Instant::now());
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_message_with_reads_and_an_edit_of_another_file_gives_what_the_files_hold() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c", "d"] {
        std::fs::write(dir.path().join(name), format!("{name}\n")).unwrap();
    }
    let host = host(dir.path(), DirAccess::ReadWrite).await;
    let edit = json!({"path": "d", "edits": [{"oldText": "d", "newText": "D"}]});
    let read = |path: &str| -> (&str, Value) { ("read", json!({ "path": path })) };
    let outcome = host.run(batch([read("a"), ("edit", edit), read("./d"), read("b"), read("c")])).await;
    let texts: Vec<_> = outcome.messages.iter().map(|m| m.result.content[0].as_text().unwrap().to_owned()).collect();
    // The read of the edited file comes after the edit, in source order.
    assert_eq!(texts[0], "a\n");
    assert_eq!(texts[2], "D\n");
    assert_eq!((&*texts[3], &*texts[4]), ("b\n", "c\n"));
}
