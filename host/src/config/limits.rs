//! `limits = { … }` of a plugin and `[limits]` for everyone: the keys of [`Limits`] and [`HttpLimits`], each with its
//! unit and its range.

use std::time::Duration;

use super::read::{At, Node};
use crate::sandbox::{HttpLimits, Limits};
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

/// All that one table sets.
#[derive(Clone, Copy)]
pub(super) struct All {
    pub plugin: Limits,
    pub http: HttpLimits,
}

type Setter = fn(&mut All, u64);

fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// Every key but `fuel`, which is no ceiling and may be switched off.
const KEYS: &[(&str, Unit, Setter)] = &[
    ("deadline-ms", Unit::Millis, |l, v| l.plugin.deadline = Duration::from_millis(v)),
    ("load-ms", Unit::Millis, |l, v| l.plugin.load = Duration::from_millis(v)),
    ("memory-bytes", Unit::Bytes(64 << 10), |l, v| l.plugin.memory_bytes = size(v)),
    ("table-elements", Unit::Count(1), |l, v| l.plugin.table_elements = size(v)),
    ("hostcall-bytes", Unit::Bytes(1 << 10), |l, v| l.plugin.hostcall_bytes = size(v)),
    ("result-bytes", Unit::Bytes(1), |l, v| l.plugin.result_bytes = size(v)),
    ("updates", Unit::Count(0), |l, v| l.plugin.updates = v),
    ("update-bytes", Unit::Bytes(0), |l, v| l.plugin.update_bytes = size(v)),
    ("log-lines", Unit::Count(0), |l, v| l.plugin.log_lines = v),
    ("log-bytes", Unit::Bytes(0), |l, v| l.plugin.log_bytes = size(v)),
    ("state-keys", Unit::Count(0), |l, v| l.plugin.state.keys = size(v)),
    ("state-bytes", Unit::Bytes(0), |l, v| l.plugin.state.bytes = size(v)),
    ("arguments-bytes", Unit::Bytes(2), |l, v| l.plugin.arguments_bytes = size(v)),
    ("http-response-bytes", Unit::Bytes(0), |l, v| l.http.response_bytes = v),
    ("http-header-bytes", Unit::Bytes(8 << 10), |l, v| l.http.header_bytes = size(v)),
    ("http-connect-ms", Unit::Millis, |l, v| l.http.connect = Duration::from_millis(v)),
    ("http-first-byte-ms", Unit::Millis, |l, v| l.http.first_byte = Duration::from_millis(v)),
    ("http-between-bytes-ms", Unit::Millis, |l, v| l.http.between_bytes = Duration::from_millis(v)),
    ("http-connections", Unit::Count(1), |l, v| l.http.connections = size(v)),
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

    /// What was written over some defaults, nothing above the ceiling.
    pub fn over(&self, defaults: Limits, ceiling: &RawLimits) -> All {
        let mut limits = All { plugin: defaults, http: HttpLimits::default() };
        self.apply(&mut limits);
        if let Some(fuel) = &self.fuel {
            limits.plugin.fuel = fuel.value;
        }
        let ceiling = ceiling.ceiling();
        All { plugin: limits.plugin.capped(&ceiling.plugin), http: capped(limits.http, &ceiling.http) }
    }

    fn apply(&self, limits: &mut All) {
        for (set, value) in &self.set {
            set(limits, *value);
        }
    }

    /// The ceiling these make; a key not given is none.
    fn ceiling(&self) -> All {
        let plugin = Limits {
            fuel: None,
            deadline: Duration::MAX,
            load: Duration::MAX,
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
        };
        let http = HttpLimits {
            response_bytes: u64::MAX,
            header_bytes: usize::MAX,
            connect: Duration::MAX,
            first_byte: Duration::MAX,
            between_bytes: Duration::MAX,
            connections: usize::MAX,
        };
        let mut ceiling = All { plugin, http };
        self.apply(&mut ceiling);
        ceiling
    }
}

/// The lower of each.
fn capped(limits: HttpLimits, ceiling: &HttpLimits) -> HttpLimits {
    HttpLimits {
        response_bytes: limits.response_bytes.min(ceiling.response_bytes),
        header_bytes: limits.header_bytes.min(ceiling.header_bytes),
        connect: limits.connect.min(ceiling.connect),
        first_byte: limits.first_byte.min(ceiling.first_byte),
        between_bytes: limits.between_bytes.min(ceiling.between_bytes),
        connections: limits.connections.min(ceiling.connections),
    }
}

fn fuel(node: &Node<'_, '_>) -> Option<At<Option<u64>>> {
    let value = if node.is_string() {
        node.choice_or(&[("unmetered", ())], Some("a whole number from 1 up")).map(|()| None)
    } else {
        node.integer_or(1..=i64::MAX as u64, Some("\"unmetered\" for a trusted plugin")).map(Some)
    };
    value.map(|value| At { value, place: node.place.clone() })
}
