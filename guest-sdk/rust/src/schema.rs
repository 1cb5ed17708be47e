//! JSON Schema of Rust types, as plain as models and strict clients like it.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Draft 2020-12 of what `T` deserializes from.
pub fn input<T: JsonSchema>() -> String {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12(), number_format_as_range);
    // Arguments are an object even where the type doesn't say so (`Value`, an enum of objects); clients insist.
    if schema.get("type").is_none() && schema.get("$ref").is_none() {
        schema.insert("type".into(), "object".into());
    }
    schema.as_value().to_string()
}

/// Draft 2020-12 of what `T` serializes to.
pub fn output<T: JsonSchema>() -> String {
    output_schema::<T>().as_value().to_string()
}

/// The same where `T` serializes to an object.
pub fn object_output<T: JsonSchema>() -> Option<String> {
    let schema = output_schema::<T>();
    let is_object = schema.get("type").and_then(|kind| kind.as_str()) == Some("object");
    is_object.then(|| schema.as_value().to_string())
}

fn output_schema<T: JsonSchema>() -> Schema {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize(), drop_number_format)
}

fn generate<T: JsonSchema>(settings: SchemaSettings, number_format: fn(&mut Schema)) -> Schema {
    let settings = settings.with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // schemars names the root after the type, which tells a model nothing.
    if schema.get("title").and_then(|title| title.as_str()) == Some(T::schema_name().as_ref()) {
        schema.remove("title");
    }
    RecursiveTransform(number_format).transform(&mut schema);
    schema
}

/// Rust's number types are no formats that JSON Schema knows.
fn drop_number_format(schema: &mut Schema) {
    const NUMBERS: [&str; 14] = [
        "int8", "int16", "int32", "int64", "int128", "int", "uint8", "uint16", "uint32", "uint64", "uint128", "uint",
        "float", "double",
    ];
    if schema.get("format").and_then(|format| format.as_str()).is_some_and(|format| NUMBERS.contains(&format)) {
        schema.remove("format");
    }
}

/// What schemars leaves out for the larger types. An integer beyond its type should be refused with the other problems
/// of the arguments, in the host's words, not by serde. Those of 128 bits have no bounds that every JSON parser reads.
fn number_format_as_range(schema: &mut Schema) {
    let range = match schema.get("format").and_then(|format| format.as_str()) {
        Some("int32") => Some((Value::from(i32::MIN), Value::from(i32::MAX))),
        Some("int64") => Some((Value::from(i64::MIN), Value::from(i64::MAX))),
        Some("int") => Some((Value::from(isize::MIN), Value::from(isize::MAX))),
        Some("uint32") => Some((Value::from(0), Value::from(u32::MAX))),
        Some("uint64") => Some((Value::from(0), Value::from(u64::MAX))),
        Some("uint") => Some((Value::from(0), Value::from(usize::MAX))),
        _ => None,
    };
    if let Some((least, most)) = range {
        // The author's own are tighter.
        for (keyword, bound) in [("minimum", least), ("maximum", most)] {
            if schema.get(keyword).is_none() {
                schema.insert(keyword.into(), bound);
            }
        }
    }
    drop_number_format(schema);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[allow(dead_code)]
    struct Inner {
        /// How many.
        count: u32,
    }

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[allow(dead_code)]
    struct Outer {
        inner: Inner,
        note: Option<String>,
    }

    fn parsed(text: String) -> Value {
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn schemas_are_inline_and_without_noise() {
        assert_eq!(
            parsed(input::<Outer>()),
            json!({
                "type": "object",
                "properties": {
                    "inner": {
                        "type": "object",
                        "properties": {"count": {
                            "type": "integer", "minimum": 0, "maximum": 4294967295_u32, "description": "How many.",
                        }},
                        "required": ["count"],
                    },
                    "note": {"type": ["string", "null"]},
                },
                "required": ["inner"],
            })
        );
    }

    #[test]
    fn integers_have_the_range_of_their_type_unless_the_author_gave_one() {
        #[derive(Deserialize, JsonSchema)]
        #[allow(dead_code)]
        struct Integers {
            a: u8,
            b: i32,
            c: Option<u64>,
            d: Vec<i64>,
            #[schemars(range(min = 1, max = 10))]
            e: usize,
            f: std::num::NonZeroU32,
            g: u128,
            h: f64,
        }
        assert_eq!(
            parsed(input::<Integers>())["properties"],
            json!({
                "a": {"type": "integer", "minimum": 0, "maximum": 255},
                "b": {"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX},
                "c": {"type": ["integer", "null"], "minimum": 0, "maximum": u64::MAX},
                "d": {"type": "array", "items": {"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX}},
                "e": {"type": "integer", "minimum": 1, "maximum": 10},
                "f": {"type": "integer", "minimum": 1, "maximum": u32::MAX},
                "g": {"type": "integer", "minimum": 0},
                "h": {"type": "number"},
            })
        );
    }

    #[test]
    fn any_json_as_arguments_is_an_object() {
        assert_eq!(parsed(input::<Value>()), json!({"type": "object"}));
    }
}
