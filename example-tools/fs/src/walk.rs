//! The files below a directory in path order, without `.git` and what `.gitignore` files exclude.
//!
//! Symlinks are reported, not followed: a walk always ends.

use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::Gitignore;

pub struct Walk {
    start: PathBuf,
    /// Of the directories above `start`, outermost first.
    above: Vec<Gitignore>,
    levels: Vec<Level>,
    /// Directories that could not be listed.
    pub unreadable: u64,
}

pub struct Entry {
    pub path: PathBuf,
    /// From the start of the walk, with `/` between names.
    pub relative: String,
    pub file_type: FileType,
}

/// One directory on the way down.
struct Level {
    ignore: Option<Gitignore>,
    /// Last first.
    entries: Vec<fs::DirEntry>,
}

impl Walk {
    /// Walks `start`. The `.gitignore` files from `root` down to it count too, but never hide `start` itself.
    pub fn new(root: Option<&Path>, start: &Path) -> io::Result<Self> {
        let mut above = Vec::new();
        if let Some(root) = root {
            let outer = start.ancestors().skip(1).take_while(|directory| directory.starts_with(root));
            for directory in outer.collect::<Vec<_>>().into_iter().rev() {
                above.extend(gitignore(directory));
            }
        }
        let levels = vec![Level::open(start)?];
        Ok(Self { start: start.to_owned(), above, levels, unreadable: 0 })
    }

    /// The innermost `.gitignore` that has an opinion decides.
    fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        let inner = self.levels.iter().rev().filter_map(|level| level.ignore.as_ref());
        for rules in inner.chain(self.above.iter().rev()) {
            match rules.matched(path, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

impl Iterator for Walk {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let Some(entry) = self.levels.last_mut()?.entries.pop() else {
                self.levels.pop();
                continue;
            };
            let Ok(file_type) = entry.file_type() else { continue };
            let path = entry.path();
            if entry.file_name() == ".git" || self.is_ignored(&path, file_type.is_dir()) {
                continue;
            }
            if file_type.is_dir() {
                match Level::open(&path) {
                    Ok(level) => self.levels.push(level),
                    Err(_) => self.unreadable += 1,
                }
            }
            let below = path.strip_prefix(&self.start).unwrap_or(&path);
            return Some(Entry { relative: below.to_string_lossy().into_owned(), path, file_type });
        }
    }
}

impl Level {
    fn open(directory: &Path) -> io::Result<Self> {
        let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.file_name()));
        let has_rules = entries.iter().any(|entry| entry.file_name() == ".gitignore");
        Ok(Self { ignore: has_rules.then(|| gitignore(directory)).flatten(), entries })
    }
}

/// Lines that make no sense are passed over, as git does.
fn gitignore(directory: &Path) -> Option<Gitignore> {
    let (rules, _) = Gitignore::new(directory.join(".gitignore"));
    (!rules.is_empty()).then_some(rules)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::tree;

    fn walk(root: &Path, start: &Path) -> Vec<String> {
        Walk::new(Some(root), start).unwrap().map(|entry| entry.relative).collect()
    }

    #[test]
    fn entries_come_in_path_order_with_hidden_ones_and_without_git() {
        let dir = tree(&[("b/x", ""), ("a.txt", ""), ("a/z", ""), (".env", ""), (".git/config", ""), ("b/.git/x", "")]);
        assert_eq!(walk(dir.path(), dir.path()), [".env", "a", "a/z", "a.txt", "b", "b/x"]);
    }

    #[test]
    fn gitignore_files_hide_what_they_name() {
        let dir = tree(&[
            (".gitignore", "*.log\n/target/\n# note\n!keep.log\n"),
            ("a.log", ""),
            ("keep.log", ""),
            ("target/x", ""),
            ("src/target/y", ""),
            ("src/b.log", ""),
            ("src/.gitignore", "!b.log\nsecret\n"),
            ("src/secret", ""),
        ]);
        let found = walk(dir.path(), dir.path());
        assert_eq!(
            found,
            [".gitignore", "keep.log", "src", "src/.gitignore", "src/b.log", "src/target", "src/target/y"]
        );
    }

    #[test]
    fn rules_above_the_start_count_but_never_hide_the_start() {
        let dir = tree(&[(".gitignore", "*.log\ntarget/\n"), ("target/a", ""), ("target/b.log", "")]);
        assert_eq!(walk(dir.path(), &dir.path().join("target")), ["a"]);
    }

    #[test]
    fn rules_outside_of_the_grant_are_not_read() {
        let dir = tree(&[(".gitignore", "*\n"), ("granted/a", "")]);
        let granted = dir.path().join("granted");
        assert_eq!(walk(&granted, &granted), ["a"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_symlink_loop_is_reported_and_not_followed() {
        let dir = tree(&[("a/b", "")]);
        std::os::unix::fs::symlink(dir.path(), dir.path().join("a/loop")).unwrap();
        assert_eq!(walk(dir.path(), dir.path()), ["a", "a/b", "a/loop"]);
    }
}
