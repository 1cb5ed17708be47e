//! Texts for the model: every problem with its path, in words it can act on.

use super::{check, parse, refused, schema};

fn only(schema: &str, arguments: &str) -> String {
    let lines = refused(schema, arguments);
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines.into_iter().next().unwrap()
}

fn v(schema: &str, value: &str) -> String {
    only(&format!(r#"{{"properties":{{"v":{schema}}}}}"#), &format!(r#"{{"v":{value}}}"#))
}

#[test]
fn the_text_is_exactly_laid_out() {
    let schema = schema(r#"{"type":"object","properties":{"v":{"type":"string"}},"required":["v"]}"#);
    let received = parse(r#"{"n": 9007199254740993, "a": {"b": [], "c": {}}}"#);
    let text = schema.check(&received).unwrap_err().message("echo", &received);
    assert_eq!(
        text,
        "Validation failed for tool \"echo\":\n  - v: required property is missing (expected string)\n\nReceived arguments:\n{\n  \"n\": 9007199254740993,\n  \"a\": {\n    \"b\": [],\n    \"c\": {}\n  }\n}"
    );
}

#[test]
fn each_rule_has_its_words() {
    assert_eq!(v(r#"{"type":"integer"}"#, r#""42.1""#), r#"v: expected integer, got string "42.1""#);
    assert_eq!(v(r#"{"type":["integer","null"]}"#, "[1]"), "v: expected integer or null, got an array of 1 item");
    assert_eq!(v(r#"{"enum":["a","b"]}"#, r#""c""#), r#"v: expected one of "a" or "b", got string "c""#);
    assert_eq!(v(r#"{"const":"x"}"#, r#""y""#), r#"v: expected "x", got string "y""#);
    assert_eq!(v(r#"{"minLength":2}"#, r#""é""#), "v: must have at least 2 characters, got 1");
    assert_eq!(v(r#"{"pattern":"^a"}"#, r#""b""#), r#"v: must match the regular expression "^a", got string "b""#);
    assert_eq!(
        v(r#"{"type":"string","format":"email"}"#, r#""b""#),
        r#"v: must be a valid email (like name@example.com), got string "b""#
    );
    assert_eq!(v(r#"{"minimum":1}"#, "0"), "v: must be 1 or more, got 0");
    assert_eq!(v(r#"{"exclusiveMaximum":1}"#, "1"), "v: must be less than 1, got 1");
    assert_eq!(v(r#"{"multipleOf":5}"#, "7"), "v: must be a multiple of 5, got 7");
    assert_eq!(v(r#"{"minItems":1}"#, "[]"), "v: must have at least 1 item, got 0");
    assert_eq!(v(r#"{"maxProperties":0}"#, r#"{"a":1}"#), "v: must have at most 0 properties, got 1");
    assert_eq!(v(r#"{"uniqueItems":true}"#, "[1,1.0]"), "v: must not have the same item twice; remove duplicates");
    assert_eq!(
        v(r#"{"contains":{"type":"string"}}"#, "[1]"),
        "v: must contain at least 1 item matching string, found 0"
    );
    assert_eq!(
        v(r#"{"not":{"const":1}}"#, "1"),
        r#"v: number 1 is excluded by the schema ({"const":1}); use another value"#
    );
    assert_eq!(v(r#"{"prefixItems":[{}],"items":false}"#, "[1,2]"), "v.1: unexpected item; at most 1 item allowed");
    assert_eq!(v("false", "1"), "v: unexpected property; no properties are allowed here; remove it");
    assert_eq!(
        only(r#"{"propertyNames":{"pattern":"^a"}}"#, r#"{"b":1}"#),
        r#"b: this property name is not allowed: must match the regular expression "^a", got string "b""#
    );
    assert_eq!(only(r#"{"dependentRequired":{"a":["b"]}}"#, r#"{"a":1}"#), "b: required property is missing");
    assert_eq!(only(r#"{"type":"object"}"#, "[1]"), "root: expected object, got an array of 1 item");
}

#[test]
fn every_unexpected_property_is_named_with_what_is_allowed() {
    let schema = r#"{"properties":{"file_path":{},"limit":{}},"additionalProperties":false}"#;
    assert_eq!(
        refused(schema, r#"{"filePath":1,"more":2}"#),
        [
            r#"filePath: unexpected property; did you mean "file_path"?"#,
            r#"more: unexpected property; remove it, or use one of "file_path" and "limit""#
        ]
    );
}

#[test]
fn unevaluated_properties_are_named_too() {
    let line = only(r#"{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}"#, r#"{"a":1,"b":2}"#);
    assert!(line.contains('b'), "{line}");
}

#[test]
fn a_union_is_explained_by_its_nearest_member() {
    assert_eq!(
        v(r#"{"oneOf":[{"type":"number"},{"type":"null"}]}"#, r#""x""#),
        r#"v: expected number or null, got string "x""#
    );
    assert_eq!(v(r#"{"oneOf":[{"const":"a"},{"const":"b"}]}"#, r#""c""#), r#"v: expected "a" or "b", got string "c""#);
    let shapes = r#"{"anyOf":[
        {"properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"]},
        {"properties":{"kind":{"const":"square"},"side":{"type":"number"}},"required":["kind","side"]}]}"#;
    assert_eq!(
        v(shapes, r#"{"kind":"square"}"#),
        r#"v.side: required property is missing (expected number, for kind = "square")"#
    );
    let either = r#"{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"number"}},"required":["b"]}]}"#;
    assert_eq!(
        v(either, r#"{"c":1}"#),
        "v: matches none of 2 alternatives; change what one of them needs: (1) v.a: required property is missing (expected string); (2) v.b: required property is missing (expected number)"
    );
    assert_eq!(
        v(r#"{"oneOf":[{"type":"number"},{"type":"integer"}]}"#, "5"),
        "v: matches more than one of 2 alternatives (numbers 1 and 2), must match exactly one; add or change what tells them apart"
    );
}

/// `Option` of a tagged enum as Rust's schemars writes it: a union in a union with null.
#[test]
fn null_is_no_alternative_worth_telling_and_a_tag_names_the_other() {
    let storage = r#"{"anyOf":[{"oneOf":[
        {"type":"object","properties":{"kind":{"const":"shelf"}},"required":["kind"]},
        {"type":"object","properties":{"kind":{"const":"freezer"},"celsius":{"type":"number"}},"required":["kind","celsius"]}
    ]},{"type":"null"}]}"#;
    assert_eq!(
        v(storage, r#"{"kind":"freezer"}"#),
        r#"v.celsius: required property is missing (expected number, for kind = "freezer")"#
    );
    assert_eq!(
        v(storage, r#"{"kind":"freezer","celsius":"cold"}"#),
        r#"v.celsius: expected number, got string "cold" (for kind = "freezer")"#
    );
    assert_eq!(v(storage, r#""shelf""#), r#"v: expected object or null, got string "shelf""#);
    assert_eq!(v(storage, "{}"), r#"v.kind: required property is missing (expected "shelf" or "freezer")"#);
    assert_eq!(v(storage, r#"{"kind":"fridge"}"#), r#"v.kind: expected "shelf" or "freezer", got string "fridge""#);
    let shape = r##"{"anyOf":[{"$ref":"#/$defs/shape"},{"type":"null"}]}"##;
    let schema =
        format!(r#"{{"properties":{{"v":{shape}}},"$defs":{{"shape":{{"type":"object","required":["a"]}}}}}}"#);
    assert_eq!(only(&schema, r#"{"v":{}}"#), "v.a: required property is missing");
    let untagged = r#"{"anyOf":[{"type":"object","required":["a","b"]},{"type":"object","required":["a"]}]}"#;
    let shared = r#"{"anyOf":[
        {"properties":{"version":{"const":"1"}},"required":["a","b"]},
        {"properties":{"version":{"const":"1"}},"required":["a"]}]}"#;
    assert_eq!(
        v(shared, r#"{"version":"1"}"#),
        "v.a: required property is missing (for alternative 2 of 2, the nearest)"
    );
    assert_eq!(v(untagged, "{}"), "v.a: required property is missing (for alternative 2 of 2, the nearest)");
}

#[test]
fn a_string_that_holds_an_object_is_not_called_broken_json() {
    let arguments = r#""{\"shelves\":1}""#;
    assert_eq!(
        only(r#"{"type":"object"}"#, arguments),
        r#"root: expected object, got string "{\"shelves\":1}"; send the object itself, not a string"#
    );
    // Two problems inside: the string as a whole is the smaller one to tell.
    let inner = r#"{"type":"object","required":["a","b"]}"#;
    assert_eq!(
        v(inner, r#""{\"c\":1}""#),
        r#"v: expected object, got string "{\"c\":1}"; send the object itself, not a string"#
    );
    assert_eq!(
        v(inner, r#""{\"c\":1""#),
        r#"v: expected object, got string "{\"c\":1"; the text in it is not valid JSON"#
    );
}

#[test]
fn all_problems_are_listed_up_to_a_cap_that_is_said() {
    let schema_text = r#"{"type":"object","additionalProperties":{"type":"number"}}"#;
    for (count, lines, last) in [
        (32, 32, "  - k31: expected number, got null"),
        (33, 32, "  - and 2 more problems, not listed; correct these first"),
        (1000, 32, "  - and 969 more problems, not listed; correct these first"),
    ] {
        let members: Vec<String> = (0..count).map(|index| format!(r#""k{index}":null"#)).collect();
        let received = parse(&format!("{{{}}}", members.join(",")));
        let text = schema(schema_text).check(&received).unwrap_err().message("t", &received);
        let (head, _) = text.split_once("\n\n").unwrap();
        let problems: Vec<&str> = head.lines().skip(1).collect();
        assert_eq!(problems.len(), lines);
        assert_eq!(problems.last(), Some(&last));
    }
}

#[test]
fn long_values_and_lists_are_cut_in_problems() {
    let long = "x".repeat(10_000);
    let line = v(r#"{"type":"number"}"#, &format!("\"{long}\""));
    assert!(line.len() < 200, "{line}");
    let choices: Vec<String> = (0..5000).map(|index| format!("\"choice-{index}\"")).collect();
    let line = v(&format!(r#"{{"enum":[{}]}}"#, choices.join(",")), "\"x\"");
    assert!(line.contains("\"choice-0\"") && line.contains("and 4976 more") || line.contains("or 4976 more"), "{line}");
    assert!(line.len() < 1000);
}

#[test]
fn a_key_can_not_forge_a_line() {
    let invalid = check(r#"{"additionalProperties":false}"#, r#"{"a\n  - b: fine\n":1,"":2}"#).unwrap_err();
    assert_eq!(invalid.problems[0].path, r#""a\n  - b: fine\n""#);
    assert_eq!(invalid.problems[1].path, r#""""#);
    assert!(invalid.problems.iter().all(|problem| !problem.message.contains('\n')));
}

#[test]
fn long_received_arguments_are_cut_at_a_character_and_say_so() {
    let schema = schema(r#"{"required":["a"]}"#);
    for pad in 0..4 {
        let received = parse(&format!(r#"{{"b":"{}{}"}}"#, "x".repeat(pad), "é😀".repeat(50_000)));
        let text = schema.check(&received).unwrap_err().message("t", &received);
        assert!(text.len() < 17_000);
        let whole = serde_json::to_string_pretty(received.value()).unwrap().len();
        assert!(
            text.ends_with(&format!(" of {whole} bytes are shown)")),
            "{}",
            text.get(text.len() - 80..).unwrap_or_default()
        );
    }
}
