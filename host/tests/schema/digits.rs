//! Numbers keep every digit, whichever way they go.

use super::{accepted, check, refused};

const NUMBERS: [&str; 8] = [
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "0.1",
    "-0",
    "0.12345678901234567890123456789012345678901234567890",
    "123456789012345678901234567890.123456789012345678901234567890",
];

fn one(kind: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"v":{{"type":"{kind}"}}}},"required":["v"]}}"#)
}

#[test]
fn a_number_in_a_string_keeps_its_digits() {
    for number in NUMBERS {
        let (value, paths) = accepted(&one("number"), &format!(r#"{{"v":"{number}"}}"#));
        assert_eq!(value, format!(r#"{{"v":{number}}}"#));
        assert_eq!(paths, ["v"]);
    }
}

#[test]
fn a_number_for_a_string_keeps_its_digits() {
    for number in NUMBERS {
        let (value, paths) = accepted(&one("string"), &format!(r#"{{"v":{number}}}"#));
        assert_eq!(value, format!(r#"{{"v":"{number}"}}"#));
        assert_eq!(paths, ["v"]);
    }
}

#[test]
fn numbers_that_are_valid_are_not_touched() {
    for number in NUMBERS {
        let checked = check(&one("number"), &format!(r#"{{"v":{number}}}"#)).unwrap();
        assert_eq!((checked.coerced, checked.paths.len()), (None, 0));
    }
}

#[test]
fn digits_beside_a_coerced_part_stay() {
    let schema = r#"{"type":"object","properties":{"v":{"type":"integer"}},"required":["v"]}"#;
    for number in NUMBERS {
        let (value, paths) = accepted(schema, &format!(r#"{{"x":{number},"v":"1","y":[{number}]}}"#));
        assert_eq!(value, format!(r#"{{"x":{number},"v":1,"y":[{number}]}}"#));
        assert_eq!(paths, ["v"]);
    }
}

#[test]
fn digits_inside_a_string_that_holds_an_object_stay() {
    let schema = r#"{"type":"object","properties":{"o":{"type":"object","properties":{"v":{"type":"number"}}}}}"#;
    for number in NUMBERS {
        let (value, paths) = accepted(schema, &format!(r#"{{"o":"{{\"v\":{number},\"w\":[{number}]}}"}}"#));
        assert_eq!(value, format!(r#"{{"o":{{"v":{number},"w":[{number}]}}}}"#));
        assert_eq!(paths, ["o"]);
    }
}

#[test]
fn huge_exponents_are_numbers_like_any_other() {
    let (value, _) = accepted(&one("number"), r#"{"v":"1e400"}"#);
    assert_eq!(value, r#"{"v":1e400}"#);
    assert!(check(&one("number"), r#"{"v":1e400}"#).unwrap().coerced.is_none());
    assert!(check(&one("integer"), r#"{"v":1e400}"#).unwrap().coerced.is_none());
    let (value, _) = accepted(&one("integer"), r#"{"v":"1e3"}"#);
    assert_eq!(value, r#"{"v":1000}"#);
    // Also where the work is in the exponent.
    assert!(check(&one("number"), r#"{"v":1e999999999999}"#).is_ok());
    let bounded = r#"{"type":"object","properties":{"v":{"type":"number","multipleOf":0.3,"maximum":7}}}"#;
    assert_eq!(refused(bounded, r#"{"v":1e999999999999}"#).len(), 2);
}

#[test]
fn integers_are_told_by_value_not_by_float() {
    assert!(check(&one("integer"), r#"{"v":9007199254740993.0}"#).unwrap().coerced.is_none());
    // As a float these would be integers.
    refused(&one("integer"), r#"{"v":9007199254740993.5}"#);
    refused(&one("integer"), r#"{"v":1.0000000000000000000000000000000001}"#);
    refused(&one("integer"), r#"{"v":"1.0000000000000000000000000000000001"}"#);
    let (value, _) = accepted(&one("integer"), r#"{"v":"9007199254740993.0"}"#);
    assert_eq!(value, r#"{"v":9007199254740993}"#);
}

#[test]
fn bounds_compare_every_digit() {
    let schema = r#"{"type":"object","properties":{"v":{"type":"integer","maximum":9007199254740992}}}"#;
    assert_eq!(
        refused(schema, r#"{"v":9007199254740993}"#),
        ["v: must be 9007199254740992 or less, got 9007199254740993"]
    );
    assert_eq!(
        refused(schema, r#"{"v":"9007199254740993"}"#),
        ["v: must be 9007199254740992 or less, got 9007199254740993"]
    );
    let schema = r#"{"type":"object","properties":{"v":{"enum":[18446744073709551616]}}}"#;
    assert!(check(schema, r#"{"v":18446744073709551616}"#).is_ok());
    refused(schema, r#"{"v":18446744073709551617}"#);
    assert_eq!(accepted(schema, r#"{"v":"18446744073709551616"}"#).0, r#"{"v":18446744073709551616}"#);
}
