//! The example hooks as components in a real host, around native tools.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use toolgate::Host;
use toolgate::component::{LoadError, Loader};
use toolgate::model::ToolResultMessage as Message;
use toolgate::model::{
    AssistantMessage, Content, ErrorKind, ExecutionMode, Json, ToolCall, ToolDefinition, ToolResult,
};
use toolgate::pipeline::{
    Approval, ApprovalRequest, Approver, Batch, BatchOutcome, CallContext, LogLine, LogSink, NoLogs, Slot, Tool,
    ToolError,
};
use toolgate::registry::Plugin;
use toolgate::sandbox::{DirAccess, DirGrant, Grants};
use toolgate_tests::guests;

/// Answers what its arguments say: `{"result": TEXT}`, `{"error": TEXT}`, `{"structured": .., "details": ..}`.
struct Says(ToolDefinition);

#[async_trait]
impl Tool for Says {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, _: &CallContext, arguments: &Json, _: Slot) -> Result<ToolResult, ToolError> {
        let arguments = arguments.value();
        if let Some(error) = arguments["error"].as_str() {
            return Err(ToolError::failed(error));
        }
        let json = |key: &str| arguments.get(key).cloned().map(Json::from_value);
        Ok(ToolResult {
            content: vec![Content::text(arguments["result"].as_str().unwrap_or("ok"))],
            details: json("details"),
            structured_content: json("structured"),
            is_error: arguments["isError"] == true,
            ..ToolResult::default()
        })
    }
}

fn tools(names: &[&str]) -> Plugin {
    names.iter().fold(Plugin::native("native"), |plugin, name| {
        let schema = Json::from_value(json!({"type": "object"}));
        plugin.tool(Says(ToolDefinition::new(*name, "Says what it is told.", schema)))
    })
}

async fn try_hook(component_name: &str, config: Value, grants: Grants) -> Result<Plugin, LoadError> {
    let mut spec = guests::spec(component_name);
    spec.config = Json::from_value(config);
    spec.grants = grants;
    Loader::new(guests::engine()).load(spec).await
}

async fn hook(component_name: &str, config: Value) -> Plugin {
    try_hook(component_name, config, Grants::default()).await.unwrap()
}

fn host_with(plugins: Vec<Plugin>, approver: Option<Arc<dyn Approver>>, logs: Arc<dyn LogSink>) -> Host {
    let mut builder = Host::builder().logs(logs);
    if let Some(approver) = approver {
        builder = builder.approver(approver);
    }
    let host = builder.build();
    host.load(tools(&["write", "edit", "grep", "bash"])).unwrap();
    for plugin in plugins {
        host.load(plugin).unwrap();
    }
    host
}

fn host(plugins: Vec<Plugin>) -> Host {
    host_with(plugins, None, Arc::new(NoLogs))
}

async fn run(host: &Host, turn: &str, calls: &[(&str, Value)]) -> BatchOutcome {
    let calls = calls.iter().enumerate().map(|(index, (name, arguments))| {
        ToolCall::new(format!("call-{index}"), *name, Json::from_value(arguments.clone()))
    });
    host.run(Batch::new(AssistantMessage::of_calls(calls)).turn(turn).conversation("c")).await
}

fn wire(message: &Message) -> Value {
    serde_json::to_value(message).unwrap()
}

fn text(message: &Message) -> String {
    wire(message)["content"][0]["text"].as_str().unwrap().to_owned()
}

fn kind(message: &Message) -> Option<ErrorKind> {
    message.error.as_ref().map(|error| error.kind)
}

struct Answers(Approval, Mutex<Vec<ApprovalRequest>>);

#[async_trait]
impl Approver for Answers {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        self.1.lock().unwrap().push(request);
        self.0.clone()
    }
}

#[tokio::test]
async fn the_gate_blocks_asks_and_allows() {
    let config = json!({"default": "allow", "base": "/project", "rules": [
        {"tools": ["write", "edit"], "argument": "/path", "matches": {"path": "secrets/**"}, "action": "block", "reason": "Leave secrets alone."},
        {"tools": "bash", "argument": "/command", "action": "ask"},
    ]});
    let calls = [
        ("write", json!({"path": "src/../secrets/key"})),
        ("edit", json!({"path": "src/a.rs"})),
        ("bash", json!({"command": "make"})),
    ];
    let outcome = run(&host(vec![hook("permission-gate", config.clone()).await]), "t", &calls).await;
    let [blocked, allowed, asked] = &outcome.messages[..] else { panic!() };
    assert_eq!((kind(blocked), text(blocked).as_str()), (Some(ErrorKind::Blocked), "Leave secrets alone."));
    assert_eq!((kind(allowed), text(allowed).as_str()), (None, "ok"));
    assert_eq!(kind(asked), Some(ErrorKind::Declined));

    let approver = Arc::new(Answers(Approval::Approved, Mutex::default()));
    let host = host_with(vec![hook("permission-gate", config).await], Some(approver.clone()), Arc::new(NoLogs));
    let outcome = run(&host, "t", &calls).await;
    assert_eq!(kind(&outcome.messages[2]), None);
    let asked = approver.1.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        (asked[0].questions[0].title.as_str(), asked[0].questions[0].text.as_str()),
        ("Run \"bash\"?", "command = \"make\"")
    );
}

#[tokio::test]
async fn a_hook_with_broken_settings_does_not_load_and_says_why() {
    for (name, config, expected) in [
        ("permission-gate", json!({}), "missing field `default`"),
        ("permission-gate", json!({"default": "allow", "rulez": []}), "unknown field `rulez`"),
        ("redact-secrets", json!({"patterns": ["("]}), "patterns[0]"),
        ("turn-budget", json!({}), "missing field `limits`"),
        ("loop-guard", json!({"max": 1}), "unknown field `max`"),
        ("error-downgrade", json!({"rules": []}), "`rules` is empty"),
        ("audit-log", json!({"arguments": "all"}), "unknown variant `all`"),
    ] {
        let Err(error) = try_hook(name, config, Grants::default()).await else { panic!("{name} was loaded") };
        let error = error.to_string();
        assert!(error.contains(name) && error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn secrets_leave_every_part_of_a_result() {
    let token = format!("ghp_{}", "0aB1".repeat(9));
    let host = host(vec![hook("redact-secrets", json!({})).await]);
    let data = json!({"token": token, "n": 1});
    let outcome = run(
        &host,
        "t",
        &[
            ("bash", json!({"result": data.to_string(), "structured": data, "details": {"cmd": "x", "out": token}})),
            ("bash", json!({"error": format!("denied for {token}")})),
            ("bash", json!({"result": "fine", "structured": {"n": 1}, "details": [1]})),
        ],
    )
    .await;
    let [both, error, clean] = &outcome.messages[..] else { panic!() };
    let all = format!("{} {}", wire(both), wire(error));
    assert!(!all.contains(&token), "{all}");
    assert_eq!(wire(both)["structuredContent"], serde_json::from_str::<Value>(&text(both)).unwrap());
    assert_eq!(wire(both)["details"], json!({"cmd": "x", "out": "[redacted]", "redactions": 3}));
    assert_eq!(text(error), "denied for [redacted]");
    assert_eq!((kind(error), wire(error)["isError"].clone()), (Some(ErrorKind::ToolFailed), json!(true)));
    assert_eq!(
        (wire(clean)["structuredContent"].clone(), wire(clean)["details"].clone()),
        (json!({"n": 1}), json!([1]))
    );
}

#[tokio::test]
async fn a_turn_has_a_budget_over_its_batches() {
    let host = host(vec![hook("turn-budget", json!({"limits": [{"tools": ["write", "edit"], "max": 3}]})).await]);
    let first = run(&host, "one", &[("write", json!({})), ("grep", json!({})), ("edit", json!({}))]).await;
    let second = run(&host, "one", &[("write", json!({})), ("write", json!({})), ("grep", json!({}))]).await;
    let third = run(&host, "two", &[("write", json!({}))]).await;
    let kinds = |outcome: &BatchOutcome| outcome.messages.iter().map(|message| kind(message)).collect::<Vec<_>>();
    assert_eq!(kinds(&first), [None, None, None]);
    assert_eq!(kinds(&second), [None, Some(ErrorKind::Blocked), None]);
    assert_eq!(kinds(&third), [None]);
    assert!(text(&second.messages[1]).contains("at most 3 calls of edit, write"));
}

#[tokio::test]
async fn a_loop_of_one_failing_call_ends() {
    let host = host(vec![hook("loop-guard", json!({"max-failures": 3})).await]);
    let call = [("edit", json!({"error": "text not found", "path": "a"}))];
    for turn in ["1", "2", "3"] {
        let outcome = run(&host, turn, &call).await;
        assert_eq!((kind(&outcome.messages[0]), outcome.terminate), (Some(ErrorKind::ToolFailed), false));
    }
    let outcome = run(&host, "4", &call).await;
    assert_eq!((kind(&outcome.messages[0]), outcome.terminate), (Some(ErrorKind::Blocked), true));
    assert!(text(&outcome.messages[0]).contains("failed 3 times with this error: text not found"));
    let outcome = run(&host, "5", &call).await;
    assert_eq!(kind(&outcome.messages[0]), Some(ErrorKind::ToolFailed), "one attempt after a block");
    let outcome = run(&host, "6", &call).await;
    assert_eq!(kind(&outcome.messages[0]), Some(ErrorKind::Blocked));
    let outcome = run(&host, "6", &[("edit", json!({"error": "text not found", "path": "b"}))]).await;
    assert_eq!(kind(&outcome.messages[0]), Some(ErrorKind::ToolFailed), "another call");
}

#[tokio::test]
async fn a_search_without_a_match_is_no_error() {
    let host = host(vec![hook("error-downgrade", json!({})).await]);
    let outcome = run(
        &host,
        "t",
        &[
            ("grep", json!({"result": "No matches found", "isError": true, "details": {"matches": 0}})),
            ("grep", json!({"error": "No matches found"})),
            ("grep", json!({"error": "x: permission denied"})),
            ("bash", json!({"error": "No matches found"})),
        ],
    )
    .await;
    let is_error: Vec<Value> = outcome.messages.iter().map(|message| wire(message)["isError"].clone()).collect();
    assert_eq!(is_error, [json!(false), json!(false), json!(true), json!(true)]);
    let details = json!({"matches": 0, "downgraded": true, "originalError": "No matches found"});
    assert_eq!(wire(&outcome.messages[0])["details"], details);
    assert!(outcome.messages[1].error.is_none());
}

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl LogSink for Lines {
    fn log(&self, line: &LogLine<'_>) {
        self.0.lock().unwrap().push(line.message.to_owned());
    }
}

#[tokio::test]
async fn every_call_leaves_a_line_refused_ones_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut grants = Grants::default();
    grants.dirs = vec![DirGrant { guest: "/audit".into(), host: folder.path().into(), access: DirAccess::ReadWrite }];
    let config = json!({"file": "/audit/calls.jsonl", "arguments": "full"});
    let audit = try_hook("audit-log", config, grants).await.unwrap();
    let gate = hook(
        "permission-gate",
        json!({"default": "block", "rules": [{"tools": ["grep", "write"], "action": "allow"}]}),
    )
    .await;
    let logs = Arc::new(Lines::default());
    let host = host_with(vec![gate, audit], None, logs.clone());
    let calls: Vec<(&str, Value)> = vec![
        ("write", json!({"path": "a", "token": "s3cr3t"})),
        ("bash", json!({"command": "x"})),
        ("nope", json!({})),
        ("grep", json!({"error": "bad"})),
    ];
    run(&host, "t", &calls).await;
    let file = std::fs::read_to_string(folder.path().join("calls.jsonl")).unwrap();
    let mut lines: Vec<Value> = file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.sort_by_key(|line| line["toolCallId"].as_str().unwrap().to_owned());
    let kinds: Vec<&Value> = lines.iter().map(|line| &line["error"]["kind"]).collect();
    assert_eq!(kinds, [&json!(null), &json!("blocked"), &json!("not-found"), &json!("tool-failed")]);
    assert_eq!(lines[0]["arguments"], json!({"path": "a", "token": "[redacted]"}));
    assert!(lines[0]["timestamp"].as_u64().unwrap() > 1_600_000_000_000);
    assert_eq!((&lines[0]["turn"], &lines[0]["conversation"]), (&json!("t"), &json!("c")));
    assert_eq!(logs.0.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn an_audit_file_outside_the_grants_fails_no_call() {
    let logs = Arc::new(Lines::default());
    let audit = hook("audit-log", json!({"file": "/audit/calls.jsonl"})).await;
    let host = host_with(vec![audit], None, logs.clone());
    let outcome = run(&host, "t", &[("write", json!({}))]).await;
    assert_eq!(kind(&outcome.messages[0]), None);
    let logs = logs.0.lock().unwrap();
    assert_eq!(logs.len(), 2, "{logs:?}");
    assert!(logs[1].contains("/audit/calls.jsonl") && logs[1].contains("no directory is granted"), "{logs:?}");
}

#[tokio::test]
async fn all_six_work_in_one_host_and_in_both_modes() {
    for mode in [ExecutionMode::Parallel, ExecutionMode::Sequential] {
        let host = host(vec![
            hook("loop-guard", json!({})).await,
            hook("permission-gate", json!({"default": "allow", "rules": [{"tools": "bash", "action": "block"}]})).await,
            hook("turn-budget", json!({"limits": [{"tools": ["write"], "max": 1}]})).await,
            hook("error-downgrade", json!({})).await,
            hook("redact-secrets", json!({})).await,
            hook("audit-log", json!({})).await,
        ]);
        let calls = [
            ("write", json!({"result": "PASSWORD=hunter2"})),
            ("write", json!({})),
            ("bash", json!({})),
            ("grep", json!({"error": "No matches found"})),
        ];
        let calls =
            calls.iter().map(|(name, arguments)| ToolCall::new(*name, *name, Json::from_value(arguments.clone())));
        let outcome = host.run(Batch::new(AssistantMessage::of_calls(calls)).mode(mode)).await;
        let seen: Vec<_> = outcome.messages.iter().map(|message| (kind(message), message.is_error)).collect();
        let blocked = (Some(ErrorKind::Blocked), true);
        assert_eq!(seen, [(None, false), blocked, blocked, (None, false)]);
        assert_eq!(text(&outcome.messages[0]), "PASSWORD=[redacted]");
    }
}
