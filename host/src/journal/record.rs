//! The lines of a journal.
//!
//! ```json
//! {"toolgateJournal":1}
//! {"record":"begun","batch":"1","position":0,"toolCallId":"c1","toolName":"read","argumentsSha256":"…"}
//! {"record":"settled","batch":"1","position":0,"toolCallId":"c1","toolName":"read","argumentsSha256":"…","result":{"content":[…]},"isError":false,"timestamp":1767225600000}
//! ```
//!
//! `result` is that of the end event: the message's fields and `terminate`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::model::{ErrorInfo, ToolCall, ToolResult};

/// The format that is written, and the one that is read.
const VERSION: u64 = 1;

/// The longest line, its end not counted. A result of 16 MiB, the default limit, is at most 96 MiB of JSON (each byte a
/// `\u0000`); the rest is for operators who raise it.
pub(super) const MAX_LINE: usize = 256 << 20;

/// The first line of a journal.
pub(super) fn header() -> String {
    format!("{{\"toolgateJournal\":{VERSION}}}\n")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    toolgate_journal: u64,
}

/// Checks the first line.
pub(super) fn check_header(line: &str) -> Result<(), String> {
    match serde_json::from_str::<Header>(line) {
        Ok(Header { toolgate_journal: VERSION }) => Ok(()),
        Ok(Header { toolgate_journal }) => {
            Err(format!("it is of version {toolgate_journal}; this toolgate reads version {VERSION}"))
        }
        Err(_) => Err(format!("this is not a journal of toolgate: it does not begin with {}", header().trim_end())),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Kind {
    Begun,
    Settled,
}

/// A line after the first, as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line<'a> {
    pub record: Kind,
    pub batch: &'a str,
    pub position: u32,
    pub tool_call_id: &'a str,
    pub tool_name: &'a str,
    pub arguments_sha256: &'a str,
    #[serde(flatten)]
    pub outcome: Option<Outcome<'a>>,
}

/// What a settled call has besides.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome<'a> {
    pub result: &'a ToolResult,
    pub is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a ErrorInfo>,
    pub timestamp: u64,
}

/// The same as it is read. Flat: documents inside would not survive serde's buffering.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadLine {
    pub record: Kind,
    pub batch: Arc<str>,
    pub position: u32,
    pub tool_call_id: Arc<str>,
    pub tool_name: Arc<str>,
    pub arguments_sha256: String,
    pub result: Option<ToolResult>,
    pub is_error: Option<bool>,
    pub error: Option<ErrorInfo>,
    pub timestamp: Option<u64>,
}

/// A digest of a call's arguments as values: layout and the order of keys do not count, digits do.
pub(super) fn arguments_sha256(call: &ToolCall) -> String {
    let mut sha = Sha256::new();
    digest(call.arguments.value(), &mut sha);
    format!("{:x}", sha.finalize())
}

/// As deep as the document, which its reader has bounded.
fn digest(value: &Value, sha: &mut Sha256) {
    match value {
        Value::Array(items) => {
            sha.update("[");
            for item in items {
                digest(item, sha);
                sha.update(",");
            }
            sha.update("]");
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            sha.update("{");
            for (key, value) in members {
                sha.update(Value::String(key.clone()).to_string());
                sha.update(":");
                digest(value, sha);
                sha.update(",");
            }
            sha.update("}");
        }
        plain => sha.update(plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::Json;

    #[test]
    fn the_digest_is_of_the_value() {
        let of = |text: &str| arguments_sha256(&ToolCall::new("c", "t", Json::parse(text).unwrap()));
        assert_eq!(of(r#"{"a":1,"b":[true,null]}"#), of(" { \"b\" : [true, null], \"a\":1 }"));
        let different = [r#"{}"#, "[]", r#"{"a":1}"#, r#"{"a":1.0}"#, r#"{"a":"1"}"#, "[[],[]]", "[[[]]]", "null"];
        let digests: std::collections::HashSet<_> = different.into_iter().map(of).collect();
        assert_eq!(digests.len(), different.len());
    }
}
