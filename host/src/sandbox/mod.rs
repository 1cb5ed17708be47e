//! Limits and grants: pure data and decisions. No engine here.

pub mod grants;
pub mod limits;

pub use grants::{DirAccess, DirGrant, Grants};
pub use limits::Limits;
