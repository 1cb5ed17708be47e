//! The contract's imports: progress, cancellation, log, state, config, batch.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use wasmtime::Result;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

use super::bindings::v0_1::{
    batch, cancellation, cancellation_event, config, level_in, log, progress, result_in, scope_in, state, types,
};
use super::instance::CallState;
use crate::pipeline::LogLevel;
use crate::state::StateKey;

/// What `state` says where there is no call: at load.
const NO_STATE: &str = "state is not available while definitions are read";

impl CallState {
    fn with_state<R>(
        &mut self,
        scope: state::Scope,
        f: impl FnOnce(&crate::state::StateStore, &StateKey<'_>, crate::state::StateLimits) -> R,
    ) -> Option<R> {
        self.host_calls += 1;
        let cx = self.cx.as_ref()?;
        let at = StateKey {
            scope: scope_in(scope),
            conversation: &cx.batch.conversation,
            turn: &cx.batch.turn,
            plugin: &self.plugin.name,
        };
        Some(f(&cx.state, &at, self.plugin.limits.state))
    }

    fn token(&self) -> CancellationToken {
        self.cx.as_ref().map(|cx| cx.cancel.clone()).unwrap_or_default()
    }
}

impl types::Host for CallState {}

impl progress::Host for CallState {
    async fn update(&mut self, partial: types::ToolResultResult) -> Result<()> {
        self.host_calls += 1;
        let (true, Some(cx)) = (self.updates.open, &self.cx) else { return Ok(()) };
        let partial = match result_in(partial) {
            Ok(partial) => partial,
            Err(bad) => {
                self.updates.dropped += 1;
                self.log.write("log", LogLevel::Warn, &format!("an update was dropped: {bad}"));
                return Ok(());
            }
        };
        let size = partial.size();
        if self.updates.left == 0 || size > self.updates.bytes_left {
            self.updates.dropped += 1;
            return Ok(());
        }
        self.updates.left -= 1;
        self.updates.bytes_left -= size;
        cx.update(partial).await;
        Ok(())
    }
}

impl cancellation::Host for CallState {
    async fn is_cancelled(&mut self) -> Result<bool> {
        self.host_calls += 1;
        Ok(self.cx.as_ref().is_some_and(|cx| cx.cancel.is_cancelled()))
    }

    async fn wait(&mut self, timeout_ms: u32) -> Result<bool> {
        self.host_calls += 1;
        let token = self.token();
        // `biased`: a cancelled guest that asks again must be told at once.
        tokio::select! {
            biased;
            () = token.cancelled() => Ok(true),
            () = tokio::time::sleep(Duration::from_millis(timeout_ms.into())) => Ok(false),
        }
    }
}

impl log::Host for CallState {
    async fn write(&mut self, level: log::Level, message: String) -> Result<()> {
        self.host_calls += 1;
        self.log.write("log", level_in(level), &message);
        Ok(())
    }
}

impl state::Host for CallState {
    async fn get(&mut self, scope: state::Scope, key: String) -> Result<Option<Vec<u8>>> {
        Ok(self.with_state(scope, |store, at, _| store.get(at, &key)).flatten())
    }

    async fn set(
        &mut self,
        scope: state::Scope,
        key: String,
        value: Vec<u8>,
    ) -> Result<std::result::Result<(), String>> {
        Ok(self
            .with_state(scope, |store, at, limits| store.set(at, &key, value, limits).map_err(|e| e.to_string()))
            .unwrap_or_else(|| Err(NO_STATE.into())))
    }

    async fn remove(&mut self, scope: state::Scope, key: String) -> Result<()> {
        self.with_state(scope, |store, at, _| store.remove(at, &key));
        Ok(())
    }

    async fn add(&mut self, scope: state::Scope, key: String, delta: f64) -> Result<std::result::Result<f64, String>> {
        Ok(self
            .with_state(scope, |store, at, limits| store.add(at, &key, delta, limits).map_err(|e| e.to_string()))
            .unwrap_or_else(|| Err(NO_STATE.into())))
    }
}

impl config::Host for CallState {
    async fn get(&mut self, key: String) -> Result<Option<String>> {
        self.host_calls += 1;
        Ok(self.plugin.config.value().get(&key).map(ToString::to_string))
    }

    async fn all(&mut self) -> Result<String> {
        self.host_calls += 1;
        Ok(self.plugin.config.text().to_owned())
    }
}

impl batch::Host for CallState {
    async fn position(&mut self) -> Result<u32> {
        self.host_calls += 1;
        Ok(self.cx.as_ref().map_or(0, |cx| cx.position))
    }

    async fn size(&mut self) -> Result<u32> {
        self.host_calls += 1;
        Ok(self.cx.as_ref().map_or(0, |cx| cx.batch.size))
    }

    async fn turn(&mut self) -> Result<String> {
        self.host_calls += 1;
        Ok(self.cx.as_ref().map(|cx| cx.batch.turn.to_string()).unwrap_or_default())
    }

    async fn conversation(&mut self) -> Result<String> {
        self.host_calls += 1;
        Ok(self.cx.as_ref().map(|cx| cx.batch.conversation.to_string()).unwrap_or_default())
    }

    async fn assistant_message(&mut self) -> Result<String> {
        self.host_calls += 1;
        let message = self.cx.as_ref().and_then(|cx| cx.batch.message.as_ref());
        Ok(message.map_or_else(|| "null".to_owned(), |message| message.text().to_owned()))
    }
}

/// Ready once the batch is cancelled.
struct Cancelled(CancellationToken);

#[async_trait::async_trait]
impl Pollable for Cancelled {
    async fn ready(&mut self) {
        self.0.cancelled().await;
    }
}

impl cancellation_event::Host for CallState {
    async fn subscribe(&mut self) -> Result<Resource<DynPollable>> {
        self.host_calls += 1;
        let event = Cancelled(self.token());
        let resource = self.table.push(event)?;
        subscribe(&mut self.table, resource)
    }
}
