//! Python: the SDK's build module, in the active virtual environment or in one of the project's own.

use std::path::{Path, PathBuf};

use super::js::is_older;
use super::tools::{command, find, output, run};
use crate::exit::Failure;
use crate::project::Project;

/// What the SDK needs.
const OLDEST: (u32, u32) = (3, 11);

pub fn build(project: &Project, component: &Path) -> Result<(), Failure> {
    let dir = &project.dir;
    let python = match std::env::var_os("VIRTUAL_ENV") {
        Some(active) => in_environment(Path::new(&active)),
        None => own_environment(dir)?,
    };
    run(command(python, dir).args(["-m", "toolgate_sdk.build", "-o"]).arg(component))
}

fn in_environment(environment: &Path) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Makes `.toolgate/venv` with what requirements.txt names, again where that has changed.
fn own_environment(dir: &Path) -> Result<PathBuf, Failure> {
    let environment = dir.join(".toolgate/venv");
    let python = in_environment(&environment);
    let (done, requirements) = (environment.join("installed"), dir.join("requirements.txt"));
    if !requirements.is_file() {
        let what = "requirements.txt is missing: it names toolgate-sdk, as in `./toolgate/guest-sdk/python[build]`";
        return Err(Failure::usage(format!("{}: {what}", dir.display())));
    }
    if !is_older(&done, &requirements) {
        return Ok(python);
    }
    let system = ["python3", "python"].into_iter().find_map(find).ok_or_else(|| {
        Failure::usage(format!("python3 is not in the path. Install Python {}.{} or newer", OLDEST.0, OLDEST.1))
    })?;
    let version = output(command(&system, dir).args(["-c", "import sys; print(*sys.version_info[:2])"]))?;
    let mut numbers = version.split_whitespace().map(|number| number.parse::<u32>().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found < OLDEST {
        return Err(Failure::usage(format!(
            "Python {}.{} is too old: {}.{} or newer is needed",
            found.0, found.1, OLDEST.0, OLDEST.1
        )));
    }
    run(command(&system, dir).args(["-m", "venv", "--clear"]).arg(&environment)).map_err(|_| {
        Failure::usage("no virtual environment could be made. On Debian and Ubuntu: apt install python3-venv")
    })?;
    run(command(&python, dir)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(&requirements))?;
    std::fs::write(&done, "").map_err(|error| Failure::load(format!("{}: {error}", done.display())))?;
    Ok(python)
}
