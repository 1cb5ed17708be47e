//! Reads a TOML document by asking for keys, and collects every problem instead of stopping at the first: a wrong type,
//! a value out of range, and at the end each key that nobody asked for.

use std::cell::RefCell;
use std::ops::{Deref, Range, RangeInclusive};
use std::time::Duration;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Problem;

/// The document being read, and what was found wrong with it so far.
pub(super) struct Source<'a> {
    text: &'a str,
    problems: RefCell<Vec<Problem>>,
}

/// Where a value stands.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub line: usize,
    pub key: String,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub value: T,
    pub place: Place,
}

impl<T> Deref for At<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<'a> Source<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, problems: RefCell::default() }
    }

    /// Parses the document; a syntax error is the only problem then.
    pub fn parse(&self) -> Option<Spanned<DeTable<'a>>> {
        match DeTable::parse(self.text) {
            Ok(table) => Some(table),
            Err(error) => {
                let line = error.span().map_or(1, |span| self.line(span.start));
                let place = Place { line, key: String::new() };
                self.wrong(&place, format!("not TOML: {}", error.message().replace('\n', ", ")), None);
                None
            }
        }
    }

    pub fn root<'s>(&'s self, table: &'s DeTable<'a>) -> Table<'s, 'a> {
        Table { source: self, place: Place { line: 1, key: String::new() }, table, asked: Vec::new() }
    }

    pub fn wrong(&self, place: &Place, wrong: String, accepted: Option<String>) {
        self.problems.borrow_mut().push(Problem { line: Some(place.line), key: place.key.clone(), wrong, accepted });
    }

    /// All problems in the order of the file.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = self.problems.take();
        problems.sort_by_key(|problem| problem.line);
        problems
    }

    fn line(&self, offset: usize) -> usize {
        1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
    }
}

/// A table, and which of its keys were asked for.
pub(super) struct Table<'s, 'a> {
    source: &'s Source<'a>,
    pub place: Place,
    table: &'s DeTable<'a>,
    asked: Vec<&'static str>,
}

impl<'s, 'a> Table<'s, 'a> {
    /// The value of a key, if it is there.
    pub fn get(&mut self, key: &'static str) -> Option<Node<'s, 'a>> {
        self.asked.push(key);
        let (name, value) = self.table.get_key_value(key)?;
        Some(self.node(name, value))
    }

    /// The value of a key that is not accepted here but deserves its own message.
    pub fn get_unlisted(&mut self, key: &'static str) -> Option<Node<'s, 'a>> {
        self.table.contains_key(key).then(|| self.get(key)).flatten()
    }

    /// The value of a key that must be there.
    pub fn need(&mut self, key: &'static str, what: &str) -> Option<Node<'s, 'a>> {
        let node = self.get(key);
        if node.is_none() {
            let place = Place { line: self.place.line, key: join(&self.place.key, key) };
            self.source.wrong(&place, "missing".into(), Some(what.into()));
        }
        node
    }

    /// Every entry in the order of the file, for tables whose keys are names.
    pub fn entries(&self) -> Vec<(At<String>, Node<'s, 'a>)> {
        let mut entries: Vec<_> = self.table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        entries
            .into_iter()
            .map(|(name, value)| {
                let node = self.node(name, value);
                (At { value: name.get_ref().to_string(), place: node.place.clone() }, node)
            })
            .collect()
    }

    /// Reports something about the table as a whole.
    pub fn wrong(&self, wrong: impl Into<String>) {
        self.source.wrong(&self.place, wrong.into(), None);
    }

    /// Reports every key that was not asked for.
    pub fn finish(mut self) {
        self.asked.sort_unstable();
        self.asked.dedup();
        for (name, value) in self.table {
            let name_text: &str = name.get_ref();
            if self.asked.contains(&name_text) {
                continue;
            }
            let near = nearest(name_text, self.asked.iter().copied());
            let wrong = match near {
                Some(near) => format!("unknown key; did you mean `{near}`?"),
                None => "unknown key".into(),
            };
            self.source.wrong(&self.node(name, value).place, wrong, Some(self.asked.join(", ")));
        }
    }

    fn node(&self, name: &'s Spanned<std::borrow::Cow<'a, str>>, value: &'s Spanned<DeValue<'a>>) -> Node<'s, 'a> {
        let place = Place { line: self.source.line(name.span().start), key: join(&self.place.key, name.get_ref()) };
        Node { source: self.source, place, span: value.span(), value: value.get_ref() }
    }
}

/// A value, its type not yet known.
pub(super) struct Node<'s, 'a> {
    source: &'s Source<'a>,
    pub place: Place,
    span: Range<usize>,
    value: &'s DeValue<'a>,
}

impl<'s, 'a> Node<'s, 'a> {
    pub fn wrong(&self, wrong: impl Into<String>, accepted: impl Into<String>) {
        self.source.wrong(&self.place, wrong.into(), Some(accepted.into()));
    }

    fn at<T>(&self, value: T) -> At<T> {
        At { value, place: self.place.clone() }
    }

    fn mistyped(&self, accepted: &str) {
        let found = match self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        self.wrong(format!("is {found}"), accepted);
    }

    /// A string that is not empty.
    pub fn string(&self) -> Option<At<String>> {
        match self.value.as_str() {
            Some("") => self.wrong("is empty", "a string that is not empty"),
            Some(text) => return Some(self.at(text.to_owned())),
            None => self.mistyped("a string"),
        }
        None
    }

    /// Any string.
    pub fn text(&self) -> Option<At<String>> {
        let text = self.value.as_str();
        if text.is_none() {
            self.mistyped("a string");
        }
        text.map(|text| self.at(text.to_owned()))
    }

    pub fn boolean(&self) -> Option<bool> {
        let value = self.value.as_bool();
        if value.is_none() {
            self.mistyped("true or false");
        }
        value
    }

    /// One of some words.
    pub fn choice<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let accepted = words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ");
        let Some(text) = self.value.as_str() else {
            self.mistyped(&accepted);
            return None;
        };
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let near = nearest(text, words.iter().map(|(word, _)| *word));
            self.wrong(
                match near {
                    Some(near) => format!("{text:?} is not accepted; did you mean {near:?}?"),
                    None => format!("{text:?} is not accepted"),
                },
                accepted,
            );
        }
        found
    }

    /// A whole number in a range.
    pub fn integer(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let accepted = format!("a whole number from {} to {}", range.start(), range.end());
        let Some(number) = self.value.as_integer() else {
            self.mistyped(&accepted);
            return None;
        };
        let value = u64::from_str_radix(number.as_str(), number.radix()).ok().filter(|value| range.contains(value));
        if value.is_none() {
            self.wrong(format!("{number} is out of range"), accepted);
        }
        value
    }

    /// Milliseconds.
    pub fn millis(&self, range: RangeInclusive<u64>) -> Option<Duration> {
        self.integer(range).map(Duration::from_millis)
    }

    /// A number of bytes, not beyond what any machine has: an integer, or a string with a binary unit.
    pub fn bytes(&self, least: u64) -> Option<u64> {
        let accepted =
            format!("a number of bytes from {least} up, as an integer or with a unit: \"64KiB\", \"16MiB\", \"1GiB\"");
        let (value, shown) = match self.value {
            DeValue::Integer(number) => (u64::from_str_radix(number.as_str(), number.radix()).ok(), number.to_string()),
            DeValue::String(text) => (byte_size(text), format!("{text:?}")),
            _ => {
                self.mistyped(&accepted);
                return None;
            }
        };
        let value = value.filter(|value| (least..=1 << 46).contains(value));
        if value.is_none() {
            self.wrong(format!("{shown} is not accepted"), accepted);
        }
        value
    }

    /// An array of strings that are not empty.
    pub fn strings(&self) -> Option<At<Vec<At<String>>>> {
        let items = self.items("an array of strings")?;
        Some(self.at(items.iter().filter_map(Node::string).collect()))
    }

    /// The items of an array, each with its own line.
    pub fn items(&self, accepted: &str) -> Option<Vec<Node<'s, 'a>>> {
        let Some(array) = self.value.as_array() else {
            self.mistyped(accepted);
            return None;
        };
        let node = |(at, item): (usize, &'s Spanned<DeValue<'a>>)| Node {
            source: self.source,
            place: Place { line: self.source.line(item.span().start), key: format!("{}[{at}]", self.place.key) },
            span: item.span(),
            value: item.get_ref(),
        };
        Some(array.iter().enumerate().map(node).collect())
    }

    /// A table.
    pub fn table(&self, accepted: &str) -> Option<Table<'s, 'a>> {
        let Some(table) = self.value.as_table() else {
            self.mistyped(accepted);
            return None;
        };
        // A table written as `[a.b]` begins at its header, an inline one on its key's line.
        let line = self.source.line(self.span.start);
        Some(Table {
            source: self.source,
            place: Place { line, key: self.place.key.clone() },
            table,
            asked: Vec::new(),
        })
    }

    /// Whether this is a table rather than a plain value.
    pub fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// Whether this is a string.
    pub fn is_string(&self) -> bool {
        self.value.is_str()
    }

    /// Any value, as JSON.
    pub fn json(&self) -> Option<Value> {
        Some(match self.value {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(value) => Value::Bool(*value),
            DeValue::Datetime(date) => Value::String(date.to_string()),
            DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
                // Through text: the number's digits are kept whatever its size.
                Ok(value) => Value::Number(serde_json::from_str(&value.to_string()).ok()?),
                Err(_) => {
                    self.wrong(format!("{number} is too large"), "a whole number of at most 38 digits");
                    return None;
                }
            },
            DeValue::Float(number) => {
                let text = number.as_str().trim_start_matches('+');
                match serde_json::from_str(text) {
                    Ok(value) => Value::Number(value),
                    Err(_) => {
                        self.wrong(format!("{number} is no JSON number"), "a finite number");
                        return None;
                    }
                }
            }
            DeValue::Array(_) => Value::Array(self.items("an array")?.iter().filter_map(Node::json).collect()),
            DeValue::Table(_) => Value::Object(
                self.table("a table")?
                    .entries()
                    .into_iter()
                    .filter_map(|(name, node)| Some((name.value, node.json()?)))
                    .collect(),
            ),
        })
    }
}

/// `16MiB` and the like; plain digits too.
fn byte_size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim_start() {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << scale)
}

/// The word that was probably meant, if one is close enough.
pub(super) fn nearest<'w>(text: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let text = text.replace('_', "-").to_lowercase();
    words
        .map(|word| (strsim::damerau_levenshtein(&text, word), word))
        .filter(|(distance, word)| *distance <= word.len().max(text.len()).div_ceil(3))
        .min()
        .map(|(_, word)| word)
}

fn join(parent: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let key = if bare { key.to_owned() } else { format!("{key:?}") };
    if parent.is_empty() { key } else { format!("{parent}.{key}") }
}
