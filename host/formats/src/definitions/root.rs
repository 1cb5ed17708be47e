//! What every provider wants of the outermost schema: an object, described by its properties.

use serde_json::{Map, Value, json};

use super::merge;
use crate::note::{Notes, join};

/// Keywords whose value is a schema, an array of them, and a table of them.
const ONE: &[&str] = &[
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const SEVERAL: &[&str] = &["anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// The schema as one of an object; nothing where it is of something else.
pub(super) fn object(schema: &Value, who: &str, notes: &mut Notes) -> Option<Map<String, Value>> {
    let mut map = match schema {
        Value::Bool(true) => Map::new(),
        Value::Object(map) => map.clone(),
        _ => {
            notes.refused("", "its parameters accept nothing");
            return None;
        }
    };
    let is_object = |value: &Value| value == "object";
    match map.get("type") {
        Some(kind) if is_object(kind) => {}
        Some(Value::Array(kinds)) if kinds.iter().any(is_object) => {
            notes.changed("/type", format!("`object` alone: {who} accepts no other arguments"));
            map.insert("type".into(), "object".into());
        }
        Some(_) => {
            notes.refused("/type", format!("its parameters are no object, which is all that {who} accepts"));
            return None;
        }
        None => {
            let rest = std::mem::take(&mut map);
            map.insert("type".into(), "object".into());
            map.extend(rest);
        }
    }
    Some(map)
}

/// The same, without the keywords that providers refuse at the outermost level.
pub(super) fn flat(schema: &Value, who: &str, notes: &mut Notes) -> Option<Map<String, Value>> {
    let mut map = match schema {
        Value::Object(map) => map.clone(),
        other => return object(other, who, notes),
    };
    map.remove("$schema");
    // One after another, since each may bring in the next; a schema that never ends is left as it is then.
    for _ in 0..16 {
        if let Some(Value::String(reference)) = map.get("$ref").cloned() {
            map.remove("$ref");
            let siblings = std::mem::take(&mut map);
            let Some(found) = merge::resolve(schema, &reference).and_then(Value::as_object) else {
                notes.refused("/$ref", "its parameters refer to a schema that is not in them");
                return None;
            };
            map = found.clone();
            map.extend(siblings);
        } else if map.contains_key("allOf") {
            notes.changed("/allOf", format!("put together into one schema: {who} does not accept it at the top level"));
            map = merge::all_of(schema, &map, "", notes);
        } else if let Some(keyword) = ["anyOf", "oneOf"].into_iter().find(|keyword| map.contains_key(*keyword)) {
            let text = format!(
                "the properties of all its schemas, each optional that is not in all of them: {who} does not accept it at \
                 the top level"
            );
            notes.changed(&join("", keyword), text);
            map = merge::any_of(schema, &map, keyword, notes);
        } else {
            break;
        }
    }
    for keyword in ["$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const"] {
        if map.remove(keyword).is_some() {
            notes.changed(&join("", keyword), format!("removed: {who} does not accept it at the top level"));
        }
    }
    object(&Value::Object(map), who, notes)
}

/// Whether objects of this schema may have properties that it does not name.
pub(super) fn is_open(map: &Map<String, Value>) -> bool {
    map.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false))
        || map.contains_key("patternProperties")
}

/// Gives every array a schema of its items, which OpenAI asks for.
pub(super) fn add_items(schema: &mut Value, path: &str, notes: &mut Notes) {
    let Value::Object(map) = schema else { return };
    let is_array = match map.get("type") {
        Some(Value::String(kind)) => kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        _ => false,
    };
    if is_array && !map.contains_key("items") {
        notes.changed(path, "an `items` that accepts anything is added: OpenAI refuses arrays without");
        map.insert("items".into(), json!({}));
    }
    for (keyword, value) in map.iter_mut() {
        let keyword = keyword.as_str();
        let at = |step: &str| join(&join(path, keyword), step);
        if ONE.contains(&keyword) {
            add_items(value, &join(path, keyword), notes);
        } else if SEVERAL.contains(&keyword) {
            for (index, member) in value.as_array_mut().into_iter().flatten().enumerate() {
                add_items(member, &at(&index.to_string()), notes);
            }
        } else if NAMED.contains(&keyword) {
            for (name, member) in value.as_object_mut().into_iter().flatten() {
                add_items(member, &at(name), notes);
            }
        }
    }
}
