//! Coercion: lossless or nothing, and never of what is valid.

use super::{accepted, check, parse, refused, schema};

/// `{"type":"object","properties":{"v":…}}` with `v` required.
fn required(v: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"v":{v}}},"required":["v"]}}"#)
}

fn v(schema: &str, value: &str) -> String {
    let (text, _) = accepted(&required(schema), &format!(r#"{{"v":{value}}}"#));
    text.strip_prefix(r#"{"v":"#).unwrap().strip_suffix('}').unwrap().to_owned()
}

fn never(schema: &str, value: &str) {
    assert!(!refused(&required(schema), &format!(r#"{{"v":{value}}}"#)).is_empty());
}

#[test]
fn scalars_are_read_without_loss() {
    assert_eq!(v(r#"{"type":"number"}"#, r#"" 42 ""#), "42");
    assert_eq!(v(r#"{"type":"number"}"#, r#""\n-1.50\t""#), "-1.50");
    assert_eq!(v(r#"{"type":"integer"}"#, r#""42.0""#), "42");
    assert_eq!(v(r#"{"type":"boolean"}"#, r#""true""#), "true");
    assert_eq!(v(r#"{"type":"string"}"#, "false"), r#""false""#);
    assert_eq!(v(r#"{"type":"string"}"#, "1.50"), r#""1.50""#);
}

#[test]
fn what_would_lose_or_guess_is_refused() {
    for value in [
        r#""""#,
        r#"" ""#,
        "null",
        "true",
        "false",
        r#""0x10""#,
        r#""1,5""#,
        r#""1 2""#,
        r#""+1""#,
        r#""NaN""#,
        "[1]",
        r#""١""#,
    ] {
        never(r#"{"type":"number"}"#, value);
        never(r#"{"type":"integer"}"#, value);
    }
    never(r#"{"type":"integer"}"#, "3.7");
    never(r#"{"type":"integer"}"#, r#""3.7""#);
    for value in [r#""TRUE""#, r#""True""#, r#""yes""#, r#"" true""#, r#""""#, "0", "1", "null"] {
        never(r#"{"type":"boolean"}"#, value);
    }
    for value in [r#""""#, r#""null""#, "0", "false", "[]", "{}"] {
        never(r#"{"type":"null"}"#, value);
    }
    for value in ["null", "[1]", "{}", r#"["a"]"#] {
        never(r#"{"type":"string"}"#, value);
    }
    never(r#"{"type":"object"}"#, "[]");
    never(r#"{"type":"array"}"#, "{}");
    never(r#"{"type":"array"}"#, "null");
}

#[test]
fn an_integer_with_a_zero_fraction_is_valid_as_it_stands() {
    let checked = check(&required(r#"{"type":"integer"}"#), r#"{"v":3.0}"#).unwrap();
    assert_eq!(checked.coerced, None);
    // In draft 4 it isn't, and is read.
    let old = r#"{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"v":{"type":"integer"}}}"#;
    assert_eq!(accepted(old, r#"{"v":3.0}"#), (r#"{"v":3}"#.to_owned(), vec!["v".to_owned()]));
}

#[test]
fn a_scalar_becomes_an_array_only_where_the_items_accept_it() {
    assert_eq!(v(r#"{"type":"array","items":{"type":"string"}}"#, r#""x""#), r#"["x"]"#);
    assert_eq!(v(r#"{"type":"array","items":{"type":"integer"}}"#, "5"), "[5]");
    assert_eq!(v(r#"{"type":"array","items":{"type":"integer"}}"#, r#""5""#), "[5]");
    assert_eq!(v(r#"{"type":"array"}"#, "true"), "[true]");
    never(r#"{"type":"array","items":{"type":"integer"}}"#, r#""x""#);
    never(r#"{"type":"array","items":{"type":"string"},"minItems":2}"#, r#""x""#);
    never(r#"{"type":"array","items":{"type":["string","null"]}}"#, "null");
    never(r#"{"type":"array","items":{"type":"object"}}"#, "{}");
    // The items accept an array, not the scalar.
    never(r#"{"type":"array","items":{"type":"array","items":{"type":"integer"}}}"#, "5");
    assert_eq!(
        v(r#"{"type":"array","items":{"type":"object","properties":{"l":{"type":"array"}}}}"#, r#""{\"l\":1}""#),
        r#"[{"l":[1]}]"#
    );
}

#[test]
fn a_string_that_holds_json_is_parsed_where_the_schema_wants_one() {
    assert_eq!(v(r#"{"type":"array","items":{"type":"integer"}}"#, r#""[1, \"2\"]""#), "[1,2]");
    assert_eq!(
        v(r#"{"type":"object","properties":{"a":{"type":"boolean"}}}"#, r#"" {\"a\": \"true\"} ""#),
        r#"{"a":true}"#
    );
    assert_eq!(v(r#"{"type":"array","items":{"type":"string"}}"#, r#""[not json""#), r#"["[not json"]"#);
    never(r#"{"type":"object"}"#, r#""{broken""#);
    never(r#"{"type":"object"}"#, r#""[1]""#);
    never(r#"{"type":"object"}"#, r#""{} {}""#);
    // Where a string is allowed, it stays one.
    let checked = check(&required(r#"{"type":["string","object"]}"#), r#"{"v":"{}"}"#).unwrap();
    assert_eq!(checked.coerced, None);
}

#[test]
fn arguments_as_a_whole_are_never_read_as_something_else() {
    refused(r#"{"type":"object"}"#, r#""{}""#);
    refused(r#"{"type":"array"}"#, "1");
    refused(r#"{"type":"number"}"#, r#""1""#);
    refused(r#"{"anyOf":[{"type":"object"}]}"#, r#""{}""#);
}

#[test]
fn null_means_absent_only_where_the_property_is_optional_and_not_nullable() {
    let optional = r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["string","null"]}}}"#;
    assert_eq!(
        accepted(optional, r#"{"a":null,"b":null,"c":null}"#),
        (r#"{"b":null,"c":null}"#.to_owned(), vec!["a".to_owned()])
    );
    // Required somewhere in place: by the schema itself, a reference, another part of an allOf.
    refused(&required(r#"{"type":"string"}"#), r#"{"v":null}"#);
    let elsewhere =
        r##"{"allOf":[{"properties":{"v":{"type":"string"}}},{"$ref":"#/$defs/r"}],"$defs":{"r":{"required":["v"]}}}"##;
    assert_eq!(refused(elsewhere, r#"{"v":null}"#), ["v: expected string, got null"]);
    // Required by the member of a union that applies.
    let union = r#"{"type":"object","properties":{"k":{}},"anyOf":[{"properties":{"v":{"type":"string"}},"required":["v"]},{"properties":{"w":{"type":"number"},"v":{"type":"string"}},"required":["w"]}]}"#;
    assert_eq!(accepted(union, r#"{"w":1,"v":null}"#).0, r#"{"w":1}"#);
    // A key of a map is data, not an optional property.
    refused(r#"{"type":"object","additionalProperties":{"type":"string"}}"#, r#"{"x":null}"#);
    // Order of the others stays.
    let many = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
    assert_eq!(accepted(many, r#"{"z":1,"a":null,"y":2,"x":3}"#).0, r#"{"z":1,"y":2,"x":3}"#);
}

#[test]
fn it_reaches_through_every_applicator() {
    for schema in [
        r##"{"$ref":"#/$defs/n"}"##,
        r##"{"allOf":[{"$ref":"#/$defs/n"},{"minimum":1}]}"##,
        r##"{"anyOf":[{"type":"boolean"},{"$ref":"#/$defs/n"}]}"##,
        r##"{"oneOf":[{"type":"null"},{"$ref":"#/$defs/n"}]}"##,
        r##"{"$ref":"#named"}"##,
        r##"{"$ref":"https://example.com/embedded"}"##,
        r##"{"if":true,"then":{"$ref":"#/$defs/n"}}"##,
        r##"{"$dynamicRef":"#dynamic"}"##,
    ] {
        for (outer, arguments, expected) in [
            (format!(r#""properties":{{"v":{schema}}}"#), r#"{"v":"7"}"#, r#"{"v":7}"#),
            (format!(r#""patternProperties":{{"^v":{schema}}}"#), r#"{"v1":"7"}"#, r#"{"v1":7}"#),
            (format!(r#""additionalProperties":{schema}"#), r#"{"x":"7"}"#, r#"{"x":7}"#),
            (format!(r#""properties":{{"l":{{"items":{schema}}}}}"#), r#"{"l":["7",8]}"#, r#"{"l":[7,8]}"#),
            (
                format!(r#""properties":{{"l":{{"prefixItems":[{{}},{schema}]}}}}"#),
                r#"{"l":["7","8"]}"#,
                r#"{"l":["7",8]}"#,
            ),
            (
                format!(r#""dependentSchemas":{{"d":{{"properties":{{"v":{schema}}}}}}}"#),
                r#"{"d":"1","v":"7"}"#,
                r#"{"d":"1","v":7}"#,
            ),
        ] {
            let defs = r#""$defs":{"n":{"type":"number"},"a":{"$anchor":"named","type":"number"},"e":{"$id":"https://example.com/embedded","$ref":"/embedded#/$defs/x","$defs":{"x":{"type":"number"}}},"d":{"$dynamicAnchor":"dynamic","type":"number"}}"#;
            let text = format!(r#"{{"$id":"https://example.com/root","type":"object",{outer},{defs}}}"#);
            assert_eq!(accepted(&text, arguments).0, expected, "{text}");
        }
    }
}

#[test]
fn it_follows_recursive_schemas_down() {
    let tree =
        r##"{"type":"object","properties":{"n":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#"}}}}"##;
    let (value, paths) = accepted(tree, r#"{"n":"1","kids":[{"n":"2","kids":"[{\"n\":\"3\"}]"}]}"#);
    assert_eq!(value, r#"{"n":1,"kids":[{"n":2,"kids":[{"n":3}]}]}"#);
    assert_eq!(paths, ["n", "kids.0.n", "kids.0.kids", "kids.0.kids.0.n"]);
}

#[test]
fn older_drafts_are_coerced_by_their_own_rules() {
    let draft = r#""$schema":"http://json-schema.org/draft-07/schema#","type":"object""#;
    let tuple = format!(
        r#"{{{draft},"properties":{{"l":{{"items":[{{"type":"number"}}],"additionalItems":{{"type":"boolean"}}}}}}}}"#
    );
    assert_eq!(accepted(&tuple, r#"{"l":["1","true"]}"#).0, r#"{"l":[1,true]}"#);
    // Neighbours of a `$ref` are void there.
    let void = format!(
        r##"{{{draft},"properties":{{"v":{{"$ref":"#/definitions/n","type":"string"}}}},"definitions":{{"n":{{"type":"number"}}}}}}"##
    );
    assert_eq!(accepted(&void, r#"{"v":"1"}"#).0, r#"{"v":1}"#);
    assert_eq!(check(&void, r#"{"v":1}"#).unwrap().coerced, None);
}

#[test]
fn a_union_takes_the_first_member_that_is_reached_without_loss() {
    assert_eq!(v(r#"{"type":["number","string"]}"#, "true"), r#""true""#);
    assert_eq!(v(r#"{"type":["boolean","number"]}"#, r#""1""#), "1");
    assert_eq!(v(r#"{"anyOf":[{"type":"integer","minimum":10},{"type":"number"}]}"#, r#""5""#), "5");
    assert_eq!(v(r#"{"oneOf":[{"const":1},{"const":2}]}"#, r#""2""#), "2");
    assert_eq!(v(r#"{"enum":[1,2,true]}"#, r#""true""#), "true");
    assert_eq!(v(r#"{"const":"5"}"#, "5"), r#""5""#);
    never(r#"{"enum":[1,2]}"#, r#""3""#);
    never(r#"{"enum":[null,1]}"#, r#""null""#);
    // Both members would accept the number, so neither may.
    never(r#"{"oneOf":[{"type":"number"},{"type":"integer"}]}"#, r#""5""#);
    // Nothing of a member that was tried in vain stays.
    let two = r#"{"anyOf":[{"properties":{"a":{"type":"number"},"b":{"type":"number"}}},{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}]}"#;
    assert_eq!(accepted(&required(two), r#"{"v":{"a":"1","b":"x"}}"#).1, Vec::<String>::new());
    let (value, paths) = accepted(&required(two), r#"{"v":{"a":1,"b":"x"}}"#);
    assert_eq!((value.as_str(), paths), (r#"{"v":{"a":"1","b":"x"}}"#, vec!["v.a".to_owned()]));
}

#[test]
fn what_is_valid_is_never_touched() {
    for (schema, arguments) in [
        (r#"{}"#, r#"{"a":"1"}"#),
        (r#"true"#, r#"{"a":"1"}"#),
        (r#"{"properties":{"a":{"type":["string","number"]}}}"#, r#"{"a":"1"}"#),
        (r#"{"properties":{"a":{"anyOf":[{"type":"number"},{"type":"string"}]}}}"#, r#"{"a":"1"}"#),
        (r#"{"properties":{"a":{"type":"object"}}}"#, r#"{"a":{}}"#),
        // `properties` says nothing of a string.
        (r#"{"properties":{"a":{"properties":{"b":{"type":"number"}}}}}"#, r#"{"a":"{\"b\":1}"}"#),
    ] {
        let checked = check(schema, arguments).unwrap();
        assert_eq!((checked.coerced, checked.paths), (None, Vec::new()), "{schema}");
    }
    // A valid part beside an invalid one.
    let schema = r#"{"properties":{"a":{"type":"number"},"b":{"anyOf":[{"type":"number"},{"type":"string"}]}}}"#;
    assert_eq!(accepted(schema, r#"{"b":"1","a":"1"}"#), (r#"{"b":"1","a":1}"#.to_owned(), vec!["a".to_owned()]));
}

#[test]
fn the_whole_is_still_refused_where_a_part_can_not_be_read() {
    let schema = schema(r#"{"properties":{"a":{"type":"number"},"b":{"type":"number"}}}"#);
    let invalid = schema.check(&parse(r#"{"a":"1","b":"x"}"#)).unwrap_err();
    assert_eq!(invalid.problems.len(), 1);
    assert_eq!(invalid.problems[0].path, "b");
}

#[test]
fn formats_are_asserted() {
    never(r#"{"type":"string","format":"email"}"#, r#""nope""#);
    never(r#"{"type":"string","format":"date-time"}"#, r#""yesterday""#);
    // A format of no known name says nothing.
    assert_eq!(v(r#"{"type":"string","format":"shoe-size"}"#, r#""x""#), r#""x""#);
}

#[test]
fn defaults_are_not_filled_in() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"string","default":"x"},"b":{"type":"number"}}}"#;
    assert_eq!(accepted(schema, r#"{"b":"1"}"#).0, r#"{"b":1}"#);
}
