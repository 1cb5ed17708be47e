//! `find`: paths by a glob pattern.

use toolgate_sdk::prelude::*;

use crate::glob::Glob;
use crate::paths::Roots;
use crate::truncate::{self, Limits, MAX_BYTES, format_size};
use crate::walk::Walk;
use crate::watch::Watch;

const DEFAULT_LIMIT: usize = 1000;

#[derive(Deserialize, JsonSchema)]
pub struct Args {
    /// A glob: `*.rs` is a name at any depth; with a slash, as in `src/**/*.{ts,tsx}`, it is a path from the searched
    /// directory; with a slash at the end it finds directories only.
    pattern: String,
    /// The directory to search, relative to the first granted directory (the default) or absolute.
    path: Option<String>,
    /// Paths to return at most; default 1000.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

/// Finds files and directories by a glob pattern. Returns sorted paths, directories with a slash at the end, hidden
/// ones included, but nothing in `.git` or excluded by a `.gitignore`. At most 1000 paths or 50 KB. Symlinks are not
/// followed.
///
/// A call that needs the paths found belongs in a later turn.
#[tool(label = "Find files", read_only, idempotent, open_world = false)]
pub fn find(args: Args, cx: &ToolContext) -> Result<ToolResult, ToolError> {
    run(&args, &Roots::granted(cx), &mut Watch::new(cx))
}

fn run(args: &Args, roots: &Roots, watch: &mut Watch) -> Result<ToolResult, ToolError> {
    let glob = Glob::new(&args.pattern)?;
    let target = roots.resolve_or_first(args.path.as_deref())?;
    let limit = args.limit.map_or(DEFAULT_LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let mut walk = Walk::new(roots.root_of(&target.real), &target.real).map_err(|error| target.io(error))?;

    let mut text = String::new();
    let (mut found, mut seen, mut more) = (0, 0_u64, false);
    for entry in walk.by_ref() {
        seen += 1;
        let is_dir = entry.file_type.is_dir();
        if glob.matches(&entry.relative, is_dir) {
            if found == limit || text.len() > MAX_BYTES {
                more = true;
                break;
            }
            found += 1;
            text.push_str(&target.below(&entry.relative));
            text.push_str(if is_dir { "/\n" } else { "\n" });
        }
        watch.file_done(|| {
            ToolResult::text(format!("Looked at {seen} paths, {found} found so far"))
                .details(json!({"pathsSeen": seen, "found": found}))
        })?;
    }

    let kept = truncate::head(&text, Limits { max_lines: usize::MAX, max_bytes: MAX_BYTES });
    let mut notes = Vec::new();
    if found == 0 {
        notes.push("No paths found. What a .gitignore excludes is not searched.".to_owned());
    } else if kept.truncated {
        notes.push(format!("Stopped at {}. Narrow the pattern or the path.", format_size(MAX_BYTES as u64)));
    } else if more {
        notes.push(format!("Stopped at {limit} paths. Narrow the pattern or the path, or use a larger limit."));
    }
    if walk.unreadable > 0 {
        notes.push(format!("{} directories could not be read.", walk.unreadable));
    }
    Ok(ToolResult::text(truncate::annotate(kept.content, &notes)).details(json!({
        "path": target.written,
        "found": kept.output_lines,
        "pathsSeen": seen,
        "limitReached": more || kept.truncated,
    })))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use toolgate_sdk::testing;

    use super::*;
    use crate::testing::{details, tree};

    fn find_in(roots: &Roots, args: Value) -> Result<ToolResult, ToolError> {
        run(&serde_json::from_value(args).unwrap(), roots, &mut Watch::silent())
    }

    #[test]
    fn paths_are_sorted_and_ready_for_other_tools() {
        let dir = tree(&[
            ("src/b.rs", ""),
            ("src/a/c.rs", ""),
            ("x.rs", ""),
            ("a.txt", ""),
            (".gitignore", "target\n"),
            ("target/t.rs", ""),
        ]);
        let roots = Roots::new([dir.path()]);
        let result = find_in(&roots, json!({"pattern": "*.rs"})).unwrap();
        assert_eq!(result.joined_text(), "src/a/c.rs\nsrc/b.rs\nx.rs\n");
        let inside = find_in(&roots, json!({"pattern": "*.rs", "path": "./src/"})).unwrap();
        assert_eq!(inside.joined_text(), "src/a/c.rs\nsrc/b.rs\n");
        let directories = find_in(&roots, json!({"pattern": "*/", "path": "."})).unwrap();
        assert_eq!(directories.joined_text(), "src/\nsrc/a/\n");
        assert_eq!(details(&result), json!({"path": ".", "found": 3, "pathsSeen": 7, "limitReached": false}));
    }

    #[test]
    fn nothing_found_is_a_plain_answer() {
        let dir = tree(&[("a", "")]);
        let result = find_in(&Roots::new([dir.path()]), json!({"pattern": "*.rs"})).unwrap();
        assert!(result.joined_text().starts_with("[No paths found."));
        assert!(!result.is_error);
    }

    #[test]
    fn the_limit_is_said_only_where_there_is_more() {
        let dir = tree(&[("a", ""), ("b", ""), ("c", "")]);
        let roots = Roots::new([dir.path()]);
        let some = find_in(&roots, json!({"pattern": "*", "limit": 2})).unwrap().joined_text();
        assert!(some.starts_with("a\nb\n\n[Stopped at 2 paths."), "{some}");
        assert_eq!(find_in(&roots, json!({"pattern": "*", "limit": 3})).unwrap().joined_text(), "a\nb\nc\n");
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        let dir = tree::<&str>(&[]);
        let error = find_in(&Roots::new([dir.path()]), json!({"pattern": "*", "path": "none"})).unwrap_err();
        assert!(error.to_string().starts_with("none: No such file"), "{error}");
    }

    #[test]
    fn ten_thousand_files_give_updates_and_can_be_stopped() {
        let dir = tempfile::tempdir().unwrap();
        for directory in 0..100 {
            let directory = dir.path().join(format!("{directory}"));
            fs::create_dir(&directory).unwrap();
            for file in 0..100 {
                fs::write(directory.join(format!("{file}")), "").unwrap();
            }
        }
        let args = json!({"pattern": "*.rs", "path": dir.path().to_str().unwrap()});
        testing::call(&find {}, args.clone()).unwrap();
        let updates = testing::updates();
        assert!(updates.len() >= 4, "{}", updates.len());
        assert!(updates.iter().is_sorted_by_key(|update| details(update)["pathsSeen"].as_u64()));

        testing::set_cancelled(true);
        assert!(testing::call(&find {}, args).unwrap_err().is_cancelled());
        assert!(testing::updates().is_empty());
    }
}
