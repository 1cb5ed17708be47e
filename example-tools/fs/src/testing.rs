//! What the tests of several files need.
#![allow(clippy::unwrap_used)]

use std::fs;

use tempfile::TempDir;
use toolgate_sdk::ToolResult;
use toolgate_sdk::serde_json::{self, Value};

/// A directory with these files.
pub fn tree<B: AsRef<[u8]>>(files: &[(&str, B)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    dir
}

pub fn details(result: &ToolResult) -> Value {
    serde_json::from_str(result.details.as_deref().unwrap()).unwrap()
}
