//! WASI for guests: what is granted, nothing ambient.

use std::path::PathBuf;
use std::time::Duration;

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, HostDescriptor, OpenFlags, PathFlags,
};
use wasmtime_wasi::{FsPerms, HostWallClock, WasiCtx, WasiCtxBuilder};

use super::failure::Failure;
use super::instance::CallState;
use super::logs::{GuestLog, Printed};
use crate::model::{Denial, ErrorKind};
use crate::sandbox::{DirAccess, Grants};

/// Random bytes a guest may ask for in one call.
const MAX_RANDOM: u64 = 1 << 20;

/// A granted directory that is not there.
pub struct MissingDir {
    host: PathBuf,
    error: String,
}

impl MissingDir {
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
                missing = Some(MissingDir { host: dir.host.clone(), error: error.root_cause().to_string() });
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

/// All of WASI 0.2 a guest may import, with opening files guarded.
pub fn add_to_linker(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    guard_open(linker)
}

type OpenParams = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);

/// Replaces `open-at`: only regular files and directories open, since a blocked FIFO or device could not be stopped;
/// refusals are noted as denials.
fn guard_open(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker.instance("wasi:filesystem/types@0.2.12")?.func_wrap_async(
        "[method]descriptor.open-at",
        |mut store, (fd, path_flags, path, open_flags, flags): OpenParams| {
            Box::new(async move {
                let state = store.data_mut();
                state.host_calls += 1;
                let opened = open_at(state, fd, path_flags, path, open_flags, flags).await;
                match opened {
                    Ok(descriptor) => Ok((Ok(descriptor),)),
                    Err(error) => Ok((Err(error.downcast()?),)),
                }
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

async fn open_at(
    state: &mut CallState,
    fd: Resource<Descriptor>,
    path_flags: PathFlags,
    path: String,
    open_flags: OpenFlags,
    flags: DescriptorFlags,
) -> Result<Resource<Descriptor>, FsError> {
    let borrow = || Resource::<Descriptor>::new_borrow(fd.rep());
    let stat = state.filesystem().stat_at(borrow(), path_flags, path.clone()).await;
    let special = stat.as_ref().is_ok_and(|stat| {
        !matches!(stat.type_, DescriptorType::RegularFile | DescriptorType::Directory | DescriptorType::SymbolicLink)
    });
    if special {
        deny(state, &path, "only regular files and directories open");
        return Err(ErrorCode::NotPermitted.into());
    }
    let opened = state.filesystem().open_at(borrow(), path_flags, path.clone(), open_flags, flags).await;
    if let Err(error) = &opened
        && matches!(error.downcast_ref(), Some(ErrorCode::NotPermitted))
    {
        deny(state, &path, "outside the granted directory, or the grant is read-only (plugins.NAME.dirs)");
    }
    opened
}

fn deny(state: &CallState, path: &str, rule: &str) {
    if let Some(cx) = &state.cx {
        cx.deny(Denial {
            plugin: state.plugin.name.clone(),
            capability: "filesystem".into(),
            subject: path.to_owned(),
            rule: rule.to_owned(),
        });
    }
}
