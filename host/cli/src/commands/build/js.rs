//! JavaScript and TypeScript: npm, and the project's own `build` script, which is the SDK's.

use std::path::Path;
use std::time::SystemTime;

use super::tools::{command, need, run};
use crate::exit::Failure;
use crate::project::Project;

pub fn build(project: &Project, component: &Path) -> Result<(), Failure> {
    let hint = "It comes with Node.js 20 or newer: https://nodejs.org";
    need("node", hint)?;
    let npm = need("npm", hint)?;
    let dir = &project.dir;
    if is_older(&dir.join("node_modules/.package-lock.json"), &dir.join("package.json")) {
        let how = if dir.join("package-lock.json").is_file() { "ci" } else { "install" };
        run(command(&npm, dir).args([how, "--no-audit", "--no-fund"]))?;
    }
    let started = SystemTime::now();
    run(command(&npm, dir).args(["run", "build"]))?;
    let built = [dir.join("dist").join(format!("{}.wasm", project.name)), component.to_owned()];
    // File times may be a little behind the clock.
    let is_new = |file: &&std::path::PathBuf| {
        let changed = std::fs::metadata(file).and_then(|about| about.modified()).ok();
        changed.is_some_and(|changed| changed + std::time::Duration::from_secs(2) >= started)
    };
    let file = built.iter().find(is_new).ok_or_else(|| {
        Failure::load(format!("`npm run build` left neither dist/{0}.wasm nor {0}.wasm", project.name))
    })?;
    if file == component { Ok(()) } else { super::install(file, component) }
}

/// Whether a file is not there, or was made before another.
pub fn is_older(file: &Path, than: &Path) -> bool {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|about| about.modified()).ok();
    match (changed(file), changed(than)) {
        (Some(file), Some(than)) => file < than,
        (None, _) => true,
        _ => false,
    }
}
