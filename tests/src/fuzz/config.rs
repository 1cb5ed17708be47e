//! toolgate.toml, from bytes.

use std::path::PathBuf;

use tempfile::TempDir;
use toolgate::config::Config;

/// A directory like the one that the seeds' relative paths are made for.
struct Place {
    dir: TempDir,
    file: PathBuf,
}

impl Place {
    fn new() -> std::io::Result<Self> {
        let dir = tempfile::tempdir()?;
        let root = dir.path();
        for folder in ["files/dir", "toml"] {
            std::fs::create_dir_all(root.join(folder))?;
        }
        std::fs::write(root.join("files/tool.wasm"), "")?;
        Ok(Self { file: root.join("toml/toolgate.toml"), dir })
    }
}

thread_local! {
    static PLACE: Place = Place::new().unwrap_or_else(|error| panic!("{error}"));
}

/// Loads the bytes as a toolgate.toml: refused with at least one problem, each of which says what is wrong; or accepted,
/// and the same again. Answers which.
///
/// # Panics
///
/// Where it is otherwise.
pub fn config(data: &[u8]) -> Vec<&'static str> {
    PLACE.with(|place| {
        std::fs::write(&place.file, data).unwrap_or_else(|error| panic!("{error}"));
        // The directory lives as long as the thread.
        let _ = &place.dir;
        vec![match Config::load(&place.file) {
            Ok(config) => {
                let again = Config::load(&place.file);
                assert_eq!(format!("{:?}", Ok::<_, ()>(config)), format!("{:?}", again.map_err(drop)));
                "accepted"
            }
            Err(error) => {
                let lines = data.iter().filter(|byte| **byte == b'\n').count() + 1;
                assert!(!error.problems.is_empty());
                assert!(error.problems.iter().all(|problem| !problem.wrong.is_empty()), "{error:?}");
                assert!(error.problems.iter().all(|problem| problem.line.is_none_or(|at| (1..=lines).contains(&at))));
                assert!(error.to_string().starts_with(&place.file.display().to_string()));
                "refused"
            }
        }]
    })
}
