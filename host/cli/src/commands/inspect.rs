//! `toolgate inspect`: a component's own account of itself, without running it.

use toolgate::component::{ComponentInfo, inspect, read_component};

use crate::args::{Inspect, Output};
use crate::exit::{Exit, Failure};
use crate::output::Out;
use crate::view::Paint;
use crate::view::text::{bytes, clean_line};

/// What an import lets a component do, and the key that grants it.
const WANTS: &[(&str, &str)] = &[
    ("wasi:filesystem/", "files: granted by [[plugins.NAME.dirs]]"),
    ("wasi:http/outgoing-handler", "HTTP requests: granted by [[plugins.NAME.http]]"),
    ("wasi:cli/environment", "environment values: granted by plugins.NAME.env"),
    ("wasi:sockets/", "sockets: never granted"),
    ("wasi:clocks/wall-clock", "the time of day: granted unless plugins.NAME.wall-clock = false"),
    ("toolgate:plugin/config", "settings: plugins.NAME.config"),
    ("toolgate:plugin/state", "state between calls: bounded by limits.state-keys and limits.state-bytes"),
];

pub fn run(args: &Inspect) -> Result<Exit, Failure> {
    let name = args.file.display();
    let content = read_component(&args.file).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    let info = inspect(&content).map_err(|error| Failure::load(format!("{name}: {error}")))?;
    let (out, writer) = crate::output::open();
    match args.output {
        Output::Json => out.json(&info).map_err(Failure::load)?,
        Output::Text => print(&info, &out),
    }
    drop(out);
    writer.finish()?;
    Ok(Exit::Ok)
}

fn print(info: &ComponentInfo, out: &Out) {
    let paint = Paint::of_stdout();
    let line = |key: &str, values: &[String]| {
        for (at, value) in values.iter().enumerate() {
            let key = if at == 0 { key } else { "" };
            out.write(format!("{}  {}\n", paint.bold(format!("{key:<9}")), clean_line(value)));
        }
    };
    line("size", &[bytes(info.size as u64)]);
    line("sha256", std::slice::from_ref(&info.sha256));
    line("contract", &[format!("toolgate:plugin@{}", info.contract.as_deref().unwrap_or("unversioned"))]);
    let offers = [(info.tools, "tools"), (info.hooks, "hooks: run only where [[hooks]] names the plugin")];
    line("offers", &offers.iter().filter(|(has, _)| *has).map(|(_, what)| (*what).to_owned()).collect::<Vec<_>>());
    line("memory", &[format!("at least {}", bytes(info.minimum_memory_bytes))]);
    let imports = |prefix: &str| info.imports.iter().any(|import| import.starts_with(prefix));
    let wants: Vec<String> =
        WANTS.iter().filter(|(prefix, _)| imports(prefix)).map(|(_, what)| (*what).to_owned()).collect();
    line("may want", &wants);
    line("exports", &info.exports);
    line("imports", &info.imports);
    let made: Vec<String> =
        info.producers.iter().map(|(field, values)| format!("{field}: {}", values.join(", "))).collect();
    line("made by", &made);
}
