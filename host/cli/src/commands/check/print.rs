//! The report for people.

use toolgate_formats::Note;

use super::report::{Level, Report, ToolReport};
use crate::output::Out;
use crate::view::Paint;
use crate::view::text::{bytes, clean_line, duration, fit};

/// Changes shown per provider; `--json` has all.
const NOTES: usize = 4;

pub fn print(report: &Report, out: &Out) {
    let paint = Paint::of_stdout();
    let line = |text: String| out.write(format!("{text}\n"));
    let row = |key: &str, text: &str| line(format!("{}  {}", paint.bold(format!("{key:<9}")), clean_line(text)));
    row("file", &report.file.display().to_string());
    if let Some(info) = &report.component {
        row("size", &bytes(info.size as u64));
        row("sha256", &info.sha256);
        row("contract", &format!("toolgate:plugin@{}", info.contract.as_deref().unwrap_or("unversioned")));
        for (at, want) in report.wants.iter().enumerate() {
            row(if at == 0 { "may want" } else { "" }, want);
        }
        for (at, (field, values)) in info.producers.iter().enumerate() {
            row(if at == 0 { "made by" } else { "" }, &format!("{field}: {}", values.join(", ")));
        }
    }
    if let Some(costs) = &report.costs {
        let (compile, instantiate) = (duration(costs.compile_ms), costs.instantiate_ms * 1_000.0);
        row(
            "costs",
            &format!(
                "compiled or found in the cache in {compile}; an instance takes {instantiate:.0} µs and {}",
                bytes(costs.memory_bytes)
            ),
        );
    }
    for (at, hook) in report.hook_events.iter().enumerate() {
        let tools = hook.tools.as_ref().map_or("every tool".to_owned(), |tools| tools.join(", "));
        row(if at == 0 { "hooks" } else { "" }, &format!("{} of {tools}", hook.event.as_str()));
    }
    for tool in &report.tools {
        print_tool(tool, paint, out);
    }
    out.write("\n");
    for finding in &report.findings {
        let (style, word) = match finding.level {
            Level::Problem => (anstyle::AnsiColor::Red.on_default().bold(), "problem"),
            Level::Advice => (anstyle::AnsiColor::Yellow.on_default(), "advice"),
        };
        let tool = finding.tool.as_ref().map(|tool| format!("{}: ", clean_line(tool))).unwrap_or_default();
        line(format!("{} {tool}{}", paint.style(style, format!("{word}:")), clean_line(&finding.text)));
    }
    let problems = report.findings.iter().filter(|finding| finding.level == Level::Problem).count();
    line(match problems {
        0 => paint.style(anstyle::AnsiColor::Green.on_default(), "no problems"),
        1 => "1 problem".to_owned(),
        more => format!("{more} problems"),
    });
}

fn print_tool(tool: &ToolReport, paint: Paint, out: &Out) {
    let line = |text: String| out.write(format!("{text}\n"));
    let about = clean_line(tool.description.lines().next().unwrap_or_default());
    let about = fit(&about, paint.columns.saturating_sub(tool.name.len() + 3));
    line(format!("\n{}  {}", paint.bold(clean_line(&tool.name)), paint.dim(about)));
    for provider in &tool.providers {
        let count = |notes: &[Note]| match notes.len() {
            1 => "1 change".to_owned(),
            more => format!("{more} changes"),
        };
        let changed = if provider.changes.is_empty() { "fine".to_owned() } else { count(&provider.changes) };
        let strict = match provider.strict {
            None => String::new(),
            Some(false) => "; not in strict mode".to_owned(),
            Some(true) if provider.strict_changes.is_empty() => "; in strict mode too".to_owned(),
            Some(true) => format!("; in strict mode with {}", count(&provider.strict_changes)),
        };
        line(format!("  {:<10} {changed}{strict}", provider.format));
        notes(&provider.changes, paint, out);
        if provider.strict == Some(false) {
            notes(&provider.strict_changes, paint, out);
        }
    }
    if let Some(trial) = &tool.trial {
        let arguments = trial.arguments.as_ref().map(|arguments| clean_line(arguments.text())).unwrap_or_default();
        let text = fit(&format!("{} {arguments}", trial.outcome), paint.columns.saturating_sub(13));
        line(format!("  {:<10} {text}", "trial"));
        if trial.arguments.is_some() {
            let answer = fit(&clean_line(&trial.text), paint.columns.saturating_sub(13));
            line(format!("  {:<10} {}", "", paint.dim(answer)));
            let metrics = &trial.metrics;
            let cost = format!(
                "{}, {} fuel, {} of memory",
                duration(trial.duration_ms),
                metrics.fuel,
                bytes(metrics.peak_memory_bytes)
            );
            line(format!("  {:<10} {}", "", paint.dim(cost)));
        }
        for denial in trial.denials.iter().take(NOTES) {
            let text = format!("denied: {} {}: {}", denial.capability, denial.subject, denial.rule);
            line(format!("  {:<10} {}", "", clean_line(&text)));
        }
    }
}

fn notes(notes: &[Note], paint: Paint, out: &Out) {
    for note in notes.iter().take(NOTES) {
        let path = if note.path.is_empty() { String::new() } else { format!("{}: ", note.path) };
        out.write(format!("             {}\n", paint.dim(clean_line(&format!("{path}{}", note.text)))));
    }
    if notes.len() > NOTES {
        out.write(format!("             {}\n", paint.dim(format!("and {} more; --json has all", notes.len() - NOTES))));
    }
}
