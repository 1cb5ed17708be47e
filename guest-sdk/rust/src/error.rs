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

fn with_grants(error: &std::io::Error) -> String {
    use std::io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    // Other kinds have nothing to do with what was granted. wasi-libc gives a path outside every grant as
    // "capabilities insufficient", which std has no kind for.
    let about_grants = matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem)
        || format!("{:?}", error.kind()) == "Uncategorized";
    if !about_grants || !cfg!(target_os = "wasi") {
        return error.to_string();
    }
    let granted = granted_paths();
    if granted.is_empty() {
        format!("{error} (no directory is granted to this plugin)")
    } else {
        format!("{error} (directories granted to this plugin: {})", granted.join(", "))
    }
}
