//! What an edit changed, as a unified diff for user interfaces.

use std::time::Duration;

use similar::{DiffTag, TextDiff};

use crate::truncate::{self, Limits};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// After this the diff may be larger than needed, never wrong.
const TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Diff {
    /// Cut at the limits of tool output.
    pub unified: String,
    pub cut: bool,
    /// In the new text, from 1; none where nothing changed.
    pub first_changed_line: Option<usize>,
}

pub fn unified(path: &str, old: &str, new: &str) -> Diff {
    // Lines end at line feeds only: a lone carriage return is no line's end to `read` either.
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let diff = TextDiff::configure().newline_terminated(true).timeout(TIMEOUT).diff_slices(&old, &new);
    let changed = diff.ops().iter().find(|op| op.tag() != DiffTag::Equal);
    let path = path.trim_start_matches('/');
    let (from, to) = (format!("a/{path}"), format!("b/{path}"));
    let text = diff.unified_diff().context_radius(CONTEXT).header(&from, &to).to_string();
    let kept = truncate::head(&text, Limits::default());
    Diff { cut: kept.truncated, unified: kept.content, first_changed_line: changed.map(|op| op.new_range().start + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_shows_with_its_surroundings() {
        let diff = unified("src/a.txt", "1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nfive\n6\n");
        assert_eq!(diff.unified, "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -2,5 +2,5 @@\n 2\n 3\n 4\n-5\n+five\n 6\n");
        assert_eq!((diff.first_changed_line, diff.cut), (Some(5), false));
    }

    #[test]
    fn a_missing_final_line_feed_is_said() {
        let diff = unified("a", "x", "y");
        assert!(diff.unified.contains("-x\n\\ No newline at end of file\n+y"), "{}", diff.unified);
    }

    #[test]
    fn the_first_changed_line_counts_as_read_counts() {
        assert_eq!(unified("a", "x\ry\nz\n", "x\ry\nZ\n").first_changed_line, Some(2));
    }

    #[test]
    fn a_huge_diff_is_cut() {
        let old = "old line\n".repeat(5000);
        let new = "new line\n".repeat(5000);
        let diff = unified("a", &old, &new);
        assert!(diff.cut && diff.unified.len() <= truncate::MAX_BYTES);
    }
}
