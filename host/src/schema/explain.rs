//! Words for what is wrong, addressed to the model that wrote the arguments: what was expected, what was found, what to
//! change.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use super::coerce::Coercer;
use super::error::{Invalid, Problem};
use super::graph::{Graph, Node, NodeId};
use super::limits;
use super::value::{Kind, weight};
use super::walk::Walk;
use super::words;

/// Explains why `value` is invalid. No problems where only something that this doesn't follow is wrong.
pub(super) fn explain(graph: &Graph, value: &Value) -> Invalid {
    let mut explainer = Explainer { coercer: Coercer::new(graph), path: Vec::new() };
    let mut found = Findings::default();
    explainer.look(0, value, &mut found);
    Invalid { problems: found.list.into_iter().map(|finding| finding.problem).collect(), more: found.more }
}

/// A problem, and what is needed to merge it with its like from other alternatives.
struct Finding {
    problem: Problem,
    /// `number`, `one of "a" and "b"`: where the value itself is of the wrong type or none of the allowed ones.
    expected: Option<String>,
    /// How bad it is as a sign that this alternative was not meant.
    distance: u64,
}

#[derive(Default)]
struct Findings {
    list: Vec<Finding>,
    more: usize,
}

impl Findings {
    fn push(&mut self, finding: Finding) {
        if self.list.iter().any(|known| known.problem == finding.problem) {
            return;
        }
        if self.list.len() < limits::MAX_PROBLEM_LINES { self.list.push(finding) } else { self.more += 1 }
    }

    fn extend(&mut self, other: Self) {
        other.list.into_iter().for_each(|finding| self.push(finding));
        self.more += other.more;
    }

    fn distance(&self) -> u64 {
        self.list.iter().map(|finding| finding.distance).fold(self.more as u64, u64::saturating_add)
    }
}

/// A value of the wrong type or with the wrong discriminator is further away than any number of smaller problems.
const FAR: u64 = 1000;

struct Explainer<'g> {
    coercer: Coercer<'g>,
    path: Vec<String>,
}

impl Explainer<'_> {
    fn note(&self, found: &mut Findings, message: impl Into<String>) {
        let problem = Problem { path: words::path(&self.path), message: message.into() };
        found.push(Finding { problem, expected: None, distance: 1 });
    }

    fn look(&mut self, id: NodeId, value: &Value, found: &mut Findings) {
        // Also keeps the work on the many parts that are fine small: only what is wrong is looked into.
        if self.coercer.walk.valid(id, value) || self.coercer.walk.exhausted() {
            return;
        }
        let graph = self.coercer.walk.graph;
        let node = graph.node(id);
        if node.boolean == Some(false) {
            self.note(found, "nothing is allowed here; leave it out");
            return;
        }
        if !self.coercer.walk.own_valid(id, value) {
            self.own(id, value, found);
        }
        for &child in node.refs.iter().chain(&node.all_of) {
            self.look(child, value, found);
        }
        self.alternatives(&node.any_of, value, found);
        if !node.one_of.is_empty() {
            let matching = self.coercer.walk.matching(&node.one_of, value);
            match matching.len() {
                0 => self.alternatives(&node.one_of, value, found),
                1 => {}
                _ => {
                    let which =
                        words::list(matching.iter().map(|index| (index + 1).to_string()), "and", limits::MAX_LISTED);
                    self.note(found, format!("matches more than one of {} alternatives (numbers {which}), must match exactly one; add or change what tells them apart", node.one_of.len()));
                }
            }
        }
        if let Some(child) = node.not
            && self.coercer.walk.valid(child, value)
        {
            let excluded = graph
                .not_text(child)
                .map(|text| format!(" ({})", words::shorten(&text.to_string(), limits::MAX_EXCERPT_CHARS)))
                .unwrap_or_default();
            self.note(
                found,
                format!("{} is excluded by the schema{excluded}; use another value", words::describe(value)),
            );
        }
        if let Some(child) = self.coercer.walk.conditional(node, value) {
            self.look(child, value, found);
        }
        let dependents: Vec<NodeId> = Walk::dependents(node, value).collect();
        for child in dependents {
            self.look(child, value, found);
        }
        self.parts(node, value, found);
    }

    fn parts(&mut self, node: &Node, value: &Value, found: &mut Findings) {
        match value {
            Value::Object(map) => {
                for (name, member) in map {
                    self.path.push(words::segment(name));
                    self.property(node, name, member, found);
                    self.path.pop();
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let Some(child) = Walk::for_item(node, index) else { continue };
                    self.path.push(index.to_string());
                    if self.coercer.walk.graph.node(child).boolean == Some(false) {
                        self.note(
                            found,
                            format!(
                                "unexpected item; at most {} allowed",
                                words::count(node.prefix.len() as u64, "item")
                            ),
                        );
                    } else {
                        self.look(child, item, found);
                    }
                    self.path.pop();
                }
                if let Some(contains) = &node.contains {
                    let count = self.coercer.walk.contained(contains.node, items);
                    let expected = self.expectation(contains.node);
                    if count < contains.least {
                        self.note(
                            found,
                            format!(
                                "must contain at least {} matching {expected}, found {count}",
                                words::count(contains.least, "item")
                            ),
                        );
                    } else if let Some(most) = contains.most.filter(|&most| count > most) {
                        self.note(
                            found,
                            format!(
                                "must contain at most {} matching {expected}, found {count}",
                                words::count(most, "item")
                            ),
                        );
                    }
                }
            }
            _ => {}
        }
    }

    fn property(&mut self, node: &Node, name: &str, member: &Value, found: &mut Findings) {
        let graph = self.coercer.walk.graph;
        if let Some(names) = node.names
            && !self.coercer.walk.valid(names, &Value::String(name.to_owned()))
        {
            let mut inner = Findings::default();
            self.look(names, &Value::String(name.to_owned()), &mut inner);
            let why = inner.list.first().map_or_else(String::new, |finding| format!(": {}", finding.problem.message));
            self.note(found, format!("this property name is not allowed{why}"));
        }
        for child in self.coercer.walk.for_property(node, name) {
            if graph.node(child).boolean != Some(false) {
                self.look(child, member, found);
                continue;
            }
            let allowed: Vec<&String> = node
                .property_names
                .iter()
                .filter(|name| node.properties.get(*name).is_some_and(|&id| graph.node(id).boolean != Some(false)))
                .collect();
            let hint = match nearest(name, &allowed) {
                Some(near) => format!("did you mean {}?", words::excerpt(near)),
                None if allowed.is_empty() => "no properties are allowed here; remove it".to_owned(),
                None => format!(
                    "remove it, or use one of {}",
                    words::list(allowed.iter().map(|name| words::excerpt(name)), "and", limits::MAX_LISTED)
                ),
            };
            let problem = Problem { path: words::path(&self.path), message: format!("unexpected property; {hint}") };
            found.push(Finding { problem, expected: None, distance: 2 });
        }
    }

    /// No member of a union accepts the value: explain the one that comes nearest.
    fn alternatives(&mut self, members: &[NodeId], value: &Value, found: &mut Findings) {
        if members.is_empty() || !self.coercer.walk.matching(members, value).is_empty() {
            return;
        }
        let mut branches = Vec::new();
        for &member in members {
            if !self.coercer.walk.spend(weight(value)) {
                break;
            }
            // What coercion would have taken care of is not a problem to tell of.
            let mut copy = value.clone();
            if !self.path.is_empty() {
                self.coercer.coerce_below(&self.path, member, &mut copy);
            }
            let mut inner = Findings::default();
            self.look(member, &copy, &mut inner);
            branches.push(inner);
        }
        // `expected number or null`: all of them are about the value itself.
        let here = words::path(&self.path);
        let expected: Option<Vec<String>> = branches
            .iter()
            .map(|branch| match branch.list.as_slice() {
                [only] if only.problem.path == here => only.expected.clone(),
                _ => None,
            })
            .collect();
        if let Some(mut expected) = expected {
            expected.dedup();
            if !expected.is_empty() {
                let list = words::list(expected.into_iter(), "or", limits::MAX_LISTED);
                self.mismatch(found, list, value);
                return;
            }
        }
        let least = branches.iter().filter(|branch| !branch.list.is_empty()).map(Findings::distance).min();
        let mut nearest: Vec<(usize, Findings)> = branches
            .into_iter()
            .enumerate()
            .filter(|(_, branch)| !branch.list.is_empty() && Some(branch.distance()) == least)
            .collect();
        if nearest.len() > 1 {
            let count = nearest.len();
            let each = nearest.iter().filter_map(|(index, branch)| {
                let first = &branch.list.first()?.problem;
                Some(format!("({}) {}: {}", index + 1, first.path, first.message))
            });
            let each: Vec<String> = each.take(4).collect();
            let more = if count > each.len() { "; …" } else { "" };
            self.note(
                found,
                format!(
                    "matches none of {} alternatives; change what one of them needs: {}{more}",
                    members.len(),
                    each.join("; ")
                ),
            );
            return;
        }
        match nearest.pop() {
            Some((index, mut branch)) => {
                for finding in &mut branch.list {
                    finding.problem.message.push_str(&format!(
                        " (for alternative {} of {}, the nearest)",
                        index + 1,
                        members.len()
                    ));
                    finding.expected = None;
                }
                found.extend(branch);
            }
            None => self.note(found, format!("matches none of {} alternatives", members.len())),
        }
    }

    fn mismatch(&self, found: &mut Findings, expected: String, value: &Value) {
        let problem = Problem {
            path: words::path(&self.path),
            message: format!("expected {expected}, got {}", words::describe(value)),
        };
        found.push(Finding { problem, expected: Some(expected), distance: FAR });
    }

    /// What the keywords that look at the value itself have against it.
    fn own(&mut self, id: NodeId, value: &Value, found: &mut Findings) {
        let graph = self.coercer.walk.graph;
        let Some(leaf) = graph.leaf(id) else { return };
        for error in leaf.iter_errors(value) {
            self.own_problem(graph.node(id), error.kind(), &error, value, found);
        }
    }

    fn own_problem(
        &mut self,
        node: &Node,
        kind: &ValidationErrorKind,
        error: &jsonschema::ValidationError<'_>,
        value: &Value,
        found: &mut Findings,
    ) {
        use ValidationErrorKind as K;
        let length = |value: &Value| match value {
            Value::String(text) => text.chars().count() as u64,
            Value::Array(items) => items.len() as u64,
            Value::Object(map) => map.len() as u64,
            _ => 0,
        };
        let got = length(value);
        match kind {
            K::Type { kind } => {
                let names: Vec<String> = match kind {
                    TypeKind::Single(name) => vec![name.to_string()],
                    TypeKind::Multiple(_) => node.types.iter().map(|kind| kind.name().to_owned()).collect(),
                };
                let hint = type_hint(&node.types, value);
                let expected = words::list(names.into_iter(), "or", limits::MAX_LISTED);
                let problem = Problem {
                    path: words::path(&self.path),
                    message: format!("expected {expected}, got {}{hint}", words::describe(value)),
                };
                found.push(Finding { problem, expected: Some(expected), distance: FAR });
            }
            K::Enum { options } => {
                let members = options.as_array().map(Vec::as_slice).unwrap_or_default();
                let expected = match members {
                    [only] => words::literal(only),
                    _ => {
                        format!("one of {}", words::list(members.iter().map(words::literal), "or", limits::MAX_LISTED))
                    }
                };
                self.mismatch(found, expected, value);
            }
            K::Constant { expected_value } => self.mismatch(found, words::literal(expected_value), value),
            K::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let mut expected = String::new();
                if let Some(&child) = node.properties.get(name) {
                    expected = format!(" (expected {})", self.expectation(child));
                }
                self.path.push(words::segment(name));
                self.note(found, format!("required property is missing{expected}"));
                self.path.pop();
            }
            K::Minimum { limit } => self.note(found, format!("must be {limit} or more, got {}", words::literal(value))),
            K::Maximum { limit } => self.note(found, format!("must be {limit} or less, got {}", words::literal(value))),
            K::ExclusiveMinimum { limit } => {
                self.note(found, format!("must be more than {limit}, got {}", words::literal(value)))
            }
            K::ExclusiveMaximum { limit } => {
                self.note(found, format!("must be less than {limit}, got {}", words::literal(value)))
            }
            K::MultipleOf { multiple_of } => {
                self.note(found, format!("must be a multiple of {multiple_of}, got {}", words::literal(value)))
            }
            K::MinLength { limit } => {
                self.note(found, format!("must have at least {}, got {got}", words::count(*limit, "character")))
            }
            K::MaxLength { limit } => {
                self.note(found, format!("must have at most {}, got {got}", words::count(*limit, "character")))
            }
            K::MinItems { limit } => {
                self.note(found, format!("must have at least {}, got {got}", words::count(*limit, "item")))
            }
            K::MaxItems { limit } => {
                self.note(found, format!("must have at most {}, got {got}", words::count(*limit, "item")))
            }
            K::MinProperties { limit } => {
                self.note(found, format!("must have at least {}, got {got}", words::count(*limit, "property")))
            }
            K::MaxProperties { limit } => {
                self.note(found, format!("must have at most {}, got {got}", words::count(*limit, "property")))
            }
            K::UniqueItems => self.note(found, "must not have the same item twice; remove duplicates"),
            K::Pattern { pattern } => self.note(
                found,
                format!(
                    "must match the regular expression {}, got {}",
                    words::excerpt(pattern),
                    words::describe(value)
                ),
            ),
            K::Format { format } => self.note(
                found,
                format!(
                    "must be a valid {}{}, got {}",
                    words::shorten(format, 40),
                    format_hint(format),
                    words::describe(value)
                ),
            ),
            // Wordings of the library, which quote the value: with a short description in its place.
            _ => {
                let message = error.masked_with(words::describe(value)).to_string();
                self.note(found, words::shorten(&message.replace(char::is_control, " "), 300));
            }
        }
    }

    /// What a subschema wants, in a few words.
    fn expectation(&mut self, id: NodeId) -> String {
        let mut node = self.coercer.walk.graph.node(id);
        // In-place chains are bounded, and a `$ref` is one.
        while let (true, [target]) = (node.types.is_empty(), node.refs.as_slice()) {
            node = self.coercer.walk.graph.node(*target);
        }
        match node.types.as_slice() {
            [] => "a value".to_owned(),
            types => words::list(types.iter().map(|kind| kind.name().to_owned()), "or", limits::MAX_LISTED),
        }
    }
}

/// What most often went wrong with a type.
fn type_hint(types: &[Kind], value: &Value) -> &'static str {
    match value {
        Value::String(text) if types.contains(&Kind::Object) && text.trim_start().starts_with('{') => {
            "; the text in it is not valid JSON"
        }
        Value::String(text) if types.contains(&Kind::Array) && text.trim_start().starts_with('[') => {
            "; the text in it is not valid JSON"
        }
        Value::String(text)
            if types == [Kind::Boolean]
                && (text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")) =>
        {
            "; write true or false without quotes"
        }
        Value::Object(_) if types == [Kind::Array] => "; put it into [ ]",
        _ => "",
    }
}

fn format_hint(format: &str) -> &'static str {
    match format {
        "date-time" => " (like 2025-01-31T12:00:00Z)",
        "date" => " (like 2025-01-31)",
        "time" => " (like 12:00:00Z)",
        "duration" => " (like PT30S)",
        "uri" => " (like https://example.com/a)",
        "email" => " (like name@example.com)",
        _ => "",
    }
}

/// The allowed name that differs from `name` only in case, `_` and `-`.
fn nearest<'a>(name: &str, allowed: &[&'a String]) -> Option<&'a str> {
    let plain =
        |name: &str| name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect::<String>();
    let wanted = plain(name);
    allowed.iter().find(|candidate| plain(candidate) == wanted).map(|name| name.as_str())
}
