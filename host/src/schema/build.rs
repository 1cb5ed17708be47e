//! Reads a schema document into its graph, resolving references as the library does, and refuses what would cost too much.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jsonschema::{Draft, Registry, Uri};
use serde_json::{Map, Value};

use super::compile::{Compiler, Offline};
use super::error::SchemaError;
use super::graph::{Contains, Graph, Leaf, Node, NodeId, Pattern};
use super::value::Kind;
use super::{bounds, limits};

impl Graph {
    pub(super) fn build(document: &Value, draft: Draft, compiler: Compiler) -> Result<Self, SchemaError> {
        let base = base_uri(document, draft)?;
        let registry = Registry::new()
            .retriever(Offline)
            .draft(draft)
            .add(base.as_str(), draft.create_resource_ref(document))
            .and_then(|registry| registry.prepare())
            .map_err(|error| reference_error("", &error))?;
        let mut builder = Builder {
            registry: &registry,
            compiler,
            nodes: Vec::new(),
            patterns: Vec::new(),
            pattern_ids: HashMap::new(),
            pattern_classes: 0,
            by_address: HashMap::new(),
            pending: Vec::new(),
            resources: 0,
            resource_ids: HashMap::new(),
            crossings: Vec::new(),
            inside: addresses(document),
            dynamic_anchors: HashMap::new(),
            dynamic_uses: Vec::new(),
        };
        builder.enter(document, Arc::new(base), draft, "#".to_owned())?;
        while let Some(task) = builder.pending.pop() {
            builder.read(&task)?;
        }
        builder.finish()
    }
}

fn base_uri(document: &Value, draft: Draft) -> Result<Uri<String>, SchemaError> {
    let resource = draft.create_resource_ref(document);
    let id = resource.id().unwrap_or("json-schema:///");
    jsonschema::uri::from_str(id.trim_end_matches('#'))
        .map_err(|error| SchemaError::new("#/$id", format!("not usable as a base URI: {error}")))
}

pub(super) fn reference_error(at: &str, error: &dyn std::fmt::Display) -> SchemaError {
    SchemaError::new(
        at,
        format!(
            "{error}. Remote and file references are never fetched: put what is referenced under `$defs` and refer to it as `#/$defs/NAME`"
        ),
    )
}

/// A subschema that has an id but was not read yet.
struct Task<'d> {
    id: NodeId,
    schema: &'d Value,
    base: Arc<Uri<String>>,
    draft: Draft,
    at: String,
}

struct Builder<'d, 'r> {
    registry: &'r Registry<'d>,
    compiler: Compiler,
    nodes: Vec<Node>,
    patterns: Vec<Pattern>,
    pattern_ids: HashMap<String, usize>,
    pattern_classes: u64,
    /// A subschema is known by its address: the document is borrowed and stays where it is while this runs.
    by_address: HashMap<usize, NodeId>,
    pending: Vec<Task<'r>>,
    resources: usize,
    /// The resource each subschema is in, by base URI. Those of the standard meta-schemas are not counted.
    resource_ids: HashMap<String, usize>,
    /// References from one resource of the document to another.
    crossings: Vec<(usize, usize)>,
    /// Addresses of everything in the document.
    inside: HashSet<usize>,
    /// Subschemas a dynamic reference may reach, by anchor name (`$recursiveAnchor` has the empty one).
    dynamic_anchors: HashMap<String, Vec<NodeId>>,
    dynamic_uses: Vec<(NodeId, String)>,
}

/// Keywords that look at the value itself, in any draft.
const LEAF_KEYWORDS: [&str; 21] = [
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxProperties",
    "minProperties",
    "required",
    "dependentRequired",
    "format",
    "contentEncoding",
    "contentMediaType",
];

impl<'r> Builder<'_, 'r> {
    /// The id of `schema`, which is read later if it is new.
    fn enter(
        &mut self,
        schema: &'r Value,
        base: Arc<Uri<String>>,
        draft: Draft,
        at: String,
    ) -> Result<NodeId, SchemaError> {
        let address = std::ptr::from_ref(schema) as usize;
        if let Some(&id) = self.by_address.get(&address) {
            return Ok(id);
        }
        let id = self.nodes.len();
        if id >= limits::MAX_SUBSCHEMAS {
            return Err(SchemaError::new(
                at,
                format!("more than {} subschemas; make the schema smaller", limits::MAX_SUBSCHEMAS),
            ));
        }
        self.by_address.insert(address, id);
        self.nodes.push(Node { at: at.clone(), ..Node::default() });
        self.pending.push(Task { id, schema, base, draft, at });
        Ok(id)
    }

    fn child(&mut self, task: &Task<'r>, schema: &'r Value, keyword: &str) -> Result<NodeId, SchemaError> {
        let at = format!("{}/{keyword}", task.at);
        let draft = match task.draft.detect(schema) {
            Draft::Unknown => task.draft,
            draft => draft,
        };
        let mut base = Arc::clone(&task.base);
        if let Some(id) = draft.create_resource_ref(schema).id() {
            self.resources += 1;
            if self.resources > limits::MAX_RESOURCES {
                return Err(SchemaError::new(
                    at,
                    format!(
                        "more than {} subschemas with an `$id` of their own; refer to `#/$defs/NAME` instead",
                        limits::MAX_RESOURCES
                    ),
                ));
            }
            base = self
                .registry
                .resolve_uri(&base.borrow(), id)
                .map_err(|error| SchemaError::new(at.as_str(), format!("`$id`: {error}")))?;
        }
        self.enter(schema, base, draft, at)
    }

    fn children(
        &mut self,
        task: &Task<'r>,
        list: Option<&'r Value>,
        keyword: &str,
    ) -> Result<Vec<NodeId>, SchemaError> {
        let Some(Value::Array(members)) = list else { return Ok(Vec::new()) };
        members
            .iter()
            .enumerate()
            .map(|(index, member)| self.child(task, member, &format!("{keyword}/{index}")))
            .collect()
    }

    fn one(
        &mut self,
        task: &Task<'r>,
        schema: &'r Map<String, Value>,
        keyword: &str,
    ) -> Result<Option<NodeId>, SchemaError> {
        match schema.get(keyword) {
            Some(child @ (Value::Object(_) | Value::Bool(_))) => self.child(task, child, keyword).map(Some),
            _ => Ok(None),
        }
    }

    fn named(
        &mut self,
        task: &Task<'r>,
        schema: &'r Map<String, Value>,
        keyword: &str,
    ) -> Result<Vec<(String, NodeId)>, SchemaError> {
        let Some(Value::Object(members)) = schema.get(keyword) else { return Ok(Vec::new()) };
        members
            .iter()
            .filter(|(_, member)| member.is_object() || member.is_boolean())
            .map(|(name, member)| Ok((name.clone(), self.child(task, member, &format!("{keyword}/{}", escape(name)))?)))
            .collect()
    }

    fn read(&mut self, task: &Task<'r>) -> Result<(), SchemaError> {
        let mut node = Node { at: task.at.clone(), written_integers: task.draft == Draft::Draft4, ..Node::default() };
        match task.schema {
            Value::Bool(verdict) => node.boolean = Some(*verdict),
            Value::Object(schema) => self.read_object(task, schema, &mut node)?,
            _ => return Err(SchemaError::new(task.at.as_str(), "a schema must be a JSON object, `true` or `false`")),
        }
        if let Some(slot) = self.nodes.get_mut(task.id) {
            *slot = node;
        }
        Ok(())
    }

    fn read_object(
        &mut self,
        task: &Task<'r>,
        schema: &'r Map<String, Value>,
        node: &mut Node,
    ) -> Result<(), SchemaError> {
        self.read_references(task, schema, node)?;
        let legacy = matches!(task.draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7);
        if legacy && !node.refs.is_empty() {
            // There, `$ref` makes its neighbours void.
            return Ok(());
        }
        node.all_of = self.children(task, schema.get("allOf"), "allOf")?;
        node.any_of = self.children(task, schema.get("anyOf"), "anyOf")?;
        node.one_of = self.children(task, schema.get("oneOf"), "oneOf")?;
        node.not = self.one(task, schema, "not")?;
        node.condition = self.one(task, schema, "if")?;
        if node.condition.is_some() {
            node.then = self.one(task, schema, "then")?;
            node.otherwise = self.one(task, schema, "else")?;
        }
        node.dependents = self.named(task, schema, "dependentSchemas")?;
        node.dependents.extend(self.named(task, schema, "dependencies")?);

        let properties = self.named(task, schema, "properties")?;
        node.property_names = properties.iter().map(|(name, _)| name.clone()).collect();
        node.properties = properties.into_iter().collect();
        for (pattern, child) in self.named(task, schema, "patternProperties")? {
            let pattern = self.pattern(&pattern, &format!("{}/patternProperties", task.at))?;
            node.pattern_properties.push((pattern, child));
        }
        node.additional = self.one(task, schema, "additionalProperties")?;
        node.names = self.one(task, schema, "propertyNames")?;
        if schema.get("items").is_some_and(Value::is_array) {
            node.prefix = self.children(task, schema.get("items"), "items")?;
            node.items = self.one(task, schema, "additionalItems")?;
        } else {
            node.prefix = self.children(task, schema.get("prefixItems"), "prefixItems")?;
            node.items = self.one(task, schema, "items")?;
        }
        if let Some(contains) = self.one(task, schema, "contains")? {
            let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
            node.contains =
                Some(Contains { node: contains, least: bound("minContains").unwrap_or(1), most: bound("maxContains") });
        }
        for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
            node.unevaluated.extend(self.one(task, schema, keyword)?);
        }
        self.read_leaf(task, schema, node)
    }

    fn read_leaf(
        &mut self,
        task: &Task<'r>,
        schema: &'r Map<String, Value>,
        node: &mut Node,
    ) -> Result<(), SchemaError> {
        let mut document: Map<String, Value> = LEAF_KEYWORDS
            .iter()
            .filter_map(|&keyword| Some((keyword.to_owned(), schema.get(keyword)?.clone())))
            .collect();
        if let Some(Value::Object(dependencies)) = schema.get("dependencies") {
            let lists: Map<_, _> = dependencies
                .iter()
                .filter(|(_, list)| list.is_array())
                .map(|(name, list)| (name.clone(), list.clone()))
                .collect();
            document.insert("dependencies".to_owned(), Value::Object(lists));
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
            let pattern = self.pattern(pattern, &format!("{}/pattern", task.at))?;
            node.pattern_price = self.patterns.get(pattern).map_or(0, |pattern| pattern.class);
        }
        if let Some(Value::Array(required)) = schema.get("required") {
            node.required = required.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        }
        node.unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
        let choices: &[Value] = match (schema.get("enum"), schema.get("const")) {
            (Some(Value::Array(choices)), _) => choices,
            (_, Some(choice)) => std::slice::from_ref(choice),
            _ => &[],
        };
        node.choices = choices.len() as u64;
        node.compares_deeply = node.unique || !choices.is_empty();
        match schema.get("type") {
            Some(Value::String(name)) => node.types.extend(Kind::parse(name)),
            Some(Value::Array(names)) => {
                node.types.extend(names.iter().filter_map(Value::as_str).filter_map(Kind::parse))
            }
            _ => {}
        }
        node.types_explicit = !node.types.is_empty();
        if !node.types_explicit {
            for choice in choices {
                let kind = Kind::of(choice);
                if !node.types.contains(&kind) {
                    node.types.push(kind);
                }
            }
        }
        if !document.is_empty() {
            node.leaf = Some(Leaf::new(Value::Object(document), task.draft));
        }
        Ok(())
    }

    fn read_references(
        &mut self,
        task: &Task<'r>,
        schema: &'r Map<String, Value>,
        node: &mut Node,
    ) -> Result<(), SchemaError> {
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(reference) = schema.get(keyword).and_then(Value::as_str) else { continue };
            let at = format!("{}/{keyword}", task.at);
            let resolver = self.registry.resolver((*task.base).clone());
            let found = resolver.lookup(reference).map_err(|error| reference_error(&at, &error))?;
            let (target, resolver, draft) = found.into_inner();
            let base = resolver.base_uri();
            let shown = if reference.starts_with("#/") || reference == "#" { reference.to_owned() } else { at };
            let draft = if draft == Draft::Unknown { task.draft } else { draft };
            self.cross(&task.base, &base, target);
            node.refs.push(self.enter(target, base, draft, shown)?);
            if keyword != "$ref" {
                let name = if keyword == "$dynamicRef" { reference.rsplit('#').next().unwrap_or_default() } else { "" };
                self.dynamic_uses.push((task.id, name.to_owned()));
            }
        }
        if let Some(name) = schema.get("$dynamicAnchor").and_then(Value::as_str) {
            self.dynamic_anchors.entry(name.to_owned()).or_default().push(task.id);
        }
        if schema.get("$recursiveAnchor") == Some(&Value::Bool(true)) {
            self.dynamic_anchors.entry(String::new()).or_default().push(task.id);
        }
        Ok(())
    }

    /// Notes a reference that leads from one resource of the document into another.
    fn cross(&mut self, from: &Uri<String>, to: &Uri<String>, target: &Value) {
        if from == to || !self.inside.contains(&(std::ptr::from_ref(target) as usize)) {
            return;
        }
        let mut id = |uri: &Uri<String>| {
            let next = self.resource_ids.len();
            *self.resource_ids.entry(uri.as_str().to_owned()).or_insert(next)
        };
        let crossing = (id(from), id(to));
        if !self.crossings.contains(&crossing) {
            self.crossings.push(crossing);
        }
    }

    fn pattern(&mut self, text: &str, at: &str) -> Result<usize, SchemaError> {
        if let Some(&id) = self.pattern_ids.get(text) {
            return Ok(id);
        }
        if self.patterns.len() >= limits::MAX_PATTERNS {
            return Err(SchemaError::new(
                at,
                format!("more than {} different regular expressions", limits::MAX_PATTERNS),
            ));
        }
        let (matcher, class) = self.compiler.pattern(text).ok_or_else(|| {
            SchemaError::new(
                at,
                format!(
                    "the regular expression {} can't be used: it must be valid, without look-around and back-references (matching takes linear time here), and no larger than {} KiB compiled",
                    super::words::excerpt(text),
                    limits::PATTERN_CLASSES.iter().max().copied().unwrap_or_default() * (limits::PATTERN_CLASS_BYTES as u64 / 1024),
                ),
            )
        })?;
        self.pattern_classes += class;
        if self.pattern_classes > limits::MAX_PATTERN_CLASSES {
            return Err(SchemaError::new(
                at,
                "the regular expressions of this schema take too much memory together; use fewer or shorter ones",
            ));
        }
        self.patterns.push(Pattern { matcher, class });
        self.pattern_ids.insert(text.to_owned(), self.patterns.len() - 1);
        Ok(self.patterns.len() - 1)
    }

    fn finish(mut self) -> Result<Graph, SchemaError> {
        let compiled = bounds::scope_paths(&self.crossings, self.resource_ids.len()).saturating_mul(self.nodes.len());
        if compiled > limits::MAX_COMPILED {
            return Err(SchemaError::new(
                "",
                "too many ways lead through subschemas with an `$id` of their own; refer to `#/$defs/NAME` instead",
            ));
        }
        for (user, name) in std::mem::take(&mut self.dynamic_uses) {
            let anchors = self.dynamic_anchors.get(&name).cloned().unwrap_or_default();
            if let Some(node) = self.nodes.get_mut(user) {
                node.dynamic = anchors.into_iter().filter(|anchor| !node.refs.contains(anchor)).collect();
            }
        }
        let longest_chain = bounds::longest_chain(&self.nodes)?;
        let pattern_classes = self.pattern_classes;
        let steps_per_part = self.nodes.iter().try_fold(0, |most, node| Some(node.plain_steps()?.max(most)));
        Ok(Graph {
            steps_per_part,
            nodes: self.nodes,
            patterns: self.patterns,
            pattern_classes,
            longest_chain,
            compiler: self.compiler,
        })
    }
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Addresses of all values in a document whose depth is bounded.
fn addresses(document: &Value) -> HashSet<usize> {
    fn add(value: &Value, found: &mut HashSet<usize>) {
        found.insert(std::ptr::from_ref(value) as usize);
        match value {
            Value::Array(items) => items.iter().for_each(|item| add(item, found)),
            Value::Object(map) => map.values().for_each(|member| add(member, found)),
            _ => {}
        }
    }
    let mut found = HashSet::new();
    add(document, &mut found);
    found
}
