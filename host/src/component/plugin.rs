//! A loaded component as the pipeline sees it: one `Tool` per definition, one `Hook` if it exports hooks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::bindings::v0_1::{self as bindings, tools};
use super::compile::{Code, Pending};
use super::engine::Engine;
use super::exports::{HookExports, ToolExports};
use super::failure::{Failure, Refused, bounded};
use super::instance::Entry;
use super::keys;
use super::load::{HOOKS, MAX_DESCRIPTION_BYTES, TOOLS};
use super::load_error::{LoadErrorReason, shape};
use crate::model::{ErrorInfo, ErrorKind, Json, Override, ToolDefinition, ToolResult};
use crate::pipeline::{
    CallContext, Decision, Hook, HookError, HookEvent, Key, LogSink, Settled, Slot, Tool, ToolError,
};
use crate::sandbox::{Grants, Limits};

/// What is known of a plugin apart from its code.
pub struct PluginInfo {
    pub name: Arc<str>,
    pub limits: Limits,
    pub grants: Grants,
    /// A JSON object.
    pub config: Json,
    pub imports_wasi: bool,
}

/// A component, linked and ready to instantiate.
pub struct Loaded {
    pub engine: Engine,
    pub info: Arc<PluginInfo>,
    pub code: Pending,
}

/// What a component says about itself, also as it is kept beside the compiled code.
#[derive(Default, Serialize, Deserialize)]
pub struct Described {
    pub tools: Vec<ToolDefinition>,
    pub subscriptions: Vec<Subscription>,
}

/// An event, and the tools it is wanted of; none is all.
pub type Subscription = (HookEvent, Option<Vec<String>>);

impl Described {
    /// Names of its tools.
    pub fn names(self) -> Vec<String> {
        self.tools.into_iter().map(|definition| definition.name).collect()
    }
}

impl Loaded {
    /// Reads definitions and subscriptions, in an instance with config and log but no call. Both together have the
    /// time of `load-ms`.
    pub async fn describe(&self, logs: &Arc<dyn LogSink>) -> Result<Described, LoadErrorReason> {
        let deadline = Instant::now() + self.info.limits.load;
        let mut described = Described::default();
        let code = self.code.get().map_err(Failure::of_tool_error)?;
        if let Some(exports) = &code.tools {
            let mut entry = Entry::to_describe(&self.engine, &self.info, logs, deadline)?;
            let outcome = within(deadline, async {
                let (store, instance) = entry.instantiate(&code.pre).await?;
                let guest = exports.all.load(&mut *store, &instance).map_err(Misshapen)?;
                let definitions = guest.call_definitions(&mut *store).await?;
                // Before anything of them is parsed, which takes many times their size.
                let bytes: usize = definitions.iter().map(bindings::definition_size).sum();
                if bytes > MAX_DESCRIPTION_BYTES {
                    let reason = format!("its definitions take {bytes} bytes, more than {MAX_DESCRIPTION_BYTES}");
                    return Err(Refused(reason).into());
                }
                definitions.into_iter().map(|d| Ok(bindings::definition_in(d)?)).collect::<wasmtime::Result<Vec<_>>>()
            })
            .await;
            described.tools = entry.finish(well_shaped(outcome, TOOLS)?)?;
        }
        if let Some(exports) = &code.hooks {
            let mut entry = Entry::to_describe(&self.engine, &self.info, logs, deadline)?;
            let outcome = within(deadline, async {
                let (store, instance) = entry.instantiate(&code.pre).await?;
                let guest = exports.all.load(&mut *store, &instance).map_err(Misshapen)?;
                let subscriptions = guest.call_subscriptions(&mut *store).await?;
                let bytes: usize = subscriptions.iter().flat_map(|s| s.tools.iter().flatten()).map(String::len).sum();
                if bytes > MAX_DESCRIPTION_BYTES {
                    let reason = format!("its subscriptions take {bytes} bytes, more than {MAX_DESCRIPTION_BYTES}");
                    return Err(Refused(reason).into());
                }
                Ok(subscriptions)
            })
            .await;
            let subscriptions = entry.finish(well_shaped(outcome, HOOKS)?)?;
            described.subscriptions = subscriptions.into_iter().map(bindings::subscription_in).collect();
        }
        Ok(described)
    }

    /// Waits for the code where it is still being compiled, for an entry that is not wanted any more once the batch is
    /// cancelled.
    async fn compiled_unless(&self, cancel: &CancellationToken) -> Result<&Code, ToolError> {
        tokio::select! {
            biased;
            code = self.compiled() => code,
            () = cancel.cancelled() => Err(ToolError::cancelled()),
        }
    }

    async fn compiled(&self) -> Result<&Code, ToolError> {
        self.code.wait(self.engine.0.settings.compile_wait).await
    }
}

/// `timeout_at` without a timer for what does not wait, as most calls do not.
async fn within<T>(deadline: Instant, work: impl Future<Output = T>) -> Result<T, Elapsed> {
    let mut work = std::pin::pin!(work);
    match std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
        Poll::Ready(done) => Ok(done),
        Poll::Pending => timeout_at(deadline, work).await,
    }
}

/// An export that is missing or has other types than the contract.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
struct Misshapen(wasmtime::Error);

/// Whether the guest was entered at all.
fn well_shaped<T, E>(
    outcome: Result<wasmtime::Result<T>, E>,
    interface: &'static str,
) -> Result<Result<wasmtime::Result<T>, E>, LoadErrorReason> {
    match outcome {
        Ok(Err(error)) if error.is::<Misshapen>() => Err(shape(interface)(error)),
        other => Ok(other),
    }
}

/// One tool of a component.
pub struct ComponentTool {
    pub loaded: Arc<Loaded>,
    pub definition: ToolDefinition,
}

impl ComponentTool {
    fn exports<'a>(&self, code: &'a Code) -> Result<&'a ToolExports, ToolError> {
        code.tools.as_ref().ok_or_else(|| ToolError::failed("the component exports no tools"))
    }

    fn error(&self, failure: Failure) -> ToolError {
        failure.into_tool_error(&self.definition.name)
    }
}

#[async_trait]
impl Tool for ComponentTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn prepare_arguments(&self, cx: &CallContext, arguments: &Json) -> Result<Json, ToolError> {
        let code = self.loaded.compiled_unless(&cx.cancel).await?;
        let exports = self.exports(code)?;
        let _slot = self.loaded.engine.slot_unless(&cx.cancel).await?;
        let mut entry =
            Entry::new(&self.loaded.engine, &self.loaded.info, Some(cx), &cx.logs).map_err(|f| self.error(f))?;
        let outcome = within(entry.deadline, async {
            let entered = entry.instantiate(&code.pre).await?;
            exports.prepare_arguments(entered, &self.definition.name, arguments.text()).await
        })
        .await;
        let prepared =
            entry.finish(outcome).map_err(|f| self.error(f))?.map_err(|message| ToolError::failed(bounded(message)))?;
        let limit = self.loaded.info.limits.arguments_bytes;
        if prepared.len() > limit {
            let text = format!(
                "Tool {} prepared {} bytes of arguments, over its limit of {limit}",
                self.definition.name,
                prepared.len()
            );
            return Err(ToolError::of(ErrorKind::OutputLimit, text).with_hint("the limit is limits.arguments-bytes"));
        }
        Json::parse(prepared)
            .map_err(|bad| ToolError::failed(format!("Tool {}: prepared arguments are {bad}", self.definition.name)))
    }

    async fn exclusive_keys(&self, cx: &CallContext, arguments: &Json) -> Vec<Key> {
        let info = &self.loaded.info;
        keys::resolve(&self.definition, arguments, cx.plugin_or_tool(), &info.grants).await
    }

    async fn acquire(&self, _cx: &CallContext) -> Result<Slot, ToolError> {
        self.loaded.compiled().await?;
        self.loaded.engine.slot().await.map(Slot::holding)
    }

    async fn execute(&self, cx: &CallContext, arguments: &Json, mut slot: Slot) -> Result<ToolResult, ToolError> {
        let code = self.loaded.code.get()?;
        let exports = self.exports(code)?;
        // Held past the entry: the store is dropped before its permit is released.
        let _permit = match slot.take::<OwnedSemaphorePermit>() {
            Some(permit) => permit,
            None => self.loaded.engine.slot().await?,
        };
        let mut entry =
            Entry::new(&self.loaded.engine, &self.loaded.info, Some(cx), &cx.logs).map_err(|f| self.error(f))?;
        entry.open_updates();
        let outcome = within(entry.deadline, async {
            let entered = entry.instantiate(&code.pre).await?;
            let call = bindings::call_out(&cx.call, arguments);
            match exports.execute(entered, &call).await? {
                Ok(result) => Ok(Ok(bindings::result_in(result)?)),
                Err(tools::Failure::Failed(message)) => Ok(Err(ToolError::failed(bounded(message)))),
                Err(tools::Failure::Cancelled) => Ok(Err(ToolError::cancelled())),
            }
        })
        .await;
        let result = entry.finish(outcome).map_err(|f| self.error(f))??;
        let limit = self.loaded.info.limits.result_bytes;
        let size = result.size();
        if size > limit {
            let name = &self.definition.name;
            return Err(ToolError::of(
                ErrorKind::OutputLimit,
                format!("Tool {name} answered with {size} bytes, over its limit of {limit}; ask for less at a time"),
            )
            .with_hint(format!("raise limits.result-bytes of plugin {}", self.loaded.info.name)));
        }
        Ok(result)
    }
}

/// The hooks of a component.
pub struct ComponentHook {
    pub loaded: Arc<Loaded>,
    /// Per event the tools it wants; `None` wants every tool.
    wants: HashMap<HookEvent, Option<HashSet<String>>>,
}

impl ComponentHook {
    pub fn new(loaded: Arc<Loaded>, subscriptions: Vec<(HookEvent, Option<Vec<String>>)>) -> Self {
        let mut wants: HashMap<HookEvent, Option<HashSet<String>>> = HashMap::new();
        for (event, names) in subscriptions {
            match (wants.entry(event).or_insert_with(|| Some(HashSet::new())), names) {
                (Some(all), Some(names)) => all.extend(names),
                (wanted, None) => *wanted = None,
                (None, Some(_)) => {}
            }
        }
        Self { loaded, wants }
    }

    fn exports<'a>(&self, code: &'a Code) -> Result<&'a HookExports, HookError> {
        code.hooks.as_ref().ok_or_else(|| HookError::Failed {
            cause: ErrorKind::HookFailed,
            message: "the component exports no hooks".into(),
        })
    }

    async fn slot(&self) -> Result<OwnedSemaphorePermit, HookError> {
        self.loaded.engine.slot().await.map_err(no_slot)
    }

    fn entry(&self, cx: &CallContext) -> Result<Entry, HookError> {
        Entry::new(&self.loaded.engine, &self.loaded.info, Some(cx), &cx.logs).map_err(Failure::into_hook_error)
    }
}

fn no_slot(error: ToolError) -> HookError {
    HookError::Failed { cause: error.kind, message: error.message }
}

#[async_trait]
impl Hook for ComponentHook {
    fn wants(&self, event: HookEvent, tool: &str) -> bool {
        match self.wants.get(&event) {
            None => false,
            Some(None) => true,
            Some(Some(names)) => names.contains(tool),
        }
    }

    async fn before_tool_call(&self, cx: &CallContext, arguments: &Json) -> Result<Decision, HookError> {
        let code = self.loaded.compiled_unless(&cx.cancel).await.map_err(no_slot)?;
        let exports = self.exports(code)?;
        let _slot = self.loaded.engine.slot_unless(&cx.cancel).await.map_err(no_slot)?;
        let mut entry = self.entry(cx)?;
        let outcome = within(entry.deadline, async {
            let entered = entry.instantiate(&code.pre).await?;
            match exports.before_tool_call(entered, &bindings::before_out(&cx.call, arguments)).await? {
                Ok(decision) => Ok(Ok(bindings::decision_in(decision)?)),
                Err(message) => Ok(Err(HookError::Returned(bounded(message)))),
            }
        })
        .await;
        entry.finish(outcome).map_err(Failure::into_hook_error)?
    }

    async fn after_tool_call(
        &self,
        cx: &CallContext,
        arguments: &Json,
        result: &ToolResult,
        is_error: bool,
        error: Option<&ErrorInfo>,
    ) -> Result<Option<Override>, HookError> {
        let code = self.loaded.compiled().await.map_err(no_slot)?;
        let exports = self.exports(code)?;
        let _slot = self.slot().await?;
        let mut entry = self.entry(cx)?;
        let outcome = within(entry.deadline, async {
            let entered = entry.instantiate(&code.pre).await?;
            let result = bindings::ResultOut::of(result);
            let context = bindings::after_out(&cx.call, arguments, &result, is_error, error);
            match exports.after_tool_call(entered, &context).await? {
                Ok(change) => Ok(Ok(change.map(bindings::override_in).transpose()?)),
                Err(message) => Ok(Err(HookError::Returned(bounded(message)))),
            }
        })
        .await;
        let change = entry.finish(outcome).map_err(Failure::into_hook_error)??;
        let limit = self.loaded.info.limits.result_bytes;
        if change.as_ref().is_some_and(|change| change.size() > limit) {
            return Err(HookError::Failed {
                cause: ErrorKind::OutputLimit,
                message: format!("its override is over its limit of {limit} bytes (limits.result-bytes)"),
            });
        }
        Ok(change)
    }

    async fn settled(&self, cx: &CallContext, settled: &Settled) -> Result<(), HookError> {
        let code = self.loaded.compiled().await.map_err(no_slot)?;
        let exports = self.exports(code)?;
        let _slot = self.slot().await?;
        let mut entry = self.entry(cx)?;
        let outcome = within(entry.deadline, async {
            let entered = entry.instantiate(&code.pre).await?;
            let result = bindings::ResultOut::of(&settled.result);
            exports.settled(entered, &bindings::settled_out(&cx.call, settled, &result)).await
        })
        .await;
        entry.finish(outcome).map_err(Failure::into_hook_error)
    }
}
