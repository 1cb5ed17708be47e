//! Properties over random schemas and arguments.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolgate::model::Json;
use toolgate::schema::Schema;

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i16>().prop_map(|number| json!(number)),
        prop_oneof![Just("3.0"), Just("1e2"), Just("3.7"), Just("18446744073709551616"), Just("-0"), Just("1e400")]
            .prop_map(|text| super::parse(text).value().clone()),
        prop_oneof![
            Just("true"),
            Just("FALSE"),
            Just(" 42 "),
            Just("4.0"),
            Just(""),
            Just("null"),
            Just("[1,\"2\"]"),
            Just("{\"a\":\"1\"}"),
            Just("x"),
            Just("[")
        ]
        .prop_map(|text| json!(text)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec(("[a-d]", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn kind() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("null"),
        Just("boolean"),
        Just("integer"),
        Just("number"),
        Just("string"),
        Just("array"),
        Just("object")
    ]
}

/// Schemas, with references to the root only below a property or an item.
fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!(false)),
        kind().prop_map(|kind| json!({ "type": kind })),
        (kind(), kind()).prop_filter_map("same", |(a, b)| (a != b).then(|| json!({"type": [a, b]}))),
        prop::collection::vec(scalar(), 1..4).prop_map(|choices| json!({ "enum": choices })),
        any::<i8>().prop_map(|least| json!({"type": "number", "minimum": least})),
        Just(json!({"type": "string", "pattern": "^[0-9]+$"})),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|members| json!({ "anyOf": members })),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|members| json!({ "oneOf": members })),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|members| json!({ "allOf": members })),
            inner.clone().prop_map(|child| json!({ "not": child })),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            (inner.clone(), inner.clone(), any::<bool>()).prop_map(|(a, b, c)| json!({"type": "object", "properties": {"a": a, "b": {"$ref": "#"}, "c": b}, "additionalProperties": c})),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"properties": {"a": a}, "required": ["a"], "patternProperties": {"^[bc]": b}})),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"type": "array", "prefixItems": [a], "items": b})),
            inner.prop_map(|child| json!({"type": "array", "items": child, "minItems": 1, "contains": {"type": "string"}})),
        ]
    })
}

/// The parts of `after` that differ from `before` all lie at, above or below one of `paths`.
fn changes_are_reported(before: &Value, after: &Value, path: &[String], reported: &[String]) -> bool {
    let here = path.join(".");
    if reported.contains(&here) || before == after {
        return true;
    }
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => before.iter().all(|(key, value)| {
            let path = [path, std::slice::from_ref(key)].concat();
            after.get(key).map_or_else(
                || reported.contains(&path.join(".")),
                |after| changes_are_reported(value, after, &path, reported),
            )
        }),
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len()
                && before.iter().zip(after).enumerate().all(|(index, (before, after))| {
                    changes_are_reported(before, after, &[path, &[index.to_string()]].concat(), reported)
                })
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_check_keeps_its_promises(document in document(), arguments in value()) {
        let Ok(schema) = Schema::compile(&document) else { return Ok(()) };
        let received = Json::from_value(arguments.clone());
        let plain = schema.is_valid(&received);
        match schema.check(&received) {
            Ok(checked) => match &checked.coerced {
                // Valid as it stands: untouched. Otherwise coerced, valid, and every change reported.
                None => prop_assert!(plain && checked.paths.is_empty()),
                Some(coerced) => {
                    prop_assert!(!plain && !checked.paths.is_empty());
                    prop_assert!(schema.is_valid(coerced));
                    // The reading in place and the library's own agree.
                    prop_assert_eq!(&Json::parse(coerced.text()).unwrap(), coerced);
                    prop_assert_eq!(std::mem::discriminant(coerced.value()), std::mem::discriminant(&arguments));
                    prop_assert!(changes_are_reported(&arguments, coerced.value(), &[], &checked.paths), "{} -> {}: {:?}", arguments, coerced, checked.paths);
                    // Once coerced, nothing is left to do.
                    prop_assert_eq!(schema.check(coerced).unwrap().coerced, None);
                }
            },
            Err(invalid) => {
                prop_assert!(!plain && !invalid.problems.is_empty());
                let text = invalid.message("t", &received);
                let end = format!("\n\nReceived arguments:\n{}", serde_json::to_string_pretty(&arguments).unwrap());
                prop_assert!(text.ends_with(&end));
            }
        }
    }

    #[test]
    fn any_json_as_a_schema_gets_an_answer(document in value(), keyword in "(\\$ref|\\$id|\\$anchor|type|items|properties|allOf|not|pattern|\\$schema|required|enum)", arguments in value()) {
        let mut map = Map::new();
        map.insert(keyword, document);
        if let Ok(schema) = Schema::compile(&Value::Object(map)) {
            let _ = schema.check(&arguments.into());
        }
    }
}
