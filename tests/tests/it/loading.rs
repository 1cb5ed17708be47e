//! Files and definitions that are not what they should be: each is an error of its own, soon and in little memory, and
//! everything else still loads.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolgate::Host;
use toolgate::component::{Engine, EngineSettings, LoadError, Loader, PluginSpec, Source};
use toolgate::model::Json;
use toolgate::registry::Plugin;
use toolgate_tests::guests::{self, run_one};

/// A component that exports these functions under the contract's name, all of one type.
fn exporting(functions: &[&str]) -> Vec<u8> {
    let exports: String = functions.iter().map(|name| format!("(export \"{name}\" (func $f))")).collect();
    wat(&format!(
        "(component (core module $m (func (export \"f\") (result i32) i32.const 0))
            (core instance $i (instantiate $m))
            (func $f (result u32) (canon lift (core func $i \"f\")))
            (instance $e {exports}) (export \"toolgate:plugin/tools@0.1.0\" (instance $e)))"
    ))
}

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// A component with these parts, and an empty instance under the contract's name.
fn with(parts: &str) -> Vec<u8> {
    wat(&format!("(component {parts} (instance $e) (export \"toolgate:plugin/tools@0.1.0\" (instance $e)))"))
}

/// Types each made of the one before, and an import of the last.
fn nested_types(levels: usize, of: impl Fn(usize) -> String) -> Vec<u8> {
    let types: String = (1..=levels).map(|level| format!("(type $t{level} {})", of(level - 1))).collect();
    with(&format!(
        "(type $t0 (list u8)) {types} (import \"a:b/c\" (instance (alias outer 1 $t{levels} (type $l)) (export \"f\" (func (param \"x\" $l)))))"
    ))
}

/// A module of so many functions of so many bytes each, in a component.
fn code(functions: u32, bytes: u32) -> Vec<u8> {
    fn leb(mut value: u32, into: &mut Vec<u8>) {
        loop {
            let byte = (value & 0x7f) as u8;
            value >>= 7;
            into.push(if value == 0 { byte } else { byte | 0x80 });
            if value == 0 {
                return;
            }
        }
    }
    fn section(id: u8, content: &[u8], into: &mut Vec<u8>) {
        into.push(id);
        leb(u32::try_from(content.len()).unwrap(), into);
        into.extend(content);
    }
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    section(1, &[1, 0x60, 0, 0], &mut module);
    let mut types = Vec::new();
    leb(functions, &mut types);
    types.extend(std::iter::repeat_n(0, functions as usize));
    section(3, &types, &mut module);
    let mut bodies = Vec::new();
    leb(functions, &mut bodies);
    for _ in 0..functions {
        leb(bytes, &mut bodies);
        bodies.push(0);
        bodies.extend(std::iter::repeat_n(1, bytes as usize - 2));
        bodies.push(0x0b);
    }
    section(10, &bodies, &mut module);
    let mut component = b"\0asm\x0d\0\x01\0".to_vec();
    section(1, &module, &mut component);
    component
}

fn bytes(bytes: impl Into<Vec<u8>>) -> PluginSpec {
    PluginSpec::new("bad", Source::Bytes(bytes.into().into()))
}

/// The scripted tool, with definitions that its settings make. They are read anew by each process.
fn defining(key: &str, value: Value) -> PluginSpec {
    let mut spec = guests::spec("scripted-tool");
    spec.name = "bad".into();
    spec.config = Json::from_value(json!({key: value, "process": std::process::id()}));
    spec
}

fn tools(tools: &[(&str, Value)]) -> PluginSpec {
    let list = tools.iter().map(|(name, parameters)| json!({"name": name, "parameters": parameters})).collect();
    defining("tools", Value::Array(list))
}

/// With memory enough to be hostile.
fn roomy(mut spec: PluginSpec) -> PluginSpec {
    spec.limits.memory_bytes = 512 << 20;
    spec
}

fn cases() -> Vec<(&'static str, PluginSpec, &'static str)> {
    let good = std::fs::read(guests::component("calc")).unwrap();
    let mut noise = b"\0asm\x0d\0\x01\0".to_vec();
    let mut seed = 1u32;
    noise.extend(std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    }).take(10_000));
    let mut pinned = bytes(good.clone());
    pinned.sha256 = Some("0".repeat(64));
    let object = || json!({"type": "object"});
    let deep = (0..120).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
    let mut doubling = json!({"d0": {"type": "string"}});
    for level in 1..60 {
        let below = json!({"$ref": format!("#/$defs/d{}", level - 1)});
        doubling[format!("d{level}")] = json!({"allOf": [below, below]});
    }
    let doubling = json!({"$defs": doubling, "properties": {"a": {"$ref": "#/$defs/d59"}}});
    vec![
        ("an empty file", bytes([]), "the file is empty"),
        ("a core module", bytes(wat("(module)")), "core WebAssembly module, not a component"),
        ("text", bytes(*b"(component)"), "the file is text"),
        ("random bytes", bytes([7, 0x91, 0xff, 0, 3, 0xfe]), "not WebAssembly"),
        ("random bytes behind a component's header", bytes(noise), "damaged or cut off"),
        ("an export of kind 129", bytes(*b"\0asm\x0d\0\x01\0\x0b\x05\x01\0\x01x\x81"), "damaged or cut off"),
        ("a component cut at 80 %", bytes(&good[..good.len() * 4 / 5]), "damaged or cut off"),
        ("another world", bytes(wat("(component (instance $e) (export \"wasi:cli/run@0.2.0\" (instance $e)))")), "It exports: wasi:cli/run@0.2.0"),
        ("exports that are missing", bytes(exporting(&["execute"])), "does not export toolgate:plugin/tools as toolgate:plugin@0.1.0 has it"),
        ("exports of other types", bytes(exporting(&["definitions", "prepare-arguments", "execute"])), "does not export toolgate:plugin/tools as toolgate:plugin@0.1.0 has it"),
        ("more memory than there may be", bytes(with("(core module $m (memory 2000)) (core instance (instantiate $m))")), "needs 131072000 bytes of memory at the start and may have 67108864; raise limits.memory-bytes"),
        ("memories that are too much together", bytes(with("(core module $m (memory 600)) (core instance (instantiate $m)) (core instance (instantiate $m))")), "needs 78643200 bytes"),
        ("more code than is compiled", bytes(code(70, 1 << 20)), "more than 67108864 bytes"),
        ("a function that is too large", bytes(code(1, 2 << 20)), "a function has more than 1048576 bytes"),
        ("deeply nested types", bytes(nested_types(20_000, |below| format!("(list $t{below})"))), ""),
        ("types that double", bytes(nested_types(60, |below| format!("(tuple $t{below} $t{below})"))), ""),
        ("another file than the pinned one", pinned, "is not the pinned one"),
        ("definitions that trap", defining("describe", json!("trap")), "no definitions today"),
        ("definitions that loop", defining("describe", json!("loop")), "to say what it offers"),
        ("definitions that sleep", { let mut spec = defining("describe", json!("sleep")); spec.limits.load = Duration::from_millis(1_500); spec }, "longer than 1500 ms to say what it offers; raise limits.load-ms of plugin bad"),
        ("definitions of 100 MiB", roomy(defining("describe", json!({"large": 100}))), "handed over more than 33554432 bytes"),
        ("definitions of 20 MiB", defining("describe", json!({"large": 20})), "its definitions take"),
        ("2 000 tools", defining("describe", json!({"many": 2_000})), "defines 2000 tools, more than 1000"),
        ("a tool twice", tools(&[("a", object()), ("b", object()), ("a", object())]), "defines the tool a twice"),
        ("a name of 65 characters", tools(&[(&"x".repeat(65), object())]), "use 1 to 64 of A-Z, a-z, 0-9, _ and -"),
        ("a name with other characters", tools(&[("a:b/c", object())]), "tool name \"a:b/c\" is not accepted"),
        ("a name in another script", tools(&[("工具", object())]), "tool name \"工具\" is not accepted"),
        ("an empty name", tools(&[("", object())]), "tool name \"\" is not accepted"),
        ("a schema that is none", tools(&[("odd", json!({"type": "objekt"}))]), "odd"),
        ("a schema that is a number", tools(&[("odd", json!(5))]), "odd"),
        ("a schema elsewhere", tools(&[("odd", json!({"$ref": "https://example.com/s.json"}))]), "odd"),
        ("a schema of a file", tools(&[("odd", json!({"$ref": "file:///etc/passwd"}))]), "odd"),
        ("a schema that nests deeply", tools(&[("odd", deep)]), ""),
        ("a schema that doubles", tools(&[("odd", doubling)]), "odd"),
        ("a pattern that explodes", tools(&[("odd", json!({"properties": {"a": {"pattern": "((a{1000}){1000}){1000}"}}}))]), "odd"),
        ("a large schema", roomy(tools(&[("odd", json!({"properties": {"a": {"enum": (0..400_000).collect::<Vec<_>>()}}}))])), "odd"),
    ]
}

/// In the order in which an operator meets them: the component itself, then the host that takes it.
async fn load(host: &Host, spec: PluginSpec) -> Result<(), String> {
    let loaded: Result<Plugin, LoadError> = Loader::new(guests::engine()).load(spec).await;
    host.load(loaded.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

/// Bytes this process held at most since the last time.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    // Where it cannot be set back, the peaks of earlier cases count too.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    kib << 10
}

const MEMORY: u64 = 256 << 20;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by `each_bad_file_is_an_error_of_its_own`, in a process of its own: its memory is measured"]
async fn bad_files() {
    let host = guests::host(Host::builder(), [guests::spec("misbehave")]).await;
    // What is compiled but not to be measured.
    load(&Host::new(), tools(&[("a", json!({}))])).await.unwrap();
    let cases = cases();
    peak();
    let idle = peak();
    let mut failures = Vec::new();
    for (name, spec, expected) in cases {
        let started = Instant::now();
        let outcome = load(&host, spec).await;
        let (took, memory) = (started.elapsed(), peak().saturating_sub(idle));
        println!("{name}: {} ms, {} MiB above idle: {outcome:?}", took.as_millis(), memory >> 20);
        match outcome {
            Err(error) if error.contains(expected) && error.contains("bad") && error.len() < 4_000 => {}
            other => failures.push(format!("{name}: {expected:?} expected, not {other:?}")),
        }
        // Two seconds on a quiet machine.
        if took > Duration::from_secs(20) || memory > MEMORY {
            failures.push(format!("{name}: {took:?}, {} MiB", memory >> 20));
        }
        assert_eq!(run_one(&host, "echo", json!({})).await.kind(), "ok", "after {name}");
    }
    assert!(failures.is_empty(), "{failures:#?}");
    println!("all were seen");
}

#[test]
fn each_bad_file_is_an_error_of_its_own() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["loading::bad_files", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success() && out.contains("all were seen"), "{out}{err}");
}

fn engine(cache: &std::path::Path, compile_time: Duration) -> Engine {
    let mut settings = EngineSettings::default();
    settings.instances = 4;
    settings.cache_dir = Some(cache.into());
    settings.compile_time = compile_time;
    Engine::new(settings).unwrap()
}

/// The compiler can't be stopped, but nobody waits for it, and what it made is there for the next time.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_takes_too_long_to_compile_is_an_error_and_keeps_nobody() {
    let cache = tempfile::tempdir().unwrap();
    let slow = Loader::new(engine(cache.path(), Duration::from_millis(1)));
    let load = |name: &str| slow.load(guests::spec(name));
    for name in ["misbehave", "scripted-tool"] {
        let error = load(name).await.err().unwrap().to_string();
        assert!(error.contains("was not compiled within 1 ms; raise compile-ms"), "{error}");
    }
    // Two are under way that nobody waits for: no third one is begun beside them.
    let mut text = Vec::new();
    for _ in 0..1_000 {
        match load("http-fetch").await {
            Err(error) => text.push(error.to_string()),
            Ok(_) => break,
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        let compiled = std::fs::read_dir(cache.path()).unwrap().flatten();
        let done = compiled.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "cwasm")).count();
        if done == 3 {
            break;
        }
    }
    let usual = Loader::new(engine(cache.path(), Duration::from_secs(120)));
    let started = Instant::now();
    usual.load(guests::spec("misbehave")).await.unwrap();
    println!("from the cache in {:?}; {} refusals: {:?}", started.elapsed(), text.len(), text.first());
    let known =
        |error: &&String| error.contains("was not compiled within 1 ms") || error.contains("components that took longer than");
    assert_eq!(text.iter().find(|error| !known(error)), None);
}

/// Wrong, truncated or foreign native code is never run, whoever put it there; the component is compiled again.
#[tokio::test(flavor = "multi_thread")]
async fn only_code_that_this_host_compiled_is_taken_from_the_cache() {
    let cache = tempfile::tempdir().unwrap();
    let engine = engine(cache.path(), Duration::from_secs(120));
    let loader = Loader::new(engine);
    loader.load(guests::spec("calc")).await.unwrap();
    let files = || -> Vec<_> { std::fs::read_dir(cache.path()).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let code = files().into_iter().find(|path| path.extension().is_some_and(|kind| kind == "cwasm")).unwrap();
    let original = std::fs::read(&code).unwrap();
    let mut flipped = original.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    for wrong in [&b""[..], &original[..original.len() / 2], &flipped, b"\x7fELF another program"] {
        std::fs::write(&code, wrong).unwrap();
        let host = Host::new();
        host.load(loader.load(guests::spec("calc")).await.unwrap()).unwrap();
        assert_eq!(run_one(&host, "calc", json!({"expression": "6*7"})).await.text(), "42");
        assert_eq!(std::fs::read(&code).unwrap(), original, "made again");
    }
    // A link to somewhere else is no cached file.
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("code"), &original).unwrap();
    std::fs::remove_file(&code).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("code"), &code).unwrap();
    loader.load(guests::spec("calc")).await.unwrap();
    assert!(std::fs::symlink_metadata(&code).unwrap().is_file());
    assert_eq!(std::fs::read(elsewhere.path().join("code")).unwrap(), original);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_may_fill_one_cache_at_once() {
    let cache = tempfile::tempdir().unwrap();
    let loaders: Vec<_> = (0..3).map(|_| Loader::new(engine(cache.path(), Duration::from_secs(120)))).collect();
    let tasks: Vec<_> = loaders
        .iter()
        .flat_map(|loader| std::iter::repeat_n(loader.clone(), 2))
        .map(|loader| tokio::spawn(async move { loader.load(guests::spec("loop-guard")).await.map(drop) }))
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let files: Vec<_> = std::fs::read_dir(cache.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let kept = |kind: &str| files.iter().filter(|path| path.extension().is_some_and(|found| found == kind)).count();
    // Each once, with its note, and nothing half-written.
    assert_eq!((kept("cwasm"), kept("description")), (1, 1), "{files:?}");
    assert_eq!(kept("note"), files.len() / 2, "{files:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_tools_in_one_file_load() {
    let host = Host::new();
    load(&host, defining("describe", json!({"many": 500}))).await.unwrap();
    assert_eq!(host.tools().tools().count(), 500);
    assert_eq!(run_one(&host, "tool-499", json!({})).await.kind(), "ok");
}

/// wassette #61, #786; ironclaw #2225: names that become the same.
#[tokio::test(flavor = "multi_thread")]
async fn one_tool_of_two_plugins_names_both_and_leaves_the_first() {
    let host = Host::new();
    for (name, tool) in [("foo-bar", "a_b_c"), ("foo_bar", "a-b-c")] {
        let mut spec = tools(&[(tool, json!({}))]);
        spec.name = name.into();
        load(&host, spec).await.unwrap();
    }
    let mut second = tools(&[("other", json!({})), ("a_b_c", json!({}))]);
    second.name = "third".into();
    let error = load(&host, second).await.unwrap_err();
    assert!(error.contains("a_b_c") && error.contains("foo-bar") && error.contains("third"), "{error}");
    assert_eq!(host.tools().tools().count(), 2, "all of a plugin or nothing");
    assert_eq!(run_one(&host, "a_b_c", json!({})).await.kind(), "ok");
}
