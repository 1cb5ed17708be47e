//! What is remembered of a failing call, and when it is enough.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolgate_sdk::serde_json::{self, Value};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// So many identical failures may happen; the next such call is blocked.
    #[serde(default = "three")]
    pub max_failures: u32,
    /// Whether a failure with another text starts a new count.
    #[serde(default = "yes")]
    pub same_error: bool,
    /// Not given = all.
    pub tools: Option<Vec<String>>,
}

fn three() -> u32 {
    3
}

fn yes() -> bool {
    true
}

/// A call, told apart by tool and arguments; the order of keys and the spacing of the JSON do not matter.
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub fn of(tool: &str, arguments: &str) -> Self {
        let canonical = match serde_json::from_str::<Value>(arguments) {
            Ok(mut value) => {
                value.sort_all_objects();
                value.to_string()
            }
            // Not JSON: can't be run either, but may be repeated all the same.
            Err(_) => arguments.to_owned(),
        };
        Self(digest(&[tool, &canonical]))
    }

    /// The state's key. A fixed number of slots, so that a long conversation never fills the state; of two calls in
    /// one slot the one that failed longer ago is forgotten.
    pub fn slot(&self) -> String {
        let [first, second, ..] = self.0;
        format!("slot:{}", u16::from_be_bytes([first, second]) % 512)
    }

    fn hex(&self) -> String {
        hex(&self.0)
    }
}

/// A failing call.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct Entry {
    call: String,
    /// Digest of the last failure's text.
    error: String,
    /// Its beginning, for the model.
    shown: String,
    failures: u32,
    /// The turn in which the call was blocked last.
    blocked_in: Option<String>,
}

#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// Not enough failures.
    Unknown,
    /// It was blocked in an earlier turn. Since then somebody may have mended the cause, so it gets one attempt.
    OneMore,
    Block,
}

impl Entry {
    pub fn new(fingerprint: &Fingerprint) -> Self {
        Self { call: fingerprint.hex(), error: String::new(), shown: String::new(), failures: 0, blocked_in: None }
    }

    pub fn is_of(&self, fingerprint: &Fingerprint) -> bool {
        self.call == fingerprint.hex()
    }

    pub fn failed(&mut self, text: &str, same_error: bool) {
        const LONGEST: usize = 300;
        let error = hex(&digest(&[text]));
        if self.failures > 0 && same_error && error != self.error {
            self.failures = 0;
            self.blocked_in = None;
        }
        self.failures = self.failures.saturating_add(1);
        self.error = error;
        self.shown = text.chars().take(LONGEST).collect();
        if self.shown.len() < text.len() {
            self.shown.push('…');
        }
    }

    pub fn decide(&mut self, max_failures: u32, turn: &str) -> Verdict {
        if self.failures < max_failures {
            return Verdict::Unknown;
        }
        match &self.blocked_in {
            Some(blocked) if blocked != turn => {
                // Only one: a second of the same turn is blocked.
                self.blocked_in = None;
                Verdict::OneMore
            }
            _ => {
                self.blocked_in = Some(turn.into());
                Verdict::Block
            }
        }
    }

    /// For the model.
    pub fn reason(&self, tool: &str) -> String {
        let times = if self.failures == 1 { "once".into() } else { format!("{} times", self.failures) };
        format!(
            "{tool:?} was not run: the very same call has failed {times} with this error: {}\nRepeating it will not help. \
             Tell the user what you tried and what went wrong, or do something different.",
            self.shown
        )
    }
}

/// Whether a failure of this kind says something about the call. Cut off or cancelled it says nothing; and calls that
/// are not valid never reach a before hook, so that counting them would lead nowhere.
pub fn counts(kind: &str) -> bool {
    !matches!(kind, "aborted" | "interrupted" | "truncated-call" | "not-found" | "invalid-arguments")
}

fn digest(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_apart_by_tool_and_canonical_arguments() {
        let base = Fingerprint::of("t", r#"{"a":1,"b":{"c":[1,2],"d":"x"}}"#).hex();
        assert_eq!(base, Fingerprint::of("t", r#"{ "b": {"d":"\u0078", "c":[1,2]}, "a":1 }"#).hex());
        for (tool, arguments) in [
            ("u", r#"{"a":1,"b":{"c":[1,2],"d":"x"}}"#),
            ("t", r#"{"a":1,"b":{"c":[2,1],"d":"x"}}"#),
            ("t", r#"{"a":"1","b":{"c":[1,2],"d":"x"}}"#),
            ("t", "not json"),
        ] {
            assert_ne!(base, Fingerprint::of(tool, arguments).hex(), "{tool} {arguments}");
        }
        let long = |digit: &str| Fingerprint::of("t", &format!(r#"{{"n":1234567890123456789012{digit}}}"#)).hex();
        assert_ne!(long("3"), long("4"));
        assert_ne!(Fingerprint::of("ab", "c").hex(), Fingerprint::of("a", "bc").hex());
    }

    #[test]
    fn a_block_is_followed_by_one_attempt_in_another_turn() {
        let mut entry = Entry::new(&Fingerprint::of("t", "{}"));
        entry.failed("no", true);
        assert_eq!(entry.decide(2, "turn-1"), Verdict::Unknown);
        entry.failed("no", true);
        assert_eq!(entry.decide(2, "turn-1"), Verdict::Block);
        assert_eq!(entry.decide(2, "turn-1"), Verdict::Block);
        assert_eq!(entry.decide(2, "turn-2"), Verdict::OneMore);
        assert_eq!(entry.decide(2, "turn-2"), Verdict::Block);
        assert_eq!(entry.decide(2, "turn-3"), Verdict::OneMore);
        entry.failed("no", true);
        assert_eq!(entry.decide(2, "turn-4"), Verdict::Block);
    }

    #[test]
    fn long_errors_are_shown_cut_at_a_character() {
        let mut entry = Entry::new(&Fingerprint::of("t", "{}"));
        entry.failed(&"é".repeat(1_000), true);
        assert!(entry.reason("t").contains("é…\nRepeating"));
        assert!(entry.reason("t").chars().count() < 600);
    }
}
