//! Words for what is wrong, addressed to the model that wrote the arguments: what was expected, what was found, what to
//! change.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use super::coerce::Coercer;
use super::error::{Invalid, Problem};
use super::graph::{Graph, Node, NodeId};
use super::limits;
use super::value::{self, Kind, weight};
use super::walk::Walk;
use super::words;

/// Explains why `value` is invalid. No problems where only something that this doesn't follow is wrong.
pub(super) fn explain(graph: &Graph, value: &Value) -> Invalid {
    let mut explainer = Explainer { coercer: Coercer::new(graph), path: Vec::new() };
    let mut found = Findings::default();
    explainer.look(0, value, &mut found);
    Invalid { problems: found.list.into_iter().map(Finding::into_problem).collect(), more: found.more }
}

/// A problem, and what is needed to merge it with its like from other alternatives.
struct Finding {
    path: String,
    message: String,
    /// What stands in brackets behind the message, together with `branch`.
    aside: Option<String>,
    /// Which alternative of a union it is a problem of.
    branch: Option<Branch>,
    /// `number`, `one of "a" and "b"`: where the value itself is of the wrong type or none of the allowed ones.
    expected: Option<String>,
    /// How bad it is as a sign that this alternative was not meant.
    distance: u64,
}

impl Finding {
    fn new(path: String, message: impl Into<String>) -> Self {
        Self { path, message: message.into(), aside: None, branch: None, expected: None, distance: 1 }
    }

    /// The message with what stands in brackets, in one pair of them.
    fn text(&self) -> String {
        let branch = self.branch.as_ref().map(|branch| match branch {
            Branch::Tagged(tag) => format!("for {tag}"),
            Branch::Numbered(number, count) => format!("for alternative {number} of {count}, the nearest"),
        });
        match (&self.aside, branch) {
            (None, None) => self.message.clone(),
            (Some(aside), None) => format!("{} ({aside})", self.message),
            (None, Some(branch)) => format!("{} ({branch})", self.message),
            (Some(aside), Some(branch)) => format!("{} ({aside}, {branch})", self.message),
        }
    }

    fn into_problem(self) -> Problem {
        Problem { message: self.text(), path: self.path }
    }

    /// Says which alternative this is a problem of. What an inner union said stays: it is nearer to the problem. But a
    /// tag tells a model more than a number.
    fn in_branch(&mut self, branch: &Branch) {
        let keep = match &self.branch {
            None => false,
            Some(Branch::Tagged(_)) => true,
            Some(Branch::Numbered(..)) => matches!(branch, Branch::Numbered(..)),
        };
        if !keep {
            self.branch = Some(branch.clone());
        }
    }
}

/// How an alternative of a union is told from its siblings.
#[derive(Clone)]
enum Branch {
    /// `kind = "freezer"`: the property that tells them apart, as the value has it.
    Tagged(String),
    /// Number and count, in the order of the schema.
    Numbered(usize, usize),
}

#[derive(Default)]
struct Findings {
    list: Vec<Finding>,
    more: usize,
}

impl Findings {
    fn push(&mut self, finding: Finding) {
        let same = |known: &Finding| {
            known.path == finding.path && known.message == finding.message && known.aside == finding.aside
        };
        if self.list.iter().any(same) {
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

impl<'g> Explainer<'g> {
    fn note(&self, found: &mut Findings, message: impl Into<String>) {
        found.push(Finding::new(words::path(&self.path), message));
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
                .own_keywords(child)
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
            let why = inner.list.first().map_or_else(String::new, |finding| format!(": {}", finding.text()));
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
            let message = format!("unexpected property; {hint}");
            found.push(Finding { distance: 2, ..Finding::new(words::path(&self.path), message) });
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
                [only] if only.path == here => only.expected.clone(),
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
        if self.wrong_tag(members, value, found) {
            return;
        }
        // Of `Option` of something, null was not meant. And where the value carries the tag of some, it means those.
        let choice = members.iter().filter(|&&member| !self.only_null(member)).count() > 1;
        let mut explained: Vec<(usize, Findings, Option<String>)> = Vec::new();
        for ((index, &member), branch) in members.iter().enumerate().zip(branches) {
            if !branch.list.is_empty() && !self.only_null(member) {
                explained.push((index, branch, self.tag(member, value)));
            }
        }
        if explained.iter().any(|(_, _, tag)| tag.is_some()) {
            explained.retain(|(_, _, tag)| tag.is_some());
        }
        let tagged = explained.len();
        let least = explained.iter().map(|(_, branch, _)| branch.distance()).min();
        explained.retain(|(_, branch, _)| Some(branch.distance()) == least);
        let mut nearest = explained;
        if nearest.len() > 1 {
            let count = nearest.len();
            let each = nearest.iter().filter_map(|(index, branch, _)| {
                let first = branch.list.first()?;
                Some(format!("({}) {}: {}", index + 1, first.path, first.text()))
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
            Some((index, mut branch, tag)) => {
                // What several carry tells nothing apart.
                let name = match tag.filter(|_| tagged == 1) {
                    Some(tag) => Branch::Tagged(tag),
                    None => Branch::Numbered(index + 1, members.len()),
                };
                for finding in &mut branch.list {
                    if choice {
                        finding.in_branch(&name);
                    }
                    finding.expected = None;
                }
                found.extend(branch);
            }
            None => self.note(found, format!("matches none of {} alternatives", members.len())),
        }
    }

    /// A subschema behind its references.
    fn target(&self, id: NodeId) -> NodeId {
        let graph = self.coercer.walk.graph;
        let mut id = id;
        // In-place chains are bounded, and a `$ref` is one.
        while let (true, [target]) = (graph.node(id).types.is_empty(), graph.node(id).refs.as_slice()) {
            id = *target;
        }
        id
    }

    fn only_null(&self, id: NodeId) -> bool {
        self.coercer.walk.graph.node(self.target(id)).types == [Kind::Null]
    }

    /// `kind = "freezer"`: the first property that `member` fixes to the very value it has.
    fn tag(&self, member: NodeId, value: &Value) -> Option<String> {
        let graph = self.coercer.walk.graph;
        let node = graph.node(self.target(member));
        let (name, value) = value.as_object()?.iter().find(|(name, value)| {
            let fixed = node.properties.get(*name).and_then(|&child| graph.constant(self.target(child)));
            value.is_string() && fixed == Some(*value)
        })?;
        Some(format!("{} = {}", words::segment(name), words::literal(value)))
    }

    /// Where a property tells all alternatives apart and the value has none of its values, that is the problem to tell.
    fn wrong_tag(&mut self, members: &[NodeId], value: &Value, found: &mut Findings) -> bool {
        let Some(map) = value.as_object() else { return false };
        let members: Vec<NodeId> =
            members.iter().map(|&member| self.target(member)).filter(|&member| !self.only_null(member)).collect();
        let Some((name, tags)) = self.discriminator(&members) else { return false };
        let expected = words::list(tags.iter().map(|tag| words::literal(tag)), "or", limits::MAX_LISTED);
        self.path.push(words::segment(name));
        let wrong = match map.get(name) {
            Some(tag) if tags.contains(&tag) => false,
            Some(tag) => {
                self.mismatch(found, expected, tag);
                true
            }
            None => {
                let finding = Finding::new(words::path(&self.path), "required property is missing");
                found.push(Finding { aside: Some(format!("expected {expected}")), ..finding });
                true
            }
        };
        self.path.pop();
        wrong
    }

    /// The required property that each of `members` fixes to a string of its own, and these strings.
    fn discriminator(&mut self, members: &[NodeId]) -> Option<(&'g str, Vec<&'g Value>)> {
        let graph = self.coercer.walk.graph;
        let (&first, rest) = members.split_first()?;
        if rest.is_empty() {
            return None;
        }
        for name in &graph.node(first).required {
            let mut tags = Vec::new();
            for &member in members {
                let node = graph.node(member);
                if !self.coercer.walk.spend(1 + (node.required.len() + tags.len()) as u64) {
                    return None;
                }
                let Some(&child) = node.properties.get(name) else { break };
                match graph.constant(self.target(child)) {
                    Some(tag) if tag.is_string() && node.required.contains(name) && !tags.contains(&tag) => {
                        tags.push(tag)
                    }
                    _ => break,
                }
            }
            if tags.len() == members.len() {
                return Some((name, tags));
            }
        }
        None
    }

    fn mismatch(&self, found: &mut Findings, expected: String, value: &Value) {
        let message = format!("expected {expected}, got {}", words::describe(value));
        self.wrong_type(found, expected, message);
    }

    /// The value as a whole is not what was meant.
    fn wrong_type(&self, found: &mut Findings, expected: String, message: String) {
        let finding = Finding::new(words::path(&self.path), message);
        found.push(Finding { expected: Some(expected), distance: FAR, ..finding });
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
                let hint = self.type_hint(&node.types, value);
                let expected = words::list(names.into_iter(), "or", limits::MAX_LISTED);
                let message = format!("expected {expected}, got {}{hint}", words::describe(value));
                self.wrong_type(found, expected, message);
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
                let aside = node.properties.get(name).map(|&child| format!("expected {}", self.expectation(child)));
                self.path.push(words::segment(name));
                let finding = Finding::new(words::path(&self.path), "required property is missing");
                found.push(Finding { aside, ..finding });
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
    fn expectation(&self, id: NodeId) -> String {
        let graph = self.coercer.walk.graph;
        let id = self.target(id);
        if let Some(constant) = graph.constant(id) {
            return words::literal(constant);
        }
        match graph.node(id).types.as_slice() {
            [] => "a value".to_owned(),
            types => words::list(types.iter().map(|kind| kind.name().to_owned()), "or", limits::MAX_LISTED),
        }
    }

    /// What most often went wrong with a type.
    fn type_hint(&mut self, types: &[Kind], value: &Value) -> &'static str {
        const NOT_JSON: &str = "; the text in it is not valid JSON";
        let Value::String(text) = value else {
            return if value.is_object() && types == [Kind::Array] { "; put it into [ ]" } else { "" };
        };
        let start = text.trim_start();
        if types.contains(&Kind::Object) && start.starts_with('{') {
            // The arguments themselves are never read from a string, whatever is in it.
            let readable =
                self.path.is_empty() || !self.coercer.walk.spend(weight(value)) || value::parse_object(text).is_some();
            return if readable { "; send the object itself, not a string" } else { NOT_JSON };
        }
        if types.contains(&Kind::Array) && start.starts_with('[') {
            let readable = !self.coercer.walk.spend(weight(value)) || value::parse_array(text).is_some();
            return if readable { "; send the array itself, not a string" } else { NOT_JSON };
        }
        if types == [Kind::Boolean] && (text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")) {
            return "; write true or false without quotes";
        }
        ""
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
