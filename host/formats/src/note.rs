//! What an export had to do to a definition, and where.

use std::fmt;

use serde::Serialize;

/// Notes kept for one tool; a hostile schema would need thousands.
const MOST: usize = 100;
/// Characters of one property name in a path.
const SEGMENT: usize = 64;

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It goes out as it is, and could be better.
    Advice,
    /// The provider would refuse it as it is, so it goes out changed. Toolgate itself still checks every call against the
    /// tool's own schema.
    Changed,
    /// The provider would refuse it and nothing can be done about it here, so the tool is left out.
    Refused,
}

/// One remark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Note {
    /// The tool.
    pub tool: String,
    /// JSON pointer into its parameters; empty for the tool as a whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// How much it matters.
    pub level: Level,
    /// What was done and why.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.tool)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.text)
    }
}

/// Notes on one tool.
pub(crate) struct Notes {
    tool: String,
    notes: Vec<Note>,
    hidden: usize,
}

impl Notes {
    pub fn new(tool: &str) -> Self {
        Self { tool: tool.to_owned(), notes: Vec::new(), hidden: 0 }
    }

    pub fn add(&mut self, level: Level, path: &str, text: impl Into<String>) {
        if self.notes.len() >= MOST && level != Level::Refused {
            self.hidden += 1;
            return;
        }
        self.notes.push(Note { tool: self.tool.clone(), path: path.to_owned(), level, text: text.into() });
    }

    pub fn changed(&mut self, path: &str, text: impl Into<String>) {
        self.add(Level::Changed, path, text);
    }

    pub fn refused(&mut self, path: &str, text: impl Into<String>) {
        self.add(Level::Refused, path, text);
    }

    pub fn is_refused(&self) -> bool {
        self.notes.iter().any(|note| note.level == Level::Refused)
    }

    pub fn append(&mut self, other: Notes) {
        self.hidden += other.hidden;
        for note in other.notes {
            self.add(note.level, &note.path, note.text);
        }
    }

    pub fn finish(mut self) -> Vec<Note> {
        if self.hidden > 0 {
            let text = format!("and {} more like these", self.hidden);
            self.notes.push(Note { tool: self.tool, path: String::new(), level: Level::Changed, text });
        }
        self.notes
    }
}

/// A path, one step further; names from a schema are cut to a line's length and cannot forge lines.
pub(crate) fn join(path: &str, step: &str) -> String {
    let step: String = step.chars().take(SEGMENT).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    format!("{path}/{}", step.replace('~', "~0").replace('/', "~1"))
}

/// A name in a sentence.
pub(crate) fn quoted(name: &str) -> String {
    let short: String = name.chars().take(SEGMENT).collect();
    if short.len() < name.len() { format!("{short:?}…") } else { format!("{short:?}") }
}
