//! One JSON document that keeps the text it came as, so that digits and key order survive the whole way.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::map::Entry;
use serde_json::value::RawValue;

use super::rewrite::rewritten;

/// Deepest nesting of arrays and objects that a document may have (serde_json's own recursion limit, less one).
pub const MAX_DEPTH: usize = 127;

/// serde_json's private map keys for numbers and raw values: a document that spells one out would be read as
/// something else than it says.
const RESERVED: &str = "$serde_json::private::";

/// How serde_json hands over a number whose digits it keeps: as a map of this one key.
const NUMBER: &str = "$serde_json::private::Number";

/// A JSON document: its text, and its parsed form once somebody asked for it. Cheap to clone.
#[derive(Clone)]
pub struct Json(Arc<Inner>);

struct Inner {
    text: Box<str>,
    read: OnceLock<Read>,
}

/// What one reading of a text gives.
struct Read {
    value: Value,
    /// A key that some object has twice; of its values the last one counts.
    twice: Option<String>,
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
}

impl Json {
    /// Reads a document and keeps its parsed form; for what the host itself looks into. The parsed form takes up to
    /// seventy times the bytes of the text: bound the text first.
    pub fn parse(text: impl Into<String>) -> Result<Self, JsonError> {
        let text = unreserved(text.into())?;
        let read = OnceLock::from(Read::of(&text)?);
        Ok(Self(Arc::new(Inner { text, read })))
    }

    /// Checks a document and keeps only its text; for what merely passes through.
    pub fn verify(text: impl Into<String>) -> Result<Self, JsonError> {
        let text = unreserved(text.into())?;
        let mut reader = serde_json::Deserializer::from_str(&text);
        Walk.deserialize(&mut reader)?;
        reader.end()?;
        Ok(Self(Arc::new(Inner { text, read: OnceLock::new() })))
    }

    /// A document from a value.
    pub fn from_value(value: Value) -> Self {
        // A `Value` always serializes: its keys are strings.
        let text = serde_json::to_string(&value).unwrap_or_else(|_| "null".into()).into();
        Self(Arc::new(Inner { text, read: OnceLock::from(Read { value, twice: None }) }))
    }

    /// This document changed to another value. What is equal in both keeps the text it was written with, digits above
    /// all: the JSON library itself would write `1e400` as `1e+400`.
    pub fn changed_to(&self, value: Value) -> Self {
        let text = rewritten(self.text(), self.value(), &value);
        match serde_json::from_str::<&RawValue>(&text) {
            Ok(_) => Self(Arc::new(Inner { text: text.into(), read: OnceLock::from(Read { value, twice: None }) })),
            Err(_) => Self::from_value(value),
        }
    }

    /// Anything that serializes, as a document.
    pub fn of(value: &impl Serialize) -> Result<Self, JsonError> {
        let text = serde_json::to_string(value)?.into();
        Ok(Self(Arc::new(Inner { text, read: OnceLock::new() })))
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
        &self.read().value
    }

    fn read(&self) -> &Read {
        // The text was checked when this document was made.
        self.0.read.get_or_init(|| Read::of(self.text()).unwrap_or(Read { value: Value::Null, twice: None }))
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

/// The text without blanks around it, unless a key in it is one that the library would misread.
fn unreserved(mut text: String) -> Result<Box<str>, JsonError> {
    const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];
    if has_reserved_key(&text) {
        return Err(JsonError::Reserved);
    }
    let trimmed = text.trim_matches(BLANKS);
    if trimmed.len() < text.len() {
        text = trimmed.to_owned();
    }
    Ok(text.into())
}

impl Read {
    fn of(text: &str) -> serde_json::Result<Self> {
        let mut twice = None;
        let mut reader = serde_json::Deserializer::from_str(text);
        let value = Build { twice: &mut twice }.deserialize(&mut reader)?;
        reader.end()?;
        Ok(Self { value, twice })
    }
}

/// Reads a value as serde_json's own reader does, and notes a key that an object has twice: one pass where two readers
/// would take two.
struct Build<'a> {
    twice: &'a mut Option<String>,
}

impl Build<'_> {
    fn inner(&mut self) -> Build<'_> {
        Build { twice: self.twice }
    }
}

impl<'de> DeserializeSeed<'de> for Build<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON document")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self.inner())? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = serde_json::Map::new();
        while let Some(key) = entries.next_key_seed(Key)? {
            let Some(key) = key else {
                let digits: String = entries.next_value()?;
                return digits.parse().map(Value::Number).map_err(serde::de::Error::custom);
            };
            let value = entries.next_value_seed(self.inner())?;
            match map.entry(key) {
                Entry::Vacant(place) => {
                    place.insert(value);
                }
                Entry::Occupied(mut place) => {
                    self.twice.get_or_insert_with(|| place.key().clone());
                    place.insert(value);
                }
            }
        }
        Ok(Value::Object(map))
    }
}

/// A key of an object; none where the map is a number.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<String>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<String>, E> {
        Ok((key != NUMBER).then(|| key.to_owned()))
    }
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
    document.read().twice.as_deref()
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

    /// The reader here and the library's own see the same.
    #[test]
    fn what_is_read_is_what_the_library_reads() {
        for text in [
            r#"{"a":[1,-0,1.50,1e400,0.1e-7,12345678901234567890123],"b":{"c":null,"d":[true,false,[],{}]},"":"\u00e9\n\ud83d\ude00"}"#,
            r#"{"b":1,"a":2,"b":{"x":3}}"#,
            "\"text\"",
            "-17.0",
        ] {
            let ours = Json::parse(text).unwrap();
            let theirs: Value = serde_json::from_str(text).unwrap();
            assert_eq!(ours.value(), &theirs);
            assert_eq!(serde_json::to_string(ours.value()).unwrap(), serde_json::to_string(&theirs).unwrap());
            assert_eq!(Json::verify(text).unwrap().value(), &theirs);
        }
    }

    #[test]
    fn a_key_that_is_there_twice_is_found() {
        let twice = |text: &str| duplicate_key(&Json::verify(text).unwrap()).map(str::to_owned);
        assert_eq!(twice(r#"{"a":1,"b":[{"c":1.5,"c":2}]}"#).as_deref(), Some("c"));
        assert_eq!(twice(r#"{"a":1,"\u0061":2}"#).as_deref(), Some("a"));
        assert_eq!(twice(r#"{"a":{"a":[1,2.0,-0]},"b":{"a":null}}"#), None);
    }
}
