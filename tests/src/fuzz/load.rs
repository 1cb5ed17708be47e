//! Components, from bytes: as they stand, as text, or made to answer what the bytes say.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use arbitrary::Unstructured;
use tokio::runtime::{Builder, Runtime};
use toolgate::Host;
use toolgate::component::{Engine, EngineSettings, Loader, PluginSpec, Source};
use toolgate::model::{AssistantMessage, Json, ToolCall};
use toolgate::pipeline::Batch;

use super::answers;

/// Longest text of an error: a model or an operator reads it.
const MAX_TEXT: usize = 256 << 10;
/// Tools that are called of one component.
const MAX_CALLS: usize = 4;

static HOST: LazyLock<(Runtime, Engine)> = LazyLock::new(|| {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let mut settings = EngineSettings::default();
    settings.instances = 4;
    let engine = Engine::new(settings).unwrap_or_else(|error| panic!("{error}"));
    (runtime.unwrap_or_else(|error| panic!("{error}")), engine)
});

/// Loads a component and calls what it offers: refused by name, or every call is answered within its limits. Answers
/// `refused`, or `loaded` and the calls' kinds of error, or `ok`.
///
/// # Panics
///
/// Where it is otherwise.
pub fn load(data: &[u8]) -> Vec<&'static str> {
    let bytes = match data.first() {
        None | Some(0) => data.to_vec(),
        // The text format has its own parser, which is not ours to test.
        Some(b'(') => match std::str::from_utf8(data).ok().and_then(|text| wat::parse_str(text).ok()) {
            Some(bytes) => bytes,
            None => return Vec::new(),
        },
        Some(_) => match answers::component(&mut Unstructured::new(data)) {
            Ok(bytes) => bytes,
            Err(_) => return Vec::new(),
        },
    };
    let (runtime, engine) = &*HOST;
    let fates = runtime.block_on(call_all(engine, &bytes));
    assert_eq!((engine.live_instances(), engine.waiting()), (0, 0));
    fates
}

async fn call_all(engine: &Engine, bytes: &[u8]) -> Vec<&'static str> {
    let mut spec = PluginSpec::new("fuzzed", Source::Bytes(bytes.into()));
    spec.limits.fuel = Some(2_000_000);
    spec.limits.deadline = Duration::from_secs(5);
    spec.limits.memory_bytes = 16 << 20;
    spec.limits.hostcall_bytes = 1 << 20;
    spec.limits.result_bytes = 1 << 18;
    let plugin = match Loader::new(engine.clone()).load(spec).await {
        Ok(plugin) => plugin,
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with("plugin fuzzed: ") && text.len() < MAX_TEXT, "{} bytes", text.len());
            return vec!["refused"];
        }
    };
    let host = Host::builder().approval_timeout(Duration::from_millis(50)).build();
    if let Err(error) = host.load(plugin) {
        assert!(error.to_string().contains("fuzzed"), "{error}");
        return vec!["refused"];
    }
    let names: Vec<_> = host.tools().tools().map(|tool| tool.name().to_owned()).take(MAX_CALLS).collect();
    let calls = names.iter().map(|name| ToolCall::new("c", name.as_str(), Json::empty_object()));
    let outcome = host.run(Batch::new(AssistantMessage::of_calls(calls))).await;
    assert_eq!(outcome.messages.len(), names.len());
    let mut fates = vec!["loaded"];
    for message in &outcome.messages {
        fates.push(message.error.as_ref().map_or("ok", |error| error.kind.as_str()));
        assert_eq!(message.is_error, message.error.is_some());
        let written = serde_json::to_string(&Arc::clone(message)).unwrap_or_else(|error| panic!("{error}"));
        assert!(Json::parse(written.clone()).is_ok(), "{written}");
    }
    fates
}
