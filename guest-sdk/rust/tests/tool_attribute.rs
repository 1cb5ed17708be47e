//! What `#[tool]` makes of its options, and the stand-in host of `testing`.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![deny(unfulfilled_lint_expectations)]

use std::time::Duration;

use toolgate_sdk::prelude::*;
use toolgate_sdk::{ExclusiveKey, ExecutionMode, testing};

#[derive(Deserialize, JsonSchema)]
struct Edit {
    /// What to edit.
    path: String,
    edits: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Edited {
    count: usize,
}

fn old_shapes(mut args: Value) -> Result<Value, String> {
    match args.get("edit").cloned() {
        Some(edit) => {
            args["edits"] = json!([edit]);
            Ok(args)
        }
        None if args.get("edits").is_none() => Err("neither edit nor edits".into()),
        None => Ok(args),
    }
}

/// Edits a file.
///
/// Second paragraph.
#[tool(
    name = "edit-file",
    label = "Edit",
    execution_mode = "sequential",
    exclusive(path("/path", write), value("/edits/0", read)),
    destructive,
    open_world = false,
    prepare_arguments = old_shapes
)]
fn edit(Edit { path, edits }: Edit, cx: &ToolContext) -> Result<Json<Edited>, ToolError> {
    cx.update(format!("editing {path}"));
    if cx.wait(Duration::from_millis(1)) {
        return Err(ToolError::cancelled());
    }
    Ok(Json(Edited { count: edits.len() }))
}

#[tool(description = "Counts calls.")]
fn count(cx: &ToolContext) -> Result<String, HostError> {
    Ok(cx.state(Scope::Turn).add("calls", 1.0)?.to_string())
}

#[derive(Deserialize, JsonSchema)]
struct Dose {
    grams: u32,
    ratio: f64,
    step: Step,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Step {
    Wait { seconds: i64 },
}

#[tool(description = "Weighs.")]
fn weigh(Dose { grams, ratio, step }: Dose) -> Result<String, ToolError> {
    let Step::Wait { seconds } = step;
    Ok(format!("{grams} {ratio} {seconds}"))
}

toolgate_sdk::plugin! { tools: [edit, count, weigh] }

#[test]
fn options_reach_the_definition() {
    let definition = edit {}.definition();
    assert_eq!(definition.name, "edit-file");
    assert_eq!(definition.label.as_deref(), Some("Edit"));
    assert_eq!(definition.description, "Edits a file.\n\nSecond paragraph.");
    assert_eq!(definition.execution_mode, Some(ExecutionMode::Sequential));
    assert_eq!(
        definition.exclusive,
        [
            ExclusiveKey { pointer: "/path".into(), is_path: true, access: Access::Write },
            ExclusiveKey { pointer: "/edits/0".into(), is_path: false, access: Access::Read },
        ]
    );
    assert!(definition.prepares_arguments);
    let hints = definition.hints;
    assert_eq!(
        (hints.read_only, hints.destructive, hints.idempotent, hints.open_world),
        (None, Some(true), None, Some(false))
    );
    let output: Value = serde_json::from_str(&definition.output.unwrap()).unwrap();
    assert_eq!(output["properties"]["count"], json!({"type": "integer", "minimum": 0}));
}

#[test]
fn a_tool_without_arguments_takes_an_empty_object() {
    let definition = count {}.definition();
    assert_eq!((definition.name.as_str(), definition.description.as_str()), ("count", "Counts calls."));
    assert_eq!(definition.parameters, r#"{"type":"object","properties":{}}"#);
    assert!(!definition.prepares_arguments && definition.output.is_none());
}

#[test]
fn older_arguments_are_prepared_and_data_is_text_too() {
    let result = testing::call(&edit {}, json!({"path": "a", "edit": "x"})).unwrap();
    assert_eq!(result.structured_content.as_deref(), Some(r#"{"count":1}"#));
    assert_eq!(result.joined_text(), r#"{"count":1}"#);
    assert_eq!(testing::updates(), [ToolResult::text("editing a")]);
    let error = testing::call(&edit {}, json!({"path": "a"})).unwrap_err();
    assert_eq!(error.to_string(), "neither edit nor edits");
}

#[test]
fn an_argument_that_does_not_fit_is_named_by_its_path() {
    let error = testing::call(&edit {}, json!({"path": "a", "edits": ["x", 2]})).unwrap_err().to_string();
    assert_eq!(error, "Invalid arguments: `edits[1]`: invalid type: integer `2`, expected a string");
}

/// Such arguments are valid by their schema: a tool author saw them fail afterwards.
#[test]
fn whole_numbers_with_fraction_or_exponent_are_integers() {
    let call = |grams: &str, seconds: &str| {
        let arguments = format!(r#"{{"grams":{grams},"ratio":2.50,"step":{{"kind":"wait","seconds":{seconds}}}}}"#);
        let arguments: Value = serde_json::from_str(&arguments).unwrap();
        testing::call(&weigh {}, arguments).map(|result| result.joined_text()).map_err(|error| error.to_string())
    };
    assert_eq!(call("50.0", "1").unwrap(), "50 2.5 1");
    assert_eq!(call("1e3", "-60.0").unwrap(), "1000 2.5 -60");
    // In between serde's words: "floating point `0.5`", or "map" where a crate of the same build has turned on
    // serde_json's arbitrary precision.
    let error = call("50.0", "0.5").unwrap_err();
    assert!(error.starts_with("Invalid arguments: `step`: invalid type: "), "{error}");
    assert!(error.ends_with(", expected i64"), "{error}");
}

#[test]
fn whether_a_wait_was_cancelled_must_be_looked_at() {
    #[expect(unused_must_use)]
    {
        Host.wait(Duration::ZERO);
    }
}

#[test]
fn cancellation_and_state_come_from_the_stand_in_host() {
    testing::set_cancelled(true);
    assert!(testing::call(&edit {}, json!({"path": "a", "edits": []})).unwrap_err().is_cancelled());
    assert_eq!(testing::call(&count {}, json!({})).unwrap().joined_text(), "1");
    assert_eq!(testing::call(&count {}, json!({})).unwrap().joined_text(), "2");
}
