//! The errors a plugin returns, made with `?` from whatever went wrong.

use std::error::Error;
use std::fmt;
use std::path::Path;

use crate::bindings::tools::exports::toolgate::plugin::tools::Failure;
use crate::granted_paths;

/// Why a tool call failed. The text is for the model: say what happened and what to do differently.
///
/// `?` converts strings and any error (also `anyhow`'s). An [`std::io::Error`] gets the granted directories added to
/// its text, because the sandbox's own error codes don't say what would have been allowed.
//
// Not an `Error` itself: that is what makes the blanket conversion possible.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolError {
    message: String,
    cancelled: bool,
}

impl ToolError {
    /// A failure with this text.
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), cancelled: false }
    }

    /// The tool saw the cancellation flag and stopped.
    pub fn cancelled() -> Self {
        Self { message: "Operation aborted".into(), cancelled: true }
    }

    /// A file operation on `path` failed.
    pub fn io(path: impl AsRef<Path>, error: std::io::Error) -> Self {
        Self::new(format_args!("{}: {}", path.as_ref().display(), with_grants(&error)))
    }

    /// Whether this is [`ToolError::cancelled`].
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::new(text(error.into().as_ref()))
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        if error.cancelled { Self::Cancelled } else { Self::Failed(error.message) }
    }
}

/// Why a hook failed. From a before hook it refuses the call; its text becomes the result. Made by `?` like
/// [`ToolError`].
#[derive(Clone, Debug, PartialEq)]
pub struct HookError {
    message: String,
}

impl HookError {
    /// A failure with this text.
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string() }
    }
}

impl fmt::Display for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for HookError {
    fn from(error: E) -> Self {
        Self::new(text(error.into().as_ref()))
    }
}

/// What the host's side refused, or gave in a shape the plugin did not expect: settings, state, arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct HostError(String);

impl HostError {
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string())
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for HostError {}

/// An error with its causes, which a model can't ask for. Causes that their parent already quotes are left out.
fn text(error: &(dyn Error + Send + Sync + 'static)) -> String {
    if let Some(io) = error.downcast_ref::<std::io::Error>() {
        return with_grants(io);
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// WASI's error codes say nothing of what would have been allowed.
fn with_grants(error: &std::io::Error) -> String {
    use std::io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    // wasi-libc's ENOTCAPABLE: the path lies in no granted directory. std has no kind for it and poor words.
    let outside = cfg!(target_os = "wasi") && error.raw_os_error() == Some(76);
    if !outside && !matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem) {
        return error.to_string();
    }
    let what = if outside { "the path is outside of what is granted".to_owned() } else { error.to_string() };
    match granted_paths().as_slice() {
        [] if cfg!(target_os = "wasi") => format!("{what} (no directory is granted to this plugin)"),
        [] => what,
        granted => format!("{what} (directories granted to this plugin: {})", granted.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn question_mark_takes_strings_and_errors() {
        fn strings(owned: bool) -> Result<(), ToolError> {
            if owned {
                Err("owned".to_owned())?
            } else {
                Err("borrowed")?
            }
            Ok(())
        }
        fn number(text: &str) -> Result<i32, ToolError> {
            Ok(text.parse::<i32>()?)
        }
        fn hook() -> Result<(), HookError> {
            Err(HostError::new("no such setting"))?
        }
        assert_eq!(strings(true), Err(ToolError::new("owned")));
        assert_eq!(strings(false), Err(ToolError::new("borrowed")));
        assert_eq!(number("x").unwrap_err().to_string(), "invalid digit found in string");
        assert_eq!(hook(), Err(HookError::new("no such setting")));
    }

    #[test]
    fn causes_are_told_once() {
        #[derive(Debug)]
        struct Outer(std::num::ParseIntError);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bad port")
            }
        }
        impl Error for Outer {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.0)
            }
        }
        let error = ToolError::from(Outer("x".parse::<u16>().unwrap_err()));
        assert_eq!(error.to_string(), "bad port: invalid digit found in string");
    }

    #[test]
    fn cancelled_is_the_contracts_own_case() {
        assert!(matches!(Failure::from(ToolError::cancelled()), Failure::Cancelled));
        assert!(matches!(Failure::from(ToolError::new("x")), Failure::Failed(text) if text == "x"));
    }
}
