//! Walks subschemas over a value: counts the work a validation would be, and tells whether a part is valid as it stands.

use jsonschema::json::{Array as _, Json, JsonNumber as _, Node as _, Object as _, SerdeJson};
use serde_json::Value;

use super::graph::{Graph, Node, NodeId};
use super::instance::{InText, Instance, Length};
use super::limits;
use super::value::{text_weight, weight_of};

/// A walk with a bounded number of steps. Once they are spent, every answer is "not valid" and nothing is done any more.
pub(super) struct Walk<'g> {
    pub(super) graph: &'g Graph,
    steps: u64,
}

impl<'g> Walk<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        Self { graph, steps: limits::MAX_STEPS }
    }

    pub(super) fn exhausted(&self) -> bool {
        self.steps == 0
    }

    /// Takes `count` steps; false when there are none left.
    pub(super) fn spend(&mut self, count: u64) -> bool {
        self.steps = self.steps.saturating_sub(count);
        self.steps > 0
    }

    /// Subschemas that apply to a property by its name.
    pub(super) fn for_property(&mut self, node: &Node, name: &str) -> Vec<NodeId> {
        let mut found: Vec<NodeId> = node.properties.get(name).copied().into_iter().collect();
        for &(pattern, child) in &node.pattern_properties {
            let Some(pattern) = self.graph.patterns.get(pattern) else { continue };
            if !self.spend(1 + pattern.class.saturating_mul(name.len() as u64)) {
                break;
            }
            if pattern.matches(name) {
                found.push(child);
            }
        }
        if found.is_empty() {
            found.extend(node.additional);
        }
        found
    }

    /// The subschema that applies to an item by its position.
    pub(super) fn for_item(node: &Node, index: usize) -> Option<NodeId> {
        node.prefix.get(index).copied().or(node.items)
    }

    /// Counts what validating `value` costs at most, with every alternative tried. False when that is too much.
    pub(super) fn affordable(&mut self, id: NodeId, value: Instance<'_>) -> bool {
        let node = self.graph.node(id);
        if !self.spend(1 + own_price::<InText>(node, &value)) {
            return false;
        }
        // To find out what is unevaluated, the library looks at everything in place again, and once more for branches.
        let rounds = if node.unevaluated.is_empty() { 1 } else { 3 };
        for _ in 0..rounds {
            for child in node.in_place() {
                if !self.affordable(child, value) {
                    return false;
                }
            }
        }
        if let Some(object) = value.as_object() {
            return object.members().all(|(name, member)| {
                self.name_affordable(node, name)
                    && self.property_affordable(node, name, member)
                    && node.unevaluated.iter().all(|&child| self.affordable(child, member))
            });
        }
        let Some(items) = value.as_array() else { return true };
        items.elements().enumerate().all(|(index, item)| {
            let contains = node.contains.as_ref().map(|contains| contains.node);
            let children =
                Self::for_item(node, index).into_iter().chain(contains).chain(node.unevaluated.iter().copied());
            self.spend(1) && children.into_iter().all(|child| self.affordable(child, item))
        })
    }

    fn name_affordable(&mut self, node: &Node, name: &str) -> bool {
        node.names.is_none_or(|names| self.affordable(names, Instance::Name(name)))
    }

    fn property_affordable(&mut self, node: &Node, name: &str, member: Instance<'_>) -> bool {
        if node.pattern_properties.is_empty() {
            let child = node.properties.get(name).copied().or(node.additional);
            return child.is_none_or(|child| self.affordable(child, member));
        }
        let children = self.for_property(node, name);
        !self.exhausted() && children.into_iter().all(|child| self.affordable(child, member))
    }

    /// Whether `value` is valid against a subschema. `unevaluated…` and what a dynamic reference may lead to elsewhere
    /// are left out: this guides, the verdict on the whole is the library's.
    pub(super) fn valid(&mut self, id: NodeId, value: &Value) -> bool {
        let node = self.graph.node(id);
        if !self.spend(1 + own_price::<SerdeJson>(node, &value)) {
            return false;
        }
        if let Some(verdict) = node.boolean {
            return verdict;
        }
        self.own_valid(id, value)
            && node.refs.iter().chain(&node.all_of).all(|&child| self.valid(child, value))
            && (node.any_of.is_empty() || node.any_of.iter().any(|&child| self.valid(child, value)))
            && (node.one_of.is_empty() || self.matching(&node.one_of, value).len() == 1)
            && node.not.is_none_or(|child| !self.valid(child, value))
            && self.conditional(node, value).is_none_or(|child| self.valid(child, value))
            && Self::dependents(node, value).all(|child| self.valid(child, value))
            && self.children_valid(node, value)
            // Without steps, `not` and `if` have answered at random.
            && !self.exhausted()
    }

    /// Whether the keywords that look at the value itself accept it.
    pub(super) fn own_valid(&self, id: NodeId, value: &Value) -> bool {
        self.graph.leaf(id).is_none_or(|leaf| leaf.is_valid(value))
    }

    /// Positions of the members that accept `value`.
    pub(super) fn matching(&mut self, members: &[NodeId], value: &Value) -> Vec<usize> {
        members.iter().enumerate().filter(|&(_, &member)| self.valid(member, value)).map(|(index, _)| index).collect()
    }

    /// The branch of `if` that applies.
    pub(super) fn conditional(&mut self, node: &Node, value: &Value) -> Option<NodeId> {
        let condition = node.condition?;
        if self.valid(condition, value) { node.then } else { node.otherwise }
    }

    /// Subschemas that apply because a property is there.
    pub(super) fn dependents<'n>(node: &'n Node, value: &'n Value) -> impl Iterator<Item = NodeId> + 'n {
        node.dependents
            .iter()
            .filter(|(name, _)| value.as_object().is_some_and(|map| map.contains_key(name)))
            .map(|(_, child)| *child)
    }

    /// How many items `contains` accepts.
    pub(super) fn contained(&mut self, child: NodeId, items: &[Value]) -> u64 {
        items.iter().filter(|item| self.valid(child, item)).count() as u64
    }

    fn children_valid(&mut self, node: &Node, value: &Value) -> bool {
        match value {
            Value::Object(map) => map.iter().all(|(name, member)| {
                node.names.is_none_or(|names| self.valid(names, &Value::String(name.clone())))
                    && self.for_property(node, name).into_iter().all(|child| self.valid(child, member))
            }),
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .all(|(index, item)| Self::for_item(node, index).is_none_or(|child| self.valid(child, item)))
                    && node.contains.as_ref().is_none_or(|contains| {
                        let found = self.contained(contains.node, items);
                        found >= contains.least && contains.most.is_none_or(|most| found <= most)
                    })
            }
            _ => true,
        }
    }
}

/// What a subschema's own keywords cost on a value, beyond the one step for looking at it.
fn own_price<F>(node: &Node, value: &F::Node<'_>) -> u64
where
    F: Json,
    for<'v> F::Node<'v>: Length,
{
    let own = if let Some(length) = value.length() {
        text_weight(length).saturating_add(node.pattern_price.saturating_mul(length as u64))
    } else if let Some(number) = value.as_number() {
        text_weight(number.as_str().len())
    } else if value.as_object().is_some() {
        node.required.len() as u64
    } else {
        0
    };
    if !node.compares_deeply {
        return own;
    }
    // A choice is looked at no further than it is long, but for numbers, whose last zeros may count.
    let choices = node.choices.saturating_mul(text_weight(longest_number::<F>(value)));
    let mut price = own.saturating_add(choices).saturating_add(weight_of::<F>(value));
    if node.unique {
        let alike = colliding_numbers::<F>(value);
        price = price.saturating_add(alike.saturating_mul(alike));
    }
    price
}

/// Bytes of the longest number in a value.
fn longest_number<F: Json>(value: &F::Node<'_>) -> usize {
    if let Some(number) = value.as_number() {
        number.as_str().len()
    } else if let Some(items) = value.as_array() {
        items.elements().map(|item| longest_number::<F>(&item)).max().unwrap_or(0)
    } else if let Some(object) = value.as_object() {
        object.members().map(|(_, member)| longest_number::<F>(&member)).max().unwrap_or(0)
    } else {
        0
    }
}

/// Numbers that the library's hash for `uniqueItems` may not tell apart, since it takes them as floats: each is then
/// compared with all the others.
fn colliding_numbers<F: Json>(value: &F::Node<'_>) -> u64 {
    if let Some(number) = value.as_number() {
        let digits = number.as_str();
        u64::from(digits.len() > 15 || digits.contains(['e', 'E']))
    } else if let Some(items) = value.as_array() {
        items.elements().map(|item| colliding_numbers::<F>(&item)).sum()
    } else if let Some(object) = value.as_object() {
        object.members().map(|(_, member)| colliding_numbers::<F>(&member)).sum()
    } else {
        0
    }
}
