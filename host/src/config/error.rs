//! What is wrong with a toolgate.toml: every problem at once, each with its line, its key and what would be accepted.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a toolgate.toml was refused. Holds at least one problem; shows one per paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigError {
    /// The file, as it was named.
    pub file: PathBuf,
    /// In the order of the file.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// From 1; none where the file as a whole is concerned.
    pub line: Option<usize>,
    /// The full key, for example `plugins.fs.limits.fuel`; empty where there is none.
    pub key: String,
    /// What is wrong.
    pub wrong: String,
    /// What would be accepted, where that is not plain from what is wrong.
    pub accepted: Option<String>,
}

impl ConfigError {
    pub(super) fn of_file(file: &Path, wrong: String) -> Self {
        let problem = Problem { line: None, key: String::new(), wrong, accepted: None };
        Self { file: file.to_owned(), problems: vec![problem] }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}:", self.file.display())?;
            if let Some(line) = problem.line {
                write!(f, "{line}:")?;
            }
            if !problem.key.is_empty() {
                write!(f, " {}:", problem.key)?;
            }
            write!(f, " {}", problem.wrong)?;
            if let Some(accepted) = &problem.accepted {
                write!(f, "\n    accepted: {accepted}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
