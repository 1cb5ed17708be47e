//! `write`: a whole file.

use std::fs;

use toolgate_sdk::prelude::*;

use crate::paths::Roots;
use crate::save::save;

#[derive(Deserialize, JsonSchema)]
pub struct Args {
    /// The file, relative to the first granted directory or absolute.
    path: String,
    /// All of what the file is to hold.
    content: String,
}

/// Writes a file: creates it, with the directories above it, or replaces all of what it held. To change parts of a
/// file use edit.
///
/// A call that depends on this one, like reading the file again, belongs in a later turn.
#[tool(label = "Write file", destructive, idempotent, open_world = false, exclusive(path("/path", write)))]
pub fn write(args: Args, cx: &ToolContext) -> Result<ToolResult, ToolError> {
    run(&args, &Roots::granted(cx))
}

fn run(args: &Args, roots: &Roots) -> Result<ToolResult, ToolError> {
    let target = roots.resolve(&args.path)?;
    if args.path.ends_with('/') || fs::metadata(&target.real).is_ok_and(|metadata| metadata.is_dir()) {
        return Err(target.error("is a directory. Name a file"));
    }
    if let Some(parent) = target.real.parent()
        && !parent.exists()
    {
        fs::create_dir_all(parent).map_err(|error| target.write_error(error))?;
    }
    let bytes = args.content.as_bytes();
    let created = save(&target.real, bytes).map_err(|error| target.write_error(error))?;
    let what = if created { "new file" } else { "replaced" };
    Ok(ToolResult::text(format!("Wrote {} bytes to {} ({what})", bytes.len(), args.path)).details(json!({
        "path": args.path,
        "bytesWritten": bytes.len(),
        "created": created,
    })))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{details, tree};

    fn write_to(roots: &Roots, path: &str, content: &str) -> Result<ToolResult, ToolError> {
        run(&Args { path: path.into(), content: content.into() }, roots)
    }

    #[test]
    fn a_new_file_gets_its_directories() {
        let dir = tree::<&str>(&[]);
        let result = write_to(&Roots::new([dir.path()]), "a/b/c.txt", "größer\n").unwrap();
        assert_eq!(result.joined_text(), "Wrote 9 bytes to a/b/c.txt (new file)");
        assert_eq!(details(&result), json!({"path": "a/b/c.txt", "bytesWritten": 9, "created": true}));
        assert_eq!(fs::read_to_string(dir.path().join("a/b/c.txt")).unwrap(), "größer\n");
    }

    #[test]
    fn an_old_file_is_replaced() {
        let dir = tree(&[("a", "something longer")]);
        let result = write_to(&Roots::new([dir.path()]), "a", "short").unwrap();
        assert_eq!(result.joined_text(), "Wrote 5 bytes to a (replaced)");
        assert_eq!(fs::read_to_string(dir.path().join("a")).unwrap(), "short");
    }

    #[test]
    fn errors_name_the_path_as_written() {
        let dir = tree(&[("file", ""), ("sub/x", "")]);
        let error = |path: &str| write_to(&Roots::new([dir.path()]), path, "x").unwrap_err().to_string();
        assert_eq!(error("./sub"), "./sub: is a directory. Name a file");
        assert_eq!(error("new/"), "new/: is a directory. Name a file");
        assert!(error("file/x").starts_with("file/x: "), "{}", error("file/x"));
        assert!(error("/elsewhere").contains("outside of the directories granted"));
    }

    #[test]
    fn the_definition_holds_the_path_for_writing() {
        let definition = write {}.definition();
        let key = definition.exclusive.first().unwrap();
        assert_eq!((key.pointer.as_str(), key.is_path, key.access), ("/path", true, Access::Write));
        assert!(definition.description.contains("later turn"));
    }
}
