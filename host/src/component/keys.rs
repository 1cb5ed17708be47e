//! Exclusive keys of a component's calls: paths are resolved through the plugin's grants to paths of the host.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::model::{Json, ToolDefinition};
use crate::pipeline::{Key, KeySpace};
use crate::sandbox::Grants;

/// Symbolic links followed for one key before giving up, as many as Linux does.
const MAX_LINKS: usize = 40;

/// The keys a definition declares. A path that no grant covers is compared within the plugin: it cannot be opened
/// anyway.
pub async fn resolve(definition: &ToolDefinition, arguments: &Json, plugin: &Arc<str>, grants: &Grants) -> Vec<Key> {
    let mut keys = Vec::with_capacity(definition.exclusive.len());
    for declared in &definition.exclusive {
        let Some(mut key) = Key::of(declared, arguments, plugin) else { continue };
        if declared.is_path
            && let Some(path) = host_path(&key.value, grants)
            // A few system calls, on a file system that may be slow.
            && let Ok(path) = tokio::task::spawn_blocking(move || real_path(&path)).await
        {
            key.space = KeySpace::HostPath;
            key.value = path.to_string_lossy().into_owned();
        }
        keys.push(key);
    }
    keys
}

/// Where a guest path lies on the host: under the grant with the longest matching guest path; a relative one under
/// the first grant.
fn host_path(guest: &str, grants: &Grants) -> Option<PathBuf> {
    let plain = lexical(Path::new(guest));
    if !guest.starts_with('/') {
        return grants.dirs.first().map(|dir| dir.host.join(&plain));
    }
    grants
        .dirs
        .iter()
        .filter_map(|dir| {
            let rest = plain.strip_prefix(lexical(Path::new(&dir.guest))).ok()?;
            Some((dir.guest.len(), dir.host.join(rest)))
        })
        .max_by_key(|(length, _)| *length)
        .map(|(_, path)| path)
}

/// Without `.`, and `..` taken back where possible.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// The path with every symbolic link resolved as far as it exists; what does not exist yet is kept as it is written.
fn real_path(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return path };
        match path.read_link() {
            // A link to what does not exist yet: the target is what a write would make.
            Ok(target) => path = parent.join(target),
            Err(_) => return real_path(parent).join(name),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sandbox::{DirAccess, DirGrant};

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
        for spelling in ["sub/new", "./sub/new", "/w/sub/new", "/w/x/../sub/new", "/w/deep/new", "link", "dir/new"] {
            assert_eq!(real(spelling), root.join("sub/new"), "{spelling}");
        }
        assert_eq!(host_path("/elsewhere/a", &grants), None);
    }
}
