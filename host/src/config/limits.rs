//! `limits = { … }` of a plugin and `[limits]` for everyone: the keys of [`Limits`], each with its unit and its range.

use std::time::Duration;

use super::read::{At, Node};
use crate::sandbox::Limits;
use crate::state::StateLimits;

/// One day; longer is no limit.
pub(super) const DAY_MS: u64 = 86_400_000;
/// A count beyond this is no limit.
const MOST: u64 = 1 << 53;

enum Unit {
    Millis,
    /// At least this many.
    Bytes(u64),
    Count(u64),
}

type Setter = fn(&mut Limits, u64);

fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// Every key but `fuel`, which is no ceiling and may be switched off.
const KEYS: &[(&str, Unit, Setter)] = &[
    ("deadline-ms", Unit::Millis, |l, v| l.deadline = Duration::from_millis(v)),
    ("memory-bytes", Unit::Bytes(64 << 10), |l, v| l.memory_bytes = size(v)),
    ("table-elements", Unit::Count(1), |l, v| l.table_elements = size(v)),
    ("hostcall-bytes", Unit::Bytes(1 << 10), |l, v| l.hostcall_bytes = size(v)),
    ("result-bytes", Unit::Bytes(1), |l, v| l.result_bytes = size(v)),
    ("updates", Unit::Count(0), |l, v| l.updates = v),
    ("update-bytes", Unit::Bytes(0), |l, v| l.update_bytes = size(v)),
    ("log-lines", Unit::Count(0), |l, v| l.log_lines = v),
    ("log-bytes", Unit::Bytes(0), |l, v| l.log_bytes = size(v)),
    ("state-keys", Unit::Count(0), |l, v| l.state.keys = size(v)),
    ("state-bytes", Unit::Bytes(0), |l, v| l.state.bytes = size(v)),
    ("arguments-bytes", Unit::Bytes(2), |l, v| l.arguments_bytes = size(v)),
];

/// What was written, by key.
#[derive(Default)]
pub(super) struct RawLimits {
    set: Vec<(Setter, u64)>,
    /// `Some(None)`: unmetered.
    pub fuel: Option<At<Option<u64>>>,
}

impl RawLimits {
    /// Reads a plugin's limits, or with `ceiling` everyone's.
    pub fn read(node: &Node<'_, '_>, ceiling: bool) -> Self {
        let mut raw = Self::default();
        let Some(mut table) = node.table("a table of limits") else { return raw };
        for (key, unit, setter) in KEYS {
            let Some(node) = table.get(key) else { continue };
            let value = match unit {
                Unit::Millis => node.integer(1..=DAY_MS),
                Unit::Bytes(least) => node.bytes(*least),
                Unit::Count(least) => node.integer(*least..=MOST),
            };
            raw.set.extend(value.map(|value| (*setter, value)));
        }
        if ceiling {
            if let Some(node) = table.get_unlisted("fuel") {
                node.wrong(
                    "fuel is no ceiling: its unit is not comparable between plugins",
                    "`fuel` in a plugin's own limits",
                );
            }
        } else if let Some(node) = table.get("fuel") {
            raw.fuel = fuel(&node);
        }
        table.finish();
        raw
    }

    /// Puts what was written over some defaults.
    pub fn over(&self, mut limits: Limits) -> Limits {
        for (set, value) in &self.set {
            set(&mut limits, *value);
        }
        if let Some(fuel) = &self.fuel {
            limits.fuel = fuel.value;
        }
        limits
    }

    /// The ceiling these make; a key not given is none.
    pub fn ceiling(&self) -> Limits {
        self.over(Limits {
            fuel: None,
            deadline: Duration::MAX,
            memory_bytes: usize::MAX,
            table_elements: usize::MAX,
            hostcall_bytes: usize::MAX,
            result_bytes: usize::MAX,
            updates: u64::MAX,
            update_bytes: usize::MAX,
            log_lines: u64::MAX,
            log_bytes: usize::MAX,
            state: StateLimits { keys: usize::MAX, bytes: usize::MAX },
            arguments_bytes: usize::MAX,
        })
    }
}

fn fuel(node: &Node<'_, '_>) -> Option<At<Option<u64>>> {
    let value = if node.is_string() {
        node.choice(&[("unmetered", ())]).map(|()| None)
    } else {
        node.integer(1..=i64::MAX as u64).map(Some)
    };
    value.map(|value| At { value, place: node.place.clone() })
}
