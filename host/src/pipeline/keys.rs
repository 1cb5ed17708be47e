//! Exclusive keys: calls that name the same resource run one after another, across all batches of a host.
//!
//! A call joins the queue of every key it has in one step, under one lock, so all queues have their calls in one common
//! order: a call that waits only ever waits for calls before it, and there is no deadlock. It runs once it may have all
//! its keys; until then it holds none, but later calls that conflict with it stay behind it. Leaving, by having run or by
//! having been cancelled, is the drop of the [`Ticket`].

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::{Key, KeySpace};
use crate::model::Access;

/// The queues of one host.
#[derive(Default)]
pub(crate) struct Keys(Mutex<State>);

type Name = (KeySpace, String);

#[derive(Default)]
struct State {
    next: u64,
    /// Never empty ones.
    queues: HashMap<Name, VecDeque<Place>>,
    waiting: HashMap<u64, Waiting>,
}

struct Place {
    ticket: u64,
    access: Access,
    /// Whether everything before it in this queue may run beside it.
    open: bool,
}

struct Waiting {
    /// Places of this ticket that are not open yet.
    closed: usize,
    granted: oneshot::Sender<()>,
}

/// One call's place in the queues of all its keys, until dropped.
pub(crate) struct Ticket {
    keys: Arc<Keys>,
    number: u64,
    names: Vec<Name>,
    granted: Option<oneshot::Receiver<()>>,
}

impl Keys {
    /// Joins the queues of all these keys at once.
    pub(crate) fn join(self: &Arc<Self>, wanted: Vec<Key>) -> Ticket {
        if wanted.is_empty() {
            return Ticket { keys: self.clone(), number: 0, names: Vec::new(), granted: None };
        }
        let mut accesses: HashMap<Name, Access> = HashMap::with_capacity(wanted.len());
        for Key { space, value, access } in wanted {
            let merged = accesses.entry((space, value)).or_insert(access);
            if access == Access::Write {
                *merged = Access::Write;
            }
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.next;
        state.next += 1;
        let mut closed = 0;
        for (name, access) in &accesses {
            let queue = state.queues.entry(name.clone()).or_default();
            let open =
                queue.back().is_none_or(|last| last.open && last.access == Access::Read && *access == Access::Read);
            closed += usize::from(!open);
            queue.push_back(Place { ticket: number, access: *access, open });
        }
        let granted = (closed > 0).then(|| {
            let (sender, receiver) = oneshot::channel();
            state.waiting.insert(number, Waiting { closed, granted: sender });
            receiver
        });
        Ticket { keys: self.clone(), number, names: accesses.into_keys().collect(), granted }
    }

    /// Calls that hold or wait for a key.
    #[cfg(test)]
    fn len(&self) -> usize {
        let state = self.0.lock().unwrap();
        state.queues.values().flatten().map(|place| place.ticket).collect::<std::collections::HashSet<_>>().len()
    }
}

impl State {
    fn leave(&mut self, ticket: u64, name: Name) {
        let Entry::Occupied(mut queue) = self.queues.entry(name) else { return };
        let places = queue.get_mut();
        if let Ok(at) = places.binary_search_by_key(&ticket, |place| place.ticket) {
            places.remove(at);
        }
        if places.is_empty() {
            queue.remove();
            return;
        }
        // The first place, and all readers that follow a reader without a writer between.
        for (at, place) in places.iter_mut().enumerate() {
            if at > 0 && place.access == Access::Write {
                break;
            }
            if !place.open {
                place.open = true;
                if let Entry::Occupied(mut waiting) = self.waiting.entry(place.ticket) {
                    waiting.get_mut().closed -= 1;
                    if waiting.get().closed == 0 {
                        // A receiver that is gone is about to leave its queues itself.
                        let _ = waiting.remove().granted.send(());
                    }
                }
            }
            if place.access == Access::Write {
                break;
            }
        }
    }
}

impl Ticket {
    /// Whether there is nothing to wait for.
    pub(crate) fn is_granted(&self) -> bool {
        self.granted.is_none()
    }

    /// Waits for all keys. Cancel safe: the place in the queues stays until the ticket is dropped.
    pub(crate) async fn granted(&mut self) {
        if let Some(granted) = &mut self.granted {
            // The sender lives in the queues for as long as this ticket does.
            let _ = granted.await;
            self.granted = None;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.names.is_empty() {
            return;
        }
        let mut state = self.keys.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.remove(&self.number);
        for name in self.names.drain(..) {
            state.leave(self.number, name);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use futures_util::FutureExt as _;

    fn key(value: &str, access: Access) -> Key {
        Key { space: KeySpace::HostPath, value: value.into(), access }
    }

    fn read(value: &str) -> Key {
        key(value, Access::Read)
    }

    fn write(value: &str) -> Key {
        key(value, Access::Write)
    }

    fn runs(ticket: &mut Ticket) -> bool {
        ticket.granted().now_or_never().is_some()
    }

    #[test]
    fn readers_overlap_and_a_writer_is_alone_first_come_first_served() {
        let keys = Arc::new(Keys::default());
        let mut tickets: Vec<_> =
            [read("a"), read("a"), write("a"), read("a")].into_iter().map(|key| keys.join(vec![key])).collect();
        let running = |tickets: &mut Vec<Ticket>| tickets.iter_mut().map(runs).collect::<Vec<_>>();
        assert_eq!(running(&mut tickets), [true, true, false, false]);
        tickets.remove(0);
        assert_eq!(running(&mut tickets), [true, false, false]);
        tickets.remove(0);
        assert_eq!(running(&mut tickets), [true, false], "the late reader stays behind the writer");
        tickets.remove(0);
        assert_eq!(running(&mut tickets), [true]);
        tickets.clear();
        assert_eq!(keys.len(), 0);
    }

    #[test]
    fn all_keys_or_none_and_no_deadlock_whatever_the_order() {
        let keys = Arc::new(Keys::default());
        let mut first = keys.join(vec![write("a")]);
        let mut second = keys.join(vec![write("b"), write("a")]);
        let mut third = keys.join(vec![write("a"), write("b")]);
        let mut other = keys.join(vec![write("c")]);
        assert!(runs(&mut first) && !runs(&mut second) && !runs(&mut third) && runs(&mut other));
        drop(first);
        assert!(runs(&mut second) && !runs(&mut third));
        drop(second);
        assert!(runs(&mut third));
    }

    #[test]
    fn a_waiter_that_leaves_lets_those_behind_it_through() {
        let keys = Arc::new(Keys::default());
        let mut reader = keys.join(vec![read("a")]);
        let mut writer = keys.join(vec![write("a"), write("b")]);
        let mut late = keys.join(vec![read("a")]);
        let mut later = keys.join(vec![read("b")]);
        assert!(runs(&mut reader) && !runs(&mut writer) && !runs(&mut late) && !runs(&mut later));
        drop(writer);
        assert!(runs(&mut late) && runs(&mut later));
        drop((reader, late, later));
        assert_eq!(keys.len(), 0);
        assert!(keys.0.lock().unwrap().queues.is_empty());
        assert!(keys.0.lock().unwrap().waiting.is_empty());
    }

    #[test]
    fn one_call_may_name_a_key_twice_and_the_stronger_access_counts() {
        let keys = Arc::new(Keys::default());
        let mut both = keys.join(vec![read("a"), write("a"), read("a")]);
        let mut reader = keys.join(vec![read("a")]);
        assert!(runs(&mut both) && !runs(&mut reader));
        drop(both);
        assert!(runs(&mut reader));
    }

    #[test]
    fn spaces_do_not_mix() {
        let keys = Arc::new(Keys::default());
        let plugin =
            |name: &str| Key { space: KeySpace::Plugin(name.into()), value: "a".into(), access: Access::Write };
        let mut tickets = [keys.join(vec![write("a")]), keys.join(vec![plugin("p")]), keys.join(vec![plugin("q")])];
        assert!(tickets.iter_mut().all(runs));
        assert!(!runs(&mut keys.join(vec![plugin("p")])));
    }
}
