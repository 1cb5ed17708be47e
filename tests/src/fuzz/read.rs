//! Any text as a document.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};
use toolgate::model::{Json, JsonError};
use toolgate::schema::Schema;

/// Reads the bytes as a document: it is one exactly where serde_json says so, and then the same one in every form it is
/// looked at. Answers which.
///
/// # Panics
///
/// Where it is otherwise.
pub fn read(data: &[u8]) -> Vec<&'static str> {
    let Ok(text) = std::str::from_utf8(data) else { return Vec::new() };
    match (Json::parse(text), serde_json::from_str::<Value>(text)) {
        (Ok(document), Ok(theirs)) => {
            assert_eq!(document.value(), &theirs, "{text:?}");
            assert!(Json::verify(text).is_ok_and(|same| same == document), "{text:?}");
            // Validation looks at the text itself. Of a key that is there twice the library's value has only one.
            let is_twice = serde_json::from_str::<Twice>(text).unwrap_or_else(|error| panic!("{error}")).0;
            if let Ok(constant) = Schema::compile(&json!({ "const": theirs })) {
                assert!(is_twice || constant.is_valid(&document), "{text:?}");
            }
            vec!["read"]
        }
        (Err(JsonError::Reserved | JsonError::Unread(_)), _) => vec!["not accepted"],
        (Err(_), Err(_)) => {
            assert!(Json::verify(text).is_err(), "{text:?}");
            vec!["no document"]
        }
        (ours, theirs) => panic!("{text:?}: {ours:?} here, {theirs:?} there"),
    }
}

/// Whether some object has a key twice.
struct Twice(bool);

impl<'de> Deserialize<'de> for Twice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Twice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Twice, E> {
        Ok(Twice(false))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Twice, E> {
        Ok(Twice(false))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Twice, E> {
        Ok(Twice(false))
    }

    fn visit_str<E>(self, _: &str) -> Result<Twice, E> {
        Ok(Twice(false))
    }

    fn visit_unit<E>(self) -> Result<Twice, E> {
        Ok(Twice(false))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Twice, A::Error> {
        let mut found = false;
        while let Some(Twice(inner)) = items.next_element()? {
            found |= inner;
        }
        Ok(Twice(found))
    }

    /// Numbers that need their digits come this way too.
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Twice, A::Error> {
        let (mut seen, mut found) = (HashSet::new(), false);
        while let Some((key, Twice(inner))) = members.next_entry::<String, Twice>()? {
            found |= inner | !seen.insert(key);
        }
        Ok(Twice(found))
    }
}
