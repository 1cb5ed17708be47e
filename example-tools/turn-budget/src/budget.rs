//! The limits as the operator writes them, checked, and their words for the model.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    limits: Vec<Limit>,
}

/// Calls of all of `tools` together, in one turn.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    tools: Vec<String>,
    max: u32,
    /// For the model, in place of our own words.
    reason: Option<String>,
    /// Hints that the run may stop where the limit is reached.
    #[serde(default)]
    terminate: bool,
}

impl Config {
    pub fn checked(self) -> Result<Vec<Limit>, String> {
        let mut limits = self.limits;
        if limits.is_empty() {
            return Err("`limits` is empty; write a limit, or leave the hook out".into());
        }
        for (index, limit) in limits.iter_mut().enumerate() {
            if limit.tools.is_empty() {
                return Err(format!("limits[{index}]: `tools` is empty; name the tools that share the limit"));
            }
            if let Some(glob) = limit.tools.iter().find(|tool| tool.contains('*')) {
                return Err(format!("limits[{index}]: {glob:?} is a pattern; tools are given by their exact names"));
            }
            limit.tools.sort();
            limit.tools.dedup();
        }
        // They would count in one place.
        for (index, limit) in limits.iter().enumerate() {
            if limits.iter().take(index).any(|earlier| earlier.tools == limit.tools) {
                return Err(format!("limits[{index}]: the same tools have a limit already; leave one of the two"));
            }
        }
        Ok(limits)
    }
}

/// Every limited tool, once.
pub fn tools(limits: &[Limit]) -> Vec<&str> {
    let mut tools: Vec<&str> = limits.iter().flat_map(|limit| &limit.tools).map(String::as_str).collect();
    tools.sort_unstable();
    tools.dedup();
    tools
}

impl Limit {
    pub fn covers(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == tool)
    }

    pub fn max(&self) -> u32 {
        self.max
    }

    pub fn terminates(&self) -> bool {
        self.terminate
    }

    /// The state's key: by tools and not by place, so that a count outlives a change of the settings.
    pub fn key(&self) -> String {
        format!("calls:{}", self.tools.join(","))
    }

    pub fn reason(&self, tool: &str) -> String {
        if let Some(reason) = &self.reason {
            return reason.clone();
        }
        let calls = if self.max == 1 { "call" } else { "calls" };
        let of = self.tools.join(", ");
        format!(
            "{tool:?} was not run: one turn may make at most {max} {calls} of {of}. Do not call it again in this turn; \
             finish with what you have, and say what is left to do.",
            max = self.max
        )
    }
}
