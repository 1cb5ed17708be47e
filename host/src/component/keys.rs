//! Exclusive keys of a component's calls: paths are resolved through the plugin's grants to paths of the host.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::{Json, ToolDefinition};
use crate::pipeline::{Key, KeySpace};
use crate::sandbox::{DirGrant, Grants};

/// Symbolic links followed for one key before giving up, as many as Linux does.
const MAX_LINKS: usize = 40;
/// Longest guest path that is resolved, in bytes; Linux opens no longer one.
const MAX_PATH: usize = 4_096;

/// The keys a definition declares. A path that no grant covers is compared within the plugin: it cannot be opened
/// anyway; so is one too long to be opened.
pub async fn resolve(definition: &ToolDefinition, arguments: &Json, plugin: &Arc<str>, grants: &Grants) -> Vec<Key> {
    let mut keys = Vec::with_capacity(definition.exclusive.len());
    for declared in &definition.exclusive {
        let Some(mut key) = Key::of(declared, arguments, plugin) else { continue };
        if declared.is_path
            && let Some(path) = host_path(&key.value, grants)
            // A few system calls, on a file system that may be slow.
            && let Ok(path) = tokio::task::spawn_blocking(move || Found::at(&path)).await
        {
            // Two names of one file are one resource. The path stays a key too: writing anew what is there may put another
            // file in its place, and what is not there yet has no other identity.
            if let Some(identity) = path.identity {
                keys.push(Key { space: KeySpace::HostFile, value: identity, access: key.access });
            }
            key.space = KeySpace::HostPath;
            key.value = path.real.to_string_lossy().into_owned();
        }
        keys.push(key);
    }
    keys
}

/// What a path leads to.
struct Found {
    real: PathBuf,
    /// Device and number of a file that is there: all its names, hard links and mounts, have the same.
    identity: Option<String>,
}

impl Found {
    fn at(path: &Path) -> Self {
        let real = real_path(path);
        let identity = std::fs::symlink_metadata(&real).ok().map(|meta| format!("{}:{}", meta.dev(), meta.ino()));
        Self { real, identity }
    }
}

/// Where a guest path lies on the host, as it is spelt: under the grant with the longest matching guest path; a relative
/// one under the first grant.
fn host_path(guest: &str, grants: &Grants) -> Option<PathBuf> {
    if guest.len() > MAX_PATH {
        return None;
    }
    let path = Path::new(guest);
    if path.is_relative() {
        return grants.dirs.first().map(|dir| dir.host.join(path));
    }
    let under = |dir: &DirGrant| Some((dir.guest.len(), dir.host.join(path.strip_prefix(&dir.guest).ok()?)));
    grants.dirs.iter().filter_map(under).max_by_key(|(length, _)| *length).map(|(_, path)| path)
}

/// The path without links, `.` and `..`, each resolved where it stands, as opening the path does: `..` behind a link
/// leads out of the link's target. What does not exist yet stays as it is written.
fn real_path(path: &Path) -> PathBuf {
    let parts = |path: &Path| path.iter().rev().map(OsStr::to_owned).collect::<Vec<_>>();
    let mut real = PathBuf::new();
    let mut links = 0;
    // Still to go, the next one last.
    let mut rest = parts(&std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()));
    while let Some(part) = rest.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        if part == "." {
            continue;
        }
        // An absolute part, the root, starts anew.
        let next = real.join(part);
        match next.read_link() {
            Ok(target) if links < MAX_LINKS => {
                links += 1;
                rest.extend(parts(&target));
            }
            _ => real = next,
        }
    }
    real
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sandbox::DirAccess;

    fn grants(dirs: &[(&str, &Path)]) -> Grants {
        let mut grants = Grants::default();
        for (guest, host) in dirs {
            grants.dirs.push(DirGrant {
                guest: (*guest).into(),
                host: host.to_path_buf(),
                access: DirAccess::ReadWrite,
            });
        }
        grants
    }

    #[test]
    fn spellings_of_one_file_are_one_path() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("sub")).unwrap();
        std::os::unix::fs::symlink("sub/new", root.join("link")).unwrap();
        std::os::unix::fs::symlink("sub", root.join("dir")).unwrap();
        let grants = grants(&[("/w", &root), ("/w/deep", &root.join("sub"))]);
        let real = |guest| real_path(&host_path(guest, &grants).unwrap());
        for spelling in [
            "sub/new",
            "./sub//new",
            "/w/sub/new",
            "/w/./sub/new",
            "/w/x/../sub/new",
            "/w/deep/new",
            "/w/deep/x/../new",
            "link",
            "dir/new",
            "dir/../link",
        ] {
            assert_eq!(real(spelling), root.join("sub/new"), "{spelling}");
        }
        assert_eq!(host_path("/elsewhere/a", &grants), None);
        assert_eq!(host_path("/wide/a", &grants), None);
        assert_eq!(host_path(&"a/".repeat(MAX_PATH), &grants), None);
    }

    #[tokio::test]
    async fn all_names_of_a_file_share_a_key() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        std::fs::write(root.join("other"), "").unwrap();
        std::fs::hard_link(root.join("file"), root.join("link")).unwrap();
        let grants = grants(&[("/w", &root)]);
        let mut definition = ToolDefinition::new("t", "", Json::empty_object());
        let access = crate::model::Access::Write;
        definition.exclusive.push(crate::model::ExclusiveKey { pointer: "/path".into(), is_path: true, access });
        let names = async |path: &str| -> Vec<_> {
            let arguments = Json::from_value(serde_json::json!({ "path": path }));
            let keys = resolve(&definition, &arguments, &"p".into(), &grants).await;
            keys.into_iter().map(|key| (key.space, key.value)).collect()
        };
        let shared = async |a: &str, b: &str| {
            let (a, b) = (names(a).await, names(b).await);
            a.iter().filter(|key| b.contains(key)).count()
        };
        assert_eq!(shared("file", "/w/link").await, 1, "the file, not the path");
        assert_eq!(shared("file", "./file").await, 2);
        assert_eq!(shared("file", "other").await, 0);
        assert_eq!(names("new").await, [(KeySpace::HostPath, root.join("new").to_string_lossy().into_owned())]);
    }

    #[test]
    fn a_parent_behind_a_link_is_that_of_the_target() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("sub/deep")).unwrap();
        std::fs::write(root.join("sub/file"), "").unwrap();
        std::os::unix::fs::symlink("sub/deep", root.join("dir")).unwrap();
        let spelt = root.join("dir/../file");
        assert_eq!(spelt.canonicalize().unwrap(), root.join("sub/file"));
        assert_eq!(real_path(&spelt), root.join("sub/file"));
    }

    #[test]
    fn links_in_a_circle_come_to_an_end() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("b", dir.path().join("a")).unwrap();
        std::os::unix::fs::symlink("a/b", dir.path().join("b")).unwrap();
        real_path(&dir.path().join("a"));
    }
}
