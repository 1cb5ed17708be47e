//! Reading files that are named to the host: regular ones of a bounded size. A FIFO would block for ever, a device never
//! end.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::Path;

/// Opens a regular file. Looked at before it is opened, as opening is what blocks, and after.
pub(crate) fn open(path: &Path) -> Result<File> {
    let regular = |meta: std::fs::Metadata| match meta.is_file() {
        true => Ok(()),
        false if meta.is_dir() => Err(Error::from(ErrorKind::IsADirectory)),
        false => Err(Error::other("not a regular file")),
    };
    regular(std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    regular(file.metadata()?)?;
    Ok(file)
}

/// Reads a regular file of at most `most` bytes, also where its size is not what it says.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = open(path)?;
    let too_large = || Error::other(format!("it has more than {most} bytes"));
    let size = file.metadata()?.len();
    if size > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// The same as text.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<String> {
    String::from_utf8(read(path, most)?).map_err(|error| Error::new(ErrorKind::InvalidData, error))
}
