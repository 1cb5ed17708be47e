//! What everything is compared with: wasmtime used directly, with the settings that were found best, the imports and the
//! WASI context of the product's calls, a fresh store per call, fuel, epochs and a limiter.

use wasmtime::component::{Component, HasSelf, InstancePre, Linker, Resource, ResourceTable};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, Module, PoolingAllocationConfig, Result, Store, StoreLimits,
    StoreLimitsBuilder, UpdateDeadline,
};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

mod bindings {
    wasmtime::component::bindgen!({
        path: ["../../wit/wasi-io", "../../wit/plugin", "../../wit/plugin-io"],
        world: "toolgate:plugin-io/host",
        imports: { default: async | trappable },
        exports: { default: async },
        with: { "wasi:io": wasmtime_wasi::p2::bindings::io },
    });
}

use bindings::exports::toolgate::plugin::{hooks, tools};
use bindings::toolgate::plugin::{batch, cancellation, config, log, progress, state, types};
use bindings::toolgate::plugin_io::cancellation_event;

/// Slots of the pool, as many as the product's default.
pub const SLOTS: u32 = 128;

/// How instances get their memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// From a pool that keeps pages, the recommended one.
    Pooled,
    /// Mapped for each, wasmtime's default.
    OnDemand,
}

/// The recommended configuration.
pub fn engine(allocation: Allocation, slots: u32) -> Result<Engine> {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .concurrency_support(false)
        .memory_init_cow(true)
        .max_wasm_stack(512 << 10)
        .async_stack_size(2 << 20);
    if allocation == Allocation::Pooled {
        let mut pool = PoolingAllocationConfig::default();
        pool.total_component_instances(slots)
            .total_core_instances(slots * 40)
            .total_memories(slots * 4)
            .total_tables(slots * 8)
            .total_stacks(slots)
            .max_component_instance_size(4 << 20)
            .max_core_instance_size(4 << 20)
            .table_elements(100_000)
            .max_memory_size(4 << 30)
            .linear_memory_keep_resident(1 << 20)
            .table_keep_resident(64 << 10)
            .pagemap_scan(Enabled::Yes);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    Engine::new(&config)
}

/// A component, linked once, called in a fresh store each time.
pub struct Bare {
    engine: Engine,
    pre: InstancePre<State>,
    tools: tools::GuestIndices,
    hooks: hooks::GuestIndices,
}

impl Bare {
    /// Links the component. What the guest does not import makes no difference to a call.
    pub fn new(engine: Engine, component: &Component) -> Result<Self> {
        let mut linker = Linker::<State>::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        let l = &mut linker;
        progress::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
        cancellation::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
        log::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
        state::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
        config::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
        batch::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
        types::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
        cancellation_event::add_to_linker::<_, HasSelf<_>>(l, |state| state)?;
        let pre = linker.instantiate_pre(component)?;
        let tools = tools::GuestIndices::new(&pre)?;
        let hooks = hooks::GuestIndices::new(&pre)?;
        Ok(Self { engine, pre, tools, hooks })
    }

    fn store(&self) -> Store<State> {
        let mut store = Store::new(
            &self.engine,
            State {
                limits: StoreLimitsBuilder::new().memory_size(64 << 20).table_elements(20_000).build(),
                table: ResourceTable::new(),
                wasi: None,
            },
        );
        store.limiter(|state| &mut state.limits);
        // Metering is on in the configuration.
        let _ = store.set_fuel(10_000_000_000);
        store.set_hostcall_fuel(32 << 20);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
        store
    }

    /// One call: store, instance, call, drop.
    pub async fn call(&self, tool: &str, arguments: &str) -> Result<usize> {
        let mut store = self.store();
        let instance = self.pre.instantiate_async(&mut store).await?;
        let guest = self.tools.load(&mut store, &instance)?;
        let call = types::ToolCall { id: "call-1".into(), name: tool.into(), arguments: arguments.into() };
        match guest.call_execute(&mut store, &call).await? {
            Ok(result) => Ok(result.content.len()),
            Err(_) => Err(wasmtime::Error::msg("the tool failed")),
        }
    }
}

impl Bare {
    /// A before hook and an after hook on such a call, each in a store of its own.
    pub async fn hooks(&self, arguments: &str) -> Result<()> {
        let call = || types::ToolCall { id: "call-1".into(), name: "echo".into(), arguments: arguments.into() };
        let failed = wasmtime::Error::msg;
        {
            let mut store = self.store();
            let instance = self.pre.instantiate_async(&mut store).await?;
            let guest = self.hooks.load(&mut store, &instance)?;
            let before = hooks::BeforeContext { call: call(), arguments: arguments.into() };
            guest.call_before_tool_call(&mut store, &before).await?.map_err(failed)?;
        }
        let mut store = self.store();
        let instance = self.pre.instantiate_async(&mut store).await?;
        let guest = self.hooks.load(&mut store, &instance)?;
        let text = types::Text { text: arguments.into(), annotations: None, meta: None };
        let tool_result = types::ToolResult {
            content: vec![types::ContentBlock::Text(text)],
            details: None,
            structured_content: None,
            usage: None,
            is_error: false,
            terminate: None,
            added_tool_names: None,
        };
        let (arguments, is_error, error) = (arguments.into(), false, None);
        let after = hooks::AfterContext { call: call(), arguments, tool_result, is_error, error };
        guest.call_after_tool_call(&mut store, &after).await?.map_err(failed)?;
        Ok(())
    }
}

/// A core module of the same size, without anything of the component model.
pub struct Raw {
    engine: Engine,
    pre: wasmtime::InstancePre<StoreLimits>,
}

impl Raw {
    /// 17 pages of memory and a function that copies its argument, as the echo does at least once.
    pub fn new(engine: Engine) -> Result<Self> {
        let text = r#"(module (memory (export "memory") 17) (data (i32.const 8) "toolgate")
            (func (export "echo") (param $at i32) (param $len i32) (result i32)
              (memory.copy (i32.const 4096) (local.get $at) (local.get $len)) (i32.const 4096)))"#;
        let bytes = wat::parse_str(text).map_err(|error| wasmtime::Error::msg(error.to_string()))?;
        let module = Module::new(&engine, bytes)?;
        let pre = wasmtime::Linker::new(&engine).instantiate_pre(&module)?;
        Ok(Self { engine, pre })
    }

    /// One call.
    pub async fn call(&self, arguments: &str) -> Result<usize> {
        let mut store = Store::new(&self.engine, StoreLimitsBuilder::new().memory_size(64 << 20).build());
        store.limiter(|limits| limits);
        let _ = store.set_fuel(10_000_000_000);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
        let instance = self.pre.instantiate_async(&mut store).await?;
        let missing = || wasmtime::Error::msg("no memory");
        let memory = instance.get_memory(&mut store, "memory").ok_or_else(missing)?;
        memory.write(&mut store, 1024, arguments.as_bytes())?;
        let echo = instance.get_typed_func::<(i32, i32), i32>(&mut store, "echo")?;
        let length = i32::try_from(arguments.len())?;
        let at = echo.call_async(&mut store, (1024, length)).await?;
        let mut answer = vec![0; arguments.len()];
        memory.read(&store, usize::try_from(at)?, &mut answer)?;
        Ok(answer.len())
    }
}

struct State {
    limits: StoreLimits,
    table: ResourceTable,
    /// On first use, as in the product, where no directory is granted.
    wasi: Option<WasiCtx>,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let ctx = self.wasi.get_or_insert_with(|| WasiCtxBuilder::new().build());
        WasiCtxView { ctx, table: &mut self.table }
    }
}

// The guest of the benchmark calls none of these in what is compared.
impl types::Host for State {}

impl progress::Host for State {
    async fn update(&mut self, _partial: types::ToolResult) -> Result<()> {
        Ok(())
    }
}

impl cancellation::Host for State {
    async fn is_cancelled(&mut self) -> Result<bool> {
        Ok(false)
    }

    async fn wait(&mut self, timeout_ms: u32) -> Result<bool> {
        tokio::time::sleep(std::time::Duration::from_millis(timeout_ms.into())).await;
        Ok(false)
    }
}

impl log::Host for State {
    async fn write(&mut self, _level: log::Level, _message: String) -> Result<()> {
        Ok(())
    }
}

impl state::Host for State {
    async fn get(&mut self, _scope: state::Scope, _key: String) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    async fn set(&mut self, _: state::Scope, _: String, _: Vec<u8>) -> Result<std::result::Result<(), String>> {
        Ok(Ok(()))
    }

    async fn remove(&mut self, _scope: state::Scope, _key: String) -> Result<()> {
        Ok(())
    }

    async fn add(&mut self, _: state::Scope, _: String, delta: f64) -> Result<std::result::Result<f64, String>> {
        Ok(Ok(delta))
    }
}

impl config::Host for State {
    async fn get(&mut self, _key: String) -> Result<Option<String>> {
        Ok(None)
    }

    async fn all(&mut self) -> Result<String> {
        Ok("{}".into())
    }
}

impl batch::Host for State {
    async fn position(&mut self) -> Result<u32> {
        Ok(0)
    }

    async fn size(&mut self) -> Result<u32> {
        Ok(1)
    }

    async fn turn(&mut self) -> Result<String> {
        Ok(String::new())
    }

    async fn conversation(&mut self) -> Result<String> {
        Ok(String::new())
    }

    async fn assistant_message(&mut self) -> Result<String> {
        Ok("null".into())
    }
}

impl cancellation_event::Host for State {
    async fn subscribe(&mut self) -> Result<Resource<DynPollable>> {
        Err(wasmtime::Error::msg("nothing is cancelled here"))
    }
}
