//! The key-value store that plugins keep between calls: per plugin, per turn or conversation, bounded.
//!
//! Each call gets a fresh instance, so whatever a policy counts ("at most three writes in a turn") lives here.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// How long a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Until the turn ends.
    Turn,
    /// Until the conversation ends.
    Conversation,
}

/// Bounds of one plugin's state in one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateLimits {
    /// Keys.
    pub keys: usize,
    /// Bytes of keys and values together.
    pub bytes: usize,
}

/// Scopes that are kept at most, of either kind; beyond it the one longest unused is forgotten. A host that names
/// conversations and never ends them must not grow for ever.
pub const MAX_SCOPES: usize = 10_000;

/// Why state did not change. The guest reads it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Too many keys.
    #[error("state is full: at most {0} keys (limits.state-keys)")]
    Keys(usize),
    /// Too many bytes.
    #[error("state is full: at most {0} bytes of keys and values (limits.state-bytes)")]
    Bytes(usize),
    /// `add` found something else.
    #[error("state.add: the value of {0:?} is not a number")]
    NotANumber(String),
    /// The sum left the numbers.
    #[error("state.add: the sum is not finite")]
    NotFinite,
}

#[derive(Default)]
struct Space {
    values: BTreeMap<String, Vec<u8>>,
    bytes: usize,
}

/// A conversation, and in it a turn; of a conversation's own state the turn is empty.
type Name = (Arc<str>, Arc<str>);

#[derive(Default)]
struct Spaces {
    by_name: HashMap<Name, HashMap<Arc<str>, Space>>,
    /// Least recently created first.
    order: VecDeque<Name>,
}

impl Spaces {
    fn forget(&mut self, over: &Name) {
        if self.by_name.remove(over).is_some() {
            self.order.retain(|name| name != over);
        }
    }

    fn forget_conversation(&mut self, conversation: &str) {
        self.by_name.retain(|(of, _), _| &**of != conversation);
        self.order.retain(|(of, _)| &**of != conversation);
    }
}

/// All state of one host. Cheap to share behind an `Arc`.
#[derive(Default)]
pub struct StateStore {
    turns: Mutex<Spaces>,
    conversations: Mutex<Spaces>,
}

impl StateStore {
    fn with<R>(&self, at: &StateKey<'_>, f: impl FnOnce(&mut Space) -> R) -> R {
        let (spaces, name) = match at.scope {
            Scope::Turn => (&self.turns, (at.conversation.clone(), at.turn.clone())),
            Scope::Conversation => (&self.conversations, (at.conversation.clone(), Arc::default())),
        };
        // A panic while the lock is held leaves plain data that is still usable.
        let mut spaces = spaces.lock().unwrap_or_else(PoisonError::into_inner);
        if !spaces.by_name.contains_key(&name) {
            if spaces.order.len() >= MAX_SCOPES
                && let Some(oldest) = spaces.order.pop_front()
            {
                spaces.by_name.remove(&oldest);
            }
            spaces.order.push_back(name.clone());
        }
        f(spaces.by_name.entry(name).or_default().entry(at.plugin.clone()).or_default())
    }

    /// A copy of the value.
    pub fn get(&self, at: &StateKey<'_>, key: &str) -> Option<Vec<u8>> {
        self.with(at, |space| space.values.get(key).cloned())
    }

    /// Sets a value.
    pub fn set(&self, at: &StateKey<'_>, key: &str, value: Vec<u8>, limits: StateLimits) -> Result<(), StateError> {
        self.with(at, |space| space.set(key, value, limits))
    }

    /// Forgets a value.
    pub fn remove(&self, at: &StateKey<'_>, key: &str) {
        self.with(at, |space| {
            if let Some(value) = space.values.remove(key) {
                space.bytes -= key.len() + value.len();
            }
        });
    }

    /// Adds to a number (absent = 0) and returns the sum, atomically.
    pub fn add(&self, at: &StateKey<'_>, key: &str, delta: f64, limits: StateLimits) -> Result<f64, StateError> {
        self.with(at, |space| {
            let current = match space.values.get(key) {
                None => 0.0,
                Some(bytes) => std::str::from_utf8(bytes)
                    .ok()
                    .and_then(|text| text.parse::<f64>().ok())
                    .filter(|n| n.is_finite())
                    .ok_or_else(|| StateError::NotANumber(key.chars().take(80).collect()))?,
            };
            let sum = current + delta;
            if !sum.is_finite() {
                return Err(StateError::NotFinite);
            }
            space.set(key, sum.to_string().into_bytes(), limits)?;
            Ok(sum)
        })
    }

    /// Ends a turn of a conversation: its state is forgotten.
    pub fn end_turn(&self, conversation: &str, turn: &str) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if !turns.by_name.is_empty() {
            turns.forget(&(conversation.into(), turn.into()));
        }
    }

    /// Ends a conversation and all its turns: their state is forgotten.
    pub fn end_conversation(&self, conversation: &str) {
        for spaces in [&self.turns, &self.conversations] {
            spaces.lock().unwrap_or_else(PoisonError::into_inner).forget_conversation(conversation);
        }
    }
}

impl Space {
    fn set(&mut self, key: &str, value: Vec<u8>, limits: StateLimits) -> Result<(), StateError> {
        let old = self.values.get(key).map(|old| key.len() + old.len());
        if old.is_none() && self.values.len() >= limits.keys {
            return Err(StateError::Keys(limits.keys));
        }
        let bytes = self.bytes - old.unwrap_or(0) + key.len() + value.len();
        if bytes > limits.bytes {
            return Err(StateError::Bytes(limits.bytes));
        }
        self.bytes = bytes;
        self.values.insert(key.to_owned(), value);
        Ok(())
    }
}

/// Whose state, in which scope.
#[derive(Clone, Copy, Debug)]
pub struct StateKey<'a> {
    /// How long it lives.
    pub scope: Scope,
    /// The conversation.
    pub conversation: &'a Arc<str>,
    /// The turn: two conversations may use one name for theirs. Not looked at for the conversation's own state.
    pub turn: &'a Arc<str>,
    /// The plugin; nobody else sees it.
    pub plugin: &'a Arc<str>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LIMITS: StateLimits = StateLimits { keys: 2, bytes: 20 };

    #[test]
    fn counts_and_forgets_per_plugin_and_scope() {
        let store = StateStore::default();
        let [conversation, turn, a, b]: [Arc<str>; 4] = ["k".into(), "t1".into(), "a".into(), "b".into()];
        let at = |plugin| StateKey { scope: Scope::Turn, conversation: &conversation, turn: &turn, plugin };
        assert_eq!(store.add(&at(&a), "n", 1.0, LIMITS), Ok(1.0));
        assert_eq!(store.add(&at(&a), "n", 1.5, LIMITS), Ok(2.5));
        assert_eq!(store.add(&at(&b), "n", 1.0, LIMITS), Ok(1.0));
        store.end_turn("k", "t1");
        assert_eq!(store.get(&at(&a), "n"), None);
    }

    #[test]
    fn turns_belong_to_their_conversation_and_end_with_it() {
        let store = StateStore::default();
        let [one, two, turn, plugin]: [Arc<str>; 4] = ["one".into(), "two".into(), "t".into(), "p".into()];
        let at = |scope, conversation| StateKey { scope, conversation, turn: &turn, plugin: &plugin };
        let add = |scope, conversation| store.add(&at(scope, conversation), "n", 1.0, LIMITS);
        for scope in [Scope::Turn, Scope::Conversation] {
            assert_eq!([add(scope, &one), add(scope, &one), add(scope, &two)], [Ok(1.0), Ok(2.0), Ok(1.0)]);
        }
        store.end_turn("one", "t");
        assert_eq!([add(Scope::Turn, &one), add(Scope::Turn, &two)], [Ok(1.0), Ok(2.0)]);
        assert_eq!(add(Scope::Conversation, &one), Ok(3.0));
        store.end_conversation("one");
        assert_eq!([add(Scope::Turn, &one), add(Scope::Turn, &two)], [Ok(1.0), Ok(3.0)]);
        assert_eq!([add(Scope::Conversation, &one), add(Scope::Conversation, &two)], [Ok(1.0), Ok(2.0)]);
    }

    #[test]
    fn refuses_what_is_over_a_limit_and_keeps_what_was() {
        let store = StateStore::default();
        let [conversation, turn, a]: [Arc<str>; 3] = ["k".into(), "t1".into(), "a".into()];
        let at = StateKey { scope: Scope::Turn, conversation: &conversation, turn: &turn, plugin: &a };
        store.set(&at, "x", vec![b'x'; 10], LIMITS).unwrap();
        assert_eq!(store.set(&at, "x", vec![0; 20], LIMITS), Err(StateError::Bytes(20)));
        store.set(&at, "y", vec![0; 8], LIMITS).unwrap();
        assert_eq!(store.set(&at, "z", vec![], LIMITS), Err(StateError::Keys(2)));
        assert_eq!(store.add(&at, "x", 1.0, LIMITS), Err(StateError::NotANumber("x".into())));
        assert_eq!(store.add(&at, "z", f64::INFINITY, LIMITS), Err(StateError::NotFinite));
        store.remove(&at, "x");
        assert_eq!(store.add(&at, "z", f64::MAX, LIMITS), Err(StateError::Bytes(20)));
        assert_eq!(store.get(&at, "y"), Some(vec![0; 8]));
    }
}
