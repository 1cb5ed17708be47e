//! Coercion, lossless or nothing: reads `"42"` as 42 where the schema wants a number, but only where the value as it
//! stands is invalid, and only where nothing is lost.

use serde_json::{Number, Value};

use super::graph::{Graph, Node, NodeId};
use super::limits;
use super::value::{self, Kind};
use super::walk::Walk;
use super::words;

/// Makes a value valid as far as it can.
pub(super) struct Coercer<'g> {
    pub(super) walk: Walk<'g>,
    /// Where the value being looked at is.
    path: Vec<String>,
    /// Paths of what was coerced, outer before inner.
    pub(super) changed: Vec<String>,
    /// Depth of the item that a scalar became when it was made an array: that one is not wrapped again.
    wrapped_at: Option<usize>,
}

/// The subschemas in place above the one being looked at: a property that one of them requires is not optional.
struct Above<'a> {
    id: NodeId,
    outer: Option<&'a Above<'a>>,
}

/// A value that could stand in for another one.
struct Candidate {
    value: Value,
    /// It is good only if the schema accepts it; another one is shown to the model even when it breaks a further rule.
    wrapped: bool,
}

impl<'g> Coercer<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        Self { walk: Walk::new(graph), path: Vec::new(), changed: Vec::new(), wrapped_at: None }
    }

    /// Coerces the arguments as a whole. They themselves are never parsed from a string nor wrapped.
    pub(super) fn coerce_root(&mut self, arguments: &mut Value) {
        self.coerce(0, arguments, None);
    }

    /// Coerces a value below the root for its own sake, to see how near it comes to a subschema.
    pub(super) fn coerce_below(&mut self, path: &[String], id: NodeId, value: &mut Value) {
        self.path = path.to_vec();
        self.coerce(id, value, None);
        self.path.clear();
    }

    /// True when `value` is valid afterwards.
    fn coerce(&mut self, id: NodeId, value: &mut Value, outer: Option<&Above<'_>>) -> bool {
        if self.walk.valid(id, value) {
            return true;
        }
        if self.walk.exhausted() {
            return false;
        }
        let node = self.walk.graph.node(id);
        let fits = node.types.is_empty() || node.types.iter().any(|kind| kind.accepts(value, node.written_integers));
        if fits || self.path.is_empty() { self.inside(id, value, outer) } else { self.convert(id, value, outer) }
    }

    /// Tries the values of other types that `value` may be read as.
    fn convert(&mut self, id: NodeId, value: &mut Value, outer: Option<&Above<'_>>) -> bool {
        let node = self.walk.graph.node(id);
        let before = self.changed.len();
        let mut nearest = None;
        let may_wrap = self.wrapped_at != Some(self.path.len());
        for mut candidate in candidates(node, value) {
            if candidate.wrapped && !may_wrap {
                continue;
            }
            let room = limits::MAX_ARGUMENT_DEPTH.saturating_sub(self.path.len());
            if value::depth(&candidate.value, room) > room || !self.walk.spend(value::weight(&candidate.value)) {
                continue;
            }
            self.changed.push(words::path(&self.path));
            let outside = self.wrapped_at;
            if candidate.wrapped {
                self.wrapped_at = Some(self.path.len() + 1);
            }
            let valid = self.coerce(id, &mut candidate.value, outer);
            self.wrapped_at = outside;
            if valid {
                *value = candidate.value;
                return true;
            }
            let changed = self.changed.split_off(before);
            if !candidate.wrapped && node.types_explicit && nearest.is_none() {
                nearest = Some((candidate.value, changed));
            }
        }
        if let Some((read, changed)) = nearest {
            *value = read;
            self.changed.extend(changed);
        }
        false
    }

    /// Coerces through what the subschema applies to the value and to its parts.
    fn inside(&mut self, id: NodeId, value: &mut Value, outer: Option<&Above<'_>>) -> bool {
        let node = self.walk.graph.node(id);
        let here = Above { id, outer };
        for &child in node.refs.iter().chain(&node.all_of) {
            self.coerce(child, value, Some(&here));
        }
        self.choose(&node.any_of, false, value, &here);
        self.choose(&node.one_of, true, value, &here);
        if let Some(child) = self.walk.conditional(node, value) {
            self.coerce(child, value, Some(&here));
        }
        let dependents: Vec<NodeId> = Walk::dependents(node, value).collect();
        for child in dependents {
            self.coerce(child, value, Some(&here));
        }
        match value {
            Value::Object(_) => self.properties(node, value, &here),
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    if let Some(child) = Walk::for_item(node, index) {
                        self.path.push(index.to_string());
                        self.coerce(child, item, None);
                        self.path.pop();
                    }
                }
            }
            _ => {}
        }
        self.walk.valid(id, value)
    }

    /// Takes the first member that the value can be made valid for.
    fn choose(&mut self, members: &[NodeId], exactly_one: bool, value: &mut Value, here: &Above<'_>) {
        if members.is_empty() || !self.walk.matching(members, value).is_empty() {
            return;
        }
        let before = self.changed.len();
        for &member in members {
            if !self.walk.spend(value::weight(value)) {
                return;
            }
            let mut copy = value.clone();
            if self.coerce(member, &mut copy, Some(here))
                && (!exactly_one || self.walk.matching(members, &copy).len() == 1)
            {
                *value = copy;
                return;
            }
            self.changed.truncate(before);
        }
    }

    fn properties(&mut self, node: &Node, value: &mut Value, here: &Above<'_>) {
        let Value::Object(map) = value else { return };
        let names: Vec<String> = map.keys().cloned().collect();
        for name in names {
            let children = self.walk.for_property(node, &name);
            let Some(member) = map.get_mut(&name) else { continue };
            self.path.push(words::segment(&name));
            let mut valid = true;
            for child in children {
                valid &= self.coerce(child, member, None);
            }
            let absent =
                !valid && member.is_null() && node.properties.contains_key(&name) && !self.required(here, &name);
            if absent && self.walk.spend(map.len() as u64) {
                map.shift_remove(&name);
                self.changed.push(words::path(&self.path));
            }
            self.path.pop();
        }
    }

    /// Whether a property is required by any subschema that is known to apply to the same object.
    fn required(&mut self, here: &Above<'_>, name: &str) -> bool {
        let mut above = Some(here);
        while let Some(here) = above {
            if self.requires(here.id, name) {
                return true;
            }
            above = here.outer;
        }
        false
    }

    fn requires(&mut self, id: NodeId, name: &str) -> bool {
        let node = self.walk.graph.node(id);
        // Out of steps, the safe answer is that it is.
        !self.walk.spend(1 + node.required.len() as u64)
            || node.required.iter().any(|required| required == name)
            || node.refs.iter().chain(&node.all_of).any(|&child| self.requires(child, name))
    }
}

/// What `value`, whose type is not among the subschema's, may be read as without loss, in the order of its types.
fn candidates(node: &Node, value: &Value) -> Vec<Candidate> {
    let read = |value: Value| Candidate { value, wrapped: false };
    let mut found = Vec::new();
    for &kind in &node.types {
        match (kind, value) {
            (Kind::Number, Value::String(text)) => found.extend(value::parse_number(text).map(Value::Number).map(read)),
            (Kind::Integer, Value::String(text)) => {
                found.extend(value::parse_number(text).and_then(|number| integer(&number)).map(read));
            }
            (Kind::Integer, Value::Number(number)) => found.extend(integer(number).map(read)),
            (Kind::Boolean, Value::String(text)) => match text.as_str() {
                "true" => found.push(read(Value::Bool(true))),
                "false" => found.push(read(Value::Bool(false))),
                _ => {}
            },
            (Kind::String, Value::Number(number)) => found.push(read(Value::String(number.to_string()))),
            (Kind::String, Value::Bool(verdict)) => found.push(read(Value::String(verdict.to_string()))),
            (Kind::Object, Value::String(text)) => found.extend(value::parse_object(text).map(Value::Object).map(read)),
            (Kind::Array, Value::String(_) | Value::Number(_) | Value::Bool(_)) => {
                if let Value::String(text) = value {
                    found.extend(value::parse_array(text).map(Value::Array).map(read));
                }
                found.push(Candidate { value: Value::Array(vec![value.clone()]), wrapped: true });
            }
            _ => {}
        }
    }
    found
}

fn integer(number: &Number) -> Option<Value> {
    value::integer_text(number.as_str())?.parse::<Number>().ok().map(Value::Number)
}
