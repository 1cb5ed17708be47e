//! Compiled code on disk: keyed by content and engine, private to the user, bounded in size.
//!
//! A precompiled file is native code, so nothing is loaded that this host did not write itself: the directory is the
//! user's alone, and each file is checked against the length and digest that were noted when it was written. Compiled code
//! is hashed once more after it has settled; from then on its [`Stamp`] says that it is still the same.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::stamp::Stamp;

/// The cache directory.
#[derive(Debug)]
pub struct CompileCache {
    dir: PathBuf,
    max_bytes: u64,
}

/// Why a directory cannot be the cache.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// It cannot be made or read.
    #[error("compile cache {dir}: {error}", dir = dir.display())]
    Io {
        /// The directory.
        dir: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Somebody else could put native code into it.
    #[error("compile cache {dir}: {reason}. Compiled code is run as it is, so the directory must be yours alone: chmod 700, or name another one as cache-dir", dir = dir.display())]
    NotPrivate {
        /// The directory.
        dir: PathBuf,
        /// What is open about it.
        reason: &'static str,
    },
}

/// What is noted beside a file, and with it: a note of another file does not fit.
#[derive(Serialize, Deserialize)]
struct Note {
    name: String,
    length: u64,
    sha256: String,
    /// Of the file when it was found to have this digest, and had not changed for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stamp: Option<Stamp>,
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn note_path(path: &Path) -> PathBuf {
    path.with_file_name(format!("{}.note", file_name(path)))
}

/// What was noted of a file.
fn note(path: &Path) -> Option<Note> {
    fs::read(note_path(path)).ok().and_then(|text| serde_json::from_slice(&text).ok())
}

/// Age counts from the last use.
fn touch(path: &Path) {
    if let Ok(file) = fs::File::options().append(true).open(note_path(path)) {
        let _ = file.set_modified(SystemTime::now());
    }
}

/// Hexadecimal SHA-256.
pub fn sha256_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

impl CompileCache {
    /// Uses a directory, making it (mode 700) if it is not there.
    pub fn open(dir: &Path, max_bytes: u64) -> Result<Self, CacheError> {
        let fail = |error| CacheError::Io { dir: dir.to_path_buf(), error };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(fail)?;
        let meta = fs::metadata(dir).map_err(fail)?;
        let open = |reason| Err(CacheError::NotPrivate { dir: dir.to_path_buf(), reason });
        if meta.permissions().mode() & 0o022 != 0 {
            return open("others may write to it");
        }
        // The owner of a file just made is who this process runs as.
        let probe = tempfile::tempfile_in(dir).and_then(|file| file.metadata()).map_err(fail)?;
        if probe.uid() != meta.uid() {
            return open("it belongs to another user");
        }
        Ok(Self { dir: dir.to_path_buf(), max_bytes })
    }

    fn code_path(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{key}.cwasm"))
    }

    /// The compiled file of a key, where it has not changed since it was found to be what was written. Quick.
    pub fn find_unchanged(&self, key: &str) -> Option<PathBuf> {
        let path = self.code_path(key);
        let meta = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let noted = note(&path)?;
        if noted.name != file_name(&path) || noted.stamp != Some(Stamp::of(&meta)) {
            return None;
        }
        touch(&path);
        Some(path)
    }

    /// The compiled file of a key, if it is there and is what was written.
    pub fn find(&self, key: &str) -> Option<PathBuf> {
        if let Some(path) = self.find_unchanged(key) {
            return Some(path);
        }
        let path = self.code_path(key);
        let meta = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let (stamp, now) = (Stamp::of(&meta), SystemTime::now());
        self.read(&path)?;
        let is_same = fs::symlink_metadata(&path).is_ok_and(|meta| Stamp::of(&meta) == stamp);
        // On the disk before it is trusted unseen: what a power cut leaves of a file may have its old times.
        let is_kept = || fs::File::open(&path).and_then(|file| file.sync_all()).is_ok();
        if is_same
            && stamp.is_settled(now)
            && is_kept()
            && let Some(noted) = note(&path)
        {
            let noted = Note { stamp: Some(stamp), ..noted };
            // Where it cannot be noted, the file is hashed again the next time.
            let _ =
                serde_json::to_vec(&noted).map_err(io::Error::from).and_then(|note| self.put(&note_path(&path), &note));
        }
        Some(path)
    }

    /// Whether there is compiled code of a key; nothing is checked.
    pub fn has(&self, key: &str) -> bool {
        self.code_path(key).is_file()
    }

    /// Keeps compiled code. Writers of one key may race: each moves a complete file into place.
    pub fn store(&self, key: &str, code: &[u8]) -> io::Result<PathBuf> {
        let path = self.code_path(key);
        self.write(&path, code)?;
        self.trim(key);
        Ok(path)
    }

    /// A small document kept beside the code, if it is what was written.
    pub fn find_document(&self, name: &str) -> Option<Vec<u8>> {
        self.read(&self.dir.join(name))
    }

    /// Keeps a small document.
    pub fn store_document(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write(&self.dir.join(name), bytes)
    }

    /// Forgets a key.
    pub fn remove(&self, key: &str) {
        self.remove_file(&self.code_path(key));
    }

    fn remove_file(&self, path: &Path) {
        let _ = fs::remove_file(note_path(path));
        let _ = fs::remove_file(path);
    }

    /// A file that is what was noted when it was written. Anything else is removed.
    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let regular = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
        if !regular(path) {
            return None;
        }
        let noted = regular(&note_path(path)).then(|| note(path)).flatten();
        let bytes = fs::read(path).ok()?;
        let fits = noted.is_some_and(|noted| {
            noted.name == file_name(path) && noted.length == bytes.len() as u64 && noted.sha256 == sha256_hex(&bytes)
        });
        if !fits {
            tracing::warn!(file = %path.display(), "the cached file is not what was written; it is made again");
            self.remove_file(path);
            return None;
        }
        touch(path);
        Some(bytes)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let note = Note { name: file_name(path), length: bytes.len() as u64, sha256: sha256_hex(bytes), stamp: None };
        self.put(path, bytes)?;
        self.put(&note_path(path), &serde_json::to_vec(&note)?)
    }

    /// Moves a complete file into place.
    fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    }

    /// Removes what was longest unused until the rest fits; `keep` stays.
    fn trim(&self, keep: &str) {
        let Ok(entries) = fs::read_dir(&self.dir) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                let meta = entry.metadata().ok()?;
                Some((meta.modified().ok()?, meta.len(), entry.path()))
            })
            .collect();
        let used: u64 = files.iter().map(|(_, length, _)| length).sum();
        let mut over = used.saturating_sub(self.max_bytes);
        if over == 0 {
            return;
        }
        // A file is as old as its note.
        for at in 0..files.len() {
            let note = note_path(&files[at].2);
            if let Some(noted) = files.iter().find(|(_, _, path)| *path == note).map(|(time, ..)| *time) {
                files[at].0 = noted;
            }
        }
        files.sort();
        for (_, length, path) in files {
            if over == 0 {
                break;
            }
            let kept = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(keep));
            if !kept && fs::remove_file(&path).is_ok() {
                over = over.saturating_sub(length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_was_changed_on_disk_is_not_found() {
        let dir = tempfile::tempdir().unwrap();
        let cache = CompileCache::open(&dir.path().join("cache"), 1 << 20).unwrap();
        let path = cache.store("k", b"native code").unwrap();
        assert_eq!(cache.find("k"), Some(path.clone()));
        for wrong in [&b"native"[..], b"nativE code", b"", b"another program altogether"] {
            fs::write(&path, wrong).unwrap();
            assert_eq!(cache.find("k"), None);
            cache.store("k", b"native code").unwrap();
        }
        fs::write(dir.path().join("cache/foreign.cwasm"), b"code").unwrap();
        assert_eq!(cache.find("foreign"), None);

        // Another file's code with its note, and a description somebody wrote.
        let other = cache.store("other", b"other code").unwrap();
        fs::copy(&other, &path).unwrap();
        fs::copy(note_path(&other), note_path(&path)).unwrap();
        assert_eq!(cache.find("k"), None);
        cache.store_document("d", b"said").unwrap();
        assert_eq!(cache.find_document("d").as_deref(), Some(&b"said"[..]));
        fs::write(dir.path().join("cache/d"), b"forged").unwrap();
        assert_eq!(cache.find_document("d"), None);
    }

    #[test]
    fn code_that_has_settled_is_hashed_once_and_a_change_of_it_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let cache = CompileCache::open(dir.path(), 1 << 20).unwrap();
        let path = cache.store("k", b"native code").unwrap();
        assert!(cache.find("k").is_some());
        assert_eq!(note(&path).unwrap().stamp, None, "it is too young");
        std::thread::sleep(std::time::Duration::from_millis(2_200));
        assert!(cache.find("k").is_some());
        let stamp = note(&path).unwrap().stamp;
        assert_eq!(stamp, Some(Stamp::of(&fs::metadata(&path).unwrap())));
        assert!(cache.find("k").is_some());
        fs::write(&path, b"nativE code").unwrap();
        assert_eq!(cache.find("k"), None);
    }

    #[test]
    fn the_longest_unused_go_first() {
        let dir = tempfile::tempdir().unwrap();
        let cache = CompileCache::open(dir.path(), 2_500).unwrap();
        for key in ["a", "b"] {
            cache.store(key, &[0; 1_000]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(cache.find("a").is_some());
        std::thread::sleep(std::time::Duration::from_millis(20));
        cache.store("c", &[0; 1_000]).unwrap();
        assert!(cache.find("b").is_none());
        assert!(cache.find("a").is_some());
        assert!(cache.find("c").is_some());
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(CompileCache::open(dir.path(), 1), Err(CacheError::NotPrivate { .. })));
    }
}
