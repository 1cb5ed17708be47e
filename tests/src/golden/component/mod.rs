//! Scripted tools and hooks as real components: the guests `scripted-tool` and `scripted-hook`, one plugin each for the
//! tools and for every hook, so that everything a scenario does crosses the sandbox.

mod stretch;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use toolgate::component::{Loader, PluginSpec, Source};
use toolgate::model::Json;
use toolgate::registry::Plugin;

use super::{Guests, Scenario, check};
use crate::guests::{component, engine};

/// How much slower than recorded. Scenarios tell order by sleeps that differ by 60 ms; a guest starts, and a worker
/// thread of a loaded machine comes by, in less than four times that. Comparing stays as strict as it was.
const STRETCH: u64 = 4;
/// Scenarios at once: they mostly sleep, but each has guests to start on time.
const AT_ONCE: usize = 4;

/// Makes them.
#[derive(Clone)]
pub struct Components {
    loader: Loader,
    tool: Source,
    hook: Source,
}

impl Components {
    /// Builds the two guests where needed.
    ///
    /// # Panics
    ///
    /// Where the guests cannot be built or the engine does not start.
    pub fn new() -> Self {
        let source = |package| Source::File(component(package));
        Self { loader: Loader::new(engine()), tool: source("scripted-tool"), hook: source("scripted-hook") }
    }

    /// Starts replaying scenarios, some at the same time, all with their times stretched. Each handle gives a scenario's
    /// name and its first difference, if any.
    pub fn check_all(
        &self,
        scenarios: impl IntoIterator<Item = Scenario>,
    ) -> Vec<JoinHandle<(String, Option<String>)>> {
        let room = Arc::new(Semaphore::new(AT_ONCE));
        let start = |scenario: Scenario| {
            let (guests, room) = (self.clone(), room.clone());
            tokio::spawn(async move {
                let _place = room.acquire().await;
                let difference = check(&stretch::stretched(scenario.clone(), STRETCH), &guests).await;
                (scenario.name, difference)
            })
        };
        scenarios.into_iter().map(start).collect()
    }

    async fn load(&self, name: &str, source: &Source, config: Map<String, Value>) -> Result<Plugin, String> {
        let mut spec = PluginSpec::new(name, source.clone());
        spec.config = Json::from_value(config.into());
        self.loader.load(spec).await.map_err(|error| error.to_string())
    }
}

impl Default for Components {
    fn default() -> Self {
        Self::new()
    }
}

impl Guests for Components {
    async fn plugins(&self, scenario: &Scenario) -> Result<Vec<Plugin>, String> {
        let mut config = Map::new();
        if let Some(tools) = &scenario.scenario.tools {
            config.insert("tools".into(), json!(tools));
        }
        let mut plugins = vec![self.load("tools", &self.tool, config).await?];
        for handler in scenario.handlers() {
            let mut config = Map::new();
            config.insert("event".into(), handler.event.word().into());
            config.insert("entries".into(), json!(handler.entries));
            if let Some(name) = handler.name {
                config.insert("handler".into(), name.into());
            }
            let mut plugin = self.load(&handler.plugin, &self.hook, config).await?;
            plugin.hook_settings.on_error = handler.on_error;
            plugins.push(plugin);
        }
        Ok(plugins)
    }
}
