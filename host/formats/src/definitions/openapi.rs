//! Google's subset of OpenAPI's schema object: no references, no `allOf`, one type each, `nullable`, values of `enum` are
//! strings. What it can't say is left out, and values go into the description; Toolgate checks the call all the same.

use serde_json::{Map, Value, json};

use super::merge;
use crate::note::{Notes, join, quoted};

const WHO: &str = "Google's schema";

/// Subschemas that are written: references are written out where they stand, which may double them at every step.
const MOST_NODES: usize = 5_000;
/// Nesting of subschemas.
const MOST_DEPTH: usize = 64;
/// Characters of values that go into a description.
const MOST_VALUES: usize = 500;

const KEPT: &[&str] = &[
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "propertyOrdering",
];

pub(super) fn rewrite(schema: &Map<String, Value>, notes: &mut Notes) -> Map<String, Value> {
    let root = Value::Object(schema.clone());
    Writer { root: &root, notes, nodes: 0, within: Vec::new() }.node(&root, "", 0)
}

struct Writer<'a> {
    root: &'a Value,
    notes: &'a mut Notes,
    nodes: usize,
    /// References that are being written out.
    within: Vec<String>,
}

fn upper(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "object" => "OBJECT",
        "array" => "ARRAY",
        "string" => "STRING",
        "number" => "NUMBER",
        "integer" => "INTEGER",
        "boolean" => "BOOLEAN",
        _ => return None,
    })
}

/// A schema of anything has no form of its own.
fn anything() -> Map<String, Value> {
    let kinds = ["STRING", "NUMBER", "BOOLEAN", "OBJECT"].map(|kind| json!({ "type": kind }));
    let mut map = Map::new();
    map.insert("anyOf".into(), json!(kinds));
    map
}

impl Writer<'_> {
    fn node(&mut self, schema: &Value, path: &str, depth: usize) -> Map<String, Value> {
        self.nodes += 1;
        if self.nodes > MOST_NODES || depth > MOST_DEPTH {
            if self.nodes == MOST_NODES + 1 || depth > MOST_DEPTH {
                self.notes.changed(path, "from here on it accepts anything: the schema is too large");
            }
            return anything();
        }
        let Value::Object(map) = schema else {
            self.notes.changed(path, format!("{WHO} has none for any value; it is one of several types"));
            return anything();
        };
        if let Some(Value::String(reference)) = map.get("$ref") {
            return self.reference(map, reference, path, depth);
        }
        if map.contains_key("allOf") {
            self.notes.changed(&join(path, "allOf"), format!("put together into one schema: {WHO} does not have it"));
            let merged = merge::all_of(self.root, map, path, self.notes);
            return self.node(&Value::Object(merged), path, depth + 1);
        }
        let (mut kinds, mut nullable) = (Vec::new(), false);
        let listed = match map.get("type") {
            Some(Value::Array(listed)) => listed.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        for kind in listed.iter().filter_map(Value::as_str) {
            match upper(kind) {
                Some(kind) if !kinds.contains(&kind) => kinds.push(kind),
                _ => nullable |= kind == "null",
            }
        }
        if kinds.len() > 1 {
            return self.several(map, listed, nullable, path, depth);
        }
        let mut written = Map::new();
        if let Some(kind) = kinds.first() {
            written.insert("type".into(), (*kind).into());
        } else if map.contains_key("properties") {
            written.insert("type".into(), "OBJECT".into());
        } else if map.contains_key("items") {
            written.insert("type".into(), "ARRAY".into());
        }
        for key in ["title", "description"] {
            if let Some(value) = map.get(key) {
                written.insert(key.into(), value.clone());
            }
        }
        for (key, value) in map {
            let at = join(path, key);
            match key.as_str() {
                "type" | "title" | "description" | "required" | "$schema" | "$comment" | "$id" | "$defs"
                | "definitions" => {}
                "properties" => {
                    let named = value.as_object().into_iter().flatten();
                    let named: Map<String, Value> = named
                        .map(|(name, schema)| {
                            (name.clone(), Value::Object(self.node(schema, &join(&at, name), depth + 1)))
                        })
                        .collect();
                    written.insert("properties".into(), Value::Object(named));
                }
                "items" => {
                    written.insert("items".into(), Value::Object(self.node(value, &at, depth + 1)));
                }
                "anyOf" | "oneOf" => nullable |= self.any_of(key, value, &mut written, &at, depth),
                "enum" | "const" => {
                    let choices = value.as_array().filter(|_| key == "enum");
                    let choices = choices.map_or(std::slice::from_ref(value), Vec::as_slice);
                    nullable |= self.choices(choices, &mut written, &at);
                }
                "exclusiveMinimum" | "exclusiveMaximum" => self.exclusive(key, value, map, &mut written, &at),
                "format" => self.format(value, &mut written, &at),
                "additionalProperties" if *value == Value::Bool(false) => {
                    self.notes.changed(&at, format!("removed: {WHO} does not have it"));
                }
                known if KEPT.contains(&known) => {
                    written.insert(key.clone(), value.clone());
                }
                _ => self.notes.changed(&at, format!("removed: {WHO} does not have it")),
            }
        }
        if let (Some(Value::Array(required)), Some(Value::Object(named))) =
            (map.get("required"), written.get("properties"))
        {
            // One that is not described is refused.
            let required: Vec<&Value> =
                required.iter().filter(|name| name.as_str().is_some_and(|name| named.contains_key(name))).collect();
            if !required.is_empty() {
                let required = json!(required);
                written.insert("required".into(), required);
            }
        }
        self.complete(written, nullable, path)
    }

    /// What no schema may lack.
    fn complete(&mut self, mut written: Map<String, Value>, nullable: bool, path: &str) -> Map<String, Value> {
        if !written.contains_key("type") && !written.contains_key("anyOf") {
            self.notes.changed(path, format!("{WHO} has none for any value; it is one of several types"));
            written.extend(anything());
        }
        if written.get("type").is_some_and(|kind| kind == "ARRAY") && !written.contains_key("items") {
            self.notes.changed(path, "its items are one of several types: an array must say what is in it");
            written.insert("items".into(), Value::Object(anything()));
        }
        if nullable {
            written.insert("nullable".into(), true.into());
        }
        written
    }

    fn reference(&mut self, map: &Map<String, Value>, reference: &str, path: &str, depth: usize) -> Map<String, Value> {
        let root = self.root;
        let found = merge::resolve(root, reference).and_then(Value::as_object);
        let recursive = self.within.iter().any(|known| known == reference) || reference == "#";
        let Some(found) = found.filter(|_| !recursive) else {
            let why = if recursive { "it refers to itself" } else { "it refers to a schema that is not there" };
            self.notes.changed(path, format!("any object: {why}, and {WHO} has no references"));
            let mut any = Map::new();
            any.insert("type".into(), "OBJECT".into());
            return any;
        };
        self.within.push(reference.to_owned());
        let mut schema = found.clone();
        schema.extend(map.iter().filter(|(key, _)| *key != "$ref").map(|(key, value)| (key.clone(), value.clone())));
        let written = self.node(&Value::Object(schema), path, depth + 1);
        self.within.pop();
        written
    }

    /// One schema per type, since each has one.
    fn several(
        &mut self,
        map: &Map<String, Value>,
        kinds: &[Value],
        nullable: bool,
        path: &str,
        depth: usize,
    ) -> Map<String, Value> {
        self.notes.changed(&join(path, "type"), format!("an `anyOf` of them: {WHO} has one type each"));
        let only = |kind: &str, key: &str| match key {
            "properties" | "required" | "minProperties" | "maxProperties" => kind == "object",
            "items" | "minItems" | "maxItems" => kind == "array",
            "minLength" | "maxLength" | "pattern" => kind == "string",
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => matches!(kind, "number" | "integer"),
            "description" | "title" => false,
            _ => true,
        };
        let mut members = Vec::new();
        for kind in kinds.iter().filter_map(Value::as_str).filter(|kind| upper(kind).is_some()).take(6) {
            let mut member: Map<String, Value> = map
                .iter()
                .filter(|(key, _)| only(kind, key))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            member.insert("type".into(), kind.into());
            members.push(self.node(&Value::Object(member), path, depth + 1));
        }
        let mut written = Map::new();
        for key in ["title", "description"] {
            if let Some(value) = map.get(key) {
                written.insert(key.into(), value.clone());
            }
        }
        written.insert("anyOf".into(), json!(members));
        if nullable {
            written.insert("nullable".into(), true.into());
        }
        written
    }

    /// Whether null is among the members.
    fn any_of(&mut self, key: &str, value: &Value, written: &mut Map<String, Value>, at: &str, depth: usize) -> bool {
        if written.contains_key("anyOf") {
            self.notes.changed(at, "removed: there is an `anyOf` already");
            return false;
        }
        if key == "oneOf" {
            self.notes.changed(at, format!("`anyOf` instead: {WHO} has no `oneOf`"));
        }
        let is_null = |member: &&Value| member.get("type").is_some_and(|kind| kind == "null");
        let members = value.as_array().map_or(&[][..], Vec::as_slice);
        let nullable = members.iter().any(|member| is_null(&member));
        let mut others: Vec<Map<String, Value>> = Vec::new();
        for (index, member) in members.iter().enumerate().filter(|(_, member)| !is_null(member)) {
            others.push(self.node(member, &join(at, &index.to_string()), depth + 1));
        }
        match others.len() {
            // What stands beside it says more of it than it does itself.
            1 => {
                for (key, value) in others.into_iter().flatten() {
                    written.entry(key).or_insert(value);
                }
            }
            0 => {}
            _ => {
                written.insert("anyOf".into(), json!(others));
            }
        }
        nullable
    }

    /// Whether null is among the values.
    fn choices(&mut self, choices: &[Value], written: &mut Map<String, Value>, at: &str) -> bool {
        let nullable = choices.contains(&Value::Null);
        let others: Vec<&Value> = choices.iter().filter(|choice| !choice.is_null()).collect();
        let strings = !others.is_empty() && others.iter().all(|choice| choice.is_string());
        if strings && written.get("type").is_none_or(|kind| kind == "STRING") {
            written.insert("type".into(), "STRING".into());
            written.insert("enum".into(), json!(others));
            return nullable;
        }
        self.notes.changed(at, "named in the description instead: its values are not all strings");
        let mut values: String = others.iter().take(50).map(|choice| choice.to_string()).collect::<Vec<_>>().join(", ");
        if values.chars().count() > MOST_VALUES {
            values = values.chars().take(MOST_VALUES).chain(['…']).collect();
        }
        let description = match written.get("description").and_then(Value::as_str) {
            Some(text) => format!("{text} One of: {values}"),
            None => format!("One of: {values}"),
        };
        written.insert("description".into(), description.into());
        if !written.contains_key("type")
            && let Some(kind) = others.first().and_then(|choice| match choice {
                Value::Bool(_) => Some("BOOLEAN"),
                Value::Number(number) if number.is_i64() || number.is_u64() => Some("INTEGER"),
                Value::Number(_) => Some("NUMBER"),
                _ => None,
            })
        {
            written.insert("type".into(), kind.into());
        }
        nullable
    }

    fn exclusive(
        &mut self,
        key: &str,
        value: &Value,
        map: &Map<String, Value>,
        written: &mut Map<String, Value>,
        at: &str,
    ) {
        let (inclusive, step) = if key == "exclusiveMinimum" { ("minimum", 1) } else { ("maximum", -1) };
        if map.contains_key(inclusive) {
            self.notes.changed(at, format!("removed: {WHO} does not have it"));
            return;
        }
        let whole = written.get("type").is_some_and(|kind| kind == "INTEGER");
        let bound = match value.as_i64().filter(|_| whole).and_then(|bound| bound.checked_add(step)) {
            Some(bound) => json!(bound),
            None => value.clone(),
        };
        if bound.is_number() {
            self.notes.changed(at, format!("`{inclusive}` instead: {WHO} does not have it"));
            written.insert(inclusive.into(), bound);
        }
    }

    fn format(&mut self, value: &Value, written: &mut Map<String, Value>, at: &str) {
        let kind = written.get("type").and_then(Value::as_str).unwrap_or_default();
        let format = value.as_str().unwrap_or_default();
        let known = matches!(
            (kind, format),
            ("NUMBER", "float" | "double") | ("INTEGER", "int32" | "int64") | ("STRING", "enum" | "date-time")
        );
        if known {
            written.insert("format".into(), value.clone());
        } else {
            self.notes.changed(at, format!("removed: {WHO} does not know the format {}", quoted(format)));
        }
    }
}
