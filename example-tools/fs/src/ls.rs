//! `ls`: the names in one directory.

use std::fs;

use toolgate_sdk::prelude::*;

use crate::paths::Roots;
use crate::truncate::{self, Limits, MAX_BYTES, format_size};

const DEFAULT_LIMIT: usize = 500;

#[derive(Deserialize, JsonSchema)]
pub struct Args {
    /// The directory, relative to the first granted directory (the default) or absolute.
    path: Option<String>,
    /// Names to list at most; default 500.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

/// Lists a directory: sorted names, hidden ones included, directories with a slash at the end. At most 500 names or
/// 50 KB.
#[tool(label = "List directory", read_only, idempotent, open_world = false)]
pub fn ls(args: Args, cx: &ToolContext) -> Result<ToolResult, ToolError> {
    run(&args, &Roots::granted(cx))
}

fn run(args: &Args, roots: &Roots) -> Result<ToolResult, ToolError> {
    let target = roots.resolve_or_first(args.path.as_deref())?;
    let metadata = fs::metadata(&target.real).map_err(|error| target.io(error))?;
    if !metadata.is_dir() {
        return Err(target.error("is no directory. Read it with read"));
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&target.real).map_err(|error| target.io(error))? {
        let entry = entry.map_err(|error| target.io(error))?;
        names.push((entry.file_name().to_string_lossy().into_owned(), entry));
    }
    names.sort_by_cached_key(|(name, _)| (name.to_lowercase(), name.clone()));

    let total = names.len();
    let limit = args.limit.map_or(DEFAULT_LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let mut text = String::new();
    for (name, entry) in names.iter().take(limit) {
        text.push_str(name);
        let is_dir = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => fs::metadata(entry.path()).is_ok_and(|target| target.is_dir()),
            Ok(kind) => kind.is_dir(),
            Err(_) => false,
        };
        text.push_str(if is_dir { "/\n" } else { "\n" });
    }

    let kept = truncate::head(&text, Limits { max_lines: usize::MAX, max_bytes: MAX_BYTES });
    let mut notes = Vec::new();
    if total == 0 {
        notes.push("The directory is empty.".to_owned());
    } else if kept.truncated {
        notes.push(format!(
            "{} of {total} names ({} limit). Use find with a pattern.",
            kept.output_lines,
            format_size(MAX_BYTES as u64)
        ));
    } else if total > limit {
        notes.push(format!("{limit} of {total} names. Use limit={total} for all."));
    }
    Ok(ToolResult::text(truncate::annotate(kept.content, &notes)).details(json!({
        "path": target.written,
        "entries": kept.output_lines,
        "totalEntries": total,
    })))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{details, tree};

    fn list(roots: &Roots, path: Option<&str>, limit: Option<u32>) -> Result<ToolResult, ToolError> {
        run(&Args { path: path.map(Into::into), limit }, roots)
    }

    #[test]
    fn names_are_sorted_and_directories_marked() {
        let dir = tree(&[("b.txt", ""), ("Cargo.toml", ""), ("a/x", ""), (".env", "")]);
        let roots = Roots::new([dir.path()]);
        let result = list(&roots, None, None).unwrap();
        assert_eq!(result.joined_text(), ".env\na/\nb.txt\nCargo.toml\n");
        assert_eq!(details(&result), json!({"path": ".", "entries": 4, "totalEntries": 4}));
        assert_eq!(list(&roots, Some("a"), None).unwrap().joined_text(), "x\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_symlink_to_a_directory_is_marked_as_one() {
        let dir = tree(&[("a/x", "")]);
        std::os::unix::fs::symlink("a", dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink("none", dir.path().join("dangling")).unwrap();
        let text = list(&Roots::new([dir.path()]), None, None).unwrap().joined_text();
        assert_eq!(text, "a/\ndangling\nlink/\n");
    }

    #[test]
    fn the_limits_are_said() {
        let names: Vec<String> = (0..600).map(|n| format!("{n:0>120}")).collect();
        let dir = tree(&names.iter().map(|name| (name.as_str(), "")).collect::<Vec<_>>());
        let roots = Roots::new([dir.path()]);
        let text = list(&roots, None, Some(2)).unwrap().joined_text();
        assert!(text.ends_with("1\n\n[2 of 600 names. Use limit=600 for all.]"), "{text}");
        let text = list(&roots, None, None).unwrap().joined_text();
        assert!(text.ends_with("\n\n[423 of 600 names (50.0KB limit). Use find with a pattern.]"), "{text}");
    }

    #[test]
    fn what_is_no_directory_is_an_error() {
        let dir = tree(&[("a", "")]);
        let roots = Roots::new([dir.path()]);
        assert_eq!(list(&roots, Some("a"), None).unwrap_err().to_string(), "a: is no directory. Read it with read");
        assert!(list(&roots, Some("b"), None).unwrap_err().to_string().starts_with("b: No such file"));
        std::fs::remove_file(dir.path().join("a")).unwrap();
        assert_eq!(list(&roots, None, None).unwrap().joined_text(), "[The directory is empty.]");
    }
}
