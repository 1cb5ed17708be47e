//! File patterns of `find` and `grep`: a name at any depth, or a path from the searched directory.

use globset::{GlobBuilder, GlobMatcher};
use toolgate_sdk::ToolError;

pub struct Glob {
    matcher: GlobMatcher,
    whole_path: bool,
    directories_only: bool,
}

impl Glob {
    pub fn new(pattern: &str) -> Result<Self, ToolError> {
        let trimmed = pattern.strip_prefix("./").unwrap_or(pattern);
        let anchored = trimmed.strip_prefix('/').unwrap_or(trimmed);
        let bare = anchored.strip_suffix('/').unwrap_or(anchored);
        let glob = GlobBuilder::new(bare)
            .literal_separator(true)
            .build()
            .map_err(|error| ToolError::new(format_args!("The glob `{pattern}` is malformed: {}", error.kind())))?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            whole_path: bare.contains('/') || anchored.len() < trimmed.len(),
            directories_only: bare.len() < anchored.len(),
        })
    }

    /// `relative` is from the searched directory, with `/` between names.
    pub fn matches(&self, relative: &str, is_dir: bool) -> bool {
        if self.directories_only && !is_dir {
            return false;
        }
        let name = relative.rsplit('/').next().unwrap_or(relative);
        self.matcher.is_match(if self.whole_path { relative } else { name })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_pattern_without_slash_is_a_name_and_one_with_slash_a_path() {
        for (pattern, path, expected) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/deep/a.rs", true),
            ("*.{rs,toml}", "x/Cargo.toml", true),
            ("*.rs", "a.rst", false),
            ("src/*.rs", "src/a.rs", true),
            ("./src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/**/*.rs", "src/deep/a.rs", true),
            ("src/**/*.rs", "src/a.rs", true),
            ("**/a.rs", "a.rs", true),
            ("src/*.rs", "lib/src/a.rs", false),
            ("/*.rs", "a.rs", true),
            ("/*.rs", "src/a.rs", false),
            ("[ab].rs", "b.rs", true),
        ] {
            assert_eq!(Glob::new(pattern).unwrap().matches(path, false), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn a_trailing_slash_asks_for_directories() {
        let glob = Glob::new("tests/").unwrap();
        assert!(glob.matches("a/tests", true));
        assert!(!glob.matches("a/tests", false));
    }

    #[test]
    fn a_malformed_pattern_is_named() {
        let error = Glob::new("src/[a").err().unwrap();
        assert!(error.to_string().starts_with("The glob `src/[a` is malformed: "), "{error}");
    }
}
