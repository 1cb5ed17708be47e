//! `edit`: exact replacements in one file.

use std::fs;

use toolgate_sdk::prelude::*;

use crate::diff;
use crate::paths::Roots;
use crate::replace::{Edit, apply};
use crate::save::save;
use crate::truncate::format_size;

/// Several copies of the text are held in memory.
const MAX_FILE: u64 = 8 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
pub struct Args {
    /// The file, relative to the first granted directory or absolute.
    path: String,
    /// The replacements. All are matched against the file as it is before the call and must not overlap.
    #[schemars(length(min = 1))]
    edits: Vec<Edit>,
}

/// Replaces texts in a file. Each oldText has to occur exactly once. Give all changes of one file in one call. Line
/// ends and a byte order mark stay as they are.
///
/// Edits of different files may go in one turn. A call that depends on this one, like reading the file again or
/// another edit near this one, belongs in a later turn.
#[tool(
    label = "Edit file",
    destructive,
    open_world = false,
    exclusive(path("/path", write)),
    prepare_arguments = older_shapes
)]
pub fn edit(args: Args, cx: &ToolContext) -> Result<ToolResult, ToolError> {
    run(&args, &Roots::granted(cx))
}

/// Earlier versions took one oldText and newText beside the path, and some models write `edits` as a JSON text.
fn older_shapes(mut args: Value) -> Result<Value, ToolError> {
    let Some(object) = args.as_object_mut() else { return Ok(args) };
    if let Some(Value::String(text)) = object.get("edits")
        && let Ok(parsed @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
    {
        object.insert("edits".into(), parsed);
    }
    if let Some(edit @ Value::Object(_)) = object.get("edits") {
        let edits = json!([edit]);
        object.insert("edits".into(), edits);
    }
    let is_text = |key| matches!(object.get(key), Some(Value::String(_)));
    if is_text("oldText") && is_text("newText") && matches!(object.get("edits"), None | Some(Value::Array(_))) {
        let edit = json!({"oldText": object.remove("oldText"), "newText": object.remove("newText")});
        if let Some(edits) = object.entry("edits").or_insert(json!([])).as_array_mut() {
            edits.push(edit);
        }
    }
    Ok(args)
}

fn run(args: &Args, roots: &Roots) -> Result<ToolResult, ToolError> {
    let target = roots.resolve(&args.path)?;
    let metadata = fs::metadata(&target.real).map_err(|error| target.io(error))?;
    if !metadata.is_file() {
        return Err(target.error("is no file"));
    }
    if metadata.len() > MAX_FILE {
        return Err(target.error(format_args!(
            "has {}, and edit takes files up to {}",
            format_size(metadata.len()),
            format_size(MAX_FILE)
        )));
    }
    let bytes = fs::read(&target.real).map_err(|error| target.io(error))?;
    let Ok(old) = String::from_utf8(bytes) else {
        return Err(target.error("is not valid UTF-8, so it can't be edited as text"));
    };
    let new = apply(&old, &args.edits).map_err(|message| target.error(message))?;
    save(&target.real, new.as_bytes()).map_err(|error| target.write_error(error))?;

    let diff = diff::unified(&args.path, &old, &new);
    let count = args.edits.len();
    let texts = if count == 1 { "text" } else { "texts" };
    let line = diff.first_changed_line.map_or_else(String::new, |line| format!(", first change in line {line}"));
    let mut details = json!({
        "path": args.path,
        "edits": count,
        "diff": diff.unified,
        "firstChangedLine": diff.first_changed_line,
    });
    if diff.cut {
        details["diffTruncated"] = json!(true);
    }
    Ok(ToolResult::text(format!("Replaced {count} {texts} in {}{line}", args.path)).details(details))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use toolgate_sdk::testing;

    use super::*;
    use crate::testing::{details, tree};

    fn edit_in(dir: &tempfile::TempDir, args: Value) -> Result<ToolResult, ToolError> {
        run(&serde_json::from_value(args).unwrap(), &Roots::new([dir.path()]))
    }

    #[test]
    fn the_file_changes_and_details_show_how() {
        let dir = tree(&[("src/a.rs", "one\r\ntwo\r\nthree\r\n")]);
        let edits = json!([{"oldText": "two\n", "newText": "2\n"}, {"oldText": "three", "newText": "3"}]);
        let result = edit_in(&dir, json!({"path": "src/a.rs", "edits": edits})).unwrap();
        assert_eq!(result.joined_text(), "Replaced 2 texts in src/a.rs, first change in line 2");
        assert_eq!(
            details(&result),
            json!({
                "path": "src/a.rs",
                "edits": 2,
                "diff": "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,3 @@\n one\r\n-two\r\n-three\r\n+2\r\n+3\r\n",
                "firstChangedLine": 2,
            })
        );
        assert_eq!(fs::read_to_string(dir.path().join("src/a.rs")).unwrap(), "one\r\n2\r\n3\r\n");
    }

    #[test]
    fn a_refused_edit_leaves_the_file_alone_and_names_it() {
        let dir = tree(&[("a", "x\nx\n")]);
        let edits = json!([{"oldText": "x", "newText": "y"}]);
        let error = edit_in(&dir, json!({"path": "./a", "edits": edits})).unwrap_err();
        assert!(error.to_string().starts_with("./a: oldText of edits[0] occurs 2 times"), "{error}");
        assert_eq!(fs::read_to_string(dir.path().join("a")).unwrap(), "x\nx\n");
    }

    #[test]
    fn what_can_not_be_edited_is_said() {
        let dir = tree(&[("latin", &b"caf\xe9"[..]), ("sub/a", b"")]);
        let large = fs::File::create(dir.path().join("large")).unwrap();
        large.set_len(9 << 20).unwrap();
        let error = |path: &str| {
            let edits = json!([{"oldText": "x", "newText": "y"}]);
            edit_in(&dir, json!({"path": path, "edits": edits})).unwrap_err().to_string()
        };
        assert_eq!(error("latin"), "latin: is not valid UTF-8, so it can't be edited as text");
        assert_eq!(error("sub"), "sub: is no file");
        assert_eq!(error("large"), "large: has 9.0MB, and edit takes files up to 8.0MB");
        assert!(error("none").starts_with("none: No such file"));
    }

    #[test]
    fn older_shapes_become_the_present_one() {
        let one = json!({"path": "a", "edits": [{"oldText": "x", "newText": "y"}]});
        for old in [
            one.clone(),
            json!({"path": "a", "oldText": "x", "newText": "y"}),
            json!({"path": "a", "edits": "[{\"oldText\": \"x\", \"newText\": \"y\"}]"}),
            json!({"path": "a", "edits": "{\"oldText\": \"x\", \"newText\": \"y\"}"}),
            json!({"path": "a", "edits": {"oldText": "x", "newText": "y"}}),
            json!({"path": "a", "edits": [], "oldText": "x", "newText": "y"}),
        ] {
            assert_eq!(older_shapes(old.clone()).unwrap(), one, "{old}");
        }
        let both = json!({"path": "a", "edits": [{"oldText": "1", "newText": "2"}], "oldText": "x", "newText": "y"});
        assert_eq!(older_shapes(both).unwrap()["edits"][1]["oldText"], "x");
        // What can't be read goes on to validation as it is.
        for other in [json!({"path": "a", "edits": "no JSON"}), json!({"oldText": "x"}), json!([1]), json!(null)] {
            assert_eq!(older_shapes(other.clone()).unwrap(), other);
        }
    }

    #[test]
    fn the_older_shape_works_through_the_tool() {
        let dir = tree(&[("a", "x\n")]);
        let path = dir.path().join("a");
        let result = testing::call(&edit {}, json!({"path": path.to_str().unwrap(), "oldText": "x", "newText": "y"}));
        assert!(result.unwrap().joined_text().starts_with("Replaced 1 text in "));
        assert_eq!(fs::read_to_string(path).unwrap(), "y\n");
    }

    #[test]
    fn the_definition_holds_the_path_for_writing() {
        let definition = edit {}.definition();
        let key = definition.exclusive.first().unwrap();
        assert_eq!((key.pointer.as_str(), key.is_path, key.access), ("/path", true, Access::Write));
        assert!(definition.prepares_arguments && definition.description.contains("later turn"));
        let schema: Value = serde_json::from_str(&definition.parameters).unwrap();
        assert_eq!(schema["properties"]["edits"]["minItems"], 1);
    }
}
