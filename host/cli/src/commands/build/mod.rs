//! `toolgate build`: runs the recipe of a project's language. The recipes of JavaScript and Python are those of their
//! SDKs; here is what has to be there for them, and what to do where it is not.

mod go;
mod js;
mod python;
mod rust;
mod tools;

use std::io::Write as _;
use std::path::Path;

use toolgate::component::{inspect, read_component};

use crate::args::{Build, Language};
use crate::exit::{Exit, Failure};
use crate::project::{Project, shown};
use crate::view::text::bytes;

pub fn run(args: &Build) -> Result<Exit, Failure> {
    let project = Project::find(&args.dir)?;
    let component = project.component();
    match project.language {
        Language::Rust => rust::build(&project, &component)?,
        Language::Js => js::build(&project, &component)?,
        Language::Go => go::build(&project, &component)?,
        Language::Python => python::build(&project, &component)?,
    }
    let name = shown(&component);
    let content = read_component(&component).map_err(|error| Failure::load(format!("{name}: {error}")))?;
    let info = inspect(&content).map_err(|error| Failure::load(format!("{name} was built, but {error}")))?;
    let at = if args.dir == Path::new(".") { String::new() } else { format!(" {}", args.dir.display()) };
    // A closed standard output leaves nobody to tell.
    let _ = writeln!(
        std::io::stdout().lock(),
        "{name}  {}\n\nNext: `toolgate check {name}` looks at it, `toolgate test{at}` runs its cases",
        bytes(info.size as u64)
    );
    Ok(Exit::Ok)
}

/// Puts a built file into its place in one step, so that whoever watches it never sees half of it.
fn install(from: &Path, to: &Path) -> Result<(), Failure> {
    let content = std::fs::read(from).map_err(|error| Failure::load(format!("{}: {error}", from.display())))?;
    install_bytes(&content, to)
}

fn install_bytes(content: &[u8], to: &Path) -> Result<(), Failure> {
    let dir = to.parent().unwrap_or(Path::new("."));
    let wrong = |error: std::io::Error| Failure::load(format!("{}: {error}", to.display()));
    let mut file = tempfile::Builder::new().prefix(".building-").tempfile_in(dir).map_err(wrong)?;
    file.write_all(content).map_err(wrong)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644)).map_err(wrong)?;
    }
    file.persist(to).map_err(|error| wrong(error.error))?;
    Ok(())
}
