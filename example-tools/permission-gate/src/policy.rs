//! The operator's rules, as written and as checked, and what they say about a call. Nothing of the host here.

use serde::Deserialize;
use toolgate_sdk::serde_json::Value;

use crate::pattern::{self, Pattern};

/// What the operator writes under `[plugins.NAME.config]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// For calls that no rule matches. Without a default of its own, so that a gate that got no settings does not load.
    default: Action,
    #[serde(default)]
    rules: Vec<RuleConfig>,
    /// Where the tools' relative paths start. Needed by rules on paths: without it `secrets/x` and `/project/secrets/x` can't
    /// be seen to be one file.
    base: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Allow,
    Ask,
    Block,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleConfig {
    tools: OneOrMany,
    argument: Option<String>,
    matches: Option<MatchesConfig>,
    action: Action,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum MatchesConfig {
    Path(OneOrMany),
    Glob(OneOrMany),
    Regex(OneOrMany),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a string or a list of strings")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

/// Checked rules.
pub struct Policy {
    default: Action,
    rules: Vec<Rule>,
    base: String,
}

struct Rule {
    tools: Vec<ToolPattern>,
    argument: Option<String>,
    matches: Option<Matches>,
    action: Action,
    reason: Option<String>,
}

enum ToolPattern {
    Name(String),
    Glob(Pattern),
}

enum Matches {
    Path(Vec<Pattern>),
    Text(Vec<Pattern>),
}

/// What becomes of a call.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    Allow,
    Ask { title: String, text: String },
    Block(String),
}

impl Policy {
    /// The error names the rule and what is wrong with it.
    pub fn new(config: Config) -> Result<Self, String> {
        if config.rules.is_empty() && config.default == Action::Allow {
            return Err("no rules, and everything else is allowed; write rules, or leave the gate out".into());
        }
        let base = config.base.map(|base| pattern::normalise("/", &base));
        let rules = config
            .rules
            .into_iter()
            .enumerate()
            .map(|(index, rule)| Rule::new(rule, base.as_deref()).map_err(|error| format!("rules[{index}]: {error}")))
            .collect::<Result<_, _>>()?;
        Ok(Self { default: config.default, rules, base: base.unwrap_or_else(|| "/".into()) })
    }

    /// The only tools whose calls can be refused or asked about; `None` where it can be any.
    pub fn tools(&self) -> Option<Vec<&str>> {
        if self.default != Action::Allow {
            return None;
        }
        let mut names = Vec::new();
        for tool in self.rules.iter().flat_map(|rule| &rule.tools) {
            match tool {
                ToolPattern::Name(name) if !names.contains(&name.as_str()) => names.push(name),
                ToolPattern::Name(_) => {}
                ToolPattern::Glob(_) => return None,
            }
        }
        Some(names)
    }

    /// The first rule that matches decides.
    pub fn decide(&self, tool: &str, arguments: &Value) -> Outcome {
        let rule = self.rules.iter().find(|rule| rule.matches(tool, arguments, &self.base));
        let action = rule.map_or(self.default, |rule| rule.action);
        let reason = rule.and_then(|rule| rule.reason.as_deref());
        let argument = rule.and_then(|rule| rule.shown(arguments));
        match action {
            Action::Allow => Outcome::Allow,
            Action::Ask => Outcome::Ask {
                title: format!("Run {tool:?}?"),
                text: match (reason, argument) {
                    (Some(reason), Some(argument)) => format!("{reason}\n{argument}"),
                    (Some(reason), None) => reason.into(),
                    (None, Some(argument)) => argument,
                    (None, None) => "This call needs approval.".into(),
                },
            },
            Action::Block => Outcome::Block(match (reason, argument) {
                (Some(reason), _) => reason.into(),
                (None, argument) => format!(
                    "Calling {tool:?} {}is not allowed here. Do not repeat the call; find another way, or ask the user.",
                    argument.map(|argument| format!("with {argument} ")).unwrap_or_default()
                ),
            }),
        }
    }
}

impl Rule {
    fn new(config: RuleConfig, base: Option<&str>) -> Result<Self, String> {
        let tools = config
            .tools
            .into_vec()
            .into_iter()
            .map(|name| {
                Ok(if name.contains('*') { ToolPattern::Glob(Pattern::glob(&name)?) } else { ToolPattern::Name(name) })
            })
            .collect::<Result<Vec<_>, String>>()?;
        if tools.is_empty() {
            return Err("`tools` is empty; name at least one tool, or \"*\" for all".into());
        }
        if let Some(pointer) = &config.argument
            && !pointer.is_empty()
            && !pointer.starts_with('/')
        {
            return Err(format!("`argument` is a JSON pointer: write \"/{pointer}\" for the argument {pointer:?}"));
        }
        let matches = match config.matches {
            Some(_) if config.argument.is_none() => {
                return Err("`matches` needs an `argument` to compare, for example \"/path\"".into());
            }
            Some(MatchesConfig::Path(globs)) => {
                let base = base.ok_or(
                    "patterns of paths need the setting `base`: where the tools' relative paths start, for example \
                     \"/project\" (for the fs tools, the first granted directory)",
                )?;
                Some(Matches::Path(all(globs, |glob| Pattern::path(base, glob))?))
            }
            Some(MatchesConfig::Glob(globs)) => Some(Matches::Text(all(globs, Pattern::glob)?)),
            Some(MatchesConfig::Regex(regexes)) => Some(Matches::Text(all(regexes, Pattern::regex)?)),
            None => None,
        };
        Ok(Self { tools, argument: config.argument, matches, action: config.action, reason: config.reason })
    }

    fn matches(&self, tool: &str, arguments: &Value, base: &str) -> bool {
        let named = self.tools.iter().any(|pattern| match pattern {
            ToolPattern::Name(name) => name == tool,
            ToolPattern::Glob(glob) => glob.is_match(tool),
        });
        if !named {
            return false;
        }
        let Some(pointer) = &self.argument else { return true };
        let Some(value) = arguments.pointer(pointer) else { return false };
        let text = text_of(value);
        match &self.matches {
            None => true,
            Some(Matches::Text(patterns)) => patterns.iter().any(|pattern| pattern.is_match(&text)),
            Some(Matches::Path(patterns)) => {
                let path = pattern::normalise(base, &text);
                patterns.iter().any(|pattern| pattern.is_match(&path))
            }
        }
    }

    /// The argument that mattered, for model and approver: quoted, so that what a model wrote can't pass for our words.
    fn shown(&self, arguments: &Value) -> Option<String> {
        const LONGEST: usize = 200;
        let pointer = self.argument.as_ref()?;
        let text = text_of(arguments.pointer(pointer)?);
        let mut shown: String = text.chars().take(LONGEST).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        Some(format!("{} = {shown:?}", pointer.strip_prefix('/').unwrap_or("arguments")))
    }
}

fn all(patterns: OneOrMany, make: impl Fn(&str) -> Result<Pattern, String>) -> Result<Vec<Pattern>, String> {
    let patterns = patterns.into_vec();
    if patterns.is_empty() {
        return Err("`matches` has no pattern; a rule that can't match anything is surely a mistake".into());
    }
    patterns.iter().map(|pattern| make(pattern)).collect()
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use toolgate_sdk::serde_json::{self, json};

    use super::*;

    fn policy(config: Value) -> Result<Policy, String> {
        Policy::new(serde_json::from_value(config).unwrap())
    }

    fn action(policy: &Policy, tool: &str, arguments: Value) -> Action {
        match policy.decide(tool, &arguments) {
            Outcome::Allow => Action::Allow,
            Outcome::Ask { .. } => Action::Ask,
            Outcome::Block(_) => Action::Block,
        }
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let policy = policy(json!({"default": "ask", "base": ".", "rules": [
            {"tools": ["write", "edit"], "argument": "/path", "matches": {"path": "src/generated/**"}, "action": "block"},
            {"tools": ["write", "edit"], "argument": "/path", "matches": {"path": ["src/**", "*.md"]}, "action": "allow"},
            {"tools": "fs_*", "action": "block"},
            {"tools": "*", "argument": "/dry_run", "action": "allow"},
        ]}))
        .unwrap();
        for (tool, arguments, expected) in [
            ("write", json!({"path": "src/generated/a.rs"}), Action::Block),
            ("edit", json!({"path": "src/a.rs"}), Action::Allow),
            ("write", json!({"path": "README.md"}), Action::Allow),
            ("write", json!({"path": "docs/README.md"}), Action::Ask),
            ("read", json!({"path": "src/a.rs"}), Action::Ask),
            ("write", json!({"file": "src/a.rs"}), Action::Ask),
            ("fs_remove", json!({}), Action::Block),
            ("fs", json!({}), Action::Ask),
            ("bash", json!({"dry_run": false}), Action::Allow),
        ] {
            assert_eq!(action(&policy, tool, arguments.clone()), expected, "{tool} {arguments}");
        }
    }

    #[test]
    fn a_path_is_compared_as_the_place_it_leads_to() {
        let policy = policy(json!({"default": "block", "base": "/project", "rules": [
            {"tools": "read", "argument": "/path", "matches": {"path": "secrets/**"}, "action": "ask"},
            {"tools": "read", "argument": "/path", "matches": {"path": "/project/**"}, "action": "allow"},
        ]}))
        .unwrap();
        for (path, expected) in [
            ("secrets/key", Action::Ask),
            ("/project/secrets/key", Action::Ask),
            ("./src/../secrets//key", Action::Ask),
            ("src/./../secrets/./", Action::Ask),
            ("/etc/../project/secrets/deep/key", Action::Ask),
            ("src/a.rs", Action::Allow),
            ("secrets/../src/a.rs", Action::Allow),
            ("secrets.md", Action::Allow),
            ("../etc/passwd", Action::Block),
            ("/project/../etc/passwd", Action::Block),
            ("/work2/a", Action::Block),
        ] {
            assert_eq!(action(&policy, "read", json!({"path": path})), expected, "{path}");
        }
    }

    #[test]
    fn arguments_that_are_no_strings_are_compared_as_json() {
        let policy = policy(json!({"default": "allow", "rules": [
            {"tools": "pay", "argument": "/amount", "matches": {"regex": "^[0-9]{4,}"}, "action": "ask"},
            {"tools": "pay", "argument": "/to", "matches": {"glob": "*\"mallory\"*"}, "action": "block"},
            {"tools": "pay", "argument": "", "matches": {"regex": "\"force\":true"}, "action": "block"},
        ]}))
        .unwrap();
        let digits: Value = serde_json::from_str(r#"{"amount": 12345678901234567890123, "to": "bob"}"#).unwrap();
        assert_eq!(action(&policy, "pay", digits), Action::Ask);
        assert_eq!(action(&policy, "pay", json!({"amount": 999, "to": ["bob"]})), Action::Allow);
        assert_eq!(action(&policy, "pay", json!({"to": ["bob", "mallory"]})), Action::Block);
        assert_eq!(action(&policy, "pay", json!({"force": true})), Action::Block);
        assert_eq!(action(&policy, "pay", json!({"to": null})), Action::Allow);
    }

    #[test]
    fn the_words_for_model_and_approver_quote_the_argument() {
        let policy = policy(json!({"default": "block", "rules": [
            {"tools": "bash", "argument": "/command", "matches": {"glob": "rm *"}, "action": "block"},
            {"tools": "bash", "argument": "/command", "action": "ask", "reason": "Commands are checked by hand."},
            {"tools": "ls", "action": "ask"},
        ]}))
        .unwrap();
        assert_eq!(
            policy.decide("bash", &json!({"command": "rm -rf \"a b\"\nls"})),
            Outcome::Block(
                "Calling \"bash\" with command = \"rm -rf \\\"a b\\\"\\nls\" is not allowed here. Do not repeat the \
                 call; find another way, or ask the user."
                    .into()
            )
        );
        assert_eq!(
            policy.decide("bash", &json!({"command": "ls\u{1b}[2J\u{202e}"})),
            Outcome::Ask {
                title: "Run \"bash\"?".into(),
                text: "Commands are checked by hand.\ncommand = \"ls\\u{1b}[2J\\u{202e}\"".into()
            }
        );
        let Outcome::Ask { text, .. } = policy.decide("bash", &json!({"command": "é".repeat(300)})) else { panic!() };
        assert!(text.ends_with("é…\"") && text.chars().count() < 260, "{text}");
        let Outcome::Ask { text, .. } = policy.decide("ls", &json!({})) else { panic!() };
        assert_eq!(text, "This call needs approval.");
        let Outcome::Block(text) = policy.decide("other", &json!({})) else { panic!() };
        assert!(text.starts_with("Calling \"other\" is not allowed here."), "{text}");
    }

    #[test]
    fn a_rule_that_can_not_mean_what_it_says_is_refused() {
        for (rule, text) in [
            (json!({"tools": [], "action": "block"}), "rules[0]: `tools` is empty"),
            (json!({"tools": "a", "argument": "path", "action": "block"}), "write \"/path\""),
            (json!({"tools": "a", "matches": {"glob": "x"}, "action": "block"}), "`matches` needs an `argument`"),
            (
                json!({"tools": "a", "argument": "/p", "matches": {"path": []}, "action": "block"}),
                "`matches` has no pattern",
            ),
            (
                json!({"tools": "a", "argument": "/p", "matches": {"path": "a/../b"}, "action": "block"}),
                "path \"a/../b\"",
            ),
        ] {
            let error = policy(json!({"default": "allow", "base": "/", "rules": [rule]})).err().unwrap();
            assert!(error.contains(text), "{error}");
        }
        let on_path = json!({"tools": "a", "argument": "/p", "matches": {"path": "/etc/**"}, "action": "block"});
        let error = policy(json!({"default": "allow", "rules": [on_path]})).err().unwrap();
        assert!(error.starts_with("rules[0]: patterns of paths need the setting `base`"), "{error}");
    }
}
