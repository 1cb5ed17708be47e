//! Writing a file whole, so that nobody meets half of one.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Writes `bytes` to `path`. Returns whether the file is new.
///
/// A new file appears complete, by a rename. A file that exists is overwritten in place: WASI can't carry its mode,
/// its owner or a symlink over to a replacement, and a script that lost its executable bit is worse than the moment
/// between two writes.
pub fn save(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    match OpenOptions::new().write(true).open(path) {
        Ok(mut file) => {
            file.write_all(bytes)?;
            file.set_len(bytes.len() as u64)?;
            Ok(false)
        }
        // A symlink that leads nowhere must stay one, so it is not renamed over.
        Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_ok() => {
            fs::write(path, bytes)?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path, bytes).map(|()| true),
        Err(error) => Err(error),
    }
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".new");
    let temporary = path.with_file_name(hidden);
    // Where that name is taken or too long, the file is written directly.
    let Ok(mut file) = OpenOptions::new().write(true).create_new(true).open(&temporary) else {
        return fs::write(path, bytes);
    };
    let written = file.write_all(bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::tree;

    #[test]
    fn a_new_file_leaves_nothing_beside_it() {
        let dir = tree::<&str>(&[]);
        assert!(save(&dir.path().join("a"), b"one").unwrap());
        let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["a"]);
    }

    #[test]
    fn a_file_with_the_temporary_name_is_left_alone() {
        let dir = tree(&[(".a.new", "mine")]);
        assert!(save(&dir.path().join("a"), b"one").unwrap());
        assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"one");
        assert_eq!(fs::read(dir.path().join(".a.new")).unwrap(), b"mine");
    }

    #[test]
    fn a_shorter_text_leaves_no_rest_of_the_longer() {
        let dir = tree(&[("a", "a long text")]);
        assert!(!save(&dir.path().join("a"), b"short").unwrap());
        assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"short");
    }

    #[cfg(unix)]
    #[test]
    fn mode_and_symlinks_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tree(&[("run.sh", "#!/bin/sh\n")]);
        let (script, link) = (dir.path().join("run.sh"), dir.path().join("link"));
        fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
        symlink("run.sh", &link).unwrap();
        save(&link, b"#!/bin/sh\necho\n").unwrap();
        assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o750);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&script).unwrap(), b"#!/bin/sh\necho\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_symlink_that_leads_nowhere_is_written_through() {
        let dir = tree::<&str>(&[]);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("target", &link).unwrap();
        assert!(save(&link, b"x").unwrap());
        assert_eq!(fs::read(dir.path().join("target")).unwrap(), b"x");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
