//! The text a model gets for arguments that were refused.

use std::io;

use serde::Serialize;
use serde_json::Value;

use super::error::Invalid;
use super::{limits, value};
use crate::model::Json;

impl Invalid {
    /// The text for the model: the tool, one line for each problem, and the arguments as they were received.
    ///
    /// More problems than [`limits::MAX_PROBLEM_LINES`] are counted in the last line. Of received arguments that take
    /// more than [`limits::MAX_RECEIVED_BYTES`] only the beginning is shown, and the text says so.
    pub fn message(&self, tool: &str, received: &Json) -> String {
        let mut text = format!("Validation failed for tool \"{tool}\":\n");
        let total = self.problems.len() + self.more;
        let shown = if total > limits::MAX_PROBLEM_LINES { limits::MAX_PROBLEM_LINES - 1 } else { total };
        for problem in self.problems.iter().take(shown) {
            text.push_str(&format!("  - {}: {}\n", problem.path, problem.message));
        }
        if total > shown {
            text.push_str(&format!("  - and {} more problems, not listed; correct these first\n", total - shown));
        }
        text.push_str("\nReceived arguments:\n");
        text.push_str(&pretty(received.value()));
        text
    }
}

/// `value` as JSON with two blanks per level, cut where it is too long.
fn pretty(value: &Value) -> String {
    // Writing recurses. Nothing that was parsed from text is as deep.
    let deepest = 2 * limits::MAX_ARGUMENT_DEPTH;
    if value::depth(value, deepest) > deepest {
        return "(nested too deeply to be shown)".to_owned();
    }
    let mut head = Head { kept: Vec::new(), total: 0 };
    let mut writer = serde_json::Serializer::pretty(&mut head);
    if let Err(error) = value.serialize(&mut writer) {
        return format!("(can't be shown: {error})");
    }
    let whole = head.total <= head.kept.len();
    let total = head.total;
    let mut text = match String::from_utf8(head.kept) {
        Ok(text) => text,
        // Cut inside a character: what comes before it is kept.
        Err(error) => {
            let end = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(end);
            String::from_utf8(bytes).unwrap_or_default()
        }
    };
    if !whole {
        text.push_str(&format!("\n… (cut: the first {} of {total} bytes are shown)", text.len()));
    }
    text
}

/// Keeps the beginning of what is written and counts all of it.
struct Head {
    kept: Vec<u8>,
    total: usize,
}

impl io::Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = limits::MAX_RECEIVED_BYTES.saturating_sub(self.kept.len());
        self.kept.extend(bytes.iter().take(room));
        self.total += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
