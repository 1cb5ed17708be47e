//! A model that says the same every time, but for the result it was given.

use serde_json::{Value, json};
use toolgate::model::Json;

/// What it says next.
pub struct Script {
    turn: usize,
}

impl Script {
    /// From its first word.
    pub fn new() -> Self {
        Self { turn: 0 }
    }

    /// The assistant's next message.
    pub fn reply(&mut self, transcript: &[Json]) -> Json {
        self.turn += 1;
        let call = |id: &str, name: &str, arguments: Value| json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments});
        let content = match self.turn {
            1 => vec![
                call("1", "calc", json!({"expression": "6*7"})),
                call("2", "send_mail", json!({"to": "ann@elsewhere.org"})),
            ],
            // It has read that only example.com is allowed.
            2 => vec![
                call("3", "send_mail", json!({"to": "ann@example.com"})),
                call("4", "send_mail", json!({"to": "boss@example.com"})),
            ],
            _ => {
                let calc = transcript.iter().map(Json::value).find(|message| message["toolName"] == "calc");
                let result = calc.and_then(|message| message["content"][0]["text"].as_str()).unwrap_or("unknown");
                vec![json!({"type": "text", "text": format!("It is {result}, and Ann knows.")})]
            }
        };
        Json::from_value(json!({"role": "assistant", "stopReason": "toolUse", "content": content}))
    }
}
