//! One file per command.

pub mod call;
pub mod compile;
pub mod inspect;
pub mod run;
pub mod serve;
pub mod tools;
