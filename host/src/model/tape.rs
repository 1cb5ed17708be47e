//! The values of one JSON text in a list, in the order of the text, each pointing at its place in it (a tape, as
//! simdjson calls it): what has to be looked at in every call is looked at without a copy and almost without memory of
//! its own. Strings stay as they are written until somebody wants what they say.

use std::borrow::Cow;

use jiter::{Jiter, JiterError, Peek};
use serde_json::{Map, Number, Value};

use super::json::{MAX_DEPTH, RESERVED};

/// Members up to which an object is searched from front to back.
const MAX_SEARCHED: u32 = 16;

/// A text that was read.
pub(crate) struct Tape {
    /// Every value; in an object each behind its key.
    parts: Vec<Part>,
    /// Keys with escapes as they are without.
    decoded: String,
    /// For each large object the parts that are its keys, by the alphabet.
    sorted: Vec<u32>,
    /// The first key that an object has twice.
    twice: Option<u32>,
    /// Whether some key is one that serde_json keeps for itself.
    is_reserved: bool,
    depth: usize,
    weight: u64,
}

#[derive(Clone, Copy)]
struct Part {
    kind: Kind,
    /// Of a string (with its quotes), number or key (without): its place in the text, or in what is decoded. Of an array
    /// or object: how much is in it, and where its sorted keys begin.
    start: u32,
    end: u32,
    /// The part behind this one and all that is in it.
    next: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    False,
    True,
    Number,
    String,
    /// A key that stands in the text as it is.
    Key,
    /// A key that had to be decoded.
    DecodedKey,
    Array,
    Object,
}

/// Why there is no tape.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    #[error(transparent)]
    Jiter(#[from] JiterError),
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl Tape {
    /// Reads a text of less than 4 GiB.
    pub(crate) fn of(text: &str) -> Result<Self, Unread> {
        let mut tape = Self {
            // Texts of calls have a part for about every 20 bytes.
            parts: Vec::with_capacity(text.len() / 16 + 4),
            decoded: String::new(),
            sorted: Vec::new(),
            twice: None,
            is_reserved: false,
            depth: 0,
            weight: 0,
        };
        let mut jiter = Jiter::new(text.as_bytes());
        let first = jiter.peek()?;
        tape.read(text, &mut jiter, first, 0)?;
        jiter.finish()?;
        Ok(tape)
    }

    /// Reads one value with so many arrays and objects around it.
    fn read(&mut self, text: &str, jiter: &mut Jiter<'_>, first: Peek, level: usize) -> Result<(), Unread> {
        self.depth = self.depth.max(level);
        match first {
            Peek::Null => {
                jiter.known_null()?;
                self.push(Kind::Null, 0, 0);
            }
            Peek::True | Peek::False => {
                let kind = if jiter.known_bool(first)? { Kind::True } else { Kind::False };
                self.push(kind, 0, 0);
            }
            Peek::String => {
                // Both quotes are outside of what is answered.
                let length = jiter.known_bytes()?.len() + 2;
                self.push_last(Kind::String, jiter, length);
            }
            Peek::Array | Peek::Object if level >= MAX_DEPTH => return Err(Unread::TooDeep),
            Peek::Array => {
                let (at, mut count) = (self.place(), 0);
                self.push(Kind::Array, 0, 0);
                let mut next = jiter.known_array()?;
                while let Some(first) = next {
                    self.read(text, jiter, first, level + 1)?;
                    count += 1;
                    next = jiter.array_step()?;
                }
                self.close(at, count);
            }
            Peek::Object => {
                let (at, mut count) = (self.place(), 0);
                self.push(Kind::Object, 0, 0);
                let mut next = jiter.known_object()?;
                while let Some(key) = next {
                    self.is_reserved |= key.starts_with(RESERVED);
                    self.push_key(text, key);
                    let first = jiter.peek()?;
                    self.read(text, jiter, first, level + 1)?;
                    count += 1;
                    next = jiter.next_key()?;
                }
                self.close_object(text, at, count);
            }
            number => {
                let length = jiter.known_number_bytes(number)?.len();
                self.push_last(Kind::Number, jiter, length);
            }
        }
        Ok(())
    }

    /// Whether some key is one that serde_json keeps for itself.
    pub(crate) fn is_reserved(&self) -> bool {
        self.is_reserved
    }

    /// The whole document. `text` is the one that was read.
    pub(crate) fn root<'a>(&'a self, text: &'a str) -> Node<'a> {
        Node { text, tape: self, at: 0 }
    }

    /// A key that some object has twice.
    pub(crate) fn twice<'a>(&'a self, text: &'a str) -> Option<&'a str> {
        Some(self.string(text, self.part(self.twice?)))
    }

    /// Nesting of arrays and objects: `5` is 0, `[5]` is 1.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Work of copying or comparing the whole, in steps: one for each part, and one for each 64 bytes of text.
    pub(crate) fn weight(&self) -> u64 {
        self.weight
    }

    fn part(&self, at: u32) -> Part {
        const NULL: Part = Part { kind: Kind::Null, start: 0, end: 0, next: u32::MAX };
        // Every index was made by the reader.
        self.parts.get(at as usize).copied().unwrap_or(NULL)
    }

    fn string<'a>(&'a self, text: &'a str, part: Part) -> &'a str {
        let from = if part.kind == Kind::DecodedKey { &self.decoded } else { text };
        from.get(part.start as usize..part.end as usize).unwrap_or_default()
    }

    fn place(&self) -> u32 {
        // The text is shorter than 4 GiB, and each part takes a byte of it at least.
        self.parts.len() as u32
    }

    fn push(&mut self, kind: Kind, start: u32, end: u32) {
        let next = self.place() + 1;
        self.parts.push(Part { kind, start, end, next });
        self.weight += 1;
    }

    fn push_text(&mut self, kind: Kind, start: u32, end: u32) {
        self.push(kind, start, end);
        self.weight += u64::from(end - start) / 64;
    }

    /// What was read last, so many bytes.
    fn push_last(&mut self, kind: Kind, jiter: &Jiter<'_>, length: usize) {
        let end = jiter.current_index();
        self.push_text(kind, (end - length) as u32, end as u32);
    }

    /// A key, which is a part of the text where nothing in it had to be decoded.
    fn push_key(&mut self, text: &str, key: &str) {
        if let Some((start, end)) = place_in(text, key) {
            return self.push_text(Kind::Key, start, end);
        }
        let start = self.decoded.len() as u32;
        self.decoded.push_str(key);
        self.push_text(Kind::DecodedKey, start, self.decoded.len() as u32);
    }

    fn close(&mut self, at: u32, count: u32) {
        let next = self.place();
        if let Some(part) = self.parts.get_mut(at as usize) {
            (part.start, part.next) = (count, next);
        }
    }

    /// Looks for a key that is there twice, and makes a large object quick to search.
    fn close_object(&mut self, text: &str, at: u32, count: u32) {
        self.close(at, count);
        let twice = if count <= MAX_SEARCHED { self.twice_in_small(text, at) } else { self.sort_keys(text, at) };
        self.twice = self.twice.or(twice);
    }

    fn twice_in_small(&self, text: &str, at: u32) -> Option<u32> {
        let mut keys = [""; MAX_SEARCHED as usize];
        for (nth, this) in (Node { text, tape: self, at }).keys().enumerate() {
            let key = self.string(text, self.part(this));
            let (earlier, rest) = keys.split_at_mut_checked(nth)?;
            if earlier.contains(&key) {
                return Some(this);
            }
            *rest.first_mut()? = key;
        }
        None
    }

    fn sort_keys(&mut self, text: &str, at: u32) -> Option<u32> {
        let mut keys: Vec<u32> = Node { text, tape: self, at }.keys().collect();
        let key = |at| self.string(text, self.part(at));
        keys.sort_by(|&one, &other| key(one).cmp(key(other)));
        let twice = keys.iter().zip(keys.iter().skip(1)).find(|&(&one, &other)| key(one) == key(other));
        let twice = twice.map(|(_, &other)| other);
        let start = self.sorted.len() as u32;
        self.sorted.extend(keys);
        if let Some(part) = self.parts.get_mut(at as usize) {
            part.end = start;
        }
        twice
    }
}

/// Where in a text a part of it stands; nothing for what is no part of it.
fn place_in(text: &str, part: &str) -> Option<(u32, u32)> {
    let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let end = start.checked_add(part.len()).filter(|&end| end <= text.len())?;
    Some((start as u32, end as u32))
}

/// One value of a document.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    text: &'a str,
    tape: &'a Tape,
    at: u32,
}

/// What a value is.
#[derive(Clone, Copy)]
pub(crate) enum Look<'a> {
    Null,
    Bool(bool),
    /// Its digits as they were written.
    Number(&'a str),
    String(Written<'a>),
    Array(Items<'a>),
    Object(Members<'a>),
}

impl<'a> Node<'a> {
    /// The value.
    pub(crate) fn look(self) -> Look<'a> {
        let part = self.part();
        match part.kind {
            Kind::Null => Look::Null,
            Kind::False => Look::Bool(false),
            Kind::True => Look::Bool(true),
            Kind::Number => Look::Number(self.tape.string(self.text, part)),
            Kind::String | Kind::Key | Kind::DecodedKey => Look::String(Written(self.tape.string(self.text, part))),
            Kind::Array => Look::Array(Items { next: self.inside(), left: part.start }),
            Kind::Object => Look::Object(Members { object: self, next: self.inside(), left: part.start }),
        }
    }

    /// What tells it from every other value of the document.
    pub(crate) fn place(self) -> u32 {
        self.at
    }

    /// The address of the document's tape.
    pub(crate) fn tape(self) -> usize {
        std::ptr::from_ref(self.tape) as usize
    }

    /// What an RFC 6901 pointer leads to.
    pub(crate) fn pointer(self, pointer: &str) -> Option<Self> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |at, step| match at.look() {
            Look::Object(members) => members.get(&step.replace("~1", "/").replace("~0", "~")),
            // As numbers are written: no sign, no leading zero.
            Look::Array(mut items) if step == "0" || !step.starts_with(['0', '+']) => items.nth(step.parse().ok()?),
            _ => None,
        })
    }

    /// The value as a tree of its own.
    pub(crate) fn to_value(self) -> Value {
        match self.look() {
            Look::Null => Value::Null,
            Look::Bool(value) => Value::Bool(value),
            Look::Number(digits) => digits.parse::<Number>().map_or(Value::Null, Value::Number),
            Look::String(written) => Value::String(written.text().into_owned()),
            Look::Array(items) => Value::Array(items.map(Node::to_value).collect()),
            Look::Object(members) => {
                Value::Object(members.map(|(key, member)| (key.to_owned(), member.to_value())).collect::<Map<_, _>>())
            }
        }
    }

    fn part(self) -> Part {
        self.tape.part(self.at)
    }

    fn inside(self) -> Self {
        Self { at: self.at + 1, ..self }
    }

    fn behind(self) -> Self {
        Self { at: self.part().next, ..self }
    }

    /// Where the keys of an object are.
    fn keys(self) -> impl Iterator<Item = u32> + 'a {
        let count = if self.part().kind == Kind::Object { self.part().start } else { 0 };
        (0..count).scan(self.inside(), |key, _| {
            let this = key.at;
            *key = key.inside().behind();
            Some(this)
        })
    }
}

/// A string as it is written, with its quotes.
#[derive(Clone, Copy)]
pub(crate) struct Written<'a>(&'a str);

impl<'a> Written<'a> {
    /// What it says.
    pub(crate) fn text(self) -> Cow<'a, str> {
        let inside = self.inside();
        if inside.contains('\\') {
            Cow::Owned(serde_json::from_str(self.0).unwrap_or_default())
        } else {
            Cow::Borrowed(inside)
        }
    }

    /// Bytes of it, escapes as they are written: what it says is no longer.
    pub(crate) fn len(self) -> usize {
        self.inside().len()
    }

    /// Whether it says this.
    pub(crate) fn says(self, text: &str) -> bool {
        // An escape is at most six bytes for one. What is longer than that is not decoded to be compared.
        const LONGEST_ESCAPE: usize = 6;
        let length = self.len();
        text.len() <= length && length <= text.len().saturating_mul(LONGEST_ESCAPE) && self.text() == text
    }

    fn inside(self) -> &'a str {
        self.0.get(1..self.0.len().saturating_sub(1)).unwrap_or_default()
    }
}

/// The items of an array.
#[derive(Clone, Copy)]
pub(crate) struct Items<'a> {
    next: Node<'a>,
    left: u32,
}

impl Items<'_> {
    pub(crate) fn len(&self) -> usize {
        self.left as usize
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        self.left = self.left.checked_sub(1)?;
        let this = self.next;
        self.next = this.behind();
        Some(this)
    }
}

/// The members of an object, in the order of the text.
#[derive(Clone, Copy)]
pub(crate) struct Members<'a> {
    object: Node<'a>,
    next: Node<'a>,
    left: u32,
}

impl<'a> Members<'a> {
    pub(crate) fn len(&self) -> usize {
        self.left as usize
    }

    /// The member with this key; of several the last one, which is the one that counts for serde_json too.
    pub(crate) fn get(&self, name: &str) -> Option<Node<'a>> {
        let Node { text, tape, .. } = self.object;
        let key = |at| tape.string(text, tape.part(at));
        let part = self.object.part();
        let at = if part.start <= MAX_SEARCHED {
            self.object.keys().filter(|&at| key(at) == name).last()?
        } else {
            let sorted = tape.sorted.get(part.end as usize..)?.get(..part.start as usize)?;
            let behind = sorted.partition_point(|&at| key(at) <= name);
            sorted.get(behind.checked_sub(1)?).copied().filter(|&at| key(at) == name)?
        };
        Some(Node { at: at + 1, ..self.object })
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Node<'a>);

    fn next(&mut self) -> Option<(&'a str, Node<'a>)> {
        self.left = self.left.checked_sub(1)?;
        let value = self.next.inside();
        let name = self.next.tape.string(self.next.text, self.next.part());
        self.next = value.behind();
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    /// What serde_json reads is read here, as the same value; what it refuses is refused.
    fn agrees(text: &str) -> Result<(), String> {
        match (Tape::of(text), serde_json::from_str::<Value>(text)) {
            (Ok(tape), Ok(theirs)) if tape.root(text).to_value() == theirs => Ok(()),
            (Err(_), Err(_)) => Ok(()),
            (ours, theirs) => {
                let ours = ours.map(|tape| tape.root(text).to_value());
                Err(format!("{text:?}: {ours:?} here, {theirs:?} there"))
            }
        }
    }

    #[test]
    fn what_is_json_is_what_the_library_says() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        let mixed = |n: usize| r#"{"a":["#.repeat(n) + &"]}".repeat(n);
        let made = [deep(MAX_DEPTH), deep(MAX_DEPTH + 1), mixed(63), mixed(64), deep(100_000)];
        let given = [
            r#"{"a":[1,-0,1.50,1e400,0.1e-7,12345678901234567890123],"b":{"c":null,"d":[true,false,[],{}]},"":"\u00e9\n\ud83d\ude00"}"#,
            r#"{"b":1,"a":2,"b":{"x":3}}"#,
            r#" {"a" :	[ 1 , 2 ] , "b":{ } } "#,
            r#""text""#,
            "-17.0",
            "0",
            "-0",
            "1E+2",
            "1e-2",
            "\"\\u0000\\u001f\"",
            "\"\u{7f}\u{2028}é😀\"",
            r#""\\\"\/\b\f\n\r\t""#,
            "",
            " ",
            "{",
            "}",
            "[",
            "]",
            "[1",
            "[1,",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1,}",
            "{a:1}",
            "{'a':1}",
            "{1:1}",
            "{\"a\" 1}",
            "{\"a\":1 \"b\":2}",
            "[1] 2",
            "1 2",
            "nul",
            "nulll",
            "truefalse",
            "True",
            "NaN",
            "Infinity",
            "-Infinity",
            "+1",
            "01",
            "-01",
            "-",
            "1.",
            ".5",
            "1.e5",
            "1e",
            "1e+",
            "0x10",
            "1_000",
            "\"",
            "\"a",
            "\"\\\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud800\"",
            "\"\\ud800x\"",
            "\"\\ud800\\u0041\"",
            "\"\\udc00\"",
            "\"a\nb\"",
            "\"a\tb\"",
            "\"a\u{0}b\"",
            "// x\n1",
            "/* x */1",
            "\u{feff}1",
            "1\u{a0}",
            "[1]\u{c}",
            "\u{b}1",
            "--1",
            "1-",
            "1e5.5",
            "[1,,2]",
            "{}{}",
            "{\"a\":}",
            "{:1}",
        ];
        for text in given.into_iter().chain(made.iter().map(String::as_str)) {
            agrees(text).unwrap();
        }
    }

    #[test]
    fn members_and_items_are_found() {
        let many: Vec<String> = (0..40).map(|n| format!(r#""k{:02}":{n}"#, (n * 7) % 40)).collect();
        let text = format!(r#"{{"few":{{"a/b":[10,{{"~":"x"}}],"twice":1,"twice":2}},"many":{{{}}}}}"#, many.join(","));
        let tape = Tape::of(&text).unwrap();
        let root = tape.root(&text);
        for pointer in [
            "",
            "/few/a~1b/0",
            "/few/a~1b/1/~0",
            "/few/twice",
            "/many/k00",
            "/many/k39",
            "/few/a~1b/00",
            "/few/a~1b/-",
            "/many/k40",
            "/x",
            "few",
        ] {
            let theirs: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(root.pointer(pointer).map(Node::to_value).as_ref(), theirs.pointer(pointer), "{pointer}");
        }
        assert_eq!((tape.twice(&text), tape.depth()), (Some("twice"), 4));
        let many = (0..40).map(|n| format!(r#""{}":0"#, n % 39)).collect::<Vec<_>>().join(",");
        let many = format!("{{{many}}}");
        assert_eq!(Tape::of(&many).unwrap().twice(&many), Some("0"));
    }

    fn text() -> impl Strategy<Value = String> {
        let scalar = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?",
            any::<String>().prop_map(|text| Value::String(text).to_string()),
            "\"(\\\\u[dD][89a-f][0-9a-f]{2}|\\\\n|x){0,3}\"",
        ];
        scalar.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
                prop::collection::vec(("[a-c]{0,2}", inner), 0..4).prop_map(|members| {
                    let members: Vec<String> =
                        members.iter().map(|(key, value)| format!("\"{key}\" : {value}")).collect();
                    format!("{{{}}}", members.join(","))
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whole texts, and texts in which one character was put in, taken out or exchanged.
        #[test]
        fn any_text_is_read_alike(text in text(), at: prop::sample::Index, put in "[\\[\\]{}:,\"0-9.eE+\\-\\\\ untf\n]?", take in 0..2_usize) {
            agrees(&text).map_err(TestCaseError::fail)?;
            let characters: Vec<char> = text.chars().collect();
            let at = at.index(characters.len());
            let changed: String = characters[..at].iter().copied().chain(put.chars()).chain(characters[at + take..].iter().copied()).collect();
            agrees(&changed).map_err(TestCaseError::fail)?;
        }
    }
}
