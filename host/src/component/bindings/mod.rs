//! Generated code per contract version, and the conversions at that border. Generated types never leave this folder.

pub mod v0_1;
