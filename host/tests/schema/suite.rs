//! The JSON-Schema-Test-Suite for draft 2020-12: its required groups and the formats, which are asserted here.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use toolgate::model::Json;
use toolgate::schema::Schema;

/// The schema refers to another document, which the suite expects to be fetched or registered beforehand.
const REMOTE: &str = "remote references are never fetched, so such a schema is a load error";
/// The schema names a meta-schema of its own, which is a remote document too.
const DIALECT: &str = "a dialect other than the published drafts is a load error";
/// The suite's required part holds the draft's default; `format/` runs the same values as assertions.
const ASSERTED: &str = "formats are asserted";

/// What is left out: the file, the beginning of "group: test", and why.
const LEFT_OUT: &[(&str, &str, &str)] = &[
    ("required/dynamicRef.json", "strict-tree schema", REMOTE),
    ("required/dynamicRef.json", "tests for implementation dynamic anchor and reference link", REMOTE),
    ("required/dynamicRef.json", "$ref and $dynamicAnchor are independent of order", REMOTE),
    ("required/dynamicRef.json", "$ref to $dynamicRef finds detached $dynamicAnchor", REMOTE),
    ("required/refRemote.json", "remote ref: ", REMOTE),
    ("required/refRemote.json", "fragment within remote ref: ", REMOTE),
    ("required/refRemote.json", "anchor within remote ref: ", REMOTE),
    ("required/refRemote.json", "ref within remote ref: ", REMOTE),
    ("required/refRemote.json", "base URI change", REMOTE),
    ("required/refRemote.json", "root ref in remote ref: ", REMOTE),
    ("required/refRemote.json", "remote ref with ref to defs: ", REMOTE),
    ("required/refRemote.json", "Location-independent identifier in remote ref: ", REMOTE),
    ("required/refRemote.json", "retrieved nested refs resolve relative to their URI not $id: ", REMOTE),
    ("required/refRemote.json", "remote HTTP ref with ", REMOTE),
    ("required/refRemote.json", "$ref to $ref finds detached $anchor: ", REMOTE),
    ("required/vocabulary.json", "schema that uses custom metaschema with with no validation vocabulary", DIALECT),
    ("required/vocabulary.json", "ignore unrecognized optional vocabulary", DIALECT),
    ("required/format.json", "idn-email format: invalid idn-email string is only an annotation by default", ASSERTED),
    (
        "required/format.json",
        "idn-hostname format: invalid idn-hostname string is only an annotation by default",
        ASSERTED,
    ),
    ("required/format.json", "email format: invalid email string is only an annotation by default", ASSERTED),
    ("required/format.json", "regex format: invalid regex string is only an annotation by default", ASSERTED),
    ("required/format.json", "ipv4 format: invalid ipv4 string is only an annotation by default", ASSERTED),
    ("required/format.json", "ipv6 format: invalid ipv6 string is only an annotation by default", ASSERTED),
    ("required/format.json", "hostname format: invalid hostname string is only an annotation by default", ASSERTED),
    ("required/format.json", "date format: invalid date string is only an annotation by default", ASSERTED),
    ("required/format.json", "date-time format: invalid date-time string is only an annotation by default", ASSERTED),
    ("required/format.json", "time format: invalid time string is only an annotation by default", ASSERTED),
    (
        "required/format.json",
        "json-pointer format: invalid json-pointer string is only an annotation by default",
        ASSERTED,
    ),
    (
        "required/format.json",
        "relative-json-pointer format: invalid relative-json-pointer string is only an annotation by default",
        ASSERTED,
    ),
    ("required/format.json", "iri format: invalid iri string is only an annotation by default", ASSERTED),
    (
        "required/format.json",
        "iri-reference format: invalid iri-reference string is only an annotation by default",
        ASSERTED,
    ),
    ("required/format.json", "uri format: invalid uri string is only an annotation by default", ASSERTED),
    (
        "required/format.json",
        "uri-reference format: invalid uri-reference string is only an annotation by default",
        ASSERTED,
    ),
    (
        "required/format.json",
        "uri-template format: invalid uri-template string is only an annotation by default",
        ASSERTED,
    ),
    ("required/format.json", "uuid format: invalid uuid string is only an annotation by default", ASSERTED),
    ("required/format.json", "duration format: invalid duration string is only an annotation by default", ASSERTED),
];

/// Whether a test is left out, and for what reason.
fn left_out(file: &str, name: &str, used: &mut BTreeSet<usize>) -> bool {
    let found = LEFT_OUT.iter().position(|(in_file, start, _)| *in_file == file && name.starts_with(start));
    used.extend(found);
    found.is_some()
}

fn run(folder: &str, used: &mut BTreeSet<usize>, wrong: &mut Vec<String>) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/json-schema-test-suite").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut ran = 0;
    for path in files {
        let file = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
        let groups: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        for group in &groups {
            let group_name = group["description"].as_str().unwrap();
            let schema = Schema::compile(&group["schema"]);
            for test in group["tests"].as_array().unwrap() {
                let name = format!("{group_name}: {}", test["description"].as_str().unwrap());
                let (data, expected) = (&Json::from_value(test["data"].clone()), test["valid"].as_bool().unwrap());
                let verdict = match &schema {
                    Ok(schema) => one(schema, data, expected),
                    Err(error) => Err(format!("does not compile: {error}")),
                };
                if left_out(&file, &name, used) {
                    continue;
                }
                ran += 1;
                if let Err(why) = verdict {
                    wrong.push(format!("{file}: {name}: {why}"));
                }
            }
        }
    }
    ran
}

/// The verdict itself, and that coercion does not get in its way.
fn one(schema: &Schema, data: &Json, expected: bool) -> Result<(), String> {
    if schema.is_valid(data) != expected {
        return Err(format!("expected {expected} for {data}"));
    }
    match schema.check(data) {
        Ok(checked) => match &checked.coerced {
            None if expected => Ok(()),
            Some(coerced) if !expected && schema.is_valid(coerced) => Ok(()),
            _ => Err(format!("wrongly accepted as {checked:?}")),
        },
        Err(invalid) if expected => Err(format!("refused: {invalid:?}")),
        Err(invalid) if invalid.problems.is_empty() => Err("refused without a reason".to_owned()),
        Err(_) => Ok(()),
    }
}

#[test]
fn the_json_schema_test_suite_agrees() {
    let (mut used, mut wrong) = (BTreeSet::new(), Vec::new());
    let required = run("required", &mut used, &mut wrong);
    let formats = run("format", &mut used, &mut wrong);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), required + formats, wrong.join("\n"));
    let unused: Vec<_> = LEFT_OUT.iter().enumerate().filter(|(index, _)| !used.contains(index)).collect();
    assert!(unused.is_empty(), "left out, but not in the suite: {unused:?}");
    // Fewer would mean that the data is gone.
    assert_eq!((required, formats), (1189, 491));
}
