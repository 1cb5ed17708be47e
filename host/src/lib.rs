//! Toolgate.
