//! A journal says of every call how it stood when the host was killed, and a resumed batch runs only what is left. On
//! the real clock: the writer is a thread.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::journal::{self, Fsync, Journal, JournalError, Torn};
use toolgate::model::{
    AssistantMessage, Content, ContentMeta, ExecutionMode, Json, ResourceBody, StopReason, ToolResult,
    ToolResultMessage,
};
use toolgate::pipeline::{Batch, BatchOutcome, Decision, Earlier, ToolError};
use toolgate::registry::Plugin;

use crate::support::*;

/// A directory and the name of a journal in it.
fn place() -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("journal");
    (dir, file)
}

/// Tools `a`, `b`, `fails`, and `again`, which is idempotent; a hook for everything. All note what they see.
fn host(trace: &Trace) -> Host {
    let host = Host::new();
    let mut plugin = Plugin::native("tools");
    for name in ["a", "b", "again"] {
        let note = trace.clone();
        plugin = plugin.tool(tool(name, move |cx, _| {
            note.note(format!("run {}", cx.call.id));
            Box::pin(async { Ok(answer()) })
        }));
    }
    let note = trace.clone();
    plugin = plugin.tool(tool("fails", move |cx, _| {
        note.note(format!("run {}", cx.call.id));
        Box::pin(async { Err(ToolError::failed("no").with_hint("a hint")) })
    }));
    plugin.idempotent_tools = vec!["again".into()];
    host.load(plugin).unwrap();
    let [before, after, settled] = std::array::from_fn(|_| trace.clone());
    let hook = FnHook::default()
        .before(move |cx, _| {
            before.note(format!("before {}", cx.call.id));
            Box::pin(async { Ok(Decision::Allow) })
        })
        .after(move |cx, _, _| {
            after.note(format!("after {}", cx.call.id));
            Box::pin(async { Ok(None) })
        })
        .settled(move |cx, _| {
            settled.note(format!("settled {}", cx.call.id));
            Box::pin(async { Ok(()) })
        });
    host.load(Plugin::native("hook").hook(hook)).unwrap();
    host
}

/// Everything a result can hold.
fn answer() -> ToolResult {
    let extra = ContentMeta { annotations: Some(json!({"audience": ["user"]}).into()), meta: None };
    let data = bytes();
    ToolResult {
        content: vec![
            Content::text("é \u{1b}[1m \"quoted\"\n"),
            Content::Image { data: data.clone(), mime_type: "image/png".into(), extra },
            Content::Resource {
                uri: "file:///x".into(),
                mime_type: None,
                body: ResourceBody::Blob(data),
                extra: ContentMeta::default(),
            },
        ],
        details: Some(Json::null()),
        structured_content: Some(Json::parse(r#"{"n": 9007199254740993, "d": 0.10}"#).unwrap()),
        usage: Some(json!({"tokens": 1}).into()),
        terminate: Some(true),
        added_tool_names: Some(vec!["later".into()]),
        is_error: false,
    }
}

fn bytes() -> bytes::Bytes {
    bytes::Bytes::from_static(&[0, 159, 146, 150])
}

/// Runs a message as `toolgate run --journal FILE --resume` would.
async fn resume(host: &Host, file: &Path, message: &AssistantMessage) -> BatchOutcome {
    let (journal, mut recorded) = Journal::resume(file, Fsync::Never).unwrap();
    let earlier = recorded.take("1", message).unwrap();
    let sink = journal.batch("1", message);
    let outcome = host.run(Batch::new(message.clone()).resume(earlier).sink(sink.clone())).await;
    assert!(sink.is_complete());
    outcome
}

/// The messages without their times.
fn timeless(outcome: &BatchOutcome) -> Vec<Value> {
    let messages = outcome.messages.iter().map(|message| {
        let mut message = serde_json::to_value(message).unwrap();
        message.as_object_mut().unwrap().remove("timestamp");
        message
    });
    messages.collect()
}

fn settled_as(message: &ToolResultMessage) -> Earlier {
    Earlier::Settled(Arc::new(message.clone()))
}

#[tokio::test]
async fn what_had_settled_comes_out_again_and_nothing_runs() {
    for mode in [ExecutionMode::Parallel, ExecutionMode::Sequential] {
        let (_dir, file) = place();
        let trace = Trace::default();
        let host = host(&trace);
        let message = calls(&["a", "b"]);
        let first = resume(&host, &file, &message).await;
        assert!(first.terminate);
        let after_first = std::fs::read(&file).unwrap();

        trace.take();
        let (_, mut recorded) = Journal::resume(&file, Fsync::Never).unwrap();
        let earlier = recorded.take("1", &message).unwrap();
        let events = recorder(&Trace::default());
        // Not even a cancelled batch takes back what was done.
        let cancel = CancellationToken::new();
        cancel.cancel();
        let batch = Batch::new(message.clone()).mode(mode).cancel(cancel).sink(events.clone()).resume(earlier.clone());
        let second = host.run(batch).await;
        assert_eq!(trace.lines(), [] as [&str; 0]);
        assert_eq!((timeless(&second), second.terminate), (timeless(&first), true));
        assert_eq!(second.messages[0].result.terminate, Some(true));
        assert_eq!(second.messages[0].added_tool_names(), ["later"]);
        for kind in ["tool_execution_start", "tool_execution_end"] {
            let replayed = events.of_type(kind).iter().filter(|event| event["replayed"] == true).count();
            assert_eq!(replayed, 2, "{kind}");
        }
        assert_eq!(events.of_type("tool_execution_end")[1]["result"]["details"], Value::Null);
        assert_eq!(events.of_type("message_end").len(), 2);

        let third = host.run(Batch::new(message.clone()).resume(earlier)).await;
        assert_eq!(third.messages, second.messages, "with their times");
        // Nothing new was recorded.
        resume(&host, &file, &message).await;
        assert_eq!(std::fs::read(&file).unwrap(), after_first);
    }
}

#[tokio::test]
async fn what_had_begun_is_interrupted_unless_it_is_idempotent() {
    let trace = Trace::default();
    let host = host(&trace);
    let message = calls(&["a", "again", "b", "gone"]);
    let settled = host.run(Batch::new(calls(&["a"]))).await;
    for mode in [ExecutionMode::Parallel, ExecutionMode::Sequential] {
        trace.take();
        let earlier = vec![Earlier::Begun, Earlier::Begun, Earlier::NotBegun, Earlier::Begun];
        let outcome = host.run(Batch::new(message.clone()).mode(mode).resume(earlier)).await;
        assert_eq!(kinds(&outcome), [Some("interrupted"), None, None, Some("interrupted")]);
        let text = text_of(&outcome.messages[0]);
        assert!(text.starts_with("Tool \"a\" was interrupted: the host stopped while it ran"), "{text}");
        let mut lines = trace.take();
        lines.sort();
        let mut expected = vec!["settled c1", "settled c4"];
        for call in ["c2", "c3"] {
            let all = ["before", "run", "after", "settled"];
            expected.extend(all.map(|word| &*format!("{word} {call}").leak()));
        }
        expected.sort();
        assert_eq!(lines, expected);
    }
    // `terminate` is asked of the old results and the new ones.
    let both = |last| Batch::new(calls(&["a", "b"])).resume(vec![settled_as(&settled.messages[0]), last]);
    assert!(host.run(both(Earlier::NotBegun)).await.terminate);
    assert!(!host.run(both(Earlier::Begun)).await.terminate);
}

#[tokio::test]
async fn a_message_cut_at_the_limit_is_resumed_too() {
    let (_dir, file) = place();
    let host = host(&Trace::default());
    let message = AssistantMessage { stop_reason: StopReason::Length, ..calls(&["a", "b"]) };
    let first = resume(&host, &file, &message).await;
    assert_eq!(kinds(&first), [Some("truncated-call"); 2]);
    assert_eq!(timeless(&resume(&host, &file, &message).await), timeless(&first));
}

/// Cut at every byte, as a `kill -9` may leave it.
#[tokio::test]
async fn wherever_it_was_cut_no_call_that_began_runs_again_and_none_is_lost() {
    let (_dir, file) = place();
    let trace = Trace::default();
    let host = host(&trace);
    let message = calls(&["a", "again", "fails", "missing"]);
    let whole = timeless(&resume(&host, &file, &message).await);
    let bytes = std::fs::read(&file).unwrap();
    let mut seen = HashSet::new();
    for cut in (0..=bytes.len()).rev() {
        let prefix = &bytes[..cut];
        // The file is the same one: a longer rest must be gone.
        std::fs::write(&file, prefix).unwrap();
        let end = prefix.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<Value> =
            prefix[..end].split_inclusive(|b| *b == b'\n').map(|line| serde_json::from_slice(line).unwrap()).collect();
        let has = |record: &str, at: usize| lines.iter().any(|line| line["record"] == record && line["position"] == at);

        let (journal, mut recorded) = Journal::resume(&file, Fsync::Never).unwrap();
        let torn = (end < cut).then_some(Torn { line: lines.len() + 1, bytes: cut - end });
        assert_eq!(recorded.torn, torn);
        let earlier = recorded.take("1", &message).unwrap();
        let sink = journal.batch("1", &message);
        trace.take();
        let outcome = host.run(Batch::new(message.clone()).resume(earlier).sink(sink)).await;
        drop(journal);

        let ran = trace.lines();
        let messages = timeless(&outcome);
        let mut how = Vec::new();
        for at in 0..4 {
            let (begun, settled) = (has("begun", at), has("settled", at));
            let runs_again = !settled && at < 3 && (!begun || at == 1);
            assert_eq!(ran.contains(&format!("run c{}", at + 1)), runs_again, "call {at} after {cut} bytes");
            if begun && !settled && at != 1 {
                assert_eq!(messages[at]["error"]["kind"], "interrupted", "call {at} after {cut} bytes");
            } else {
                assert_eq!(messages[at], whole[at], "call {at} after {cut} bytes");
            }
            how.push((begun, settled));
        }
        seen.insert(how);
        // Now it is complete, and says the same once more.
        assert_eq!(timeless(&resume(&host, &file, &message).await), messages);
    }
    // Nothing; each of three begun; each of four settled.
    assert_eq!(seen.len(), 8);
}

#[tokio::test]
async fn the_record_is_ahead_of_the_tool_and_of_every_other_sink() {
    let (_dir, file) = place();
    let message = calls(&["look", "look"]);
    let journal = Journal::create(&file, Fsync::Batch).unwrap();
    let stands = {
        let (file, message) = (file.clone(), message.clone());
        move |at: u32| journal::read(&file).unwrap().take("1", &message).unwrap()[at as usize].clone()
    };
    let host = Host::new();
    let look = stands.clone();
    let tool = tool("look", move |cx, _| {
        assert!(matches!(look(cx.position), Earlier::Begun));
        Box::pin(async { Ok(ToolResult::text("x")) })
    });
    host.load(Plugin::native("p").tool(tool)).unwrap();
    let watch = recorder_then("watch", &Trace::default(), move |event| {
        if let toolgate::model::Event::ToolExecutionEnd { position, .. } = event {
            assert!(matches!(stands(*position), Earlier::Settled(_)));
        }
        Box::pin(async { Ok(()) })
    });
    let sink = journal.batch("1", &message);
    let outcome = host.run(Batch::new(message).sink(watch.clone()).sink(sink.clone())).await;
    assert_eq!(kinds(&outcome), [None, None]);
    assert!(sink.is_complete());
    assert_eq!(watch.of_type("tool_execution_end").len(), 2, "an assertion in a sink cuts it off");
    assert_eq!(watch.of_type("message_end").len(), 2);
}

#[tokio::test]
async fn another_message_is_noticed() {
    let (_dir, file) = place();
    let host = host(&Trace::default());
    let with = |id: &str, name: &str, arguments: Value| call(id, name, arguments);
    let recorded = AssistantMessage::of_calls([with("c1", "a", json!({})), with("c2", "b", json!({"n": 1, "m": [2]}))]);
    resume(&host, &file, &recorded).await;
    let take = |second: Option<toolgate::model::ToolCall>| {
        let message = AssistantMessage::of_calls([Some(with("c1", "a", json!({}))), second].into_iter().flatten());
        journal::read(&file).unwrap().take("1", &message).map_err(|error| error.to_string())
    };
    assert!(take(Some(with("c2", "b", json!({"m": [2], "n": 1})))).is_ok());
    for (second, what) in [
        (None, "the message has only 1 calls"),
        (Some(with("c3", "b", json!({"n": 1, "m": [2]}))), "its id was \"c2\" and is \"c3\" now"),
        (Some(with("c2", "a", json!({"n": 1, "m": [2]}))), "its tool was \"b\" and is \"a\" now"),
        (Some(with("c2", "b", json!({"n": 1, "m": [3]}))), "the arguments of its \"b\" are others now"),
    ] {
        let error = take(second).unwrap_err();
        assert!(error.contains(&format!("batch 1, call 2: {what}; resume with the messages")), "{error}");
        assert!(error.starts_with(&format!("journal {}, line ", file.display())), "{error}");
    }
    // Another batch is not known, and a longer message has more to do.
    let mut records = journal::read(&file).unwrap();
    assert!(matches!(records.take("2", &recorded).unwrap()[..], [Earlier::NotBegun, Earlier::NotBegun]));
    let longer = AssistantMessage::of_calls(recorded.calls.iter().cloned().chain([with("c3", "a", json!({}))]));
    assert!(matches!(records.take("1", &longer).unwrap()[2], Earlier::NotBegun));
    assert!(records.is_empty());
}

#[tokio::test]
async fn a_file_that_is_in_use_or_holds_something_else_is_left_alone() {
    let (_dir, file) = place();
    let journal = Journal::create(&file, Fsync::Always).unwrap();
    assert!(matches!(Journal::resume(&file, Fsync::Always), Err(JournalError::InUse { .. })));
    drop(journal);
    // One without records may be begun again, one with records only be resumed.
    drop(Journal::create(&file, Fsync::Always).unwrap());
    let message = calls(&["a"]);
    resume(&host(&Trace::default()), &file, &message).await;
    let before = std::fs::read(&file).unwrap();
    assert!(matches!(Journal::create(&file, Fsync::Always), Err(JournalError::NotEmpty { .. })));
    assert_eq!(std::fs::read(&file).unwrap(), before);
    for other in ["hello", "{\"toolgateJournal\":", "{\"toolgateJournal\":2}\n", "{}\n", "\n", "\u{0}"] {
        std::fs::write(&file, other).unwrap();
        let resumed = Journal::resume(&file, Fsync::Always);
        if other.ends_with(':') {
            assert!(resumed.is_ok_and(|(_, recorded)| recorded.torn.is_some()), "the beginning of a header");
        } else {
            let error = resumed.map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(", line 1: "), "{error}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), other);
        }
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::remove_file(&file).unwrap();
        drop(Journal::create(&file, Fsync::Always).unwrap());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn damage_is_an_error_that_names_the_line() {
    let (_dir, file) = place();
    let host = host(&Trace::default());
    resume(&host, &file, &calls(&["a", "b"])).await;
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let last = *lines.last().unwrap();
    let damage = |text: String| {
        std::fs::write(&file, text).unwrap();
        journal::read(&file).map(|_| ()).unwrap_err().to_string()
    };
    let settled = lines.iter().position(|line| line.contains("\"settled\"")).unwrap();
    for (replaced, with, what) in [
        (settled, lines[settled].replace("\"result\"", "\"other\""), "it has no `result`"),
        (settled, lines[settled].replace("\"type\":\"text\"", "\"type\":\"txt\""), "unknown variant `txt`"),
        (settled, lines[settled].replace("\"image/png\"", "7"), "invalid type"),
        (1, lines[1].replace("\"position\":0", "\"position\":-1"), "not a record"),
        (1, "\n".into(), "not a record"),
        (1, lines[1].trim_end().to_owned(), "not a record"),
    ] {
        let mut damaged: Vec<&str> = lines.clone();
        damaged[replaced] = &with;
        let error = damage(damaged.concat());
        assert!(error.contains(&format!(", line {}: ", replaced + 1)) && error.contains(what), "{what}: {error}");
    }
    let error = damage(format!("{text}{last}"));
    assert!(error.ends_with(&format!("line 6: this call had settled already in line {}", lines.len())), "{error}");
    // Nesting, and whatever a byte may turn into: an answer, not a panic.
    let deep = "[".repeat(100_000);
    let error = damage(format!("{}{{\"record\":{deep}\n", lines[0]));
    assert!(error.contains(", line 2: "), "{error}");
    let bytes = text.as_bytes();
    for at in 0..bytes.len() {
        for with in [0, b'\n', b'"', b'}', b'9', 0xff] {
            let mut changed = bytes.to_vec();
            changed[at] = with;
            std::fs::write(&file, changed).unwrap();
            if let Ok(mut recorded) = journal::read(&file) {
                let _ = recorded.take("1", &calls(&["a", "b"]));
            }
        }
    }
}
