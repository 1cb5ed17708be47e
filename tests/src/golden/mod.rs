//! Golden scenarios: recorded batches with their exact event traces, replayed through whatever implements the scripted
//! tools and hooks. The format is described in `tests/golden/SCENARIO.md`.

mod compare;
#[cfg(feature = "component")]
pub mod component;
pub mod native;
mod record;
mod replay;
mod scenario;

pub use compare::difference;
pub use replay::{Replayed, replay};
pub use scenario::{Handler, HandlerEvent, Scenario, load_dir};

use toolgate::registry::Plugin;

/// Makes a scenario's scripted tools and hooks: native ones, or components.
///
/// They tell what they see as log lines, `probe ROW` and `abort ROW`, through the host's log sink.
pub trait Guests {
    /// One plugin with the scenario's tools, and one for each of [`Scenario::handlers`], in that order and named as
    /// they say.
    fn plugins(&self, scenario: &Scenario) -> impl Future<Output = Result<Vec<Plugin>, String>> + Send;
}

/// Replays a scenario and compares. `None` is "the same".
pub async fn check(scenario: &Scenario, guests: &impl Guests) -> Option<String> {
    match replay(scenario, guests).await {
        Ok(replayed) => difference(scenario, &replayed),
        Err(error) => Some(error),
    }
}
