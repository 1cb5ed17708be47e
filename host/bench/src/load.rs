//! From a file to a first result: in this process, as a process, and for a folder of components.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use toolgate::Host;
use toolgate::component::{Engine, EngineSettings, Loader};
use toolgate::config::Config;

use crate::measure::{quantile, sorted};
use crate::product;
use crate::report::{Goal, Report};
use crate::{Bench, Fallible};

const FOLDER: usize = 50;

/// A file younger than this is looked at anew each time, since a change would not show in its times.
pub const SETTLED: Duration = Duration::from_millis(2_200);

pub async fn run(bench: &Bench, report: &mut Report) -> Fallible<()> {
    let folder = tempfile::tempdir()?;
    let guest = folder.path().join("guest.wasm");
    std::fs::copy(&bench.guest, &guest)?;
    let files = variants(&bench.guest, folder.path())?;
    let cache = folder.path().join("cache");
    let rounds = if bench.quick { 5 } else { 40 };
    let mut numbers = Vec::new();

    let engine = product::engine(Some(&cache), 8)?;
    let uncached = Loader::new(product::engine(None, 8)?);
    numbers.push(("engine, start".to_owned(), median(rounds, async || drop(product::engine(None, 8))).await, "ms"));
    let name = "load and first result, compiled anew".to_owned();
    numbers.push((name, median(rounds.min(10), async || first_result(&uncached, &guest).await).await, "ms"));
    let loader = Loader::new(engine);
    first_result(&loader, &guest).await;
    let toml = config(folder.path(), &cache, &files)?;
    let begin = Instant::now();
    load_folder(&toml).await?;
    numbers.push((format!("folder of {FOLDER}, first time"), begin.elapsed().as_secs_f64() * 1e3, "ms"));
    // The second time finds everything settled and notes it, the third has it noted.
    tokio::time::sleep(SETTLED).await;
    first_result(&loader, &guest).await;
    load_folder(&toml).await?;
    let cached = median(rounds * 5, async || first_result(&loader, &guest).await).await;
    numbers.push(("load and first result, cached".to_owned(), cached, "ms"));
    report.goal(Goal::at_most("cached load to first result", cached, 0.5, "ms"));
    let name = format!("folder of {FOLDER}, cached, with engine and config");
    let many = median(rounds, async || load_folder(&toml).await.unwrap_or_else(|error| unreachable!("{error}"))).await;
    numbers.push((name.clone(), many, "ms"));
    report.goal(Goal::at_most(name, many, 100.0, "ms"));

    if bench.toolgate.is_file() {
        processes(bench, report, &guest, rounds, &mut numbers)?;
    } else {
        println!("\n{} is missing: `toolgate call` is not measured", bench.toolgate.display());
    }
    report.numbers("From a file to a first result", &numbers);
    Ok(())
}

async fn first_result(loader: &Loader, guest: &Path) {
    let host = Host::new();
    let loaded = product::tools(loader, guest).await;
    let loaded = loaded.and_then(|plugin| Ok(host.load(plugin)?));
    assert!(loaded.is_ok(), "{loaded:?}");
    let outcome = product::call(&host, "echo", &product::arguments()).await;
    assert!(!outcome.messages[0].is_error, "{:?}", outcome.messages[0].error);
}

async fn load_folder(toml: &Path) -> Fallible<()> {
    let config = Config::load(toml)?;
    let mut settings = EngineSettings::default();
    settings.cache_dir.clone_from(&config.cache_dir);
    settings.instances = config.instances;
    let loader = Loader::new(Engine::new(settings)?);
    let host = config.host().build();
    config.load_plugins(&host, &loader).await.map_err(|errors| format!("{errors:?}"))?;
    assert_eq!(host.tools().plugins().count(), FOLDER);
    Ok(())
}

/// Components that are all different: a custom section at the end of each.
fn variants(guest: &Path, folder: &Path) -> Fallible<Vec<std::path::PathBuf>> {
    let bytes = std::fs::read(guest)?;
    let one = |n: usize| {
        let file = folder.join(format!("variant-{n}.wasm"));
        let mut bytes = bytes.clone();
        bytes.extend([0, 6, 4, b'b', b'e', b'n', b'c', u8::try_from(n)?]);
        std::fs::write(&file, bytes)?;
        Ok(file)
    };
    (0..FOLDER).map(one).collect()
}

fn config(folder: &Path, cache: &Path, files: &[std::path::PathBuf]) -> Fallible<std::path::PathBuf> {
    let mut text = format!("cache-dir = {:?}\n", cache.display().to_string());
    for (n, file) in files.iter().enumerate() {
        text += &format!("[plugins.p{n}]\nfile = {:?}\nconfig = {{ suffix = {n} }}\n", file.display().to_string());
    }
    let toml = folder.join("toolgate.toml");
    std::fs::write(&toml, text)?;
    Ok(toml)
}

/// `toolgate call`, from start to exit.
fn processes(
    bench: &Bench,
    report: &mut Report,
    guest: &Path,
    rounds: usize,
    numbers: &mut Vec<(String, f64, &'static str)>,
) -> Fallible<()> {
    let home = tempfile::tempdir()?;
    let call = || -> Fallible<f64> {
        let begin = Instant::now();
        let status = Command::new(&bench.toolgate)
            .arg("call")
            .arg(guest)
            .arg("echo")
            .arg(product::arguments())
            .env("XDG_CACHE_HOME", home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(format!("toolgate call: {status}").into());
        }
        Ok(begin.elapsed().as_secs_f64() * 1e3)
    };
    let mut cold = Vec::new();
    for _ in 0..rounds.min(10) {
        let _ = std::fs::remove_dir_all(home.path().join("toolgate"));
        cold.push(call()?);
    }
    std::thread::sleep(SETTLED);
    call()?;
    let warm: Vec<f64> = (0..rounds).map(|_| call()).collect::<Fallible<_>>()?;
    let median = |values: Vec<f64>| quantile(&sorted(values.into_iter()), 0.5);
    let warm = median(warm);
    numbers.push(("toolgate call, as a process, without cache".to_owned(), median(cold), "ms"));
    numbers.push(("toolgate call, as a process, cached".to_owned(), warm, "ms"));
    report.goal(Goal::at_most("toolgate call, warm", warm, 15.0, "ms"));
    Ok(())
}

async fn median(rounds: usize, mut run: impl AsyncFnMut()) -> f64 {
    let mut took = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let begin = Instant::now();
        run().await;
        took.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    quantile(&sorted(took.into_iter()), 0.5)
}
