//! Plays a scenario on a host of its own: the part of an agent's loop that the scenario stands for.

use std::time::Duration;

use serde_json::Value;
use toolgate::Host;
use toolgate::model::StopReason;
use toolgate::pipeline::Batch;

use super::record::{Recorder, Sink, strip};
use super::{Guests, Scenario};

/// The traces were recorded with a grace period longer than any of their sleeps.
const GRACE: Duration = Duration::from_secs(30);

/// What a replay came to, in the shape of the scenario's `expect`.
pub struct Replayed {
    /// Answers of the model.
    pub model_calls: usize,
    /// Event rows and probe rows.
    pub trace: Vec<Value>,
    /// All messages.
    pub tool_results: Vec<Value>,
}

/// Plays all turns.
pub async fn replay(scenario: &Scenario, guests: &impl Guests) -> Result<Replayed, String> {
    let setup = &scenario.scenario;
    let recorder = Recorder::new();
    let host = Host::builder().grace(GRACE).logs(recorder.clone()).build();
    for plugin in guests.plugins(scenario).await? {
        host.load(plugin).map_err(|error| error.to_string())?;
    }
    // What guests log while they are loaded is no part of the trace.
    recorder.take();

    let sink = Sink::new(scenario, recorder.clone());
    if setup.abort.as_ref().is_some_and(|abort| abort.before_run) {
        recorder.cancel.cancel();
    }
    let (mut model_calls, mut tool_results) = (0, Vec::new());
    let mut turns = setup.turns.iter();
    loop {
        model_calls += 1;
        // A cancelled run gets one more answer, "aborted"; after the last turn the model answers without calls.
        let Some(turn) = turns.next().filter(|_| !recorder.cancel.is_cancelled()) else { break };
        let mut batch = Batch::new(turn.message()).sink(sink.clone()).cancel(recorder.cancel.clone());
        batch.mode = setup.tool_execution;
        let outcome = host.run(batch).await;
        for message in outcome.messages {
            let mut message = serde_json::to_value(message).map_err(|error| error.to_string())?;
            strip(&mut message);
            tool_results.push(message);
        }
        let is_over = matches!(turn.stop_reason, StopReason::Error | StopReason::Aborted) || turn.calls.is_empty();
        if outcome.terminate || is_over {
            break;
        }
    }
    tokio::time::sleep(Duration::from_millis(setup.settle_ms)).await;
    Ok(Replayed { model_calls, trace: recorder.take(), tool_results })
}
