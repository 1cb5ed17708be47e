//! Patterns over text and paths. All become regular expressions of an engine that runs in linear time, since what they
//! are compared with comes from a model.

use regex_lite::Regex;

pub struct Pattern(Regex);

impl Pattern {
    /// Found anywhere in the text, unless anchored.
    pub fn regex(regex: &str) -> Result<Self, String> {
        Regex::new(regex).map(Self).map_err(|error| format!("regex {regex:?}: {error}"))
    }

    /// The whole text; `*` is any characters, also `/` and line breaks.
    pub fn glob(glob: &str) -> Result<Self, String> {
        translate(glob, false).map_err(|error| format!("glob {glob:?}: {error}"))
    }

    /// A whole normalised path. `*` and `?` stay within one name, `**` is any number of folders; `dir/**` is also `dir`
    /// itself. A pattern that starts with a name starts at `base`, one that starts with `**` anywhere.
    pub fn path(base: &str, glob: &str) -> Result<Self, String> {
        let checked = || {
            if glob.split('/').any(|name| matches!(name, "." | "..")) {
                return Err("write it without `.` and `..`; paths are compared after these are resolved".to_owned());
            }
            if glob.is_empty() || (glob.ends_with('/') && glob != "/") {
                return Err(format!("it ends without a name; write {:?} for all that is below", format!("{glob}**")));
            }
            if glob.contains("//") {
                return Err("it has two slashes in a row".to_owned());
            }
            let absolute = match glob.split('/').next() {
                Some("") => glob.to_owned(),
                Some("**") => format!("/{glob}"),
                _ => format!("{}/{glob}", escape(base.trim_end_matches('/'))),
            };
            translate(&absolute, true)
        };
        checked().map_err(|error| format!("path {glob:?}: {error}"))
    }

    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// Where `path` leads when it starts at `base`, an absolute path: absolute, without `.`, `..`, doubled and trailing
/// slashes. By the letters alone: symbolic links are not followed.
pub fn normalise(base: &str, path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    let start = if path.starts_with('/') { "" } else { base };
    for name in start.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

fn escape(text: &str) -> String {
    text.chars().flat_map(|c| "\\*?[{".contains(c).then_some('\\').into_iter().chain([c])).collect()
}

fn translate(glob: &str, is_path: bool) -> Result<Pattern, String> {
    let chars: Vec<char> = glob.chars().collect();
    let (any, one) = if is_path { ("[^/]*", "[^/]") } else { (".*", ".") };
    let mut regex = String::from("(?s)^(?:");
    let mut in_braces = false;
    let mut at = 0;
    let peek = |at: usize| chars.get(at).copied();
    while let Some(c) = peek(at) {
        at += 1;
        match c {
            '*' if peek(at) == Some('*') => {
                let before = at.checked_sub(2).and_then(peek);
                while peek(at) == Some('*') {
                    at += 1;
                }
                if !is_path {
                    regex.push_str(any);
                    continue;
                }
                // A path pattern is absolute: `**` has a slash before it unless it is glued to a name.
                if before != Some('/') || !matches!(peek(at), None | Some('/')) {
                    return Err("`**` stands for whole folders, alone between slashes".into());
                }
                if peek(at).is_some() {
                    at += 1;
                    regex.push_str("(?:.*/)?");
                } else if regex.ends_with('/') {
                    // `dir/**`: the slash goes with what is below, `dir` itself needs none.
                    regex.pop();
                    regex.push_str("(?:/.*)?");
                } else {
                    regex.push_str(".*"); // after another `**`
                }
            }
            '*' => regex.push_str(any),
            '?' => regex.push_str(one),
            '[' => return Err("there are no character classes; use `regex`, or write `\\[` for a bracket".into()),
            '{' if in_braces => return Err("alternatives in `{}` can't be nested".into()),
            '{' => {
                in_braces = true;
                regex.push_str("(?:");
            }
            '}' if in_braces => {
                in_braces = false;
                regex.push(')');
            }
            ',' if in_braces => regex.push('|'),
            '/' if in_braces && is_path => {
                return Err("alternatives in `{}` can't hold a slash; write several patterns".into());
            }
            '\\' => {
                let Some(c) = peek(at) else { return Err("it ends in the middle of an escape".into()) };
                at += 1;
                push_literal(&mut regex, c);
            }
            c => push_literal(&mut regex, c),
        }
    }
    if in_braces {
        return Err("a `{` is not closed; write `\\{` for a brace".into());
    }
    regex.push_str(")$");
    Regex::new(&regex).map(Pattern).map_err(|error| error.to_string())
}

fn push_literal(regex: &mut String, c: char) {
    regex.push_str(&regex_lite::escape(c.encode_utf8(&mut [0; 4])));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn path_globs_match_whole_normalised_paths() {
        for (glob, path, expected) in [
            ("src/**", "/project/src", true),
            ("src/**", "/project/src/a/b.rs", true),
            ("src/**", "/project/src2", false),
            ("src/**", "/src/a", false),
            ("src/*", "/project/src/a", true),
            ("src/*", "/project/src/a/b", false),
            ("src/*", "/project/src", false),
            ("*.{rs,toml}", "/project/Cargo.toml", true),
            ("*.{rs,toml}", "/project/a/Cargo.toml", false),
            ("**/*.rs", "/project/a/b.rs", true),
            ("**/*.rs", "/b.rs", true),
            ("**/.env", "/project/.env", true),
            ("**/.env", "/project/a.env", false),
            ("**", "/", true),
            ("**", "/any/thing", true),
            ("/**", "/any/thing", true),
            ("/", "/", true),
            ("/etc/*/x?", "/etc/a/x1", true),
            ("/etc/*/x?", "/etc/a/x/", false),
            ("a/**/b", "/project/a/b", true),
            ("a/**/b", "/project/a/x/y/b", true),
            ("a/**/b", "/project/ab", false),
            ("a/**/**/b", "/project/a/b", true),
            ("a/**/**", "/project/a/x/y", true),
            ("a.b", "/project/axb", false),
            ("\\[id\\].ts", "/project/[id].ts", true),
            ("línea/*", "/project/línea/ñ", true),
            ("a*", "/project/a\nb", true),
        ] {
            assert_eq!(Pattern::path("/project", glob).unwrap().is_match(path), expected, "{glob} {path}");
        }
    }

    #[test]
    fn a_base_is_taken_by_the_letter() {
        let pattern = Pattern::path("/a*{b}", "x").unwrap();
        assert!(pattern.is_match("/a*{b}/x") && !pattern.is_match("/aa{b}/x"));
        assert!(Pattern::path("/", "x").unwrap().is_match("/x"));
    }

    #[test]
    fn text_globs_cross_slashes_and_lines() {
        for (glob, text, expected) in [
            ("git *", "git log -- a/b", true),
            ("git *", "git", false),
            ("git *", "legit git x", false),
            ("rm *", "rm a\nb", true),
            ("*secret*", "my/secret/x", true),
            ("{npm,cargo} test", "cargo test", true),
            ("{npm,cargo} test", "go test", false),
            ("a?c", "abc", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("}", "}", true),
        ] {
            assert_eq!(Pattern::glob(glob).unwrap().is_match(text), expected, "{glob} {text}");
        }
    }

    #[test]
    fn a_pattern_that_would_silently_never_match_is_an_error() {
        for glob in ["", "a/", "a/./b", "../a", "a//b", "a**", "a/b**/c", "[ab]", "{a", "{a,{b}}", "{a/b,c}", "a\\"] {
            let error = Pattern::path("/", glob).err().unwrap();
            assert!(error.starts_with(&format!("path {glob:?}: ")), "{error}");
        }
        assert!(Pattern::glob("[ab]").is_err());
        assert!(Pattern::regex("a(?=b)").is_err());
    }

    #[test]
    fn normalising_resolves_dots_and_slashes() {
        for (path, expected) in [
            ("a/b", "/project/a/b"),
            ("", "/project"),
            (".", "/project"),
            ("./a/../b/", "/project/b"),
            ("../../..", "/"),
            ("/a//b/./c/..", "/a/b"),
            ("a/...", "/project/a/..."),
        ] {
            assert_eq!(normalise("/project", path), expected, "{path}");
        }
    }

    #[test]
    fn many_stars_against_a_long_argument_come_to_an_end() {
        // A backtracking engine would not come back.
        assert!(!Pattern::glob(&format!("{}b", "*a".repeat(30))).unwrap().is_match(&"a".repeat(2_000)));
    }
}
