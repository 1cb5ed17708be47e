//! Message-anchored tools over random transcripts: which tools are active after message k is told by the transcript
//! alone, whatever was loaded, unloaded or loaded again, and however often it is asked.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;
use tokio::runtime::Builder;
use toolgate::Host;
use toolgate::model::{Json, ToolResult};
use toolgate::pipeline::Batch;
use toolgate::registry::{ActiveTools, Plugin};

use crate::support::*;

const TOOLS: [&str; 4] = ["a", "b", "c", "d"];

/// One message of a transcript: a result that adds tools, or something that only looks like one.
#[derive(Clone, Debug)]
struct Message {
    is_result: bool,
    adds: Vec<&'static str>,
}

fn message() -> impl Strategy<Value = Message> {
    let names = prop::sample::select(vec!["a", "b", "c", "d", "nobody"]);
    (prop::bool::weighted(0.8), prop::collection::vec(names, 0..3))
        .prop_map(|(is_result, adds)| Message { is_result, adds })
}

/// A change between two batches: a plugin comes or goes.
fn change() -> impl Strategy<Value = (usize, bool)> {
    (0..TOOLS.len(), any::<bool>())
}

fn plugin(at: usize) -> Plugin {
    // The first is active from the start.
    let plugin = Plugin::native(format!("plugin-{at}")).tool(echo(TOOLS[at]));
    if at == 0 { plugin } else { plugin.inactive(TOOLS[at]) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_active_tools_come_from_the_transcript(
        messages in prop::collection::vec(message(), 1..8),
        changes in prop::collection::vec(change(), 0..8),
        k in any::<prop::sample::Index>(),
    ) {
        let k = k.index(messages.len());
        let role = |is_result: bool| if is_result { "toolResult" } else { "assistant" };
        let transcript: Vec<Json> = messages
            .iter()
            .map(|message| json!({"role": role(message.is_result), "addedToolNames": message.adds}).into())
            .collect();
        let mut unlocked: BTreeSet<_> =
            messages[..=k].iter().filter(|message| message.is_result).flat_map(|message| &message.adds).copied().collect();
        unlocked.insert("a");

        let host = Host::new();
        let mut loaded = BTreeSet::new();
        for (at, comes) in (0..TOOLS.len()).map(|at| (at, true)).chain(changes) {
            match (comes, loaded.contains(&at)) {
                (true, false) => host.load(plugin(at)).unwrap(),
                (true, true) => host.replace(plugin(at)).unwrap(),
                (false, true) => host.unload(&format!("plugin-{at}")).unwrap(),
                (false, false) => continue,
            }
            if comes { loaded.insert(at) } else { loaded.remove(&at) };
            let active = ActiveTools::after_message(&transcript, k);
            prop_assert_eq!(&active, &ActiveTools::after_message(&transcript, k), "a replay");
            let names: BTreeSet<_> = active.names(&host.tools()).map(str::to_owned).collect();
            let expected: BTreeSet<_> =
                loaded.iter().map(|at| TOOLS[*at]).filter(|name| unlocked.contains(name)).map(str::to_owned).collect();
            prop_assert_eq!(names, expected);
        }
        // A batch at that point meets just these.
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let batch = Batch::new(calls(&TOOLS)).active(ActiveTools::after_message(&transcript, k));
        let outcome = runtime.block_on(host.run(batch));
        for (at, name) in TOOLS.into_iter().enumerate() {
            let (is_loaded, is_unlocked) = (loaded.contains(&at), unlocked.contains(name));
            let text = if is_loaded && is_unlocked { name.to_owned() } else { format!("Tool {name} not found") };
            prop_assert_eq!(&texts(&outcome)[at], &text);
            let hint = outcome.messages[at].error.as_ref().and_then(|error| error.hint.as_deref());
            prop_assert_eq!(hint.is_some(), is_loaded && !is_unlocked, "a hint where it is there and not active");
        }
    }

    /// What a run's messages unlock is the same whether they are at hand or read from the transcript.
    #[test]
    fn messages_and_their_json_unlock_the_same(adds in prop::collection::vec(message(), 1..5)) {
        let host = Host::new();
        let adding = tool("add", |_, arguments| {
            let names = arguments.value()["names"].as_array().unwrap();
            let names = names.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
            Box::pin(async move { Ok(ToolResult { added_tool_names: Some(names), ..ToolResult::text("added") }) })
        });
        host.load(Plugin::native("adding").tool(adding)).unwrap();
        for at in 1..TOOLS.len() {
            host.load(plugin(at)).unwrap();
        }
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let made = adds.iter().map(|message| call("c", "add", json!({"names": message.adds})));
        let outcome = runtime.block_on(host.run(Batch::new(toolgate::model::AssistantMessage::of_calls(made))));
        let transcript: Vec<_> = outcome.messages.iter().map(|message| Json::of(&**message).unwrap()).collect();
        for k in 0..transcript.len() {
            let at_hand = ActiveTools::after(outcome.messages[..=k].iter().map(|message| &**message));
            prop_assert_eq!(at_hand, ActiveTools::after_message(&transcript, k));
        }
    }
}
