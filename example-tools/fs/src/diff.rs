//! What an edit changed, as a unified diff for user interfaces.

use std::fmt::Write;
use std::time::{Duration, Instant};

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{ChangeTag, DiffOp, DiffTag};

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
    let ops = operations(&old, &new);
    let changed = ops.iter().find(|op| op.tag() != DiffTag::Equal);
    let first_changed_line = changed.map(|op| op.new_range().start + 1);

    let path = path.trim_start_matches('/');
    let mut text = format!("--- a/{path}\n+++ b/{path}\n");
    for hunk in similar::group_diff_ops(ops, CONTEXT) {
        // Writing to a String can't fail.
        let _ = writeln!(text, "{}", UnifiedHunkHeader::new(&hunk));
        for change in hunk.iter().flat_map(|op| op.iter_changes(&old, &new)) {
            text.push(match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            text.push_str(change.value());
            if !change.value().ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    let kept = truncate::head(&text, Limits::default());
    Diff { unified: kept.content, cut: kept.truncated, first_changed_line }
}

/// One algorithm called by itself: `TextDiff` brings in all of them, 200 KB of code.
fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let deadline = Instant::now() + TIMEOUT;
    let mut diff = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff_deadline(&mut diff, old, 0..old.len(), new, 0..new.len(), Some(deadline));
    diff.into_inner().into_inner().into_ops()
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
