//! `allOf` and `anyOf` put together into one schema, for providers that do not accept them where they stand.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::note::{Notes, join};

/// Members that are put together; more are left out.
const MOST_MEMBERS: usize = 64;

/// The schema that a local reference names.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    match reference.strip_prefix('#')? {
        "" => Some(root),
        pointer => root.pointer(pointer),
    }
}

/// A member without the reference that it may consist of.
fn followed<'a>(root: &'a Value, mut schema: &'a Value) -> Option<&'a Map<String, Value>> {
    for _ in 0..16 {
        let map = schema.as_object()?;
        match map.get("$ref").and_then(Value::as_str) {
            Some(reference) => schema = resolve(root, reference)?,
            None => return Some(map),
        }
    }
    None
}

fn names(value: Option<&Value>) -> BTreeSet<String> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// `required` in the order in which the properties are.
fn set_required(map: &mut Map<String, Value>, required: &BTreeSet<String>) {
    let order = map.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let mut sorted: Vec<&String> = order.filter(|name| required.contains(*name)).collect();
    let others: Vec<&String> = required.iter().filter(|name| !sorted.contains(name)).collect();
    sorted.extend(others);
    let sorted = json!(sorted);
    if required.is_empty() {
        map.remove("required");
    } else {
        map.insert("required".into(), sorted);
    }
}

fn add_property(map: &mut Map<String, Value>, name: &str, schema: &Value, both: &str) {
    let properties = map.entry("properties").or_insert_with(|| json!({}));
    let Value::Object(properties) = properties else { return };
    match properties.get_mut(name) {
        None => {
            properties.insert(name.to_owned(), schema.clone());
        }
        Some(known) if known == schema => {}
        Some(known) => match known.get_mut(both).and_then(Value::as_array_mut) {
            Some(members) if members.len() < MOST_MEMBERS => {
                if !members.contains(schema) {
                    members.push(schema.clone());
                }
            }
            Some(_) => {}
            None => *known = json!({ both: [known.clone(), schema] }),
        },
    }
}

/// The schema with its `allOf` in it.
pub(super) fn all_of(root: &Value, map: &Map<String, Value>, path: &str, notes: &mut Notes) -> Map<String, Value> {
    let mut merged = map.clone();
    let mut members: Vec<Value> = match merged.remove("allOf") {
        Some(Value::Array(members)) => members,
        _ => Vec::new(),
    };
    members.reverse();
    let mut taken = 0;
    while let Some(member) = members.pop() {
        taken += 1;
        let Some(member) = followed(root, &member).filter(|_| taken <= MOST_MEMBERS) else {
            notes.changed(
                &join(path, "allOf"),
                "one of its schemas is left out: it can't be put together with the others",
            );
            continue;
        };
        for (key, value) in member {
            match key.as_str() {
                "properties" => {
                    for (name, schema) in value.as_object().into_iter().flatten() {
                        add_property(&mut merged, name, schema, "allOf");
                    }
                }
                "required" => {
                    let required = names(merged.get("required")).into_iter().chain(names(Some(value))).collect();
                    set_required(&mut merged, &required);
                }
                "allOf" if members.len() < MOST_MEMBERS => {
                    let inner = value.as_array().into_iter().flatten().take(MOST_MEMBERS);
                    let inner: Vec<Value> = inner.cloned().collect();
                    members.extend(inner.into_iter().rev());
                }
                "additionalProperties" if *value == Value::Bool(false) => {
                    merged.insert(key.clone(), value.clone());
                }
                _ => match merged.get(key) {
                    None => {
                        merged.insert(key.clone(), value.clone());
                    }
                    Some(known) if known == value || matches!(key.as_str(), "title" | "description") => {}
                    Some(_) => notes.changed(
                        &join(path, "allOf"),
                        format!("of several `{}` only the first is kept", key.chars().take(40).collect::<String>()),
                    ),
                },
            }
        }
    }
    merged
}

/// The schema with the properties of all members of `keyword` in it: what is required in each of them, or outside of
/// them, stays required.
pub(super) fn any_of(root: &Value, map: &Map<String, Value>, keyword: &str, notes: &mut Notes) -> Map<String, Value> {
    let mut merged = map.clone();
    let Some(Value::Array(members)) = merged.remove(keyword) else { return merged };
    let mut in_all: Option<BTreeSet<String>> = None;
    for member in members.iter().take(MOST_MEMBERS) {
        // A member that says nothing of properties, like `{"required": ["a"]}`, still says what it requires.
        let Some(member) = followed(root, member) else {
            in_all = Some(BTreeSet::new());
            continue;
        };
        let member = all_of(root, member, "", notes);
        for (name, schema) in member.get("properties").and_then(Value::as_object).into_iter().flatten() {
            add_property(&mut merged, name, schema, "anyOf");
        }
        let required = names(member.get("required"));
        in_all = Some(match in_all {
            None => required,
            Some(known) => known.intersection(&required).cloned().collect(),
        });
    }
    let required = names(merged.get("required")).into_iter().chain(in_all.unwrap_or_default()).collect();
    set_required(&mut merged, &required);
    merged
}
