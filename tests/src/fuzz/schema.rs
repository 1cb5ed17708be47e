//! Schemas and arguments made of bytes: mostly sensible, so that they get past the first check.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};

const NAMES: [&str; 6] = ["a", "b", "c", "long name", "", "x-é"];
const KINDS: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
const NUMBERS: [&str; 14] = [
    "0",
    "-0",
    "1",
    "7",
    "3.0",
    "3.7",
    "1e3",
    "-1.5e-7",
    "1e400",
    "1E-400",
    "9007199254740993",
    "18446744073709551616",
    "0.1",
    "1e99999999999999999999",
];
const STRINGS: [&str; 16] = [
    "",
    " ",
    "true",
    "FALSE",
    "null",
    "42",
    " 4.0\n",
    "0x10",
    "1e3",
    "[1,\"2\"]",
    "{\"a\":\"1\"}",
    "[",
    "a",
    "é",
    "2026-11-30",
    "\u{0}\u{1f}",
];
const PATTERNS: [&str; 6] = ["^[0-9]+$", "a", "(a+)+$", "\\p{L}", "[", "^(?:.{0,50}){0,50}$"];
const FORMATS: [&str; 6] = ["date", "date-time", "ipv4", "uri", "regex", "uuid"];
const REFERENCES: [&str; 8] =
    ["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#anchor", "other", "https://example.com/x", "#/nowhere"];
/// Levels of subschemas below the root.
const MAX_DEPTH: usize = 5;

fn number(bytes: &mut Unstructured<'_>) -> Result<Value> {
    if bytes.arbitrary()? {
        return Ok(json!(bytes.arbitrary::<i32>()?));
    }
    Ok(serde_json::from_str(bytes.choose(&NUMBERS)?).unwrap_or_default())
}

fn string(bytes: &mut Unstructured<'_>) -> Result<String> {
    if bytes.ratio(1, 4)? {
        Ok(bytes.arbitrary::<&str>()?.to_owned())
    } else {
        Ok((*bytes.choose(&STRINGS)?).to_owned())
    }
}

fn name(bytes: &mut Unstructured<'_>) -> Result<String> {
    Ok((*bytes.choose(&NAMES)?).to_owned())
}

/// Any JSON value.
pub(super) fn value(bytes: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    let most = if depth == 0 { 4 } else { 7 };
    Ok(match bytes.int_in_range(0..=most)? {
        0 => Value::Null,
        1 => bytes.arbitrary::<bool>()?.into(),
        2 => number(bytes)?,
        // A string that holds a document.
        3 if depth > 0 && bytes.ratio(1, 4)? => value(bytes, depth - 1)?.to_string().into(),
        3 | 4 => string(bytes)?.into(),
        5 => list(bytes, |bytes| value(bytes, depth - 1))?.into(),
        _ => members(bytes, |bytes| value(bytes, depth - 1))?.into(),
    })
}

fn list(bytes: &mut Unstructured<'_>, item: impl Fn(&mut Unstructured<'_>) -> Result<Value>) -> Result<Vec<Value>> {
    (0..bytes.int_in_range(0..=3)?).map(|_| item(bytes)).collect()
}

fn members(
    bytes: &mut Unstructured<'_>,
    member: impl Fn(&mut Unstructured<'_>) -> Result<Value>,
) -> Result<Map<String, Value>> {
    (0..bytes.int_in_range(0..=3)?).map(|_| Ok((name(bytes)?, member(bytes)?))).collect()
}

/// A schema document.
pub(super) fn document(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let mut root = subschema(bytes, MAX_DEPTH)?;
    if let Value::Object(root) = &mut root
        && bytes.arbitrary()?
    {
        let (a, b) = (subschema(bytes, 2)?, subschema(bytes, 2)?);
        root.insert("$defs".into(), json!({"a": a, "b": b}));
    }
    Ok(root)
}

fn subschema(bytes: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    if bytes.ratio(1, 12)? {
        return Ok(bytes.arbitrary::<bool>()?.into());
    }
    let mut schema = Map::new();
    for _ in 0..bytes.int_in_range(0..=4)? {
        let (key, value) = keyword(bytes, depth)?;
        schema.insert(key.into(), value);
    }
    Ok(schema.into())
}

fn keyword(bytes: &mut Unstructured<'_>, depth: usize) -> Result<(&'static str, Value)> {
    let below = |bytes: &mut Unstructured<'_>| subschema(bytes, depth.saturating_sub(1));
    let all = |bytes: &mut Unstructured<'_>| Ok::<_, arbitrary::Error>(Value::from(vec![below(bytes)?, below(bytes)?]));
    let most = if depth == 0 { 15 } else { 36 };
    Ok(match bytes.int_in_range(0..=most)? {
        0 | 1 => ("type", (*bytes.choose(&KINDS)?).into()),
        2 => ("type", json!([*bytes.choose(&KINDS)?, *bytes.choose(&KINDS)?])),
        3 => ("enum", list(bytes, |bytes| value(bytes, 2))?.into()),
        4 => ("const", value(bytes, 2)?),
        5 => ("minimum", number(bytes)?),
        6 => ("exclusiveMaximum", number(bytes)?),
        7 => ("multipleOf", number(bytes)?),
        8 => ("minLength", bytes.int_in_range(0..=3)?.into()),
        9 => ("maxItems", bytes.int_in_range(0..=3)?.into()),
        10 => ("pattern", (*bytes.choose(&PATTERNS)?).into()),
        11 => ("format", (*bytes.choose(&FORMATS)?).into()),
        12 => ("required", list(bytes, |bytes| Ok(name(bytes)?.into()))?.into()),
        13 => ("uniqueItems", bytes.arbitrary::<bool>()?.into()),
        14 => ("maxProperties", bytes.int_in_range(0..=3)?.into()),
        // Anything at all where a keyword's value belongs.
        15 => (
            *bytes.choose(&["$ref", "type", "properties", "items", "$id", "$anchor", "$dynamicRef"])?,
            value(bytes, 2)?,
        ),
        16..=19 => ("properties", members(bytes, below)?.into()),
        20 => {
            let (pattern, schema) = (*bytes.choose(&PATTERNS)?, below(bytes)?);
            ("patternProperties", Map::from_iter([(pattern.to_owned(), schema)]).into())
        }
        21 => ("additionalProperties", below(bytes)?),
        22 => ("propertyNames", below(bytes)?),
        23 => ("items", below(bytes)?),
        24 => ("prefixItems", all(bytes)?),
        25 => ("contains", below(bytes)?),
        26 => ("anyOf", all(bytes)?),
        27 => ("oneOf", all(bytes)?),
        28 => ("allOf", all(bytes)?),
        29 => ("not", below(bytes)?),
        30 => ("if", below(bytes)?),
        31 => ("then", below(bytes)?),
        32 => ("else", below(bytes)?),
        33 => ("dependentSchemas", members(bytes, below)?.into()),
        34 => ("unevaluatedProperties", below(bytes)?),
        35 => ("unevaluatedItems", below(bytes)?),
        _ => ("$ref", (*bytes.choose(&REFERENCES)?).into()),
    })
}
