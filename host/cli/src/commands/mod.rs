//! One file per command.

pub mod build;
pub mod call;
pub mod check;
pub mod compile;
pub mod inspect;
pub mod new;
pub mod run;
pub mod serve;
pub mod test;
pub mod tools;
