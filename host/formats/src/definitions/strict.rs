//! The strict modes of OpenAI and Anthropic: the model's output is held to the schema, which therefore must be closed and
//! may use some keywords only. A schema that can't be written so without changing what it describes is not strict.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::merge;
use crate::note::{Notes, join, quoted};

/// Subschemas that are looked at; hostile ones could refer and nest without end.
const MOST_NODES: usize = 5_000;
/// Nesting of subschemas.
const MOST_DEPTH: usize = 64;

/// What a provider's strict mode takes.
pub(super) struct Rules {
    /// In notes.
    who: &'static str,
    /// Keywords beside those that every strict mode has.
    keywords: &'static [&'static str],
    formats: &'static [&'static str],
    /// Every property is required; one that was not may be null.
    all_required: bool,
    /// Schemas may refer to themselves.
    recursion: bool,
    /// Largest `minItems`.
    most_min_items: u64,
    limits: Option<Limits>,
}

struct Limits {
    properties: usize,
    nesting: usize,
    characters: usize,
    choices: usize,
    /// Characters of one `enum` with more than so many choices.
    long_enum: (usize, usize),
}

const COMMON: &[&str] = &["type", "description", "title", "enum", "const"];

pub(super) const OPENAI: Rules = Rules {
    who: "OpenAI's strict mode",
    keywords: &[
        "pattern",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "minItems",
        "maxItems",
    ],
    formats: &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
    all_required: true,
    recursion: true,
    most_min_items: u64::MAX,
    limits: Some(Limits {
        properties: 5_000,
        nesting: 10,
        characters: 120_000,
        choices: 1_000,
        long_enum: (250, 15_000),
    }),
};

pub(super) const ANTHROPIC: Rules = Rules {
    who: "Anthropic's strict mode",
    keywords: &["default", "pattern", "minItems"],
    formats: &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
    all_required: false,
    recursion: false,
    most_min_items: 1,
    limits: None,
};

/// A schema that a strict mode takes.
pub(super) struct Strict {
    pub schema: Map<String, Value>,
    /// Properties that are not required.
    pub optional: usize,
    /// Subschemas with `anyOf` or several types.
    pub unions: usize,
}

/// Why a schema can't be strict.
pub(super) struct NotStrict {
    pub path: String,
    pub why: String,
}

pub(super) fn rewrite(
    schema: &Map<String, Value>,
    rules: &'static Rules,
    notes: &mut Notes,
) -> Result<Strict, NotStrict> {
    let root = Value::Object(schema.clone());
    let mut writer = Writer {
        root: &root,
        rules,
        notes,
        nodes: 0,
        optional: 0,
        unions: 0,
        properties: 0,
        characters: 0,
        choices: 0,
        wanted: Vec::new(),
        references: BTreeMap::new(),
        inside: String::new(),
    };
    let mut written = writer.node(&root, "", 0, 0)?;
    // Definitions are written as they turn out to be used; others would only be in the way.
    let mut done: BTreeSet<String> = BTreeSet::new();
    while let Some(reference) = writer.wanted.pop() {
        if !done.insert(reference.clone()) {
            continue;
        }
        let path = reference.trim_start_matches('#').to_owned();
        let wrong = |why: &str| NotStrict { path: path.clone(), why: why.to_owned() };
        let found =
            merge::resolve(&root, &reference).ok_or_else(|| wrong("it refers to a schema that is not there"))?;
        let (table, name) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
        writer.inside.clone_from(&reference);
        writer.characters += name.len();
        let definition = writer.node(found, &path, 0, 0)?;
        if let Value::Object(table) = written.entry(table).or_insert_with(|| json!({})) {
            table.insert(name.replace("~1", "/").replace("~0", "~"), Value::Object(definition));
        }
    }
    writer.within_limits()?;
    if !rules.recursion && writer.is_recursive() {
        return Err(NotStrict { path: String::new(), why: format!("{} takes no recursive schemas", rules.who) });
    }
    Ok(Strict { schema: written, optional: writer.optional, unions: writer.unions })
}

struct Writer<'a> {
    root: &'a Value,
    rules: &'static Rules,
    notes: &'a mut Notes,
    nodes: usize,
    optional: usize,
    unions: usize,
    properties: usize,
    characters: usize,
    choices: usize,
    /// References whose targets are still to be written.
    wanted: Vec<String>,
    /// From the definition a reference is in to the one it names.
    references: BTreeMap<String, BTreeSet<String>>,
    inside: String,
}

impl Writer<'_> {
    fn node(
        &mut self,
        schema: &Value,
        path: &str,
        depth: usize,
        nesting: usize,
    ) -> Result<Map<String, Value>, NotStrict> {
        let not = |why: String| NotStrict { path: path.to_owned(), why };
        self.nodes += 1;
        if self.nodes > MOST_NODES || depth > MOST_DEPTH {
            return Err(not("the schema is too large".into()));
        }
        if let Some(limits) = &self.rules.limits
            && nesting > limits.nesting
        {
            return Err(not(format!("it nests deeper than {} objects", limits.nesting)));
        }
        let Value::Object(map) = schema else { return Err(not("it accepts any value".into())) };
        if let Some(Value::String(reference)) = map.get("$ref") {
            return self.reference(map, reference, path);
        }
        let map = match map.contains_key("allOf") {
            true => {
                let text = format!("put together into one schema: {} does not accept it", self.rules.who);
                self.notes.changed(&join(path, "allOf"), text);
                Cow::Owned(merge::all_of(self.root, map, path, self.notes))
            }
            false => Cow::Borrowed(map),
        };
        if map.contains_key("$ref") {
            return self.node(&Value::Object(map.into_owned()), path, depth + 1, nesting);
        }
        let kinds = kinds(&map).ok_or_else(|| not("it accepts any value".into()))?;
        let mut written = Map::new();
        if !kinds.is_empty() {
            let kind = if let [one] = &*kinds { json!(one) } else { json!(kinds) };
            written.insert("type".into(), kind);
        }
        let mut is_union = kinds.len() > 1;
        for (key, value) in map.iter() {
            let at = join(path, key);
            match key.as_str() {
                "type" => {}
                "anyOf" | "oneOf" if written.contains_key("anyOf") => {
                    self.notes.changed(&at, "removed: there is an `anyOf` already");
                }
                "anyOf" | "oneOf" => {
                    if key == "oneOf" {
                        self.notes.changed(&at, format!("`anyOf` instead: {} has no `oneOf`", self.rules.who));
                    }
                    is_union = true;
                    let members = value.as_array().into_iter().flatten().enumerate();
                    let members = members
                        .map(|(n, member)| self.node(member, &join(&at, &n.to_string()), depth + 1, nesting))
                        .collect::<Result<Vec<_>, _>>()?;
                    written.insert("anyOf".into(), json!(members));
                }
                "items" => {
                    let items = self.node(value, &at, depth + 1, nesting)?;
                    written.insert("items".into(), Value::Object(items));
                }
                "properties" | "required" | "additionalProperties" | "patternProperties" => {}
                "$defs" | "definitions" | "$schema" | "$comment" | "$id" => {}
                "enum" | "const" => {
                    self.count_choices(value, path)?;
                    written.insert(key.clone(), value.clone());
                }
                "format" if value.as_str().is_none_or(|format| !self.rules.formats.contains(&format)) => {
                    let format = quoted(value.as_str().unwrap_or_default());
                    self.notes.changed(&at, format!("removed: {} does not know the format {format}", self.rules.who));
                }
                "minItems" if value.as_u64().is_none_or(|least| least > self.rules.most_min_items) => {
                    self.notes.changed(&at, format!("removed: {} accepts 0 and 1 only", self.rules.who));
                }
                known if COMMON.contains(&known) || known == "format" || self.rules.keywords.contains(&known) => {
                    written.insert(key.clone(), value.clone());
                }
                _ => self.notes.changed(&at, format!("removed: {} does not accept it", self.rules.who)),
            }
        }
        if kinds.contains(&"array") && !written.contains_key("items") {
            return Err(not("it has an array whose items may be anything".into()));
        }
        if kinds.contains(&"object") {
            self.object(&map, &mut written, path, depth, nesting)?;
        }
        self.unions += usize::from(is_union);
        Ok(written)
    }

    fn reference(
        &mut self,
        map: &Map<String, Value>,
        reference: &str,
        path: &str,
    ) -> Result<Map<String, Value>, NotStrict> {
        let in_table = ["#/$defs/", "#/definitions/"]
            .iter()
            .any(|table| reference.strip_prefix(table).is_some_and(|name| !name.is_empty() && !name.contains('/')));
        if reference != "#" && !in_table {
            let why = format!("it refers to {}; only schemas in `$defs` can be referred to", quoted(reference));
            return Err(NotStrict { path: path.to_owned(), why });
        }
        for key in map.keys().filter(|key| *key != "$ref") {
            self.notes.changed(&join(path, key), "removed: it stands beside a `$ref`");
        }
        let target = if reference == "#" { String::new() } else { reference.to_owned() };
        self.references.entry(self.inside.clone()).or_default().insert(target);
        if reference != "#" {
            self.wanted.push(reference.to_owned());
        }
        let mut written = Map::new();
        written.insert("$ref".into(), reference.into());
        Ok(written)
    }

    fn object(
        &mut self,
        map: &Map<String, Value>,
        written: &mut Map<String, Value>,
        path: &str,
        depth: usize,
        nesting: usize,
    ) -> Result<(), NotStrict> {
        let not = |why: &str| NotStrict { path: path.to_owned(), why: why.to_owned() };
        let more = map.get("additionalProperties");
        let closed = more == Some(&Value::Bool(false));
        let none = Map::new();
        let properties = map.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let is_table = map.get("patternProperties").and_then(Value::as_object).is_some_and(|table| !table.is_empty());
        if is_table || more.is_some_and(Value::is_object) || (properties.is_empty() && !closed && !path.is_empty()) {
            return Err(not("it has an object whose property names are not known beforehand"));
        }
        if more == Some(&Value::Bool(true)) {
            self.notes.changed(&join(path, "additionalProperties"), "only the named properties may be sent");
        }
        let required: BTreeSet<&str> =
            map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let mut named = Map::new();
        let mut made_required = Vec::new();
        for (name, schema) in properties {
            self.properties += 1;
            self.characters += name.len();
            let mut property = self.node(schema, &join(&join(path, "properties"), name), depth + 1, nesting + 1)?;
            if !required.contains(name.as_str()) {
                if self.rules.all_required {
                    property = nullable(property);
                    made_required.push(quoted(name));
                } else {
                    self.optional += 1;
                }
            }
            named.insert(name.clone(), Value::Object(property));
        }
        if !made_required.is_empty() {
            let hidden = made_required.len().saturating_sub(8);
            made_required.truncate(8);
            let more = if hidden > 0 { format!(" and {hidden} more") } else { String::new() };
            let text = format!(
                "{}{more}: null instead of absent, since {} has no optional properties",
                made_required.join(", "),
                self.rules.who
            );
            self.notes.changed(&join(path, "required"), text);
        }
        let required = match self.rules.all_required {
            true => json!(properties.keys().collect::<Vec<_>>()),
            false => json!(properties.keys().filter(|name| required.contains(name.as_str())).collect::<Vec<_>>()),
        };
        written.insert("properties".into(), Value::Object(named));
        written.insert("required".into(), required);
        written.insert("additionalProperties".into(), false.into());
        Ok(())
    }

    fn count_choices(&mut self, value: &Value, path: &str) -> Result<(), NotStrict> {
        let choices = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let characters: usize = choices.iter().filter_map(Value::as_str).map(str::len).sum();
        self.choices += choices.len();
        self.characters += characters;
        if let Some(Limits { long_enum: (many, most), .. }) = &self.rules.limits
            && choices.len() > *many
            && characters > *most
        {
            let why = format!("an `enum` of more than {many} values may have {most} characters");
            return Err(NotStrict { path: path.to_owned(), why });
        }
        Ok(())
    }

    fn within_limits(&self) -> Result<(), NotStrict> {
        let Some(limits) = &self.rules.limits else { return Ok(()) };
        let counts = [
            (self.properties, limits.properties, "properties"),
            (self.characters, limits.characters, "characters in names and values"),
            (self.choices, limits.choices, "values in `enum`s"),
        ];
        match counts.iter().find(|(count, most, _)| count > most) {
            Some((count, most, what)) => {
                Err(NotStrict { path: String::new(), why: format!("it has {count} {what}, more than {most}") })
            }
            None => Ok(()),
        }
    }

    fn is_recursive(&self) -> bool {
        self.references.keys().any(|start| {
            let mut seen = BTreeSet::new();
            let mut next: Vec<&String> = self.references.get(start).into_iter().flatten().collect();
            while let Some(at) = next.pop() {
                if at == start {
                    return true;
                }
                if seen.insert(at) {
                    next.extend(self.references.get(at).into_iter().flatten());
                }
            }
            false
        })
    }
}

/// The types that a schema accepts; empty where its `anyOf` says so, nothing where nobody says.
fn kinds(map: &Map<String, Value>) -> Option<Vec<&str>> {
    const KNOWN: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];
    let kind_of = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let mut kinds: Vec<&str> = match map.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => match (map.get("enum"), map.get("const")) {
            (Some(Value::Array(choices)), _) => choices.iter().map(kind_of).collect(),
            (_, Some(value)) => vec![kind_of(value)],
            _ if map.contains_key("properties") => vec!["object"],
            _ if map.contains_key("items") => vec!["array"],
            _ if map.contains_key("anyOf") || map.contains_key("oneOf") => return Some(Vec::new()),
            _ => return None,
        },
    };
    kinds.retain(|kind| KNOWN.contains(kind));
    let mut seen = BTreeSet::new();
    kinds.retain(|kind| seen.insert(*kind));
    if kinds.is_empty() { None } else { Some(kinds) }
}

/// The same, or null.
fn nullable(mut schema: Map<String, Value>) -> Map<String, Value> {
    // Not `null`: the macro would read that as the value.
    let nothing = json!("null");
    if let Some(Value::Array(members)) = schema.get_mut("anyOf") {
        if !members.iter().any(|member| member.get("type") == Some(&nothing)) {
            members.push(json!({ "type": "null" }));
        }
        if schema.contains_key("type") {
            schema = wrapped(schema);
        }
        return schema;
    }
    if schema.contains_key("const") {
        return wrapped(schema);
    }
    match schema.get_mut("type") {
        Some(Value::Array(kinds)) => {
            if !kinds.contains(&nothing) {
                kinds.push(nothing);
            }
        }
        Some(kind) if *kind == nothing => return schema,
        Some(kind) => *kind = json!([kind.clone(), nothing]),
        None => return wrapped(schema),
    }
    if let Some(Value::Array(choices)) = schema.get_mut("enum")
        && !choices.contains(&Value::Null)
    {
        choices.push(Value::Null);
    }
    schema
}

fn wrapped(schema: Map<String, Value>) -> Map<String, Value> {
    let mut outer = Map::new();
    outer.insert("anyOf".into(), json!([schema, { "type": "null" }]));
    outer
}
