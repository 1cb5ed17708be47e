//! Numbers keep every digit from the model to a guest and back to the message, in arguments and in results.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolgate::Host;
use toolgate::component::PluginSpec;
use toolgate::model::{AssistantMessage, Event, Json};
use toolgate::pipeline::{Batch, EventSink, SinkError};
use toolgate_tests::guests;

const NUMBERS: [&str; 9] = [
    "9007199254740993",
    "18446744073709551615",
    "-9223372036854775809",
    "0.1",
    "1e400",
    "-0",
    "12345678901234567890123456789012345678901234567890",
    "0.12345678901234567890123456789012345678901234567890",
    "1234567890123456789012345.6789012345678901234567890e-7",
];

/// As a JSON library with arbitrary precision writes a number that it has read: the same digits, an exponent with its
/// sign.
fn read(number: &str) -> Value {
    serde_json::from_str(number).unwrap()
}

/// Keeps every event as the text it would have on the wire.
#[derive(Default)]
struct Wire(Mutex<Vec<String>>);

#[async_trait::async_trait]
impl EventSink for Wire {
    fn name(&self) -> &str {
        "wire"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        self.0.lock().unwrap().push(serde_json::to_string(event)?);
        Ok(())
    }
}

impl Wire {
    /// The one event of a type.
    fn one(&self, kind: &str) -> String {
        let events = self.0.lock().unwrap();
        let found: Vec<_> = events.iter().filter(|event| event.contains(&format!(r#""type":"{kind}""#))).collect();
        assert_eq!(found.len(), 1, "{kind}: {events:?}");
        found[0].clone()
    }
}

/// Runs the one call of a message as the model wrote it; the message that comes back as text, and the events.
async fn run(host: &Host, tool: &str, arguments: &str) -> (String, Arc<Wire>) {
    let message = format!(r#"{{"content":[{{"type":"toolCall","id":"c1","name":"{tool}","arguments":{arguments}}}]}}"#);
    let wire = Arc::new(Wire::default());
    let outcome = host.run(Batch::new(AssistantMessage::parse(&message).unwrap()).sink(wire.clone())).await;
    assert!(!outcome.messages[0].is_error, "{:?}", outcome.messages);
    (serde_json::to_string(&outcome.messages[0]).unwrap(), wire)
}

fn scripted(package: &str, name: &str, config: Value) -> PluginSpec {
    let mut spec = guests::spec(package);
    spec.name = name.into();
    spec.config = Json::from_value(config);
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_and_structured_content_cross_as_they_were_written() {
    let host = guests::host(Host::builder(), [guests::spec("misbehave")]).await;
    // Blanks too: nobody between the model and the guest has written the document anew.
    let arguments = format!(r#"{{ "all":[ {} ] , "deep":{{"n": {}}}}}"#, NUMBERS.join(" , "), NUMBERS[0]);
    let (message, wire) = run(&host, "echo", &arguments).await;
    let content = json!([{"type": "text", "text": arguments}]);
    assert!(message.contains(&format!(r#""content":{content}"#)), "{message}");
    assert!(message.contains(&format!(r#""structuredContent":{arguments}"#)), "{message}");
    assert!(wire.one("tool_execution_start").contains(&format!(r#""args":{arguments}"#)));
    assert!(wire.one("tool_execution_end").contains(&format!(r#""structuredContent":{arguments}"#)));
    assert!(wire.one("message_end").contains(&message));
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_keep_their_digits_through_coercion_and_a_hook_that_rewrites_them() {
    let parameters = json!({
        "type": "object",
        "properties": {"note": {"type": "string"}, "number": {"type": "number"}, "quoted": {"type": "number"}},
        "required": ["number", "quoted"],
    });
    let script = json!([{"op": "return", "value": {"content": [{"type": "text", "text": "${args}"}]}}]);
    let tools = json!({"tools": [{"name": "typed", "parameters": parameters, "script": script}]});
    let rewrite = json!([{"op": "setArg", "path": ["note"], "value": "seen ${args.number} and ${args.quoted}"}]);
    let hook = json!({"event": "before", "entries": [{"script": rewrite}]});
    let specs = [scripted("scripted-tool", "tools", tools), scripted("scripted-hook", "rewrite", hook)];
    let host = guests::host(Host::builder(), specs).await;
    for number in NUMBERS {
        let (message, wire) = run(&host, "typed", &format!(r#"{{"number":{number},"quoted":"{number}"}}"#)).await;
        let number = read(number);
        let arguments =
            json!({"note": format!("seen {number} and {number}"), "number": number, "quoted": number}).to_string();
        let content = json!([{"type": "text", "text": arguments}]);
        assert!(message.contains(&format!(r#""content":{content}"#)), "{message}");
        assert!(wire.one("arguments_coerced").contains(r#""paths":["quoted"]"#));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_updates_and_overrides_keep_their_digits() {
    let all = json!({"n": NUMBERS.map(read)});
    let partial = json!({"content": [], "details": all});
    let result = json!({"content": [], "details": all, "structuredContent": all, "usage": all});
    let script = json!([{"op": "update", "partial": partial}, {"op": "return", "value": result}]);
    let tools = json!({"tools": [{"name": "t", "parameters": {"type": "object"}, "script": script}]});
    let observed = json!([{"op": "return", "value": {"content": [{"type": "text", "text": "${details}"}], "structuredContent": [all]}}]);
    let hook = json!({"event": "after", "entries": [{"script": observed}]});
    let specs = [scripted("scripted-tool", "tools", tools), scripted("scripted-hook", "observe", hook)];
    let host = guests::host(Host::builder(), specs).await;
    let (message, wire) = run(&host, "t", "{}").await;
    let seen_by_hook = json!([{"type": "text", "text": all.to_string()}]);
    for part in [
        format!(r#""content":{seen_by_hook}"#),
        format!(r#""details":{all}"#),
        format!(r#""structuredContent":[{all}]"#),
        format!(r#""usage":{all}"#),
    ] {
        assert!(message.contains(&part), "{part}: {message}");
    }
    assert!(wire.one("tool_execution_update").contains(&format!(r#""details":{all}"#)));
}
