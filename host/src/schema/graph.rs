//! The schema as a graph of subschemas: who applies whom to what. The library validates whole documents only; deciding
//! which part of the arguments to coerce, wording a problem, and bounding the work all need the parts.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jsonschema::{Draft, Validator};
use serde_json::Value;

use super::compile::Compiler;
use super::value::Kind;

/// Index of a subschema in its graph.
pub(super) type NodeId = usize;

/// All subschemas that are reachable from the root, which is node 0.
pub(super) struct Graph {
    /// Of all patterns together.
    pub pattern_classes: u64,
    pub(super) nodes: Vec<Node>,
    pub(super) patterns: Vec<Pattern>,
    /// Most steps from one subschema to the next that apply to one and the same value.
    pub(super) longest_chain: usize,
    /// Where each part of a value meets one subschema at most: steps for one part, own keywords included. Then the size
    /// of the value bounds the work, and nobody need count it.
    pub(super) steps_per_part: Option<u64>,
    pub(super) compiler: Compiler,
}

/// A compiled regular expression. Compiled by the library, which translates from JavaScript's syntax.
pub(super) struct Pattern {
    pub(super) matcher: Validator,
    /// Size in units of [`PATTERN_CLASS_BYTES`](super::limits::PATTERN_CLASS_BYTES).
    pub(super) class: u64,
}

impl Pattern {
    pub(super) fn matches(&self, text: &str) -> bool {
        self.matcher.is_valid(&Value::String(text.to_owned()))
    }
}

/// One subschema. Everything it applies to the same value is *in place*; the rest applies to children.
#[derive(Default)]
pub(super) struct Node {
    /// JSON pointer of this subschema, for messages.
    pub(super) at: String,
    pub(super) boolean: Option<bool>,
    pub(super) leaf: Option<Leaf>,
    /// Types the value may have, in the schema's order: from `type`, else from the members of `enum` or `const`.
    pub(super) types: Vec<Kind>,
    /// `types` come from `type`.
    pub(super) types_explicit: bool,
    /// Draft 4: `3.0` is not an integer.
    pub(super) written_integers: bool,
    pub(super) required: Vec<String>,
    /// Members of `enum`, for the price of comparing with them.
    pub(super) choices: u64,
    pub(super) compares_deeply: bool,
    pub(super) unique: bool,
    /// Summed classes of the patterns a string is matched against.
    pub(super) pattern_price: u64,

    pub(super) refs: Vec<NodeId>,
    /// Where a dynamic reference may lead besides its static target; only for counting work.
    pub(super) dynamic: Vec<NodeId>,
    pub(super) all_of: Vec<NodeId>,
    pub(super) any_of: Vec<NodeId>,
    pub(super) one_of: Vec<NodeId>,
    pub(super) not: Option<NodeId>,
    pub(super) condition: Option<NodeId>,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
    pub(super) dependents: Vec<(String, NodeId)>,

    pub(super) property_names: Vec<String>,
    pub(super) properties: BTreeMap<String, NodeId>,
    pub(super) pattern_properties: Vec<(usize, NodeId)>,
    pub(super) additional: Option<NodeId>,
    pub(super) names: Option<NodeId>,
    pub(super) prefix: Vec<NodeId>,
    pub(super) items: Option<NodeId>,
    pub(super) contains: Option<Contains>,
    pub(super) unevaluated: Vec<NodeId>,
}

/// `contains` with its bounds.
pub(super) struct Contains {
    pub(super) node: NodeId,
    pub(super) least: u64,
    pub(super) most: Option<u64>,
}

/// The keywords of a subschema that look at the value itself. Compiled when first needed, which most never are.
pub(super) struct Leaf {
    document: Value,
    draft: Draft,
    validator: OnceLock<Option<Validator>>,
}

impl Leaf {
    pub(super) fn new(document: Value, draft: Draft) -> Self {
        Self { document, draft, validator: OnceLock::new() }
    }
}

impl Node {
    /// Steps for its own keywords on one value, without comparisons with the value's parts; none where it applies others
    /// in place or costs more than its value's size.
    pub(super) fn plain_steps(&self) -> Option<u64> {
        let is_plain = self.in_place().next().is_none()
            && self.pattern_properties.is_empty()
            && self.pattern_price == 0
            && !self.unique
            && self.names.is_none()
            && self.contains.is_none()
            && self.unevaluated.is_empty();
        is_plain.then(|| self.choices.saturating_add(self.required.len() as u64))
    }

    /// Every subschema applied to the same value as this one.
    pub(super) fn in_place(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.refs
            .iter()
            .chain(&self.dynamic)
            .chain(&self.all_of)
            .chain(&self.any_of)
            .chain(&self.one_of)
            .chain(&self.not)
            .chain(&self.condition)
            .chain(&self.then)
            .chain(&self.otherwise)
            .copied()
            .chain(self.dependents.iter().map(|(_, node)| *node))
    }
}

impl Graph {
    pub(super) fn node(&self, id: NodeId) -> &Node {
        // Ids are made by the builder alone, and its last step checks that every one has a node.
        static NOTHING: std::sync::LazyLock<Node> = std::sync::LazyLock::new(Node::default);
        self.nodes.get(id).unwrap_or(&NOTHING)
    }

    /// The validator of a subschema's own keywords, where it has any.
    pub(super) fn leaf(&self, id: NodeId) -> Option<&Validator> {
        let leaf = self.node(id).leaf.as_ref()?;
        // The same keywords compiled as part of the whole document, so this can't fail; if it does, the leaf is left out
        // of guiding coercion, and the verdict is the whole document's all the same.
        leaf.validator.get_or_init(|| self.compiler.build(&leaf.document, leaf.draft).ok()).as_ref()
    }

    /// The keywords of a subschema that look at the value itself, as a schema document.
    pub(super) fn own_keywords(&self, id: NodeId) -> Option<&Value> {
        self.node(id).leaf.as_ref().map(|leaf| &leaf.document)
    }

    /// The one value that a subschema allows, where it names it.
    pub(super) fn constant(&self, id: NodeId) -> Option<&Value> {
        let keywords = self.own_keywords(id)?;
        match (keywords.get("const"), keywords.get("enum").and_then(Value::as_array).map(Vec::as_slice)) {
            (Some(constant), _) | (None, Some([constant])) => Some(constant),
            _ => None,
        }
    }
}
