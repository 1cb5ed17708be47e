//! What a component file was found to be, kept in the cache under its path: a file that is unchanged since is neither
//! read nor hashed nor inspected again.
//!
//! A pin keeps its meaning: what runs is compiled code of the digest that is noted here, whatever lies in the file now.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::cache::{CompileCache, sha256_hex};
use super::inspect::{CONTRACT_VERSION, ComponentInfo, inspect};
use super::load::{Source, read_component};
use super::load_error::LoadErrorReason;
use super::stamp::Stamp;

/// Changes with what [`inspect`] finds or refuses.
const INSPECTION: u32 = 2;

#[derive(Serialize, Deserialize)]
struct Known {
    path: String,
    stamp: Stamp,
    info: ComponentInfo,
}

/// A component looked at.
pub struct Found {
    /// What it is.
    pub info: ComponentInfo,
    /// Its bytes, where they had to be read.
    pub bytes: Option<Arc<[u8]>>,
}

/// What is known of a component's file, where that has not changed. Quick: a few small reads.
pub fn recall(source: &Source, cache: &CompileCache) -> Option<ComponentInfo> {
    let Source::File(path) = source else { return None };
    let stamp = stamp(path)?;
    let known: Known = serde_json::from_slice(&cache.find_document(&document(path))?).ok()?;
    (known.stamp == stamp).then_some(known.info)
}

fn stamp(path: &Path) -> Option<Stamp> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|meta| Stamp::of(&meta))
}

/// Looks at a component: from what is known of its file, or by reading it.
pub fn look(source: &Source, cache: Option<&CompileCache>) -> Result<Found, LoadErrorReason> {
    let path = match source {
        Source::Bytes(bytes) => return Ok(Found { info: inspect(bytes)?, bytes: Some(bytes.clone()) }),
        Source::File(path) => path,
    };
    if let Some(info) = cache.and_then(|cache| recall(source, cache)) {
        return Ok(Found { info, bytes: None });
    }
    let before = stamp(path);
    let now = SystemTime::now();
    let bytes = read(source)?;
    let info = inspect(&bytes)?;
    // Only what was the same before and after, and would have shown a change in between.
    if let (Some(cache), Some(stamp)) = (cache, before)
        && self::stamp(path).as_ref() == Some(&stamp)
        && stamp.is_settled(now)
    {
        let known = Known { path: path.display().to_string(), stamp, info: info.clone() };
        // Where it cannot be kept, the file is read again the next time.
        let _ = serde_json::to_vec(&known).map(|known| cache.store_document(&document(path), &known));
    }
    Ok(Found { info, bytes: Some(bytes) })
}

/// The component's bytes.
pub fn read(source: &Source) -> Result<Arc<[u8]>, LoadErrorReason> {
    match source {
        Source::Bytes(bytes) => Ok(bytes.clone()),
        Source::File(path) => {
            let read = read_component(path).map_err(|error| LoadErrorReason::Io { path: path.clone(), error })?;
            Ok(read.into())
        }
    }
}

fn document(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let host = env!("CARGO_PKG_VERSION");
    format!("{}-{host}-{INSPECTION}-{CONTRACT_VERSION}.file", sha256_hex(path.as_os_str().as_encoded_bytes()))
}
