//! The memory bound of one store: linear memories and tables summed, and what was refused.

use wasmtime::ResourceLimiter;

use crate::sandbox::Limits;

/// Bytes a table element is counted with: one pointer.
const ELEMENT_BYTES: usize = 8;

/// Core instances one component may make; also what a pool slot must hold. The largest language runtime makes 6.
pub const MAX_INSTANCES: u32 = 40;
/// Linear memories of one component. The largest language runtime has 1, an adapter adds 1.
pub const MAX_MEMORIES: u32 = 4;
/// Tables of one component.
pub const MAX_TABLES: u32 = 8;

/// Counts and refuses growth.
#[derive(Debug)]
pub struct Limiter {
    memory_bytes: usize,
    table_elements: usize,
    held: usize,
    /// The most held at once.
    pub peak: usize,
    /// A memory was refused; a trap after that is `memory-limit`.
    pub refused_memory: u64,
    /// A table was refused; a trap after that is `table-limit`.
    pub refused_table: u64,
}

impl Limiter {
    /// Holds nothing yet.
    pub fn new(limits: &Limits) -> Self {
        Self {
            memory_bytes: limits.memory_bytes,
            table_elements: limits.table_elements,
            held: 0,
            peak: 0,
            refused_memory: 0,
            refused_table: 0,
        }
    }

    fn grow(&mut self, current: usize, desired: usize) -> bool {
        let total = self.held.saturating_sub(current).saturating_add(desired);
        if total > self.memory_bytes {
            return false;
        }
        self.held = total;
        self.peak = self.peak.max(total);
        true
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let granted = self.grow(current, desired);
        if !granted {
            self.refused_memory += 1;
        }
        Ok(granted)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let bytes = |elements: usize| elements.saturating_mul(ELEMENT_BYTES);
        let granted = desired <= self.table_elements && self.grow(bytes(current), bytes(desired));
        if !granted {
            self.refused_table += 1;
        }
        Ok(granted)
    }

    fn instances(&self) -> usize {
        MAX_INSTANCES as usize
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES as usize
    }

    fn tables(&self) -> usize {
        MAX_TABLES as usize
    }
}
