//! Calls with the results they are to have, as an author keeps them in `cases.json` beside the tool.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use toolgate::model::{ErrorKind, Json};

use crate::{StandIn, TestError};

/// Largest file of cases: 64 MiB, some calls with the largest arguments.
const MOST_BYTES: u64 = 64 << 20;

/// A file of cases.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Cases {
    /// A `[plugins.NAME]` table of toolgate.toml as JSON, without `file`; relative paths are relative to the cases.
    #[serde(default)]
    pub plugin: Map<String, Value>,
    /// Tools of others for hooks to see, and what they answer.
    #[serde(default)]
    pub tools: BTreeMap<String, StandIn>,
    /// In the order they run, each in a conversation of its own.
    pub cases: Vec<Case>,
    /// Where it was read from.
    #[serde(skip)]
    pub file: PathBuf,
}

/// One call.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Case {
    /// What it shows.
    pub name: String,
    /// The tool.
    pub tool: String,
    /// Its arguments; `{}` where absent.
    #[serde(default = "Json::empty_object")]
    pub arguments: Json,
    /// What a hook that asks is answered; no where absent.
    #[serde(default)]
    pub approve: bool,
    /// What must come of it.
    #[serde(default)]
    pub expect: Expect,
}

/// What must come of a call; what is absent does not matter, but for `isError`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Expect {
    /// Whether it fails; it does not where absent.
    #[serde(default)]
    pub is_error: bool,
    /// All text blocks, joined by line breaks.
    pub text: Option<String>,
    /// What the text has in it: one string or several.
    #[serde(default, deserialize_with = "one_or_several")]
    pub text_contains: Vec<String>,
    /// All content.
    #[serde(default, deserialize_with = "given")]
    pub content: Option<Json>,
    /// The answer as data.
    #[serde(default, deserialize_with = "given")]
    pub structured_content: Option<Json>,
    /// The details.
    #[serde(default, deserialize_with = "given")]
    pub details: Option<Json>,
    /// The kind of the error.
    pub error_kind: Option<ErrorKind>,
}

fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Texts::deserialize(deserializer)? {
        Texts::One(text) => vec![text],
        Texts::Several(texts) => texts,
    })
}

impl Cases {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// It can't be read, or is not in its form; the message says where.
    pub fn read(file: &Path) -> Result<Self, TestError> {
        let io = |error| TestError::Read { path: file.to_owned(), error };
        let about = std::fs::metadata(file).map_err(io)?;
        let wrong = |what: String| TestError::Cases { path: file.to_owned(), what };
        if !about.is_file() || about.len() > MOST_BYTES {
            return Err(wrong(format!("is not a file of at most {MOST_BYTES} bytes")));
        }
        let text = std::fs::read_to_string(file).map_err(io)?;
        let mut cases: Self = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        cases.file = file.to_owned();
        Ok(cases)
    }
}
