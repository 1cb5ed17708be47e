//! Whatever the host refuses for want of a grant stands in `error.denials`: who asked, for what, and why not.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use toolgate::Host;
use toolgate::component::PluginSpec;
use toolgate::sandbox::{DirAccess, DirGrant, HttpGrant, HttpLimits, HttpPolicy};
use toolgate_tests::guests::{self, Answer, batch, run_one};

fn dir(guest: &str, host: &Path, access: DirAccess) -> DirGrant {
    DirGrant { guest: guest.into(), host: host.into(), access }
}

async fn granted(dirs: impl IntoIterator<Item = DirGrant>) -> Host {
    let mut spec = guests::spec("misbehave");
    spec.grants.dirs.extend(dirs);
    guests::host(Host::builder(), [spec]).await
}

fn denials(answer: &Answer) -> Vec<Value> {
    answer.json()["error"]["denials"].as_array().cloned().unwrap_or_default()
}

/// One denial, of this capability and subject, with these words in its rule.
fn denied(answer: &Answer, capability: &str, subject: &str, rule: &str) {
    let denials = denials(answer);
    assert_eq!(denials.len(), 1, "{subject}: {} {denials:?}", answer.text());
    assert_eq!(denials[0]["plugin"], "misbehave");
    assert_eq!(denials[0]["capability"], capability);
    assert_eq!(denials[0]["subject"], subject);
    assert!(denials[0]["rule"].as_str().unwrap().contains(rule), "{subject}: {denials:?}");
}

fn op(op: &str, path: &str, to: &str) -> Value {
    json!({"op": op, "path": path, "to": to})
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_a_read_only_grant_refuses() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("file"), "kept").unwrap();
    std::fs::create_dir(root.path().join("sub")).unwrap();
    let host = granted([dir("/r", root.path(), DirAccess::ReadOnly)]).await;
    for (arguments, subject) in [
        (op("open-write", "file", ""), "open file"),
        (op("create", "new", ""), "open new"),
        (op("mkdir", "new", ""), "create directory new"),
        (op("rmdir", "sub", ""), "remove directory sub"),
        (op("remove", "file", ""), "remove file"),
        (op("rename", "file", "other"), "rename file to other"),
        (op("link", "file", "other"), "link file to other"),
        (op("symlink", "other", "file"), "create link other to file"),
        (op("times", "file", ""), "set the times of file"),
        (op("times-fd", "file", ""), "set the times of an open file"),
        (op("size-fd", "file", ""), "set the size of an open file to 0"),
        (op("write-fd", "file", ""), "write to an open file"),
        (op("stream-fd", "file", ""), "write to an open file"),
        (op("append-fd", "file", ""), "write to an open file"),
    ] {
        let answer = run_one(&host, "file-op", arguments).await;
        assert_eq!(answer.kind(), "tool-failed", "{subject}: {}", answer.text());
        denied(&answer, "filesystem", subject, "access = \"read-write\" in plugins.NAME.dirs");
    }
    assert_eq!(std::fs::read_to_string(root.path().join("file")).unwrap(), "kept");
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 2);
    for reads in ["open", "stat"] {
        assert_eq!(run_one(&host, "file-op", op(reads, "file", "")).await.kind(), "ok");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_out_of_a_grant() {
    let root = tempfile::tempdir().unwrap();
    let inside = root.path().join("granted");
    std::fs::create_dir_all(inside.join("sub")).unwrap();
    std::fs::write(root.path().join("secret"), "classified").unwrap();
    std::fs::write(inside.join("file"), "").unwrap();
    let secret = root.path().join("secret");
    let secret = secret.to_str().unwrap();
    std::os::unix::fs::symlink(secret, inside.join("absolute")).unwrap();
    std::os::unix::fs::symlink("../secret", inside.join("relative")).unwrap();
    std::os::unix::fs::symlink("sub/../../secret", inside.join("winding")).unwrap();
    let host = granted([dir("/w", &inside, DirAccess::ReadWrite)]).await;
    for (kind, path) in [
        ("open", "../secret"),
        ("open", "sub/../../secret"),
        ("open", secret),
        ("open", "/etc/passwd"),
        ("open", "absolute"),
        ("open", "relative"),
        ("open", "winding"),
        ("open-write", "relative"),
        ("create", "../new"),
        ("stat", "../secret"),
        ("stat", "absolute"),
        ("mkdir", "../new"),
        ("rmdir", "../granted"),
        ("remove", "../secret"),
        ("times", "relative"),
    ] {
        let answer = run_one(&host, "file-op", op(kind, path, "")).await;
        assert_eq!(answer.kind(), "tool-failed", "{kind} {path}: {}", answer.text());
        let denials = denials(&answer);
        assert!(
            denials.iter().any(|denial| denial["subject"].as_str().unwrap().contains(path)
                && denial["rule"].as_str().unwrap().contains("leads outside the granted directory")),
            "{kind} {path}: {} {denials:?}",
            answer.text()
        );
    }
    for (kind, path, to) in [
        ("rename", "file", "../stolen"),
        ("rename", "../secret", "stolen"),
        ("link", "../secret", "stolen"),
        ("link", "file", "../planted"),
        ("symlink", "planted", "/etc/passwd"),
    ] {
        let answer = run_one(&host, "file-op", op(kind, path, to)).await;
        assert_eq!(answer.kind(), "tool-failed", "{kind} {path} {to}: {}", answer.text());
        assert_eq!(denials(&answer).len(), 1, "{kind} {path} {to}: {}", answer.text());
    }
    assert_eq!(std::fs::read_to_string(root.path().join("secret")).unwrap(), "classified");
    let left: Vec<_> = std::fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(inside.join("file").exists() && !inside.join("stolen").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn between_grants_only_what_both_allow() {
    let root = tempfile::tempdir().unwrap();
    for name in ["fixed", "one", "two"] {
        std::fs::create_dir(root.path().join(name)).unwrap();
        std::fs::write(root.path().join(name).join("file"), name).unwrap();
    }
    let at = |name: &str| root.path().join(name);
    let host = granted([
        dir("/fixed", &at("fixed"), DirAccess::ReadOnly),
        dir("/one", &at("one"), DirAccess::ReadWrite),
        dir("/two", &at("two"), DirAccess::ReadWrite),
    ])
    .await;
    for (kind, from, to) in [("rename", 0, 1), ("link", 0, 1), ("rename", 1, 0), ("link", 1, 0)] {
        let arguments = json!({"op": kind, "path": "file", "to": "moved", "grant": from, "to_grant": to});
        let answer = run_one(&host, "file-op", arguments).await;
        denied(&answer, "filesystem", &format!("{kind} file to moved"), "the grant is read-only");
    }
    assert!(!at("one/moved").exists() && !at("fixed/moved").exists());
    // What may be written on both sides may be moved.
    for kind in ["link", "rename"] {
        let arguments = json!({"op": kind, "path": "file", "to": kind, "grant": 1, "to_grant": 2});
        assert_eq!(run_one(&host, "file-op", arguments).await.kind(), "ok");
        assert_eq!(std::fs::read_to_string(at("two").join(kind)).unwrap(), "one");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_granted_directory_that_is_missing() {
    let root = tempfile::tempdir().unwrap();
    let host = granted([dir("/gone", &root.path().join("gone"), DirAccess::ReadOnly)]).await;
    let answer = run_one(&host, "echo", json!({})).await;
    assert_eq!(answer.kind(), "unavailable", "{}", answer.text());
    denied(&answer, "filesystem", "open /gone", "create it or change plugins.NAME.dirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn sockets_and_look_ups() {
    let host = granted([]).await;
    for (kind, subject) in [
        ("tcp", "TCP socket (IPv4)"),
        ("tcp6", "TCP socket (IPv6)"),
        ("udp", "UDP socket (IPv4)"),
        ("udp6", "UDP socket (IPv6)"),
        ("example.com", "look up example.com"),
        ("127.0.0.1", "look up 127.0.0.1"),
    ] {
        let answer = run_one(&host, "socket", json!({"kind": kind})).await;
        assert_eq!((answer.kind(), answer.text().as_str()), ("tool-failed", "refused: access-denied"), "{kind}");
        denied(&answer, "network", subject, "never granted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_are_the_hosts() {
    let host = granted([]).await;
    for name in ["Host", "connection", "Transfer-Encoding", "upgrade", "TE", "trailer"] {
        for how in ["append", "set", "list"] {
            let answer = run_one(&host, "set-header", json!({"name": name, "how": how})).await;
            denied(&answer, "http", &format!("set the header {name}"), "are the host's alone");
        }
    }
    assert_eq!(run_one(&host, "set-header", json!({"name": "accept", "how": "set"})).await.kind(), "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn denials_are_bounded_in_number_and_in_size() {
    let root = tempfile::tempdir().unwrap();
    let host = granted([dir("/r", root.path(), DirAccess::ReadOnly)]).await;
    let events = std::sync::Arc::new(guests::Events::default());
    let same = host.run(batch([("socket", json!({"kind": "tcp", "times": 50_000}))]).sink(events.clone())).await;
    assert_eq!(same.messages[0].error.as_ref().unwrap().denials.len(), 1);
    let end = &events.of_type("tool_execution_end")[0];
    assert_eq!(end["metrics"]["denials"], 50_000, "{end}");

    let long = "x\u{e9}".repeat(100_000);
    let answer = run_one(&host, "file-op", op("mkdir", &long, "")).await;
    let subject = denials(&answer)[0]["subject"].as_str().unwrap().to_owned();
    assert!(subject.starts_with("create directory x\u{e9}x") && subject.len() < 1_100, "{}", subject.len());
    assert!(subject.ends_with('…'));
}

/// A limit of the operator's that ends a request is named; a shorter one of the guest's own is its affair.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_keeps_silent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let held = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    let mut spec: PluginSpec = guests::spec("http-fetch");
    let grant = HttpGrant::new("127.0.0.1").and_then(|g| g.schemes(["http"])?.ports([port])).unwrap();
    let mut limits = HttpLimits::default();
    limits.first_byte = Duration::from_millis(200);
    spec.grants.http = Some(std::sync::Arc::new(HttpPolicy::new(vec![grant], Vec::new(), limits)));
    let host = guests::host(Host::builder(), [spec]).await;
    let answer = run_one(&host, "http-fetch", json!({"url": format!("http://127.0.0.1:{port}/x?token=1")})).await;
    assert_eq!(answer.kind(), "tool-failed", "{}", answer.text());
    let denials = denials(&answer);
    assert_eq!(denials[0]["subject"], format!("GET http://127.0.0.1:{port}/x"));
    assert_eq!(denials[0]["rule"], "it took longer than limits.http-first-byte-ms = 200; raise it");
    held.abort();
}
