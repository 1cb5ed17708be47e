//! Lets the schema library look at a document where it stands in its text.

use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use serde_json::{Number, Value};

use super::value::same_number;
use crate::model::{self, Items, Look, Members};

/// The representation, as the library names its own `SerdeJson`.
pub(super) struct InText;

/// One value.
#[derive(Clone, Copy)]
pub(super) enum Instance<'a> {
    Part(model::Node<'a>),
    /// A property's name, for `propertyNames`.
    Name(&'a str),
}

impl<'a> Instance<'a> {
    /// What it is, where it is a part of the document.
    fn look(self) -> Option<Look<'a>> {
        match self {
            Self::Part(node) => Some(node.look()),
            Self::Name(_) => None,
        }
    }
}

impl Json for InText {
    type Node<'a> = Instance<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = ();

    // A small object is searched from front to back.
    const KEYS_PER_LOOKUP: usize = 2;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(Instance<'_>) -> T) -> T {
        f(Instance::Name(string))
    }
}

impl<'a> Node<'a, InText> for Instance<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = Digits<'a>;

    fn as_object(&self) -> Option<Members<'a>> {
        match self.look()? {
            Look::Object(members) => Some(members),
            _ => None,
        }
    }

    fn as_array(&self) -> Option<Items<'a>> {
        match self.look()? {
            Look::Array(items) => Some(items),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Part(node) => match node.look() {
                Look::String(written) => Some(written.text()),
                _ => None,
            },
            Self::Name(name) => Some(Cow::Borrowed(name)),
        }
    }

    fn as_number(&self) -> Option<Digits<'a>> {
        match self.look()? {
            Look::Number(digits) => Some(Digits(digits)),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self.look()? {
            Look::Bool(value) => Some(value),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        self.json_type() == JsonType::Null
    }

    fn is_number(&self) -> bool {
        self.json_type() == JsonType::Number
    }

    fn json_type(&self) -> JsonType {
        let Self::Part(node) = self else { return JsonType::String };
        match node.look() {
            Look::Null => JsonType::Null,
            Look::Bool(_) => JsonType::Boolean,
            Look::Number(_) => JsonType::Number,
            Look::String(_) => JsonType::String,
            Look::Array(_) => JsonType::Array,
            Look::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match self {
            Self::Part(node) => equal(*node, expected),
            Self::Name(name) => expected == *name,
        }
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(match self {
            Self::Part(node) => node.to_value(),
            Self::Name(name) => Value::String((*name).to_owned()),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        match self {
            Self::Part(node) => Some(NodeIdentity::tagged(node.tape(), node.place())),
            Self::Name(_) => None,
        }
    }
}

/// Whether a part says what a value of the schema does. It costs no more than that value is large, however large the
/// part: an `enum` may have thousands of them.
fn equal(node: model::Node<'_>, expected: &Value) -> bool {
    match (node.look(), expected) {
        (Look::Null, Value::Null) => true,
        (Look::Bool(value), Value::Bool(expected)) => value == *expected,
        (Look::Number(digits), Value::Number(expected)) => same_number(digits, expected.as_str()),
        (Look::String(written), Value::String(expected)) => written.says(expected),
        (Look::Array(items), Value::Array(expected)) => {
            items.len() == expected.len() && items.zip(expected).all(|(item, expected)| equal(item, expected))
        }
        (Look::Object(members), Value::Object(expected)) => {
            members.len() == expected.len()
                && expected.iter().all(|(key, value)| members.get(key).is_some_and(|member| equal(member, value)))
        }
        _ => false,
    }
}

/// Bytes of a string, which a representation may know without reading it.
pub(super) trait Length {
    /// At least as many as the string has; nothing where it is none.
    fn length(&self) -> Option<usize>;
}

impl Length for Instance<'_> {
    fn length(&self) -> Option<usize> {
        match self {
            Self::Part(node) => match node.look() {
                Look::String(written) => Some(written.len()),
                _ => None,
            },
            Self::Name(name) => Some(name.len()),
        }
    }
}

impl Length for &Value {
    fn length(&self) -> Option<usize> {
        self.as_str().map(str::len)
    }
}

impl<'a> Object<'a, InText> for Members<'a> {
    type Node = Instance<'a>;
    type MemberName = &'a str;
    type MembersIter = std::iter::Map<Members<'a>, fn((&'a str, model::Node<'a>)) -> (&'a str, Instance<'a>)>;

    fn len(&self) -> usize {
        Members::len(self)
    }

    fn get(&self, key: &Box<str>) -> Option<Instance<'a>> {
        Members::get(self, key).map(Instance::Part)
    }

    fn members(&self) -> Self::MembersIter {
        self.map(|(name, member)| (name, Instance::Part(member)))
    }
}

impl<'a> Array<'a, InText> for Items<'a> {
    type Node = Instance<'a>;
    type ElementsIter = std::iter::Map<Items<'a>, fn(model::Node<'a>) -> Instance<'a>>;

    fn len(&self) -> usize {
        Items::len(self)
    }

    fn elements(&self) -> Self::ElementsIter {
        self.map(Instance::Part)
    }
}

/// A number by its digits, which are read as serde_json reads those that it keeps.
pub(super) struct Digits<'a>(&'a str);

impl JsonNumber for Digits<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    fn as_f64(&self) -> Option<f64> {
        self.0.parse().ok().filter(|value: &f64| value.is_finite())
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn to_number(&self) -> Cow<'_, Number> {
        // Digits that were read as a number are one.
        Cow::Owned(self.0.parse().unwrap_or_else(|_| Number::from(0)))
    }

    fn is_integer(&self) -> bool {
        self.is_written_as_integer() || JsonNumber::is_integer(&*self.to_number())
    }

    fn is_written_as_integer(&self) -> bool {
        !self.0.contains(['.', 'e', 'E'])
    }
}
