//! Every file under `testdata/bad` is refused with exactly the text beside it; `UPDATE_GOLDENS=1` rewrites the texts.

#![allow(clippy::unwrap_used)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Config, ConfigError};
use crate::model::ExecutionMode;
use crate::pipeline::OnError;
use crate::sandbox::{DirAccess, HttpLimits, Limits};

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/testdata")
}

fn env(name: &str) -> Option<OsString> {
    match name {
        "LANG" => Some("C.UTF-8".into()),
        "TOKEN" => Some("a-secret-of-the-operator".into()),
        "SHORT" => Some("abc".into()),
        #[cfg(unix)]
        "BINARY" => Some(std::os::unix::ffi::OsStringExt::from_vec(vec![0xff])),
        _ => None,
    }
}

fn load(file: &Path) -> Result<Config, ConfigError> {
    Config::parse(file, &std::fs::read_to_string(file).unwrap(), &env)
}

#[test]
fn bad_files_are_refused_with_file_line_key_and_what_is_accepted() {
    let mut seen = 0;
    for entry in std::fs::read_dir(testdata().join("bad")).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|kind| kind != "toml") {
            continue;
        }
        seen += 1;
        let error = load(&file).map(|_| ()).expect_err(&file.display().to_string());
        let root = testdata().canonicalize().unwrap().display().to_string();
        let text = error.to_string().replace(&root, "").replace("/bad/", "") + "\n";
        let golden = file.with_extension("txt");
        if std::env::var_os("UPDATE_GOLDENS").is_some() {
            std::fs::write(&golden, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(&golden).unwrap(), "{}", golden.display());
    }
    assert!(seen >= 9, "{seen} files");
}

#[test]
fn every_key_is_read() {
    let config = load(&testdata().join("good/everything.toml")).unwrap();
    assert_eq!(config.mode, ExecutionMode::Sequential);
    assert_eq!(config.grace, Duration::ZERO);
    assert_eq!(config.approval_timeout, Duration::from_secs(60));
    assert_eq!(config.sink_timeout, Duration::from_secs(1));
    assert_eq!(config.key_wait, Duration::from_secs(2));
    assert_eq!(config.cache_dir, Some(testdata().join("good/../files/cache")));
    assert_eq!(config.cache_bytes, 2 << 30);
    assert_eq!((config.batch_result_bytes, config.compile_time), (32 << 20, Duration::from_secs(9)));
    assert_eq!((config.instances, config.queue_length, config.queue_wait), (8, 0, Duration::from_millis(7)));
    assert_eq!((config.compile_threads, config.compile_wait), (Some(3), Duration::from_millis(9)));
    assert_eq!(config.list_wait, Duration::ZERO);
    assert_eq!(config.warnings, [] as [String; 0]);

    let [fs, gate] = &config.plugins[..] else { panic!("{:?}", config.plugins) };
    assert_eq!(fs.name, "fs");
    assert!(fs.sha256.as_ref().unwrap().starts_with("e3b0c442"));
    assert!(fs.trusted && !gate.trusted);
    assert_eq!(fs.tools, Some(vec!["read".into(), "grep".into()]));
    assert!(fs.initially_active.of("read") && !fs.initially_active.of("grep"));
    assert!(!gate.initially_active.of("read"));
    assert_eq!(fs.idempotent, ["read"]);
    assert_eq!(
        fs.config.text(),
        r#"{"depth":3,"ratio":0.10,"big":9007199254740993,"on":"2026-01-02","list":[1,{"a":true}]}"#
    );
    assert_eq!(fs.grants.env.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>(), ["LANG=C.UTF-8", "TZ=UTC"]);
    assert!(!fs.grants.wall_clock && gate.grants.wall_clock);
    let dirs: Vec<_> = fs.grants.dirs.iter().map(|dir| (dir.guest.as_str(), dir.access)).collect();
    assert_eq!(dirs, [("/project/sub", DirAccess::ReadWrite), (".", DirAccess::ReadOnly)]);

    let http = fs.grants.http.as_ref().unwrap();
    let allowed = |method, host, path| http.check_request(method, "https", host, path).is_ok();
    assert!(allowed("POST", "api.example.com:8443", "/v1/items"));
    assert!(!allowed("POST", "api.example.com", "/v1/items") && !allowed("POST", "api.example.com:8443", "/v2"));
    assert!(allowed("GET", "a.example.org", "/") && !allowed("POST", "a.example.org", "/"));
    let permit = http.check_request("GET", "http", "127.0.0.1:9", "/").unwrap();
    assert!(permit.check_address("127.0.0.1".parse().unwrap()).is_ok());
    let permit = http.check_request("POST", "https", "api.example.com:8443", "/v1").unwrap();
    let headers: Vec<_> = http.secret_headers(&permit.target).map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(headers, ["x-api-key: a-secret-of-the-operator"]);

    let [hook] = &config.hooks[..] else { panic!("{:?}", config.hooks) };
    assert_eq!((hook.plugin.as_str(), hook.on_error), ("gate", OnError::Skip));
    assert_eq!(hook.tools, Some(vec!["read".into()]));
}

#[test]
fn every_limit_is_reachable_and_the_ceiling_holds() {
    let config = load(&testdata().join("good/everything.toml")).unwrap();
    // Without `..`: a limit that is added must be named here, and in the file.
    let Limits {
        fuel,
        deadline,
        load,
        memory_bytes,
        table_elements,
        hostcall_bytes,
        result_bytes,
        updates,
        update_bytes,
        log_lines,
        log_bytes,
        state,
        arguments_bytes,
    } = config.plugins[0].limits;
    assert_eq!(fuel, None);
    assert_eq!(deadline, Duration::from_secs(20), "60 s, but 20 s is the ceiling");
    assert_eq!(load, Duration::from_millis(250));
    assert_eq!((memory_bytes, table_elements, hostcall_bytes, result_bytes), (16 << 20, 100, 4096, 512));
    assert_eq!((updates, update_bytes, log_lines, log_bytes), (0, 0, 1, 2));
    assert_eq!((state.keys, state.bytes, arguments_bytes), (3, 4, 1024));

    let HttpLimits { response_bytes, header_bytes, connect, first_byte, between_bytes, connections } =
        *config.plugins[0].grants.http.as_ref().unwrap().limits();
    assert_eq!((response_bytes, header_bytes, connections), (5, 8192, 2));
    assert_eq!([connect, first_byte, between_bytes].map(|time| time.as_millis()), [1, 2, 3]);
    assert_eq!(
        config.plugins[1].grants.http.as_ref().unwrap().limits().connections,
        4,
        "the default is 8, but 4 is the ceiling"
    );

    let hook = config.plugins[1].limits;
    assert_eq!(hook.deadline, Duration::from_secs(5), "the default of hooks");
    assert_eq!(hook.result_bytes, 1 << 20, "the default is 16 MiB, but 1 MiB is the ceiling");
    assert_eq!(hook.fuel, Limits::default().fuel);
}

#[test]
fn an_empty_file_is_a_config_without_plugins() {
    let config = Config::parse(Path::new("toolgate.toml"), "", &env).unwrap();
    assert_eq!(config.grace, Duration::from_secs(5));
    assert!(config.plugins.is_empty() && config.hooks.is_empty());
}

#[test]
fn a_plugin_that_may_rewrite_the_config_is_warned_about() {
    let text = "[plugins.a]\nfile = 'tool.wasm'\n[[plugins.a.dirs]]\nguest = '/w'\nhost = '.'\naccess = 'read-write'";
    let file = testdata().join("files/toolgate.toml");
    let config = Config::parse(&file, text, &env).unwrap();
    let [config_file, component] = &config.warnings[..] else { panic!("{:?}", config.warnings) };
    assert!(config_file.contains("plugin a may write to") && config_file.contains("toolgate.toml"), "{config_file}");
    assert!(component.contains("tool.wasm") && component.contains("pin it by sha256"), "{component}");
}

#[test]
fn a_missing_file_is_named() {
    let error = Config::load(Path::new("no/such/toolgate.toml")).unwrap_err();
    assert_eq!(error.to_string(), "no/such/toolgate.toml: not found");
}

#[test]
fn a_component_alone_has_a_plugin_name_and_no_grants() {
    let name = |file: &str| Config::of_component(Path::new(file)).plugins[0].name.clone();
    assert_eq!([name("a/my tool.v2.wasm"), name("grüße.wasm"), name("")], ["my-tool-v2", "gr--e", "component"]);
    assert_eq!(name(&format!("{}.wasm", "x".repeat(100))).len(), 64);
    let plugin = &Config::of_component(Path::new("a.wasm")).plugins[0];
    assert!(plugin.grants.dirs.is_empty() && plugin.grants.http.is_none() && plugin.grants.env.is_empty());
    assert_eq!(plugin.limits, Limits::default());
}
