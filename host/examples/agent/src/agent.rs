//! The loop: ask the model, run its tool calls, give it the results, until it calls no more.

use std::error::Error;
use std::sync::Arc;

use serde_json::json;
use toolgate::Host;
use toolgate::model::{AssistantMessage, Json};
use toolgate::pipeline::{Batch, EventSink};
use toolgate::registry::ActiveTools;

use crate::model::Script;

/// More turns than any task needs: a model that never ends is stopped.
const MAX_TURNS: usize = 20;

/// Runs until the model answers with text.
pub async fn run(
    host: &Host,
    mut model: Script,
    prompt: &str,
    sink: Arc<dyn EventSink>,
) -> Result<String, Box<dyn Error>> {
    let mut transcript = vec![Json::from_value(json!({"role": "user", "content": prompt}))];
    for turn in 0..MAX_TURNS {
        let reply = model.reply(&transcript);
        let message = AssistantMessage::parse(reply.text())?;
        transcript.push(reply.clone());
        if message.calls.is_empty() {
            return Ok(reply.value()["content"][0]["text"].as_str().unwrap_or_default().to_owned());
        }
        println!("turn {}", turn + 1);
        let batch = Batch::new(message)
            .conversation("example")
            .turn(turn.to_string())
            // Tools that an earlier result added can be called from this turn on.
            .active(ActiveTools::after_message(&transcript, transcript.len()))
            .sink(sink.clone());
        let outcome = host.run(batch).await;
        host.state().end_turn("example", &turn.to_string());
        for message in &outcome.messages {
            transcript.push(Json::of(message)?);
        }
        if outcome.terminate {
            return Ok("(a tool ended the run)".into());
        }
    }
    Err(format!("the model had not finished after {MAX_TURNS} turns").into())
}
