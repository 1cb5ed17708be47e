//! A plugin as the registry takes it: tools and a hook under one name, whoever implements them.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use super::RegistryError;
use crate::model::ToolDefinition;
use crate::pipeline::{Hook, HookEvent, OnError, Tool};
use crate::schema::Schema;

/// Memory for the regular expressions in all schemas of one plugin: 64 MiB, several thousand ordinary patterns.
const MAX_PATTERN_BYTES: u64 = 64 << 20;

/// What the operator says about a plugin's hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookSettings {
    /// What becomes of a result when the after hook fails.
    pub on_error: OnError,
    /// Tools it is called for, of those it wants; `None` is all.
    pub tools: Option<Vec<String>>,
}

/// Tools and a hook, with what the operator says about them. Native ones are built by hand, components by their loader.
#[derive(Clone)]
#[non_exhaustive]
pub struct Plugin {
    /// The instance's name: unique in a host.
    pub name: Arc<str>,
    /// Its tools, in the order they are listed.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Its hook, named like the plugin.
    pub hook: Option<Arc<dyn Hook>>,
    /// For its hook.
    pub hook_settings: HookSettings,
    /// Tools that are not active from the start (`initially-active = false`).
    pub inactive_tools: Vec<String>,
    /// Tools that may be run a second time where it is unknown how far the first run came.
    pub idempotent_tools: Vec<String>,
    /// Largest arguments of one call, in bytes as the model wrote them. `None` is no limit.
    pub arguments_bytes: Option<usize>,
    /// The sha256 of the component it was loaded from, in hexadecimal; none for a native plugin.
    pub digest: Option<Arc<str>>,
}

impl Plugin {
    /// A plugin with nothing in it yet.
    pub fn native(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            tools: Vec::new(),
            hook: None,
            hook_settings: HookSettings::default(),
            inactive_tools: Vec::new(),
            idempotent_tools: Vec::new(),
            arguments_bytes: None,
            digest: None,
        }
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Sets the hook.
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.hook = Some(Arc::new(hook));
        self
    }

    /// Says what becomes of a result when the after hook fails.
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.hook_settings.on_error = on_error;
        self
    }

    /// Makes a tool inactive until a result names it in `addedToolNames`.
    pub fn inactive(mut self, tool: impl Into<String>) -> Self {
        self.inactive_tools.push(tool.into());
        self
    }
}

/// A tool of a loaded plugin, its schemas compiled.
pub struct RegisteredTool {
    tool: Arc<dyn Tool>,
    plugin: Arc<str>,
    parameters: Schema,
    output: Option<Schema>,
    arguments_bytes: Option<usize>,
    is_initially_active: bool,
    is_idempotent: bool,
}

impl RegisteredTool {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.definition().name
    }

    /// What it says about itself.
    pub fn definition(&self) -> &ToolDefinition {
        self.tool.definition()
    }

    /// The plugin that offers it.
    pub fn plugin(&self) -> &Arc<str> {
        &self.plugin
    }

    /// Whether it can be called before any result named it in `addedToolNames`.
    pub fn is_initially_active(&self) -> bool {
        self.is_initially_active
    }

    /// Whether the operator says that a second run does no harm.
    pub fn is_idempotent(&self) -> bool {
        self.is_idempotent
    }

    /// The schema of its arguments.
    pub fn parameters(&self) -> &Schema {
        &self.parameters
    }

    /// The schema of its structured content.
    pub fn output(&self) -> Option<&Schema> {
        self.output.as_ref()
    }

    pub(crate) fn tool(&self) -> &dyn Tool {
        &*self.tool
    }

    pub(crate) fn arguments_bytes(&self) -> Option<usize> {
        self.arguments_bytes
    }
}

/// The hook of a loaded plugin.
pub struct RegisteredHook {
    hook: Arc<dyn Hook>,
    plugin: Arc<str>,
    on_error: OnError,
    tools: Option<HashSet<String>>,
}

impl RegisteredHook {
    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.plugin
    }

    /// The plugin that offers it.
    pub fn plugin(&self) -> &Arc<str> {
        &self.plugin
    }

    pub(crate) fn hook(&self) -> &dyn Hook {
        &*self.hook
    }

    pub(crate) fn on_error(&self) -> OnError {
        self.on_error
    }

    /// Whether operator and hook want it called. A hook that panics over the question is called, and fails where its
    /// failure counts.
    pub(crate) fn wants(&self, event: HookEvent, tool: &str) -> bool {
        let wants = || std::panic::catch_unwind(AssertUnwindSafe(|| self.hook.wants(event, tool))).unwrap_or(true);
        self.tools.as_ref().is_none_or(|tools| tools.contains(tool)) && wants()
    }
}

/// A plugin whose parts are checked and compiled, ready to be put into a snapshot.
#[derive(Clone)]
pub(super) struct Loaded {
    pub name: Arc<str>,
    pub tools: Vec<Arc<RegisteredTool>>,
    pub hook: Option<Arc<RegisteredHook>>,
    pub digest: Option<Arc<str>>,
}

impl Loaded {
    /// Checks and compiles everything that does not depend on other plugins.
    pub(super) fn new(plugin: Plugin) -> Result<Self, RegistryError> {
        let name = plugin.name;
        let offered: Vec<String> = plugin.tools.iter().map(|tool| tool.definition().name.clone()).collect();
        let settings = [("initially-active", &plugin.inactive_tools), ("idempotent", &plugin.idempotent_tools)];
        for (setting, tools) in settings {
            if let Some(tool) = tools.iter().find(|tool| !offered.contains(tool)) {
                let (tool, plugin) = (tool.clone(), name.to_string());
                return Err(RegistryError::NoSuchTool { tool, plugin, setting, offered });
            }
        }
        let mut seen = HashSet::new();
        let mut patterns = 0;
        let mut tools = Vec::with_capacity(plugin.tools.len());
        for tool in plugin.tools {
            let definition = tool.definition();
            definition.check().map_err(|source| RegistryError::Definition { plugin: name.to_string(), source })?;
            if !seen.insert(definition.name.clone()) {
                return Err(RegistryError::ToolTwice { tool: definition.name.clone(), plugin: name.to_string() });
            }
            let compile = |which, schema: &crate::model::Json| {
                Schema::compile(schema.value()).map_err(|source| RegistryError::Schema {
                    plugin: name.to_string(),
                    tool: definition.name.clone(),
                    which,
                    source,
                })
            };
            let parameters = compile("parameters", &definition.parameters)?;
            let output = definition.output.as_ref().map(|output| compile("output", output)).transpose()?;
            patterns += parameters.pattern_bytes() + output.as_ref().map_or(0, Schema::pattern_bytes);
            if patterns > MAX_PATTERN_BYTES {
                return Err(RegistryError::Patterns { plugin: name.to_string(), limit: MAX_PATTERN_BYTES });
            }
            tools.push(Arc::new(RegisteredTool {
                parameters,
                output,
                plugin: name.clone(),
                arguments_bytes: plugin.arguments_bytes,
                is_initially_active: !plugin.inactive_tools.contains(&definition.name),
                is_idempotent: plugin.idempotent_tools.contains(&definition.name),
                tool,
            }));
        }
        let HookSettings { on_error, tools: hook_tools } = plugin.hook_settings;
        let hook = plugin.hook.map(|hook| {
            let tools = hook_tools.map(HashSet::from_iter);
            Arc::new(RegisteredHook { hook, plugin: name.clone(), on_error, tools })
        });
        Ok(Self { name, tools, hook, digest: plugin.digest })
    }
}
