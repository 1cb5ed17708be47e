//! `wasi:filesystem` with its refusals noted, and with nothing opened that could block a thread.
//!
//! wasmtime-wasi decides (a read-only grant, a path that leads out); its error code is all a guest gets, so that the
//! denial is where an operator reads why.

use std::pin::Pin;

use wasmtime::component::{ComponentNamedList, Lift, Linker, LinkerInstance, Lower, Resource};
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::{WasiFilesystemCtxView, WasiFilesystemView};
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, HostDescriptor, MetadataHashValue,
    NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynOutputStream};

use crate::component::instance::CallState;

type Fd = Resource<Descriptor>;
type Answer<'a, R> = Pin<Box<dyn Future<Output = Result<R, FsError>> + Send + 'a>>;

const READ_ONLY: &str = "the grant is read-only; access = \"read-write\" in plugins.NAME.dirs would allow it";
const OUTSIDE: &str =
    "the path leads outside the granted directory, or the operating system forbids it (plugins.NAME.dirs)";
const SPECIAL: &str = "only regular files and directories open";

/// What a guest wants to do.
struct Wish {
    /// In words, with the path as the guest gave it.
    what: String,
    /// The descriptors it starts from, by number.
    from: [u32; 2],
    writes: bool,
}

impl Wish {
    fn to_read(fd: &Fd, what: String) -> Self {
        Self { what, from: [fd.rep(); 2], writes: false }
    }

    fn to_write(fd: &Fd, what: String) -> Self {
        Self { what, from: [fd.rep(); 2], writes: true }
    }

    fn between(from: &Fd, to: &Fd, what: String) -> Self {
        Self { what, from: [from.rep(), to.rep()], writes: true }
    }

    fn refused(self, state: &CallState) {
        let read_only = |rep: &u32| match state.table.get(&Resource::<Descriptor>::new_borrow(*rep)) {
            Ok(Descriptor::File(file)) => matches!(file.perms, FsPerms::ReadOnly),
            Ok(Descriptor::Dir(dir)) => matches!(dir.perms, FsPerms::ReadOnly),
            Err(_) => false,
        };
        let rule = if self.writes && self.from.iter().any(read_only) { READ_ONLY } else { OUTSIDE };
        state.deny("filesystem", self.what, rule);
    }
}

/// Puts every function that may be refused for want of a grant into the place of its original.
pub fn shadow(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let mut files = linker.instance("wasi:filesystem/types@0.2.12")?;
    let files = &mut files;
    note(
        files,
        "open-at",
        |(fd, _, path, open, flags): &(Fd, PathFlags, String, OpenFlags, DescriptorFlags)| {
            let writes = flags.intersects(DescriptorFlags::WRITE | DescriptorFlags::MUTATE_DIRECTORY)
                || open.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE);
            Wish { writes, ..Wish::to_read(fd, format!("open {path}")) }
        },
        |state, (fd, path_flags, path, open, flags)| {
            Box::pin(async move {
                let borrowed = Resource::new_borrow(fd.rep());
                let stat = fs(state).stat_at(borrowed, path_flags, path.clone()).await;
                let opens = |kind| {
                    let (file, dir, link) =
                        (DescriptorType::RegularFile, DescriptorType::Directory, DescriptorType::SymbolicLink);
                    kind == file || kind == dir || kind == link
                };
                // One that blocks when it is opened could not be stopped.
                if stat.as_ref().is_ok_and(|stat| !opens(stat.type_)) {
                    state.deny("filesystem", format!("open {path}"), SPECIAL);
                    return Err(ErrorCode::Unsupported.into());
                }
                fs(state).open_at(fd, path_flags, path, open, flags).await
            })
        },
    )?;
    note(
        files,
        "stat-at",
        |(fd, _, path): &(Fd, PathFlags, String)| Wish::to_read(fd, format!("stat {path}")),
        |state, (fd, flags, path)| -> Answer<'_, DescriptorStat> {
            Box::pin(async move { fs(state).stat_at(fd, flags, path).await })
        },
    )?;
    note(
        files,
        "metadata-hash-at",
        |(fd, _, path): &(Fd, PathFlags, String)| Wish::to_read(fd, format!("stat {path}")),
        |state, (fd, flags, path)| -> Answer<'_, MetadataHashValue> {
            Box::pin(async move { fs(state).metadata_hash_at(fd, flags, path).await })
        },
    )?;
    note(
        files,
        "readlink-at",
        |(fd, path): &(Fd, String)| Wish::to_read(fd, format!("read link {path}")),
        |state, (fd, path)| Box::pin(async move { fs(state).readlink_at(fd, path).await }),
    )?;
    note(
        files,
        "create-directory-at",
        |(fd, path): &(Fd, String)| Wish::to_write(fd, format!("create directory {path}")),
        |state, (fd, path)| Box::pin(async move { fs(state).create_directory_at(fd, path).await }),
    )?;
    note(
        files,
        "remove-directory-at",
        |(fd, path): &(Fd, String)| Wish::to_write(fd, format!("remove directory {path}")),
        |state, (fd, path)| Box::pin(async move { fs(state).remove_directory_at(fd, path).await }),
    )?;
    note(
        files,
        "unlink-file-at",
        |(fd, path): &(Fd, String)| Wish::to_write(fd, format!("remove {path}")),
        |state, (fd, path)| Box::pin(async move { fs(state).unlink_file_at(fd, path).await }),
    )?;
    note(
        files,
        "rename-at",
        |(fd, old, to, new): &(Fd, String, Fd, String)| Wish::between(fd, to, format!("rename {old} to {new}")),
        |state, (fd, old, to, new)| Box::pin(async move { fs(state).rename_at(fd, old, to, new).await }),
    )?;
    note(
        files,
        "link-at",
        |(fd, _, old, to, new): &(Fd, PathFlags, String, Fd, String)| {
            Wish::between(fd, to, format!("link {old} to {new}"))
        },
        |state, (fd, flags, old, to, new)| Box::pin(async move { fs(state).link_at(fd, flags, old, to, new).await }),
    )?;
    note(
        files,
        "symlink-at",
        |(fd, target, path): &(Fd, String, String)| Wish::to_write(fd, format!("create link {path} to {target}")),
        |state, (fd, target, path)| Box::pin(async move { fs(state).symlink_at(fd, target, path).await }),
    )?;
    note(
        files,
        "set-times-at",
        |(fd, _, path, _, _): &(Fd, PathFlags, String, NewTimestamp, NewTimestamp)| {
            Wish::to_write(fd, format!("set the times of {path}"))
        },
        |state, (fd, flags, path, accessed, modified)| {
            Box::pin(async move { fs(state).set_times_at(fd, flags, path, accessed, modified).await })
        },
    )?;
    note(
        files,
        "set-times",
        |(fd, _, _): &(Fd, NewTimestamp, NewTimestamp)| Wish::to_write(fd, "set the times of an open file".into()),
        |state, (fd, accessed, modified)| {
            Box::pin(async move { fs(state).set_times(fd, accessed, modified).await })
        },
    )?;
    note(
        files,
        "set-size",
        |(fd, size): &(Fd, u64)| Wish::to_write(fd, format!("set the size of an open file to {size}")),
        |state, (fd, size)| Box::pin(async move { fs(state).set_size(fd, size).await }),
    )?;
    note(
        files,
        "write",
        |(fd, _, _): &(Fd, Vec<u8>, u64)| Wish::to_write(fd, WRITE.into()),
        |state, (fd, bytes, offset)| Box::pin(async move { fs(state).write(fd, bytes, offset).await }),
    )?;
    note(
        files,
        "write-via-stream",
        |(fd, _): &(Fd, u64)| Wish::to_write(fd, WRITE.into()),
        |state, (fd, offset)| -> Answer<'_, Resource<DynOutputStream>> {
            Box::pin(async move { fs(state).write_via_stream(fd, offset) })
        },
    )?;
    note(
        files,
        "append-via-stream",
        |(fd,): &(Fd,)| Wish::to_write(fd, WRITE.into()),
        |state, (fd,)| -> Answer<'_, Resource<DynOutputStream>> {
            Box::pin(async move { fs(state).append_via_stream(fd) })
        },
    )
}

const WRITE: &str = "write to an open file";

fn fs(state: &mut CallState) -> WasiFilesystemCtxView<'_> {
    state.filesystem()
}

/// Puts `call` in the place of a method of descriptors, and notes where it answers that it is not permitted.
fn note<P, R>(
    files: &mut LinkerInstance<'_, CallState>,
    method: &str,
    wish: fn(&P) -> Wish,
    call: for<'a> fn(&'a mut CallState, P) -> Answer<'a, R>,
) -> wasmtime::Result<()>
where
    P: ComponentNamedList + Lift + Send + 'static,
    R: Send + 'static,
    Result<R, ErrorCode>: Lower + Lift,
    (Result<R, ErrorCode>,): ComponentNamedList + Lower,
{
    files.func_wrap_async(&format!("[method]descriptor.{method}"), move |mut store, params: P| {
        Box::new(async move {
            let state = store.data_mut();
            state.host_calls += 1;
            let wish = wish(&params);
            match call(state, params).await {
                Ok(done) => Ok((Ok(done),)),
                Err(error) => {
                    let code = error.downcast()?;
                    if code == ErrorCode::NotPermitted {
                        wish.refused(state);
                    }
                    Ok((Err(code),))
                }
            }
        })
    })
}
