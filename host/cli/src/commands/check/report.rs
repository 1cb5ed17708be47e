//! The report as data; `--json` prints it as it is.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use toolgate::component::{ComponentInfo, Probe};
use toolgate::pipeline::HookEvent;
use toolgate::registry::RegisteredTool;

use super::providers::Provider;
use super::trial::Trial;
use crate::commands::inspect::wants;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub file: PathBuf,
    /// There is no problem.
    pub ok: bool,
    pub findings: Vec<Finding>,
    #[serde(flatten)]
    pub component: Option<ComponentInfo>,
    /// What it may want, and the key that grants it.
    pub wants: Vec<&'static str>,
    pub costs: Option<Costs>,
    pub hook_events: Vec<Subscribed>,
    pub tools: Vec<ToolReport>,
}

/// What stands out.
#[derive(Serialize)]
pub struct Finding {
    pub level: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Problem,
    Advice,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Costs {
    pub compile_ms: f64,
    pub instantiate_ms: f64,
    pub memory_bytes: u64,
}

/// An event its hooks want, and of which tools.
#[derive(Serialize)]
pub struct Subscribed {
    pub event: HookEvent,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolReport {
    pub name: String,
    pub description: String,
    pub parameters_bytes: usize,
    pub providers: Vec<Provider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
}

impl Report {
    pub fn of(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            ok: true,
            findings: Vec::new(),
            component: None,
            wants: Vec::new(),
            costs: None,
            hook_events: Vec::new(),
            tools: Vec::new(),
        }
    }

    pub fn component(&mut self, info: ComponentInfo) {
        self.wants = wants(&info);
        self.component = Some(info);
    }

    pub fn costs(&mut self, probe: &Probe) {
        let ms = |time: std::time::Duration| (time.as_secs_f64() * 1_000_000.0).round() / 1_000.0;
        self.costs = Some(Costs {
            compile_ms: ms(probe.compile),
            instantiate_ms: ms(probe.instantiate),
            memory_bytes: probe.memory_bytes,
        });
        let subscribed =
            |(event, tools): &(HookEvent, Option<Vec<String>>)| Subscribed { event: *event, tools: tools.clone() };
        self.hook_events = probe.subscriptions.iter().map(subscribed).collect();
    }

    pub fn finish(&mut self, findings: Findings) {
        self.findings = findings.0;
        self.findings.sort_by_key(|finding| finding.level);
        self.ok = self.findings.iter().all(|finding| finding.level != Level::Problem);
    }
}

#[derive(Default)]
pub struct Findings(Vec<Finding>);

impl Findings {
    pub fn problem(&mut self, tool: Option<&str>, text: impl Into<String>) {
        self.0.push(Finding { level: Level::Problem, tool: tool.map(str::to_owned), text: text.into() });
    }

    pub fn advice(&mut self, tool: Option<&str>, text: impl Into<String>) {
        self.0.push(Finding { level: Level::Advice, tool: tool.map(str::to_owned), text: text.into() });
    }
}

impl ToolReport {
    /// What a definition says, and what it leaves out.
    pub fn of(tool: &RegisteredTool, findings: &mut Findings) -> Self {
        let definition = tool.definition();
        let name = Some(tool.name());
        if definition.description.trim().is_empty() {
            findings.problem(name, "it has no description, which is all a model chooses by");
        }
        let silent: Vec<&str> = properties(definition.parameters.value())
            .filter(|(_, schema)| !is_described(schema))
            .map(|(name, _)| name.as_str())
            .collect();
        if !silent.is_empty() {
            let shown = silent.iter().take(8).copied().collect::<Vec<_>>().join(", ");
            let more = if silent.len() > 8 { format!(" and {} more", silent.len() - 8) } else { String::new() };
            findings.advice(name, format!("arguments without a description: {shown}{more}"));
        }
        Self {
            name: tool.name().to_owned(),
            description: definition.description.clone(),
            parameters_bytes: definition.parameters.len(),
            providers: Vec::new(),
            trial: None,
        }
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn is_described(schema: &Value) -> bool {
    schema.get("description").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
        // A definition elsewhere may be.
        || schema.get("$ref").is_some()
}
