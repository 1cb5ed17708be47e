//! Why a schema could not be compiled, and why arguments were refused.

use std::fmt;

/// A schema that the host refuses to use, with the place inside it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct SchemaError {
    /// JSON pointer into the schema document as a URI fragment (`#/properties/a`), or empty where there is none.
    pub at: String,
    /// What is wrong and what to change.
    pub message: String,
}

impl SchemaError {
    pub(super) fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at: at.into(), message: message.into() }
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() { f.write_str(&self.message) } else { write!(f, "at {}: {}", self.at, self.message) }
    }
}

/// One thing that is wrong with a call's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: `a.b.0.c`, or `root` for the arguments as a whole. For a missing or unexpected property its own path.
    pub path: String,
    /// What was expected, what was found and what to change, in words for a model.
    pub message: String,
}

/// Arguments that their schema refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The problems in the order of the schema, no more than [`MAX_PROBLEM_LINES`](super::limits::MAX_PROBLEM_LINES);
    /// at least one.
    pub problems: Vec<Problem>,
    /// How many further problems there are.
    pub more: usize,
}
