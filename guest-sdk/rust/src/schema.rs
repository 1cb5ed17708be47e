//! JSON Schema of Rust types, as plain as models and strict clients like it.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};

/// Draft 2020-12 of what `T` deserializes from.
pub fn input<T: JsonSchema>() -> String {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12());
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
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let settings = settings.with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // schemars names the root after the type, which tells a model nothing.
    if schema.get("title").and_then(|title| title.as_str()) == Some(T::schema_name().as_ref()) {
        schema.remove("title");
    }
    RecursiveTransform(drop_number_format).transform(&mut schema);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

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
                        "properties": {"count": {"type": "integer", "minimum": 0, "description": "How many."}},
                        "required": ["count"],
                    },
                    "note": {"type": ["string", "null"]},
                },
                "required": ["inner"],
            })
        );
    }

    #[test]
    fn any_json_as_arguments_is_an_object() {
        assert_eq!(parsed(input::<Value>()), json!({"type": "object"}));
    }
}
