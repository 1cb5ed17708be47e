//! Where each target begins: what the project has of its kind.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All files with this ending in a folder.
fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(root().join(folder)) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == ending));
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

/// Writes seeds into the folder that `TOOLGATE_FUZZ_SEEDS` names, if it names one; `scripts/fuzz.sh` does, for the fuzzer
/// to begin with.
pub fn write(seeds: &[Vec<u8>]) {
    let Some(folder) = std::env::var_os("TOOLGATE_FUZZ_SEEDS").map(PathBuf::from) else { return };
    for (at, seed) in seeds.iter().enumerate() {
        if let Err(error) = std::fs::write(folder.join(format!("seed-{at}")), seed) {
            eprintln!("{}: {error}", folder.display());
        }
    }
}

/// toolgate.toml files, good and bad.
pub fn config() -> Vec<Vec<u8>> {
    ["host/src/config/testdata/good", "host/src/config/testdata/bad", "example-tools/sample"]
        .into_iter()
        .flat_map(|folder| files(folder, "toml"))
        .collect()
}

/// Documents of every kind, and what is none.
pub fn read() -> Vec<Vec<u8>> {
    let many: Vec<String> = (0..20).map(|n| format!("\"key{n}\":{n}")).collect();
    let mut seeds: Vec<Vec<u8>> = validate().into_iter().step_by(20).collect();
    for text in [
        r#"{"path":"src/a.rs","edits":[{"oldText":"a\n\"b\"","newText":"\u00e9\ud83d\ude00","line":40}],"dryRun":false,"context":3.50}"#,
        r#"[1,-0,0.1e-7,1e400,12345678901234567890123,null,true,[[]],{"":{}}]"#,
        r#"{"a":1,"b":[{"a":2}],"\u0061":3}"#,
        r#"{"a":1,}"#,
        r#""\ud800""#,
        &format!("{{{}}}", many.join(",")),
        &format!("{}{}", "[".repeat(127), "]".repeat(127)),
    ] {
        seeds.push(text.as_bytes().to_vec());
    }
    seeds
}

/// The recorded validation rows, and the required part of the JSON-Schema-Test-Suite.
pub fn validate() -> Vec<Vec<u8>> {
    let rows = std::fs::read(crate::validation_rows()).unwrap_or_default();
    let rows: Vec<Value> = serde_json::from_slice(&rows).unwrap_or_default();
    let mut seeds: Vec<Vec<u8>> = rows.iter().map(|row| pair(&row["schema"], &row["arguments"])).collect();
    for file in files("tests/json-schema-test-suite/required", "json") {
        let groups: Vec<Value> = serde_json::from_slice(&file).unwrap_or_default();
        for group in &groups {
            let tests = group["tests"].as_array().into_iter().flatten();
            seeds.extend(tests.map(|test| pair(&group["schema"], &test["data"])));
        }
    }
    seeds
}

fn pair(schema: &Value, arguments: &Value) -> Vec<u8> {
    json!({"schema": schema, "arguments": arguments}).to_string().into_bytes()
}

/// Components: real ones where they are built, small ones as text, and answers for a made one.
#[cfg(feature = "component")]
pub fn load() -> Vec<Vec<u8>> {
    let mut seeds = files("tests/fuzz/seeds/load", "wat");
    seeds.extend(files("target/guests/components", "wasm").into_iter().filter(|file| file.len() < 200_000).take(4));
    seeds.extend((0..16_u8).map(|at| (0..200_u16).map(|n| (n as u8).wrapping_mul(at).wrapping_add(1)).collect()));
    seeds
}

/// Bytes to make batches of.
pub fn batch() -> Vec<Vec<u8>> {
    (0..16_u32)
        .map(|seed| {
            let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
            let next = |state: &mut u32| {
                *state ^= *state << 13;
                *state ^= *state >> 17;
                *state ^= *state << 5;
                (*state >> 8) as u8
            };
            (0..300).map(|_| next(&mut state)).collect()
        })
        .collect()
}
