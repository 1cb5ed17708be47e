//! What one plugin may reach. Deny by default: an empty value grants nothing but sleep, randomness and the clocks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::http::HttpPolicy;

/// Everything granted to one plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grants {
    /// Directories, in the order given; guest paths are distinct.
    pub dirs: Vec<DirGrant>,
    /// Requests it may send, and what is added to them. `None` grants none.
    pub http: Option<Arc<HttpPolicy>>,
    /// Environment values, literal.
    pub env: BTreeMap<String, String>,
    /// Whether the guest sees the real wall clock. Default true; false freezes it at the Unix epoch.
    pub wall_clock: bool,
}

impl Default for Grants {
    fn default() -> Self {
        Self { dirs: Vec::new(), http: None, env: BTreeMap::new(), wall_clock: true }
    }
}

/// One directory of the host, at a path of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirGrant {
    /// Where the guest sees it, for example `/project` or `.`.
    pub guest: String,
    /// Which directory it is; must exist when a call starts.
    pub host: PathBuf,
    /// What may be done with it.
    pub access: DirAccess,
}

/// What may be done with a directory and everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirAccess {
    /// Read and list.
    ReadOnly,
    /// Change, create and remove as well.
    ReadWrite,
}
