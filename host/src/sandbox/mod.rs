//! Limits and grants: pure data and decisions. No engine here.

pub mod grants;
pub mod http;
pub mod limits;

pub use grants::{DirAccess, DirGrant, Grants};
pub use http::{HttpGrant, HttpLimits, HttpPolicy, SecretGrant};
pub use limits::Limits;
