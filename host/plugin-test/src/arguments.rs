//! Arguments that a schema accepts, for a first call of a tool nobody has called yet: the least that is valid.

use serde_json::{Map, Number, Value};

/// Nesting that is looked into.
const MOST_DEPTH: usize = 16;
/// Values that are made.
const MOST_VALUES: usize = 2_000;
/// Characters of a made string, and items of a made array.
const MOST_LENGTH: u64 = 1_000;

/// The least arguments that a schema seems to accept: what it requires, and of that the first example, default or choice,
/// or a small value. A guess, to be checked against the schema: patterns and conditions are not worked out.
pub fn example_arguments(schema: &Value) -> Option<Value> {
    Maker { root: schema, left: MOST_VALUES }.make(schema, 0)
}

struct Maker<'a> {
    root: &'a Value,
    left: usize,
}

impl Maker<'_> {
    fn make(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        if depth > MOST_DEPTH {
            return None;
        }
        let map = match schema {
            Value::Bool(true) => return Some(Value::String("example".into())),
            Value::Object(map) => map,
            _ => return None,
        };
        if let Some(value) = map.get("const").or_else(|| map.get("enum")?.get(0)) {
            return Some(value.clone());
        }
        if let Some(value) = map.get("examples").and_then(|all| all.get(0)).or_else(|| map.get("default")) {
            return Some(value.clone());
        }
        let mut made = self.own(map, depth)?;
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let target = match reference.strip_prefix('#')? {
                "" => self.root,
                pointer => self.root.pointer(pointer)?,
            };
            made = merged(made, self.make(target, depth + 1)?);
        }
        for member in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            made = merged(made, self.make(member, depth + 1)?);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(members)) = map.get(keyword) {
                let is_null = |member: &&Value| member.get("type").is_some_and(|kind| kind == "null");
                let first =
                    members.iter().filter(|member| !is_null(member)).find_map(|member| self.make(member, depth + 1));
                made = merged(made, first.or(Some(Value::Null))?);
            }
        }
        Some(made.unwrap_or_else(|| Value::String("example".into())))
    }

    /// What the schema's own keywords ask for; nothing where it has no type.
    #[allow(clippy::option_option, reason = "not possible, and not said")]
    fn own(&mut self, map: &Map<String, Value>, depth: usize) -> Option<Option<Value>> {
        let kind = match map.get("type") {
            Some(Value::String(kind)) => Some(kind.as_str()),
            Some(Value::Array(kinds)) => {
                kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").or(Some("null"))
            }
            _ if map.contains_key("properties") || map.contains_key("required") => Some("object"),
            _ => None,
        };
        Some(Some(match kind {
            Some("object") => {
                let properties = map.get("properties").and_then(Value::as_object);
                let mut made = Map::new();
                for name in
                    map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
                {
                    let value = match properties.and_then(|properties| properties.get(name)) {
                        Some(schema) => self.make(schema, depth + 1)?,
                        None => Value::String("example".into()),
                    };
                    made.insert(name.to_owned(), value);
                }
                Value::Object(made)
            }
            Some("array") => {
                let prefix = map.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let least = map.get("minItems").and_then(Value::as_u64).unwrap_or(0).min(MOST_LENGTH);
                let mut items = Vec::new();
                for at in 0..usize::try_from(least).ok()? {
                    items.push(match prefix.get(at).or_else(|| map.get("items")) {
                        Some(schema) => self.make(schema, depth + 1)?,
                        None => Value::String("example".into()),
                    });
                }
                Value::Array(items)
            }
            Some("string") => Value::String(string(map)),
            Some(kind @ ("number" | "integer")) => Value::Number(number(map, kind == "integer")?),
            Some("boolean") => Value::Bool(false),
            Some("null") => Value::Null,
            _ => return Some(None),
        }))
    }
}

/// Objects are put together, of anything else the first stays.
fn merged(made: Option<Value>, more: Value) -> Option<Value> {
    Some(match (made, more) {
        (Some(Value::Object(mut made)), Value::Object(more)) => {
            for (key, value) in more {
                made.entry(key).or_insert(value);
            }
            Value::Object(made)
        }
        (Some(made), _) => made,
        (None, more) => more,
    })
}

fn string(map: &Map<String, Value>) -> String {
    let text = match map.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-01-01T00:00:00Z",
        Some("date") => "2026-01-01",
        Some("time") => "00:00:00Z",
        Some("duration") => "PT1S",
        Some("email" | "idn-email") => "user@example.com",
        Some("uri" | "iri" | "uri-reference" | "iri-reference" | "uri-template") => "https://example.com/",
        Some("hostname" | "idn-hostname") => "example.com",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("json-pointer") => "/a",
        Some("regex") => "a",
        _ => "example",
    };
    let length = |key: &str| map.get(key).and_then(Value::as_u64);
    let mut text = text.to_owned();
    if let Some(least) = length("minLength") {
        while (text.chars().count() as u64) < least.min(MOST_LENGTH) {
            text.push('e');
        }
    }
    if let Some(most) = length("maxLength") {
        text = text.chars().take(usize::try_from(most).unwrap_or(usize::MAX)).collect();
    }
    text
}

/// The number nearest to 1 within the bounds.
fn number(map: &Map<String, Value>, whole: bool) -> Option<Number> {
    let bound = |key: &str| map.get(key).and_then(Value::as_f64);
    let step = bound("multipleOf").filter(|step| *step > 0.0).unwrap_or(1.0);
    let least = [bound("minimum"), bound("exclusiveMinimum").map(|least| least + step)];
    let most = [bound("maximum"), bound("exclusiveMaximum").map(|most| most - step)];
    let least = least.into_iter().flatten().fold(f64::NEG_INFINITY, f64::max);
    let most = most.into_iter().flatten().fold(f64::INFINITY, f64::min);
    let mut number = 1f64.max(least).min(most);
    let multiple = (number / step).ceil() * step;
    number = if multiple <= most { multiple } else { (number / step).floor() * step };
    if whole || number.fract() == 0.0 {
        if number.abs() > 9e15 {
            return None;
        }
        return Some(Number::from(number as i64));
    }
    Number::from_f64(number)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;
    use toolgate::schema::Schema;

    use super::*;

    #[test]
    fn what_is_made_is_valid() {
        for schema in [
            json!({ "type": "object" }),
            json!({ "type": "object", "required": ["a", "b"], "properties": { "a": { "type": "string", "minLength": 12 }, "b": { "$ref": "#/$defs/b" } },
                "$defs": { "b": { "oneOf": [{ "type": "null" }, { "type": "integer", "minimum": 5, "multipleOf": 4 }] } } }),
            json!({ "type": "object", "required": ["l"], "properties": { "l": { "type": "array", "minItems": 3, "items": { "enum": ["x", "y"] } } } }),
            json!({ "allOf": [{ "required": ["a"], "properties": { "a": { "format": "uuid", "type": "string" } } }, { "required": ["n"], "properties": { "n": { "type": ["null", "number"], "exclusiveMaximum": 0.5, "minimum": -2 } } }] }),
            json!({ "type": "object", "required": ["p"], "properties": { "p": { "type": "string", "pattern": "^[0-9]{3}$", "examples": ["123"] } } }),
        ] {
            let made = example_arguments(&schema).unwrap();
            assert!(Schema::compile(&schema).unwrap().is_valid(&made.clone().into()), "{schema}: {made}");
        }
    }

    #[test]
    fn a_schema_without_an_end_makes_nothing() {
        let schema = json!({ "type": "object", "required": ["next"], "properties": { "next": { "$ref": "#" } } });
        assert_eq!(example_arguments(&schema), None);
        let wide = json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "array", "minItems": 900,
            "items": { "type": "array", "minItems": 900, "items": { "type": "null" } } } } });
        assert_eq!(example_arguments(&wide), None);
    }
}
