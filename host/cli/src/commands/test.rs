//! `toolgate test`: the cases an author keeps beside a component.

use std::path::{Path, PathBuf};

use serde::Serialize;
use toolgate_plugin_test::{CaseReport, Cases, Report, TestError};

use crate::args::{Shared, Test};
use crate::exit::{Exit, Failure};
use crate::output::Out;
use crate::project::{Project, shown};
use crate::view::Paint;
use crate::view::text::{clean_line, clean_lines, duration};

/// Log lines shown of a case that failed.
const LOG_LINES: usize = 20;

pub fn run(shared: &Shared, args: &Test) -> Result<Exit, Failure> {
    if shared.config.is_some() {
        return Err(Failure::usage("--config: the settings of a test stand in its cases, under \"plugin\""));
    }
    let (component, cases) = find(args)?;
    let cases = Cases::read(&cases).map_err(Failure::usage)?;
    if cases.cases.is_empty() {
        return Err(Failure::usage(format!("{}: there are no cases in it", shown(&cases.file))));
    }
    let report = cases.run(&component).map_err(|error| match error {
        TestError::Settings(_) | TestError::Config(_) => Failure::usage(format!("{}: {error}", shown(&cases.file))),
        other => Failure::load(other),
    })?;
    let (out, writer) = crate::output::open();
    if args.json {
        let document = Document { component: &component, passed: report.passed(), cases: &report.cases };
        out.json(&document).map_err(Failure::load)?;
    } else {
        print(&report, &out);
    }
    drop(out);
    writer.finish()?;
    Ok(if report.passed() { Exit::Ok } else { Exit::CallFailed })
}

/// The report as a program reads it.
#[derive(Serialize)]
struct Document<'a> {
    component: &'a Path,
    passed: bool,
    cases: &'a [CaseReport],
}

/// The component and its cases.
fn find(args: &Test) -> Result<(PathBuf, PathBuf), Failure> {
    let path = &args.path;
    let folder = if path.is_dir() { path.clone() } else { path.parent().unwrap_or(Path::new("")).to_owned() };
    let is = |kind: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(kind));
    let cases = match &args.cases {
        Some(cases) => cases.clone(),
        None if is("json") => path.clone(),
        None => folder.join("cases.json"),
    };
    if !cases.is_file() {
        return Err(Failure::usage(format!("{}: not found; docs/authoring.md says what is in it", shown(&cases))));
    }
    let component = if is("wasm") { path.clone() } else { component_in(&folder)? };
    if !component.is_file() {
        return Err(Failure::usage(format!("{}: not found; `toolgate build` makes it", shown(&component))));
    }
    Ok((component, cases))
}

/// The project's component, or the only one in a folder.
fn component_in(folder: &Path) -> Result<PathBuf, Failure> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if let Ok(project) = Project::find(folder) {
        return Ok(project.component());
    }
    let wrong = |error: std::io::Error| Failure::usage(format!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.extension().is_some_and(|kind| kind == "wasm") {
            found.push(path);
        }
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(Failure::usage(format!("{}: there is no component in it", folder.display()))),
        _ => Err(Failure::usage(format!("{}: there are several components in it; name one", folder.display()))),
    }
}

fn print(report: &Report, out: &Out) {
    let paint = Paint::of_stdout();
    let line = |text: String| out.write(format!("{text}\n"));
    let (good, bad) = (anstyle::AnsiColor::Green.on_default(), anstyle::AnsiColor::Red.on_default());
    for case in &report.cases {
        let sign = if case.passed { paint.style(good, "✓") } else { paint.style(bad, "✗") };
        line(format!("{sign} {}  {}", clean_line(&case.name), paint.dim(duration(case.duration_ms))));
        for difference in &case.differences {
            line(format!("  {}:", difference.part));
            for text in clean_lines(&difference.diff) {
                line(match text.as_bytes().first() {
                    Some(b'-') => format!("    {}", paint.style(bad, text)),
                    Some(b'+') => format!("    {}", paint.style(good, text)),
                    _ => format!("    {text}"),
                });
            }
        }
        for log in case.logs.iter().take(LOG_LINES) {
            line(paint.dim(format!("  {}: {}", log.stream, clean_line(&log.message))));
        }
    }
    let failed = report.cases.iter().filter(|case| !case.passed).count();
    let all = report.cases.len();
    let cases = if all == 1 { "case" } else { "cases" };
    line(match failed {
        0 => format!("{all} {cases} passed"),
        _ => format!("{failed} of {all} {cases} failed, `-` is what was expected"),
    });
}
