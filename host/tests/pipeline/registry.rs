//! Loading, replacing and unloading at run time, and which tools are active at a point of a transcript.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Notify;
use toolgate::Host;
use toolgate::model::{Json, ToolResult};
use toolgate::pipeline::Batch;
use toolgate::registry::{ActiveTools, Plugin, RegistryError};

use crate::support::*;

fn plugin(name: &str, tools: &[&str]) -> Plugin {
    tools.iter().fold(Plugin::native(name), |plugin, tool| plugin.tool(echo(tool)))
}

fn names(host: &Host) -> Vec<String> {
    host.tools().tools().map(|tool| tool.name().to_owned()).collect()
}

#[tokio::test]
async fn a_change_is_all_or_nothing_and_says_who_is_in_the_way() {
    let host = Host::new();
    let changes = host.changes();
    host.load(plugin("one", &["a", "b"])).unwrap();
    host.load(plugin("two", &["c"])).unwrap();
    assert_eq!(*changes.borrow(), 2);

    let broken_schema = echo("d").parameters(json!({"type": "nonsense"}));
    let bad_name = echo("not a name");
    let refused: Vec<(RegistryError, &[&str])> = vec![
        (host.load(plugin("three", &["d", "c"])).unwrap_err(), &["\"c\"", "\"three\"", "\"two\""]),
        (host.load(plugin("two", &["d"])).unwrap_err(), &["\"two\"", "loaded already"]),
        (host.load(plugin("three", &["d", "d"])).unwrap_err(), &["\"three\"", "two tools named \"d\""]),
        (host.replace(plugin("three", &["d"])).unwrap_err(), &["no plugin named \"three\""]),
        (host.replace(plugin("two", &["a"])).unwrap_err(), &["\"a\"", "\"one\"", "\"two\""]),
        (host.unload("three").unwrap_err(), &["\"three\""]),
        (host.load(Plugin::native("three").tool(broken_schema)).unwrap_err(), &["\"three\"", "\"d\"", "parameters"]),
        (host.load(Plugin::native("three").tool(bad_name)).unwrap_err(), &["\"three\"", "not a name"]),
        (host.load(plugin("three", &["d"]).inactive("e")).unwrap_err(), &["\"e\"", "initially-active", "it has d"]),
    ];
    for (error, words) in refused {
        for word in words {
            assert!(error.to_string().contains(word), "{word} in {error}");
        }
    }
    assert_eq!(names(&host), ["a", "b", "c"]);
    assert_eq!(*changes.borrow(), 2);
}

#[tokio::test]
async fn a_replaced_plugin_keeps_its_place_and_may_keep_its_tools() {
    let host = Host::new();
    let mut changes = host.changes();
    host.load(plugin("one", &["a", "b"])).unwrap();
    host.load(plugin("two", &["c"])).unwrap();
    changes.mark_unchanged();
    host.replace(plugin("one", &["b", "z"])).unwrap();
    assert!(changes.has_changed().unwrap());
    assert_eq!(names(&host), ["b", "z", "c"]);
    host.unload("one").unwrap();
    host.load(plugin("three", &["a"])).unwrap();
    assert_eq!(names(&host), ["c", "a"]);
    assert_eq!(host.tools().plugins().map(|name| &**name).collect::<Vec<_>>(), ["two", "three"]);
}

#[tokio::test]
async fn a_running_batch_goes_on_with_what_it_began_with() {
    let host = Host::new();
    let (inside, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, wait) = (inside.clone(), leave.clone());
    let slow = tool("slow", move |_, _| {
        let (tell, wait) = (tell.clone(), wait.clone());
        Box::pin(async move {
            tell.notify_one();
            wait.notified().await;
            Ok(ToolResult::text("old"))
        })
    });
    host.load(Plugin::native("one").tool(slow).tool(echo("second"))).unwrap();
    let running = {
        let host = host.clone();
        let batch = Batch::new(calls(&["slow", "second"])).mode(toolgate::model::ExecutionMode::Sequential);
        tokio::spawn(async move { host.run(batch).await })
    };
    inside.notified().await;
    host.unload("one").unwrap();
    assert_eq!(texts(&host.run(Batch::new(calls(&["second"]))).await), ["Tool second not found"]);
    leave.notify_one();
    assert_eq!(texts(&running.await.unwrap()), ["old", "second"]);
}

fn unlocking(host: &Host) {
    let enter = tool("enter", |_, _| {
        Box::pin(async {
            Ok(ToolResult { added_tool_names: Some(vec!["inner".into()]), ..ToolResult::text("entered") })
        })
    });
    host.load(Plugin::native("subsystem").tool(enter).tool(echo("inner")).inactive("inner")).unwrap();
}

#[tokio::test]
async fn a_tool_that_is_not_active_is_not_found_and_error_says_why() {
    let host = Host::new();
    unlocking(&host);
    // Unlocked from the next turn on, not within the batch.
    let first = host.run(Batch::new(calls(&["enter", "inner"]))).await;
    assert_eq!(texts(&first), ["entered", "Tool inner not found"]);
    assert_eq!(kinds(&first), [None, Some("not-found")]);
    let hint = first.messages[1].error.clone().unwrap().hint.unwrap();
    assert!(hint.contains("subsystem") && hint.contains("addedToolNames"), "{hint}");
    assert_eq!(first.messages[0].added_tool_names(), ["inner"]);

    let active = ActiveTools::after(first.messages.iter().map(|message| &**message));
    let second = host.run(Batch::new(calls(&["inner"])).active(active)).await;
    assert_eq!(texts(&second), ["inner"]);

    let nobody = host.run(Batch::new(calls(&["ghost"]))).await;
    assert_eq!(nobody.messages[0].error.clone().unwrap().hint, None);
}

#[tokio::test]
async fn an_inactive_sequential_tool_does_not_change_the_mode() {
    let host = Host::new();
    let sequential = echo("inner").define(|definition| {
        definition.execution_mode = Some(toolgate::model::ExecutionMode::Sequential);
    });
    host.load(Plugin::native("p").tool(sequential).tool(echo("outer")).inactive("inner")).unwrap();
    let trace = Trace::default();
    host.run(Batch::new(calls(&["outer", "inner"])).sink(recorder(&trace))).await;
    assert!(trace.at("start c2") < trace.at("end c1"));
}

#[tokio::test]
async fn what_is_active_after_a_message_comes_from_the_transcript_alone() {
    let host = Host::new();
    unlocking(&host);
    host.load(plugin("other", &["always"])).unwrap();
    let json = |value: serde_json::Value| Json::from_value(value);
    let transcript = [
        json(json!({"role": "user", "content": "hi", "addedToolNames": ["nonsense"]})),
        json(json!({"role": "toolResult", "toolName": "always"})),
        json(json!({"role": "toolResult", "toolName": "enter", "addedToolNames": ["inner", "later"]})),
        json(json!({"role": "toolResult", "addedToolNames": "odd"})),
    ];
    let at = |k: usize| {
        let tools = host.tools();
        let active = ActiveTools::after_message(&transcript, k);
        active.names(&tools).map(str::to_owned).collect::<Vec<_>>()
    };
    for _replay in 0..2 {
        assert_eq!(at(0), ["enter", "always"]);
        assert_eq!(at(1), ["enter", "always"]);
        assert_eq!(at(2), ["enter", "inner", "always"]);
        assert_eq!(at(99), ["enter", "inner", "always"]);
    }
    host.unload("subsystem").unwrap();
    assert_eq!(at(2), ["always"]);
    unlocking(&host);
    assert_eq!(at(1), ["always", "enter"]);
    assert_eq!(at(2), ["always", "enter", "inner"]);
    // A tool that comes later is active too, where it was unlocked.
    host.load(plugin("late", &["later"]).inactive("later")).unwrap();
    assert_eq!(at(1), ["always", "enter"]);
    assert_eq!(at(2), ["always", "enter", "inner", "later"]);
    assert_eq!(ActiveTools::only(["inner"]).names(&host.tools()).collect::<Vec<_>>(), ["inner"]);
}
