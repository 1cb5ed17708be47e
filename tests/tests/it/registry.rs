//! Loading, replacing and unloading real components while calls run.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolgate::Host;
use toolgate::component::{Loader, PluginSpec, Source};
use toolgate_tests::guests::{self, Events, batch, run_one};

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_flight_finishes_on_the_code_it_started_with() {
    let host = guests::host(Host::builder(), [guests::spec("misbehave")]).await;
    let events = Arc::new(Events::default());
    let running = {
        let (host, events) = (host.clone(), events.clone());
        tokio::spawn(async move { host.run(batch([("sleep", json!({"ms": 500}))]).sink(events)).await })
    };
    while events.all().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut changes = host.changes();
    changes.mark_unchanged();
    let mut calc = guests::spec("calc");
    calc.name = "misbehave".into();
    host.replace(guests::load(calc).await).unwrap();
    assert!(changes.has_changed().unwrap());
    assert_eq!(run_one(&host, "sleep", json!({"ms": 1})).await.kind(), "not-found");
    assert_eq!(run_one(&host, "calc", json!({"expression": "2*(3+4)"})).await.text(), "14");
    let outcome = running.await.unwrap();
    assert!(!outcome.messages[0].is_error, "{:?}", outcome.messages);
    host.unload("misbehave").unwrap();
    assert_eq!(run_one(&host, "calc", json!({"expression": "1"})).await.text(), "Tool calc not found");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_no_plugin_are_named_errors_and_the_rest_loads() {
    let good = std::fs::read(guests::component("calc")).unwrap();
    let cut = &good[..good.len() * 8 / 10];
    let cases: [(&[u8], &str); 7] = [
        (b"", "the file is empty"),
        (b"(component)", "the file is text"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", "not WebAssembly"),
        (b"\0asm\x01\0\0\0", "core WebAssembly module"),
        (cut, "damaged or cut off"),
        (b"\0asm\x0d\0\x01\0", "exports neither"),
        (&[0, 97, 115, 109, 13, 0, 1, 0, 129], "damaged or cut off"),
    ];
    let loader = Loader::new(guests::engine());
    for (bytes, expected) in cases {
        let error = loader.load(PluginSpec::new("bad", Source::Bytes(bytes.into()))).await.err().unwrap();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().starts_with("plugin bad: "), "{error}");
    }
    let host = guests::host(Host::builder(), [guests::spec("calc")]).await;
    assert_eq!(run_one(&host, "calc", json!({"expression": "6*7"})).await.text(), "42");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pin_and_a_memory_cap_are_checked_before_anything_runs() {
    let loader = Loader::new(guests::engine());
    let mut spec = guests::spec("calc");
    spec.sha256 = Some("00".repeat(32));
    let error = loader.load(spec).await.err().unwrap().to_string();
    assert!(error.contains("not the pinned one"), "{error}");
    let mut spec = guests::spec("calc");
    spec.limits.memory_bytes = 64 << 10;
    let error = loader.load(spec).await.err().unwrap().to_string();
    assert!(error.contains("raise limits.memory-bytes") && error.contains("65536"), "{error}");
}
