//! Toolgate.

pub mod schema;
