//! One JSON document that keeps the text it came as, so that digits and key order survive the whole way.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::rewrite::rewritten;
use super::tape::{Node, Tape};

/// Deepest nesting of arrays and objects that a document may have (serde_json's own recursion limit, less one).
pub const MAX_DEPTH: usize = 127;
/// Longest text of a document: 4 GiB less one byte.
pub const MAX_BYTES: usize = u32::MAX as usize;

/// serde_json's private map keys for numbers and raw values: a document that spells one out would be read as
/// something else than it says.
pub(super) const RESERVED: &str = "$serde_json::private::";

/// A JSON document: its text, and its parsed forms once somebody asked for them. Cheap to clone.
#[derive(Clone)]
pub struct Json(Arc<Inner>);

struct Inner {
    text: Box<str>,
    /// None where the text can't be read so; see [`Json::root`].
    tape: OnceLock<Option<Tape>>,
    value: OnceLock<Value>,
}

/// Why a text is not a JSON document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// Not JSON, a lone surrogate, or nested deeper than [`MAX_DEPTH`].
    #[error("not a JSON document: {0}")]
    Syntax(#[from] serde_json::Error),
    /// An object key that the JSON library keeps for itself.
    #[error("not accepted: an object key begins with `{RESERVED}`")]
    Reserved,
    /// JSON that is not read: a number of more than 4 300 digits.
    #[error("not accepted: {0}")]
    Unread(String),
    /// Longer than [`MAX_BYTES`].
    #[error("not accepted: longer than {MAX_BYTES} bytes")]
    TooLong,
}

impl Json {
    /// Reads a document and keeps where its parts are, in up to sixteen times the bytes of the text; for what the host
    /// itself looks into. The form that [`value`](Self::value) gives takes up to seventy times the bytes: bound the text
    /// first.
    pub fn parse(text: impl Into<String>) -> Result<Self, JsonError> {
        let text = trimmed(text.into())?;
        let tape = match Tape::of(&text) {
            Ok(tape) if tape.is_reserved() => return Err(JsonError::Reserved),
            Ok(tape) => OnceLock::from(Some(tape)),
            Err(unread) => {
                // What is said of it is said in the same words whoever read it.
                well_formed(&text)?;
                return Err(JsonError::Unread(format!("{unread}; a number may have 4300 digits")));
            }
        };
        Ok(Self(Arc::new(Inner { text, tape, value: OnceLock::new() })))
    }

    /// Checks a document and keeps only its text; for what merely passes through.
    pub fn verify(text: impl Into<String>) -> Result<Self, JsonError> {
        let text = trimmed(text.into())?;
        if has_reserved_key(&text) {
            return Err(JsonError::Reserved);
        }
        well_formed(&text)?;
        Ok(Self::of_text(text))
    }

    fn of_text(text: Box<str>) -> Self {
        Self(Arc::new(Inner { text, tape: OnceLock::new(), value: OnceLock::new() }))
    }

    fn of_both(text: Box<str>, value: Value) -> Self {
        Self(Arc::new(Inner { text, tape: OnceLock::new(), value: OnceLock::from(value) }))
    }

    /// A document from a value.
    pub fn from_value(value: Value) -> Self {
        // A `Value` always serializes: its keys are strings.
        let text = serde_json::to_string(&value).unwrap_or_else(|_| "null".into()).into();
        Self::of_both(text, value)
    }

    /// This document changed to another value. What is equal in both keeps the text it was written with, digits above
    /// all: the JSON library itself would write `1e400` as `1e+400`.
    pub fn changed_to(&self, value: Value) -> Self {
        let text = rewritten(self.text(), self.value(), &value);
        match serde_json::from_str::<&RawValue>(&text) {
            // The value is read from the text when it is wanted: spelled out, a number in a string is another string.
            Ok(_) => Self::of_text(text.into()),
            Err(_) => Self::from_value(value),
        }
    }

    /// Anything that serializes, as a document.
    pub fn of(value: &impl Serialize) -> Result<Self, JsonError> {
        Ok(Self::of_text(serde_json::to_string(value)?.into()))
    }

    /// `null`.
    pub fn null() -> Self {
        Self::from_value(Value::Null)
    }

    /// `{}`.
    pub fn empty_object() -> Self {
        Self::from_value(Value::Object(serde_json::Map::new()))
    }

    /// The document as it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The document, parsed on first use.
    pub fn value(&self) -> &Value {
        // The text was checked when this document was made.
        self.0.value.get_or_init(|| serde_json::from_str(self.text()).unwrap_or_default())
    }

    /// The document as it stands in its text, read on first use; nothing where it can't be read so: one that was made of a
    /// value may be nested deeper than [`MAX_DEPTH`], one that was only verified may have a number without end.
    pub(crate) fn root(&self) -> Option<Node<'_>> {
        Some(self.tape()?.root(self.text()))
    }

    pub(crate) fn tape(&self) -> Option<&Tape> {
        self.0.tape.get_or_init(|| Tape::of(self.text()).ok()).as_ref()
    }

    /// Length of the text in bytes.
    pub fn len(&self) -> usize {
        self.text().len()
    }

    /// Never: a document has at least one byte.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// The text without blanks around it.
fn trimmed(mut text: String) -> Result<Box<str>, JsonError> {
    const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];
    if text.len() > MAX_BYTES {
        return Err(JsonError::TooLong);
    }
    let trimmed = text.trim_matches(BLANKS);
    if trimmed.len() < text.len() {
        text = trimmed.to_owned();
    }
    Ok(text.into())
}

/// serde_json's verdict.
fn well_formed(text: &str) -> serde_json::Result<()> {
    let mut reader = serde_json::Deserializer::from_str(text);
    Walk.deserialize(&mut reader)?;
    reader.end()
}

/// Reads anything and keeps nothing: strings are decoded, nesting is counted.
#[derive(Clone, Copy)]
struct Walk;

impl<'de> DeserializeSeed<'de> for Walk {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON document")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    /// Numbers come this way too: with arbitrary precision they are maps of one private key.
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_key_seed(self)?.is_some() {
            entries.next_value_seed(self)?;
        }
        Ok(())
    }
}

/// Whether an object key of the text begins with the reserved words, written plainly or with `\u00XX` escapes.
fn has_reserved_key(text: &str) -> bool {
    if !text.contains("\\u00") {
        return text.contains(RESERVED) && reserved_key_at(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\u00") {
        plain.push_str(&rest[..at]);
        let after = &rest[at + 4..];
        match after.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\') => {
                plain.push(byte as char);
                rest = &after[2..];
            }
            _ => {
                plain.push_str("\\u00");
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    reserved_key_at(&plain)
}

fn reserved_key_at(text: &str) -> bool {
    text.match_indices(RESERVED).any(|(at, _)| {
        let begins_string = text[..at].ends_with('"') && !text[..at].ends_with("\\\"");
        // Behind the words: the rest of the string, its end, and a colon where it is a key.
        let rest = text[at..].split_once('"').map(|(_, rest)| rest.trim_start());
        begins_string && rest.is_some_and(|rest| rest.starts_with(':'))
    })
}

/// A key that some object of the document has twice. Readers differ in which of the two they take.
pub(crate) fn duplicate_key(document: &Json) -> Option<&str> {
    document.tape()?.twice(document.text())
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Equal as values: layout does not count, key order neither, digits do.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.text() == other.text() || self.value() == other.value()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The library writes a text as it is only where it has looked through it itself.
        <&RawValue>::deserialize(&mut serde_json::Deserializer::from_str(self.text()))
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Self::verify(String::from(Box::<str>::from(text))).map_err(serde::de::Error::custom)
    }
}

/// Reads a field that may be absent and whose `null` is a document; to be used with `default`.
pub(super) fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::from_value(value)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn digits_and_layout_survive() {
        for text in ["9007199254740993", "18446744073709551615", "0.1", "1e400", "-0", " {\"a\" : 1.0} "] {
            let json = Json::parse(text).unwrap();
            assert_eq!(json.text(), text.trim());
            assert_eq!(serde_json::to_string(&json).unwrap(), text.trim());
        }
        let long = "0.".to_owned() + &"123456789".repeat(9);
        assert_eq!(Json::from_value(serde_json::from_str(&long).unwrap()).text(), long);
    }

    #[test]
    fn what_is_no_document_is_refused() {
        for text in ["", "{", "nul", "{} {}", "\"\\ud800\"", "NaN"] {
            assert!(matches!(Json::verify(text), Err(JsonError::Syntax(_))), "{text}");
        }
        let deep = |n| "[".repeat(n) + &"]".repeat(n);
        assert!(Json::verify(deep(MAX_DEPTH)).is_ok());
        assert!(Json::verify(deep(MAX_DEPTH + 1)).is_err());
    }

    #[test]
    fn the_librarys_private_keys_are_refused_however_written() {
        for text in [r#"{"$serde_json::private::Number":"1"}"#, r#"{"\u0024serde_json::private::RawValue":"1"}"#] {
            assert!(matches!(Json::parse(text), Err(JsonError::Reserved)), "{text}");
        }
        // In a value they are text like any other: this file is one.
        for text in [r#"{"a":"$serde_json::private::"}"#, r#"["const R: &str = \"$serde_json::private::\" :"]"#] {
            assert_eq!(Json::parse(text).unwrap().text(), text);
        }
    }

    /// The one number that is JSON and is not read.
    #[test]
    fn a_number_without_end_is_refused_in_words() {
        let long = "9".repeat(5_000);
        assert!(Json::parse("9".repeat(4_000)).is_ok());
        let error = Json::parse(&long).unwrap_err();
        assert!(matches!(error, JsonError::Unread(_)), "{error}");
        // What only passes through may hold it.
        assert_eq!(Json::verify(&long).unwrap().text(), long);
    }

    #[test]
    fn a_key_that_is_there_twice_is_found() {
        let twice = |text: &str| duplicate_key(&Json::verify(text).unwrap()).map(str::to_owned);
        assert_eq!(twice(r#"{"a":1,"b":[{"c":1.5,"c":2}]}"#).as_deref(), Some("c"));
        assert_eq!(twice(r#"{"a":1,"\u0061":2}"#).as_deref(), Some("a"));
        assert_eq!(twice(r#"{"a":{"a":[1,2.0,-0]},"b":{"a":null}}"#), None);
    }
}
