//! What the file system says of a file, so that a file that was read once need not be read again at every start.
//!
//! Content cannot change without the kernel setting the time of change, which no program can set back. The clock behind
//! it has a grain, though: a file that changes twice within it looks the same. So a stamp counts only where the file had
//! been left alone for longer than that when it was read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Twice the coarsest grain in use, FAT's two seconds apart.
const GRAIN_NS: i128 = 2_000_000_000;

/// One state of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Of a file as it is now.
    pub fn of(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            length: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Whether a change after `read` would show.
    pub fn is_settled(&self, read: SystemTime) -> bool {
        let ns = |(seconds, nanos): (i64, i64)| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let Ok(read) = read.duration_since(UNIX_EPOCH) else { return false };
        let read = i128::try_from(read.as_nanos()).unwrap_or(i128::MAX);
        read.saturating_sub(ns(self.changed).max(ns(self.modified))) > GRAIN_NS
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_file_that_was_just_written_is_not_trusted_to_stay() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stamp = Stamp::of(&file.as_file().metadata().unwrap());
        let now = SystemTime::now();
        assert!(!stamp.is_settled(now));
        assert!(stamp.is_settled(now + Duration::from_secs(3)));
        assert!(!stamp.is_settled(now - Duration::from_secs(3)), "a clock that was set back");
    }

    #[test]
    fn a_change_shows_whatever_the_file_says_of_its_age() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "one").unwrap();
        let stamp = |path| Stamp::of(&std::fs::metadata(path).unwrap());
        let before = stamp(&path);
        assert_eq!(before, stamp(&path));
        // Other content of the same length, and the old time put back.
        std::thread::sleep(Duration::from_millis(30));
        std::fs::write(&path, "two").unwrap();
        let modified = UNIX_EPOCH
            + Duration::new(u64::try_from(before.modified.0).unwrap(), u32::try_from(before.modified.1).unwrap());
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert_ne!(before, stamp(&path));
        // Another file in its place.
        let other = dir.path().join("g");
        std::fs::write(&other, "one").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_ne!(before, stamp(&path));
    }
}
