//! From the path a model wrote to the path to open, and back in error messages.

use std::io;
use std::path::{Path, PathBuf};

use toolgate_sdk::prelude::*;

/// The granted directories, as the guest sees them.
pub struct Roots(Vec<PathBuf>);

/// A path as the model wrote it, and where it leads.
#[derive(Debug)]
pub struct Target {
    pub written: String,
    pub real: PathBuf,
}

impl Roots {
    pub fn granted(host: &Host) -> Self {
        Self::new(host.granted_paths())
    }

    pub fn new<P: Into<PathBuf>>(directories: impl IntoIterator<Item = P>) -> Self {
        Self(directories.into_iter().map(Into::into).collect())
    }

    /// A relative path starts at the first granted directory; an absolute one has to be in one of them. That is for
    /// the message only: the sandbox itself decides, also about `..` and symlinks.
    pub fn resolve(&self, written: &str) -> Result<Target, ToolError> {
        let path = Path::new(written);
        let real = match self.0.first() {
            Some(first) if path.is_relative() => first.join(path),
            Some(_) if !self.0.iter().any(|root| path.starts_with(root)) => {
                return Err(ToolError::new(format_args!(
                    "{written}: outside of the directories granted to this plugin ({})",
                    self.list()
                )));
            }
            // Without any grant the file operation says so.
            _ => path.to_owned(),
        };
        Ok(Target { written: written.to_owned(), real })
    }

    /// Like [`resolve`](Self::resolve), for tools whose path may be left out: then it is the first granted directory.
    pub fn resolve_or_first(&self, written: Option<&str>) -> Result<Target, ToolError> {
        match written {
            Some(written) if !written.is_empty() => self.resolve(written),
            _ => self.resolve("."),
        }
    }

    /// The granted directory that holds `path`, the innermost where they nest.
    pub fn root_of(&self, path: &Path) -> Option<&Path> {
        let holds = |root: &&PathBuf| path.starts_with(root);
        self.0.iter().filter(holds).max_by_key(|root| root.components().count()).map(PathBuf::as_path)
    }

    fn list(&self) -> String {
        self.0.iter().map(|root| root.to_string_lossy()).collect::<Vec<_>>().join(", ")
    }
}

impl Target {
    pub fn io(&self, error: io::Error) -> ToolError {
        ToolError::io(&self.written, error)
    }

    /// As [`io`](Self::io), for an operation that changes something.
    pub fn write_error(&self, error: io::Error) -> ToolError {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                ". The directory may be granted for reading only"
            }
            _ => "",
        };
        ToolError::new(format_args!("{}{hint}", self.io(error)))
    }

    pub fn error(&self, what: impl std::fmt::Display) -> ToolError {
        ToolError::new(format_args!("{}: {what}", self.written))
    }

    /// A path below this one, spelt so that the model can hand it to another tool.
    pub fn below(&self, relative: &str) -> String {
        let written = self.written.strip_prefix("./").unwrap_or(&self.written).trim_end_matches('/');
        match (written, relative) {
            ("." | "", _) if !self.written.starts_with('/') => relative.to_owned(),
            (_, "") => written.to_owned(),
            _ => format!("{written}/{relative}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn real(roots: &[&str], written: &str) -> PathBuf {
        Roots::new(roots).resolve(written).unwrap().real
    }

    #[test]
    fn relative_paths_start_at_the_first_granted_directory() {
        assert_eq!(real(&["/project", "/data"], "src/a.rs"), Path::new("/project/src/a.rs"));
        assert_eq!(real(&["."], "src/a.rs"), Path::new("./src/a.rs"));
    }

    #[test]
    fn absolute_paths_may_lie_in_any_granted_directory() {
        assert_eq!(real(&["/project", "/data"], "/data/x"), Path::new("/data/x"));
        assert_eq!(real(&["/"], "/x"), Path::new("/x"));
    }

    #[test]
    fn a_path_outside_is_refused_with_the_granted_directories() {
        let error = Roots::new(["/project", "/data"]).resolve("/workshop/x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "/workshop/x: outside of the directories granted to this plugin (/project, /data)"
        );
    }

    #[test]
    fn the_innermost_granted_directory_holds_a_path() {
        let roots = Roots::new(["/project", "/project/vendor"]);
        assert_eq!(roots.root_of(Path::new("/project/vendor/a")), Some(Path::new("/project/vendor")));
        assert_eq!(roots.root_of(Path::new("/project/src")), Some(Path::new("/project")));
        assert_eq!(roots.root_of(Path::new("/etc")), None);
    }

    #[test]
    fn paths_below_can_be_handed_to_another_tool() {
        let below =
            |written: &str, relative: &str| Target { written: written.into(), real: PathBuf::new() }.below(relative);
        assert_eq!(below(".", "a/b"), "a/b");
        assert_eq!(below("./", "a"), "a");
        assert_eq!(below("./src/", "a"), "src/a");
        assert_eq!(below("/project", "a"), "/project/a");
        assert_eq!(below("/", "a"), "/a");
        assert_eq!(below("src/a.rs", ""), "src/a.rs");
    }

    #[test]
    fn a_refused_write_hints_at_a_read_only_grant() {
        let target = Target { written: "a".into(), real: PathBuf::new() };
        let denied = target.write_error(io::ErrorKind::PermissionDenied.into()).to_string();
        assert!(denied.ends_with("granted for reading only"), "{denied}");
        let missing = target.write_error(io::ErrorKind::NotFound.into()).to_string();
        assert!(!missing.contains("reading only"), "{missing}");
    }
}
