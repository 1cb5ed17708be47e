//! Instructions per call: valgrind counts those of two runs that differ only in the number of calls.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use toolgate::component::Loader;
use toolgate::model::Json;
use wasmtime::component::Component;

use crate::floor::{Allocation, Bare, engine};
use crate::load::SETTLED;
use crate::product::{self, Hooks, Surroundings};
use crate::{Fallible, large};

const CASES: [&str; 7] = ["bare", "execute", "pipeline", "uninterested", "one", "four", "native"];

/// Slots: more than components, of which there is one. Each has room for four memories of 4 GiB, and valgrind has some
/// 50 GiB of addresses to give.
const SLOTS: u32 = 2;

/// Calls in the shorter run, which is taken off.
const BEFORE: usize = 50;

pub fn run(guest: &Path, calls: usize) -> Fallible<()> {
    let cache = tempfile::tempdir()?;
    // Compiled under valgrind, which shows another processor than there is, but not counted.
    valgrind("none", guest, cache.path(), "compile", 0)?;
    // Code that was just written is read through once more at its next use; that is not a call's.
    std::thread::sleep(SETTLED);
    valgrind("none", guest, cache.path(), "execute", 0)?;
    println!("instructions per call, counted by valgrind (system calls are not in it)");
    let mut bare = f64::NAN;
    for case in CASES {
        let counted = |calls| counted(guest, cache.path(), case, calls);
        let each = (counted(BEFORE + calls)? - counted(BEFORE)?) / calls as f64;
        if case == "bare" {
            bare = each;
        }
        println!("{case:>14}  {each:>10.0}  {:>6.2}×", each / bare);
    }
    Ok(())
}

fn counted(guest: &Path, cache: &Path, case: &str, calls: usize) -> Fallible<f64> {
    let text = valgrind("callgrind", guest, cache, case, calls)?;
    let counted = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    counted.ok_or_else(|| format!("valgrind counted nothing for {case}:\n{text}").into())
}

/// Runs one case under a tool of valgrind's, and answers what that says.
fn valgrind(tool: &str, guest: &Path, cache: &Path, case: &str, calls: usize) -> Fallible<String> {
    let mut command = Command::new("valgrind");
    command.arg(format!("--tool={tool}")).arg("--smc-check=all-non-file");
    if tool == "callgrind" {
        command.arg("--callgrind-out-file=/dev/null");
    }
    let output = command
        .arg(std::env::current_exe()?)
        .arg("--guest")
        .arg(guest)
        .args(["once", case, &calls.to_string(), "--cache"])
        .arg(cache)
        .output()
        .map_err(|error| format!("valgrind: {error}; it counts the instructions"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{case} failed under valgrind:\n{text}").into()) }
}

/// One case, so many times.
pub async fn once(guest: &Path, cache: &Path, case: &str, calls: usize) -> Fallible<()> {
    if let Some(case) = case.strip_prefix("peak: ") {
        return large::measure_peak(guest, cache, case).await;
    }
    let arguments: Arc<str> = product::arguments().into();
    if case == "bare" {
        let engine = engine(Allocation::Pooled, SLOTS)?;
        let component = compiled(&engine, guest, cache)?;
        let bare = Bare::new(engine, &component)?;
        for _ in 0..calls {
            bare.call("echo", &arguments).await?;
        }
        return Ok(());
    }
    let loader = Loader::new(product::engine(Some(cache), SLOTS)?);
    let hooks = match case {
        "compile" => {
            compiled(&engine(Allocation::Pooled, SLOTS)?, guest, cache)?;
            Hooks { before: 1, after: 1, uninterested: 1 }
        }
        "uninterested" => Hooks { uninterested: 8, ..Hooks::default() },
        "one" => Hooks { before: 1, after: 1, ..Hooks::default() },
        "four" => Hooks { before: 4, after: 4, ..Hooks::default() },
        "execute" => {
            let plugin = product::tools(&loader, guest).await?;
            let tool = plugin.tools.first().ok_or("the guest has no tools")?;
            let surroundings = Surroundings::new("echo");
            let arguments = Json::parse(&*arguments)?;
            for _ in 0..calls {
                product::execute(&**tool, &surroundings, &arguments).await;
            }
            return Ok(());
        }
        _ => Hooks::default(),
    };
    let host = match case {
        "native" => product::native_host(1)?,
        _ => product::host(&loader, guest, hooks).await?,
    };
    for _ in 0..calls {
        let outcome = product::call(&host, "echo", &arguments).await;
        assert!(!outcome.messages[0].is_error, "{:?}", outcome.messages[0].error);
    }
    Ok(())
}

/// The guest's code for wasmtime alone, compiled at most once.
fn compiled(engine: &wasmtime::Engine, guest: &Path, cache: &Path) -> Fallible<Component> {
    let file = cache.join("bare.cwasm");
    if !file.is_file() {
        std::fs::write(&file, engine.precompile_component(&std::fs::read(guest)?)?)?;
    }
    // SAFETY: written by the line above into a folder of this run.
    #[allow(unsafe_code)]
    Ok(unsafe { Component::deserialize_file(engine, &file) }?)
}
