//! Lines for the operator; neither model nor user sees them. `log::info(format_args!("read {n} bytes"))` formats
//! without a `String` of your own.

use std::fmt::Display;

pub use crate::bindings::tools::toolgate::plugin::log::Level;

/// Writes one line. The host drops lines over its limits of count and bytes whole, and counts them.
pub fn write(level: Level, message: impl Display) {
    let message = message.to_string();
    #[cfg(target_family = "wasm")]
    crate::bindings::tools::toolgate::plugin::log::write(level, &message);
    #[cfg(not(target_family = "wasm"))]
    crate::testing::with(|host| host.logs.push((level, message)));
}

/// Steps of interest only while looking for a fault.
pub fn trace(message: impl Display) {
    write(Level::Trace, message);
}

/// Details for the plugin's author.
pub fn debug(message: impl Display) {
    write(Level::Debug, message);
}

/// What the operator may want to know.
pub fn info(message: impl Display) {
    write(Level::Info, message);
}

/// What the operator should look at.
pub fn warn(message: impl Display) {
    write(Level::Warn, message);
}

/// What went wrong.
pub fn error(message: impl Display) {
    write(Level::Error, message);
}
