//! Bytes that outlive the instance.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{HostError, Scope};

/// The plugin's own store of one scope, bounded by the host in keys and bytes. Values are JSON unless the methods on
/// bytes are used.
#[derive(Clone, Copy, Debug)]
pub struct State {
    scope: Scope,
}

impl State {
    pub(crate) fn new(scope: Scope) -> Self {
        Self { scope }
    }

    /// A value kept earlier. An error where it has another shape.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, HostError> {
        let Some(bytes) = self.get_bytes(key) else { return Ok(None) };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| HostError::new(format_args!("The state kept under `{key}` has another shape: {error}")))
    }

    /// Keeps a value. An error where the host's limits of keys or bytes are reached.
    pub fn set(&self, key: &str, value: &impl Serialize) -> Result<(), HostError> {
        let bytes = serde_json::to_vec(value)
            .map_err(|error| HostError::new(format_args!("The value for `{key}` can't be written as JSON: {error}")))?;
        self.set_bytes(key, &bytes)
    }

    /// Adds atomically to a number (absent = 0) and returns the sum: the way to count across calls that run at the
    /// same time. An error where the value is no number or a limit is reached.
    pub fn add(&self, key: &str, delta: f64) -> Result<f64, HostError> {
        backend::add(self.scope, key, delta).map_err(HostError::new)
    }

    /// Forgets a value.
    pub fn remove(&self, key: &str) {
        backend::remove(self.scope, key);
    }

    /// Bytes kept earlier.
    pub fn get_bytes(&self, key: &str) -> Option<Vec<u8>> {
        backend::get(self.scope, key)
    }

    /// Keeps bytes. An error where the host's limits are reached.
    pub fn set_bytes(&self, key: &str, value: &[u8]) -> Result<(), HostError> {
        backend::set(self.scope, key, value).map_err(HostError::new)
    }
}

#[cfg(target_family = "wasm")]
use crate::bindings::tools::toolgate::plugin::state as backend;

#[cfg(not(target_family = "wasm"))]
use crate::testing::state as backend;
