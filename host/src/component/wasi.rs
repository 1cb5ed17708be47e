//! WASI for guests: what is granted, nothing ambient. `files` and `sockets` note what is refused.

mod files;
mod sockets;

use std::path::PathBuf;
use std::time::Duration;

use wasmtime::component::Linker;
use wasmtime_wasi::{FsPerms, HostWallClock, WasiCtx, WasiCtxBuilder};

use super::failure::Failure;
use super::instance::CallState;
use super::logs::{GuestLog, Printed};
use crate::model::ErrorKind;
use crate::sandbox::{DirAccess, Grants};

/// Random bytes a guest may ask for in one call.
const MAX_RANDOM: u64 = 1 << 20;

/// A granted directory that is not there.
pub struct MissingDir {
    guest: String,
    host: PathBuf,
    error: String,
}

impl MissingDir {
    /// What was asked for, and why there is nothing, as in a denial.
    pub fn denied(&self) -> (String, String) {
        let rule = format!("the granted directory cannot be opened ({}); create it or change plugins.NAME.dirs", self.error);
        (format!("open {}", self.guest), rule)
    }

    /// As the failure of the entry.
    pub fn into_failure(self, plugin: &str) -> Failure {
        Failure {
            kind: ErrorKind::Unavailable,
            message: "a directory it was granted cannot be opened; tell the user".into(),
            hint: Some(format!(
                "plugins.{plugin}.dirs: {} cannot be opened ({}); create it or change the grant",
                self.host.display(),
                self.error
            )),
        }
    }
}

/// A context of these grants. Directories only where asked: opening them costs system calls.
pub fn context(grants: &Grants, log: &GuestLog, dirs: bool) -> (WasiCtx, Option<MissingDir>) {
    let mut builder = builder(log);
    for (name, value) in &grants.env {
        builder.env(name, value);
    }
    if !grants.wall_clock {
        builder.wall_clock(FrozenClock);
    }
    let mut missing = None;
    if dirs {
        for dir in &grants.dirs {
            let perms = match dir.access {
                DirAccess::ReadOnly => FsPerms::ReadOnly,
                DirAccess::ReadWrite => FsPerms::ReadWrite,
            };
            if let Err(error) = builder.preopened_dir(&dir.host, &dir.guest, perms) {
                missing = Some(MissingDir {
                    guest: dir.guest.clone(),
                    host: dir.host.clone(),
                    error: error.root_cause().to_string(),
                });
                break;
            }
        }
    }
    (builder.build(), missing)
}

/// A context that grants nothing, for reading definitions.
pub fn bare_context(log: &GuestLog) -> WasiCtx {
    builder(log).build()
}

fn builder(log: &GuestLog) -> WasiCtxBuilder {
    let mut builder = WasiCtxBuilder::new();
    builder
        .stdout(Printed::stdout(log.clone()))
        .stderr(Printed::stderr(log.clone()))
        .max_random_size(MAX_RANDOM)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    builder
}

/// The wall clock of a plugin that must not see it: always the Unix epoch.
struct FrozenClock;

impl HostWallClock for FrozenClock {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

/// All of WASI 0.2 a guest may import, with what is refused of it noted.
pub fn add_to_linker(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    files::shadow(linker)?;
    sockets::shadow(linker)?;
    linker.allow_shadowing(false);
    Ok(())
}
