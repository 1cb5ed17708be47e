//! The functions of a component that calls enter, each looked up by itself: the generated accessors look up and check
//! every function of an interface on each entry, which for hooks is a tenth of what the entry costs.

use std::sync::atomic::{AtomicBool, Ordering};

use wasmtime::component::{ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Lower, TypedFunc};
use wasmtime::{Result, Store};

use super::bindings::v0_1::{hooks, tools, types};
use super::instance::CallState;

/// `toolgate:plugin/tools`.
pub struct ToolExports {
    /// All of them, for loading.
    pub all: tools::GuestIndices,
    prepare_arguments: Function,
    execute: Function,
}

/// `toolgate:plugin/hooks`.
pub struct HookExports {
    /// All of them, for loading.
    pub all: hooks::GuestIndices,
    before_tool_call: Function,
    after_tool_call: Function,
    settled: Function,
}

impl ToolExports {
    /// Finds them. Their types are checked where definitions are read, and at the first entry.
    pub fn new(pre: &InstancePre<CallState>) -> Result<Self> {
        let interface = Interface::new(pre, "toolgate:plugin/tools@0.1.0")?;
        Ok(Self {
            all: tools::GuestIndices::new(pre)?,
            prepare_arguments: interface.function("prepare-arguments")?,
            execute: interface.function("execute")?,
        })
    }

    /// Calls `prepare-arguments`.
    pub async fn prepare_arguments(
        &self,
        (store, instance): Entered<'_>,
        name: &str,
        arguments: &str,
    ) -> Result<Result<String, String>> {
        let function: TypedFunc<(&str, &str), _> = self.prepare_arguments.of(store, &instance)?;
        enter(store, function, (name, arguments)).await
    }

    /// Calls `execute`.
    pub async fn execute(
        &self,
        (store, instance): Entered<'_>,
        call: &types::ToolCall<'_>,
    ) -> Result<Result<types::ToolResultResult, tools::Failure>> {
        let function: TypedFunc<(&types::ToolCall<'_>,), _> = self.execute.of(store, &instance)?;
        enter(store, function, (call,)).await
    }
}

impl HookExports {
    /// Finds them. Their types are checked where subscriptions are read, and at the first entry.
    pub fn new(pre: &InstancePre<CallState>) -> Result<Self> {
        let interface = Interface::new(pre, "toolgate:plugin/hooks@0.1.0")?;
        Ok(Self {
            all: hooks::GuestIndices::new(pre)?,
            before_tool_call: interface.function("before-tool-call")?,
            after_tool_call: interface.function("after-tool-call")?,
            settled: interface.function("settled")?,
        })
    }

    /// Calls `before-tool-call`.
    pub async fn before_tool_call(
        &self,
        (store, instance): Entered<'_>,
        context: &hooks::BeforeContext<'_>,
    ) -> Result<Result<hooks::Decision, String>> {
        let function: TypedFunc<(&hooks::BeforeContext<'_>,), _> = self.before_tool_call.of(store, &instance)?;
        enter(store, function, (context,)).await
    }

    /// Calls `after-tool-call`.
    pub async fn after_tool_call(
        &self,
        (store, instance): Entered<'_>,
        context: &hooks::AfterContext<'_>,
    ) -> Result<Result<Option<hooks::Override>, String>> {
        let function: TypedFunc<(&hooks::AfterContext<'_>,), _> = self.after_tool_call.of(store, &instance)?;
        enter(store, function, (context,)).await
    }

    /// Calls `settled`.
    pub async fn settled(&self, (store, instance): Entered<'_>, context: &hooks::SettledContext<'_>) -> Result<()> {
        let function: TypedFunc<(&hooks::SettledContext<'_>,), ()> = self.settled.of(store, &instance)?;
        function.call_async(store, (context,)).await
    }
}

/// A store, and the instance that was made in it.
type Entered<'a> = (&'a mut Store<CallState>, Instance);

struct Interface<'a> {
    pre: &'a InstancePre<CallState>,
    name: &'static str,
    index: ComponentExportIndex,
}

impl<'a> Interface<'a> {
    fn new(pre: &'a InstancePre<CallState>, name: &'static str) -> Result<Self> {
        let missing = || wasmtime::format_err!("no exported instance named `{name}`");
        let index = pre.component().get_export_index(None, name).ok_or_else(missing)?;
        Ok(Self { pre, name, index })
    }

    fn function(&self, function: &str) -> Result<Function> {
        let missing = || wasmtime::format_err!("instance export `{}` does not have export `{function}`", self.name);
        let index = self.pre.component().get_export_index(Some(&self.index), function).ok_or_else(missing)?;
        Ok(Function { index, is_checked: AtomicBool::new(false) })
    }
}

/// One exported function. Always asked for with the same types.
struct Function {
    index: ComponentExportIndex,
    /// Whether it was found to have the types it is asked for with: walking through both is 2 to 4 % of an entry.
    is_checked: AtomicBool,
}

impl Function {
    /// The function of an instance of the component that it was found in.
    fn of<P, R>(&self, store: &mut Store<CallState>, instance: &Instance) -> Result<TypedFunc<P, R>>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        if !self.is_checked.load(Ordering::Relaxed) {
            let function = instance.get_typed_func(store, self.index)?;
            self.is_checked.store(true, Ordering::Relaxed);
            return Ok(function);
        }
        let missing = || wasmtime::format_err!("an instance lacks a function of its component");
        let function = instance.get_func(store, self.index).ok_or_else(missing)?;
        // SAFETY: a function's type is its component's, not an instance's. The index is of one component, whose function
        // was found to be of these types before: each caller names them as literals, once for each function.
        #[allow(unsafe_code)]
        Ok(unsafe { TypedFunc::new_unchecked(function) })
    }
}

async fn enter<P, R>(store: &mut Store<CallState>, function: TypedFunc<P, (R,)>, arguments: P) -> Result<R>
where
    P: ComponentNamedList + Lower + Send + Sync,
    R: Send + Sync + 'static,
    (R,): ComponentNamedList + Lift + Send + Sync,
{
    Ok(function.call_async(store, arguments).await?.0)
}
