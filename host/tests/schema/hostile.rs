//! Schemas and arguments made to hurt: each must end, in an error with words or in a verdict.

use serde_json::{Map, Value, json};
use toolgate::model::Json;
use toolgate::schema::Schema;

use super::{check, parse, refused, schema};

fn refuse(schema: &Value) -> String {
    Schema::compile(schema).expect_err("compiled").to_string()
}

#[test]
fn a_schema_that_is_none_is_an_error_in_words() {
    assert_eq!(refuse(&json!("x")), r#"a schema must be a JSON object (or `true` or `false`), this one is string "x""#);
    assert!(refuse(&json!(null)).contains("null"));
    assert!(refuse(&json!([{}])).contains("array"));
    assert!(refuse(&json!({"type": "objekt"})).starts_with("at #/type: not a valid JSON Schema"));
    assert!(refuse(&json!({"properties": {"a": 5}})).starts_with("at #/properties/a"));
    assert!(refuse(&json!({"required": "a"})).contains("#/required"));
    assert!(refuse(&json!({"$schema": "https://example.com/mine"})).contains("https://example.com/mine"));
}

#[test]
fn nothing_outside_the_document_is_ever_fetched() {
    for reference in
        ["http://127.0.0.1:1/x.json", "https://example.com/x", "file:///etc/hostname", "other.json", "urn:x:y"]
    {
        for schema in [
            json!({"$ref": reference}),
            json!({"properties": {"a": {"$ref": reference}}}),
            json!({"$dynamicRef": reference}),
            json!({"$id": "https://example.com/base/", "anyOf": [{"$ref": reference}]}),
        ] {
            let message = refuse(&schema);
            assert!(
                message.contains(reference.rsplit('/').next().unwrap()) && message.contains("never fetched"),
                "{message}"
            );
        }
    }
    assert!(refuse(&json!({"$ref": "#/$defs/none"})).contains("none"));
    assert!(refuse(&json!({"$ref": "#none"})).contains("none"));
}

#[test]
fn the_standard_meta_schemas_are_at_hand() {
    let schema = schema(r#"{"properties":{"s":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}"#);
    assert!(schema.check(&json!({"s": {"type": "string"}}).into()).is_ok());
    assert!(schema.check(&json!({"s": {"type": "objekt"}}).into()).is_err());
}

#[test]
fn a_reference_back_to_the_same_value_is_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"not": {"$ref": "#"}}),
        json!({"if": {"$ref": "#"}}),
        json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {}]}}}),
        json!({"$dynamicAnchor": "a", "$dynamicRef": "#a"}),
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "#"}),
    ] {
        assert!(refuse(&schema).contains("refers back to itself"), "{schema}");
    }
    // Down into a part it is fine.
    let list = schema(r##"{"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false}"##);
    assert!(list.check(&json!({"next": {"next": {}}}).into()).is_ok());
    assert!(list.check(&json!({"next": {"other": {}}}).into()).is_err());
}

#[test]
fn deep_and_large_schemas_are_refused() {
    let mut deep = json!({});
    for _ in 0..10_000 {
        deep = Value::Object(Map::from_iter([("not".to_owned(), deep)]));
    }
    assert!(refuse(&deep).contains("nested deeper"));
    // Dropping it naively recurses as well.
    unnest(deep);
    let many: Map<String, Value> = (0..11_000).map(|index| (format!("p{index}"), json!({}))).collect();
    assert!(refuse(&json!({ "properties": many })).contains("more than 10000 subschemas"));
    assert!(refuse(&json!({"description": "x".repeat(2_000_000)})).contains("larger than"));
    assert!(refuse(&json!({"enum": (0..200_000).collect::<Vec<_>>()})).contains("larger than"));
    let chain: Map<String, Value> = (0..1000)
        .map(|index| (format!("d{index}"), json!({"$ref": format!("#/$defs/d{}", index + 1)})))
        .chain([("d1000".to_owned(), json!({}))])
        .collect();
    assert!(
        refuse(&json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": chain})).contains("apply to one value")
    );
}

fn unnest(mut value: Value) {
    while let Value::Object(mut map) = value {
        let Some(inner) = map.remove("not") else { break };
        value = inner;
    }
}

#[test]
fn as_deep_as_allowed_still_compiles_and_checks() {
    let mut document = json!({"type": "integer"});
    let mut arguments = "\"5\"".to_owned();
    for _ in 0..60 {
        document = json!({"type": "object", "properties": {"a": document}});
        arguments = format!("{{\"a\":{arguments}}}");
    }
    let schema = Schema::compile(&document).unwrap();
    assert_eq!(schema.check(&parse(&arguments)).unwrap().paths.len(), 1);
}

/// Each comparison ends where the two differ, and none reads the arguments as a whole.
#[test]
fn a_large_enum_of_arrays_and_objects_is_compared_with_large_arguments() {
    let choices: Vec<Value> = (0..5_000).map(|n| json!([n, {"n": n}])).collect();
    let schema = Schema::compile(&json!({"properties": {"v": {"enum": choices}}})).unwrap();
    assert!(schema.check(&parse(r#"{"v":[4999,{"n":4999.0}]}"#)).is_ok());
    for long in [vec![json!([0]); 10_000], vec![json!("\n"); 10_000]] {
        assert!(schema.check(&json!({ "v": long }).into()).is_err());
    }
    let text = Schema::compile(&json!({"properties": {"v": {"enum": ["\n\u{e9}", 1, [2]]}}})).unwrap();
    assert!(text.check(&parse(r#"{"v":"\n\u00e9"}"#)).is_ok());
    assert!(text.check(&parse(r#"{"v":"\\n\u00e9"}"#)).is_err());
    assert!(text.check(&parse(&format!(r#"{{"v":"{}"}}"#, r"\u000a".repeat(100_000)))).is_err());
}

#[test]
fn a_large_enum_compiles() {
    let names: Vec<String> = (0..20_000).map(|index| format!("name-{index}")).collect();
    let schema = Schema::compile(&json!({"properties": {"n": {"enum": names}}})).unwrap();
    assert!(schema.check(&json!({"n": "name-19999"}).into()).is_ok());
    assert!(schema.check(&json!({"n": "x"}).into()).is_err());
}

/// `d0` applies `d1` twice in place, and so on.
fn doubling(levels: usize, keyword: &str) -> Value {
    let mut defs = Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        defs.insert(format!("d{level}"), json!({ keyword: [next, next] }));
    }
    defs.insert(format!("d{levels}"), json!({"type": "string", "minLength": 2}));
    json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs})
}

#[test]
fn alternatives_that_double_at_every_reference_end() {
    for keyword in ["anyOf", "allOf", "oneOf"] {
        let small = Schema::compile(&doubling(5, keyword)).unwrap();
        assert_eq!(small.check(&json!({"a": "xy"}).into()).is_ok(), keyword != "oneOf");
        assert!(small.check(&json!({"a": "x"}).into()).is_err());
        // 2^25 validations of one string: such a schema is of no use.
        assert!(refuse(&doubling(25, keyword)).contains("multiply"));
    }
}

#[test]
fn work_that_multiplies_over_many_values_ends() {
    let mut document = doubling(13, "anyOf");
    document["additionalProperties"] = json!({"$ref": "#/$defs/d0"});
    let schema = Schema::compile(&document).unwrap();
    let many: Map<String, Value> = (0..500).map(|index| (format!("b{index}"), json!("x"))).collect();
    let invalid = schema.check(&Value::Object(many).into()).unwrap_err();
    assert!(invalid.problems[0].message.contains("too complex"), "{invalid:?}");
}

#[test]
fn alternatives_that_double_at_every_level_of_the_arguments_end() {
    let schema = schema(
        r##"{"properties":{"a":{"$ref":"#"}},"patternProperties":{"^a":{"$ref":"#"}},"additionalProperties":{"type":"string"}}"##,
    );
    let nested = |levels: usize| parse(&format!("{}{}{}", r#"{"a":"#.repeat(levels), r#"{"x":1}"#, "}".repeat(levels)));
    assert_eq!(schema.check(&nested(8)).unwrap().paths.len(), 1);
    assert!(schema.check(&nested(60)).unwrap_err().problems[0].message.contains("too complex"));
}

#[test]
fn an_expression_tree_of_usual_size_is_no_problem() {
    // Every node tries four alternatives, three of which go down.
    let filter = schema(
        r##"{"type":"object","properties":{"filter":{"$ref":"#/$defs/f"}},"$defs":{"f":{"anyOf":[
            {"type":"object","properties":{"op":{"const":"and"},"args":{"type":"array","items":{"$ref":"#/$defs/f"}}},"required":["op","args"]},
            {"type":"object","properties":{"op":{"const":"or"},"args":{"type":"array","items":{"$ref":"#/$defs/f"}}},"required":["op","args"]},
            {"type":"object","properties":{"op":{"const":"not"},"arg":{"$ref":"#/$defs/f"}},"required":["op","arg"]},
            {"type":"object","properties":{"op":{"const":"eq"},"field":{"type":"string"},"value":{"type":"number"}},"required":["op","field","value"]}]}}}"##,
    );
    let mut text = r#"{"op":"eq","field":"f","value":"1"}"#.to_owned();
    for level in 0..6 {
        let op = if level % 2 == 0 { "and" } else { "or" };
        text = format!(r#"{{"op":"{op}","args":[{text},{{"op":"eq","field":"f","value":1}}]}}"#);
    }
    let checked = filter.check(&parse(&format!(r#"{{"filter":{text}}}"#))).unwrap();
    assert_eq!(checked.paths.len(), 1);
}

#[test]
fn nested_unevaluated_properties_end() {
    let mut document = json!({"properties": {"x": {}}, "unevaluatedProperties": false});
    for _ in 0..40 {
        document = json!({"anyOf": [document.clone()], "unevaluatedProperties": false});
    }
    let schema = Schema::compile(&document).unwrap();
    let invalid = schema.check(&json!({"x": 1, "y": 2}).into()).unwrap_err();
    assert_eq!(invalid.problems.len(), 1);
}

#[test]
fn regular_expressions_take_linear_time_or_are_refused() {
    // Exponential for a backtracking engine.
    let schema = schema(r#"{"properties":{"s":{"type":"string","pattern":"^(a+)+$"}}}"#);
    let text = format!("{}b", "a".repeat(100_000));
    assert!(schema.check(&json!({ "s": text }).into()).is_err());
    for pattern in
        ["(a)\\1", "(?=a)", "(?<!a)b", "(", "[", "(((\\p{L}{100}){100}){100})", "a{1000000}", &"(".repeat(100_000)]
    {
        let message = refuse(&json!({"properties": {"s": {"pattern": pattern}}}));
        assert!(message.contains("#/properties/s"), "{message}");
        refuse(&json!({"patternProperties": {pattern: {}}}));
    }
    // One is fine, a hundred take too much memory together.
    let large = |count: usize| {
        let properties: Map<String, Value> = (0..count)
            .map(|index| (format!("p{index}"), json!({"pattern": format!("^\\p{{L}}{{20}}x{{{index}}}$")})))
            .collect();
        json!({ "properties": properties })
    };
    assert!(Schema::compile(&large(1)).is_ok());
    assert!(refuse(&large(100)).contains("regular expressions"));
    let many: Map<String, Value> = (0..300).map(|index| (format!("^p{index}"), json!({}))).collect();
    assert!(refuse(&json!({ "patternProperties": many })).contains("regular expressions"));
}

#[test]
fn a_large_pattern_on_a_long_text_is_refused_not_tried() {
    let schema = schema(r#"{"properties":{"s":{"type":"string","pattern":"^(\\p{L}?){15}$"}}}"#);
    assert!(schema.check(&json!({"s": "ab"}).into()).is_ok());
    let invalid = schema.check(&json!({"s": "a".repeat(5_000_000)}).into()).unwrap_err();
    assert!(invalid.problems[0].message.contains("too large"), "{invalid:?}");
}

#[test]
fn tricks_with_identifiers_end() {
    for document in [
        json!({"$id": "http://x/y#frag", "type": "object"}),
        json!({"$id": "#", "type": "object"}),
        json!({"$id": "", "properties": {"a": {"$ref": ""}}}),
        json!({"$id": "http://[", "type": "object"}),
        json!({"$id": "relative", "properties": {"a": {"$ref": "relative#/$defs/x"}}, "$defs": {"x": {}}}),
        json!({"$id": "http://x/", "$defs": {"a": {"$id": "http://x/"}}}),
        json!({"$id": "http://x/", "$defs": {"a": {"$id": "a", "$ref": "b"}, "b": {"$id": "b", "$ref": "a"}}, "$ref": "a"}),
        json!({"$anchor": "a", "$defs": {"b": {"$anchor": "a"}}, "properties": {"p": {"$ref": "#a"}}}),
        json!({"$defs": {"a": {"$dynamicAnchor": "n"}, "b": {"$dynamicAnchor": "n"}}, "properties": {"p": {"$dynamicRef": "#n"}}}),
        json!({"properties": {"p": {"$dynamicRef": "#/properties/p/items"}}}),
        json!({"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}}}),
        json!({"const": {"$ref": "http://nowhere/"}, "enum": [{"$id": "::"}]}),
        json!({"properties": {"p": {"$ref": "#/properties/%zz"}}}),
        json!({"properties": {"p": {"$ref": "#/properties/~9"}}}),
        json!({"$ref": "#/required", "required": ["a"]}),
        json!({"$ref": "#/x", "x": {"y": {"$ref": "#/x"}}}),
        json!({"$id": "json-schema:///", "$ref": "json-schema:///#/$defs/a", "$defs": {"a": {"type": "object"}}}),
        json!({"$vocabulary": {"http://nowhere": true}, "$schema": "https://json-schema.org/draft/2020-12/schema"}),
        json!({"$recursiveAnchor": true, "properties": {"a": {"$recursiveRef": "#"}}, "$schema": "https://json-schema.org/draft/2019-09/schema"}),
    ] {
        // Either way, with words and without a panic.
        match Schema::compile(&document) {
            Ok(schema) => {
                let _ = schema.check(&json!({"p": {"a": [1]}, "a": "x"}).into());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Resources that refer to one another through dynamic references: the compiler tells every path between them apart.
#[test]
fn dynamic_scopes_do_not_explode() {
    for resources in [2, 3, 4, 5, 6, 8, 12, 16, 60] {
        let mut defs = Map::new();
        for level in 0..resources {
            let next: Vec<Value> = (0..resources)
                .filter(|other| *other != level)
                .map(|other| json!({"properties": {format!("p{other}"): {"$ref": format!("r{other}")}}}))
                .collect();
            defs.insert(format!("r{level}"), json!({"$id": format!("r{level}"), "$dynamicAnchor": "n", "allOf": next, "properties": {"x": {"$dynamicRef": "#n"}}}));
        }
        let document = json!({"$id": "http://x/", "$ref": "r0", "$defs": defs});
        match Schema::compile(&document) {
            Ok(schema) => assert!(schema.check(&json!({"p1": {"p2": {"x": {}}}}).into()).is_ok()),
            Err(error) => {
                assert!(error.to_string().contains("$id") || error.to_string().contains("dynamic"), "{error}")
            }
        }
    }
}

#[test]
fn arguments_nested_too_deeply_are_refused_in_words() {
    let schema = schema("{}");
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = Value::Array(vec![deep]);
    }
    let deep = Json::from_value(deep);
    let invalid = schema.check(&deep).unwrap_err();
    assert!(invalid.problems[0].message.contains("nested deeper than 128 levels"));
    assert!(invalid.message("t", &deep).contains("Received arguments"));
}

#[test]
fn strings_within_strings_do_not_get_around_the_depth() {
    let list = schema(
        r##"{"type":"object","properties":{"l":{"$ref":"#/$defs/l"}},"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}}}"##,
    );
    let inner = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let middle = format!("{}{}{}", "[".repeat(100), Value::String(inner), "]".repeat(100));
    assert!(list.check(&json!({ "l": middle }).into()).is_err());
}

/// JSON in a string that would be read anew at every level, by a key that the JSON library keeps for itself: deep enough
/// to overflow any stack.
#[test]
fn strings_that_hold_the_librarys_private_keys_stay_strings() {
    let escaped = |text: &str| text.replace('\\', "\\u005c").replace('"', "\\u0022");
    let mut text = format!("{}{}", "[".repeat(120), "]".repeat(120));
    for _ in 0..60 {
        let inner = format!(r#"{{"$serde_json::private::RawValue":"{}"}}"#, escaped(&text));
        text = format!("{}{inner}{}", "[".repeat(120), "]".repeat(120));
    }
    let wanted = r#"{"properties":{"o":{"type":["object","array"],"items":{"type":"array"}}}}"#;
    let deep = text.clone();
    for held in [format!(r#"{{"x":{text}}}"#), text] {
        let arguments = Json::from_value(json!({ "o": held }));
        let schema = Schema::compile(parse(wanted).value()).unwrap();
        assert!(schema.check(&arguments).is_err());
    }
    // Drafts before 2019-09 have what is said to be JSON checked.
    let said = Schema::compile(parse(
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"o":{"contentMediaType":"application/json"}}}"#,
    ).value()).unwrap();
    assert!(said.check(&json!({ "o": deep }).into()).is_err());
    assert!(said.check(&json!({ "o": "[{\"a\": 1}]" }).into()).is_ok());
    // Neither is what such a key stands for taken, nor one of two equal keys.
    for held in [r#"{"n":{"$serde_json::private::Number":"5"}}"#, r#"{"a":1,"a":2}"#, r#"{"a":1,"\u0061":2}"#] {
        assert_eq!(refused(wanted, &json!({ "o": held }).to_string()).len(), 1, "{held}");
    }
}

/// What was only verified, as arguments of more than 1 MiB are, may hold a number that is not read.
#[test]
fn a_number_without_end_is_refused_in_words() {
    let arguments = Json::verify(format!(r#"{{"v":{}}}"#, "9".repeat(5_000))).unwrap();
    let invalid = schema("{}").check(&arguments).unwrap_err();
    assert!(invalid.problems[0].message.contains("a number of more than 4300 digits"), "{invalid:?}");
}

/// Each is compared with the number, and none takes longer for its being long.
#[test]
fn long_numbers_are_compared_with_large_enums() {
    let choices: Vec<u32> = (0..9_000).collect();
    let schema = Schema::compile(&json!({"properties": {"v": {"enum": choices}}})).unwrap();
    let nines = "9".repeat(4_000);
    assert!(schema.check(&parse(&format!(r#"{{"v":{nines}}}"#))).is_err());
    assert!(schema.check(&parse(&format!(r#"{{"v":1{}e-4000}}"#, "0".repeat(4_000)))).is_ok());
    let items = Schema::compile(&json!({"properties": {"v": {"items": {"enum": choices}}}})).unwrap();
    let many = vec![nines; 900].join(",");
    let invalid = items.check(&parse(&format!(r#"{{"v":[{many}]}}"#))).unwrap_err();
    assert!(invalid.problems[0].message.contains("too large or too complex"), "{invalid:?}");
}

#[test]
fn any_value_at_all_gets_an_answer() {
    let schema = schema(r#"{"properties":{"v":{"type":"object"}},"required":["v"]}"#);
    assert!(schema.check(&json!({"v": r#"{"$serde_json::private::Number":"12"}"#}).into()).is_err());
    assert!(schema.check(&json!({"v": r#"{"$serde_json::private::RawValue":"12"}"#}).into()).is_err());
    // A value built by hand, not parsed.
    let map = Map::from_iter([("$serde_json::private::Number".to_owned(), json!("x"))]);
    assert!(schema.check(&json!({ "v": Value::Object(map) }).into()).is_ok());
}

#[test]
fn large_arguments_are_checked_or_refused_in_words() {
    let content = schema(
        r#"{"type":"object","properties":{"content":{"type":"string"},"n":{"type":"integer"}},"required":["content","n"]}"#,
    );
    let text = "x".repeat(8_000_000);
    assert!(content.check(&json!({"content": text, "n": 1}).into()).is_ok());
    assert_eq!(content.check(&json!({"content": text, "n": "1"}).into()).unwrap().paths, ["n"]);
    assert_eq!(content.check(&json!({ "content": text }).into()).unwrap_err().problems.len(), 1);
    let numbers = schema(r#"{"properties":{"l":{"type":"array","items":{"type":"integer"}}}}"#);
    let list: Vec<Value> = (0..100_000).map(|index| json!(index.to_string())).collect();
    assert_eq!(numbers.check(&json!({ "l": list }).into()).unwrap().paths.len(), 100_000);
    let huge = Value::Array(vec![json!(1); 3_000_000]);
    assert!(numbers.check(&json!({ "l": huge }).into()).unwrap_err().problems[0].message.contains("too large"));
}

#[test]
fn many_wrong_parts_are_counted_not_kept() {
    let numbers = schema(r#"{"properties":{"l":{"type":"array","items":{"type":"integer"}}}}"#);
    let list = vec![Value::Null; 50_000];
    let invalid = numbers.check(&json!({ "l": list }).into()).unwrap_err();
    assert_eq!((invalid.problems.len(), invalid.more), (32, 50_000 - 32));
}

#[test]
fn colliding_numbers_do_not_make_unique_items_quadratic() {
    let unique = schema(r#"{"properties":{"l":{"type":"array","uniqueItems":true}}}"#);
    let list: Vec<String> = (0..50_000).map(|index| format!("1e{}", 1000 + index)).collect();
    let invalid = unique.check(&parse(&format!(r#"{{"l":[{}]}}"#, list.join(",")))).unwrap_err();
    assert!(invalid.problems[0].message.contains("too large"), "{invalid:?}");
    let list: Vec<Value> = (0..50_000).map(|index| json!(index)).collect();
    assert!(unique.check(&json!({ "l": list }).into()).is_ok());
}

#[test]
fn stack_use_stays_within_a_worker_threads_stack() {
    // Both what is still done on the caller's own stack and what is not.
    for (chain, depths) in [(1, &[80, 126][..]), (8, &[80, 126]), (31, &[14, 30, 126]), (60, &[14, 126])] {
        let document = linked(chain);
        let schema = Schema::compile(&document).unwrap();
        for &depth in depths {
            for leaf in ["", "\"[]\"", "5"] {
                let text = format!(r#"{{"a":{}{leaf}{}}}"#, "[".repeat(depth), "]".repeat(depth));
                let value = parse(&text);
                // 2 MiB is what tokio gives its workers.
                let schema = schema.clone();
                std::thread::Builder::new()
                    .stack_size(2 * 1024 * 1024)
                    .spawn(move || schema.check(&value).is_ok())
                    .unwrap()
                    .join()
                    .unwrap();
            }
        }
    }
}

/// Arrays of arrays, with that many steps in place between each and the next.
fn linked(chain: usize) -> Value {
    let mut defs = Map::new();
    defs.insert("n".to_owned(), json!({"$ref": "#/$defs/c0"}));
    for level in 0..chain {
        let next = json!({"$ref": format!("#/$defs/c{}", level + 2)});
        if level % 2 == 0 {
            let keyword = if level % 4 == 0 { "anyOf" } else { "oneOf" };
            defs.insert(format!("c{level}"), json!({ keyword: [next] }));
        }
    }
    let last = chain + chain % 2;
    defs.insert(format!("c{last}"), json!({"type": "array", "items": {"$ref": "#/$defs/n"}}));
    json!({"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": defs})
}

#[test]
fn a_schema_is_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<Schema>();
    let refusal = refused(r#"{"type":"object"}"#, "1");
    assert_eq!(refusal.len(), 1);
    assert!(check("{}", "{}").is_ok());
}
