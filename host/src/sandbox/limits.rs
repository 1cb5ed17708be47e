//! Every limit of a plugin: its number, its default and the reason, its key in toolgate.toml.

use std::time::Duration;

use crate::state::StateLimits;

/// What one plugin may use. "Entry" is one call into the guest: prepare-arguments, execute, each hook, each in a fresh
/// instance with its own counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// `fuel`: instructions per entry, roughly. `None` is unmetered, for plugins the operator trusts. Default 10 G, one to
    /// ten seconds of work: a deterministic backstop behind the deadline. Over it: `out-of-fuel`.
    pub fuel: Option<u64>,
    /// `deadline-ms`: wall-clock time per entry over instantiation, guest and host calls. Default 30 s. Over it:
    /// `deadline`.
    pub deadline: Duration,
    /// `load-ms`: wall-clock time for a plugin to say what it offers, when it is loaded and not known from the cache.
    /// Default 10 s, since a machine that starts many plugins is busy; one that loops is stopped by fuel before. Over it: a
    /// load error.
    pub load: Duration,
    /// `memory-bytes`: linear memories and tables together (8 bytes an element). Default 64 MiB: what keeps the deadline
    /// within 100 ms, since bulk memory operations check it once. Over it: `memory-limit`.
    pub memory_bytes: usize,
    /// `table-elements`: elements of one table. Default 20 000: twice what the largest language runtime needs. Over it:
    /// `table-limit`.
    pub table_elements: usize,
    /// `hostcall-bytes`: bytes a guest hands over in one call to the host, strings and lists as they are copied. Default
    /// 32 MiB, above `result-bytes` since a result crosses the same way. Over it: `hostcall-limit`.
    pub hostcall_bytes: usize,
    /// `result-bytes`: content, details and structured content together, binary before base64. Default 16 MiB, a large
    /// picture. Over it: `output-limit`.
    pub result_bytes: usize,
    /// `updates`: partial results per call. Default 100 000. More are dropped and counted.
    pub updates: u64,
    /// `update-bytes`: their bytes together. Default 16 MiB. What does not fit is dropped whole and counted.
    pub update_bytes: usize,
    /// `log-lines`: lines per entry, printed ones included. Default 1 000. More are dropped and counted.
    pub log_lines: u64,
    /// `log-bytes`: their bytes together. Default 256 KiB. A line that does not fit is dropped whole and counted.
    pub log_bytes: usize,
    /// `state-keys`, `state-bytes`: in each scope. Defaults 1 000 and 1 MiB. `state.set` and `state.add` fail beyond.
    pub state: StateLimits,
    /// `arguments-bytes`: of one call, as the model wrote them. Default 4 MiB. Over it: `invalid-arguments`.
    pub arguments_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: Some(10_000_000_000),
            deadline: Duration::from_secs(30),
            load: Duration::from_secs(10),
            memory_bytes: 64 << 20,
            table_elements: 20_000,
            hostcall_bytes: 32 << 20,
            result_bytes: 16 << 20,
            updates: 100_000,
            update_bytes: 16 << 20,
            log_lines: 1_000,
            log_bytes: 256 << 10,
            state: StateLimits { keys: 1_000, bytes: 1 << 20 },
            arguments_bytes: 4 << 20,
        }
    }
}

impl Limits {
    /// Defaults for a plugin that is used as a hook: the same but 5 s, since every call of everyone waits for it.
    pub fn for_hooks() -> Self {
        Self { deadline: Duration::from_secs(5), ..Self::default() }
    }

    /// The lower of each; fuel has no ceiling, since it is not comparable between machines or worth capping for all.
    pub fn capped(self, ceiling: &Limits) -> Self {
        Self {
            fuel: self.fuel,
            deadline: self.deadline.min(ceiling.deadline),
            load: self.load.min(ceiling.load),
            memory_bytes: self.memory_bytes.min(ceiling.memory_bytes),
            table_elements: self.table_elements.min(ceiling.table_elements),
            hostcall_bytes: self.hostcall_bytes.min(ceiling.hostcall_bytes),
            result_bytes: self.result_bytes.min(ceiling.result_bytes),
            updates: self.updates.min(ceiling.updates),
            update_bytes: self.update_bytes.min(ceiling.update_bytes),
            log_lines: self.log_lines.min(ceiling.log_lines),
            log_bytes: self.log_bytes.min(ceiling.log_bytes),
            state: StateLimits {
                keys: self.state.keys.min(ceiling.state.keys),
                bytes: self.state.bytes.min(ceiling.state.bytes),
            },
            arguments_bytes: self.arguments_bytes.min(ceiling.arguments_bytes),
        }
    }
}
