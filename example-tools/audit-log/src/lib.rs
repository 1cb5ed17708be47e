//! A hook that writes one JSON line for every call, refused ones too: to the operator's log and, if wanted, to a file.

mod record;

use std::fs::OpenOptions;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use record::{Failure, Record, Settings};
use toolgate_sdk::prelude::*;

struct AuditLog {
    config: Config,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Config {
    /// In a directory that is granted to the plugin for writing.
    file: Option<String>,
    #[serde(default)]
    arguments: record::Arguments,
    #[serde(default = "record::default_redact_keys")]
    redact_keys: Vec<String>,
}

impl Hook for AuditLog {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::settled()]
    }

    fn settled(&self, cx: &SettledContext) {
        let settings = Settings { arguments: self.config.arguments, redact_keys: &self.config.redact_keys };
        let batch = cx.batch();
        let line = Record {
            timestamp: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64),
            conversation: batch.conversation(),
            turn: batch.turn(),
            tool_call_id: &cx.call().id,
            tool_name: &cx.call().name,
            is_error: cx.is_error(),
            error: cx.error().map(|error| Failure { kind: &error.kind, stage: &error.stage }),
            duration_ms: cx.duration_ms,
            arguments: record::arguments(cx.arguments(), &settings),
        }
        .line();
        log::info(&line);
        if let Some(file) = &self.config.file
            && let Err(error) = append(file, &line)
        {
            // The call is over and went as it went; that its line is missing is the operator's to know.
            log::error(format_args!("audit-log could not write its line to the file: {}", ToolError::io(file, error)));
        }
    }
}

/// In one write, so that lines of calls that end together do not mix.
fn append(file: &str, line: &str) -> std::io::Result<()> {
    OpenOptions::new().append(true).create(true).open(file)?.write_all(format!("{line}\n").as_bytes())
}

/// An error here refuses the plugin at load.
fn hooks() -> Result<Vec<Box<dyn Hook>>, HookError> {
    Ok(vec![Box::new(AuditLog { config: Host.config()? })])
}

toolgate_sdk::plugin! { hooks: hooks }

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use toolgate_sdk::{CallError, ToolCall, testing};

    use super::*;

    fn settle(arguments: Value, kind: Option<&str>) {
        let call = ToolCall { id: "call-7".into(), name: "write".into(), arguments: arguments.to_string() };
        let arguments = call.arguments.clone();
        let error = kind.map(|kind| CallError { kind: kind.into(), stage: "prepare".into() });
        let tool_result = ToolResult::text("the result is not logged");
        let is_error = kind.is_some();
        let cx = SettledContext { call, arguments, tool_result, is_error, error, duration_ms: 1.5 };
        hooks().unwrap().remove(0).settled(&cx);
    }

    fn only_line() -> Value {
        let mut logs = testing::logs();
        assert_eq!(logs.len(), 1, "{logs:?}");
        let (level, line) = logs.remove(0);
        assert_eq!(level, log::Level::Info);
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_call_is_one_line_with_a_digest_of_its_arguments() {
        testing::set_config(json!({}));
        settle(json!({"path": "a", "text": "b"}), None);
        let mut line = only_line();
        assert!(line["timestamp"].as_u64().unwrap() > 1_600_000_000_000);
        line.as_object_mut().unwrap().remove("timestamp");
        assert_eq!(
            line,
            json!({
                "conversation": "conversation-1", "turn": "turn-1", "toolCallId": "call-7", "toolName": "write",
                "isError": false, "durationMs": 1.5,
                "argumentsSha256": "4dddbeab551af6551651cca001526cb1e4a94b2162934054fa5210b546e5c253", "argumentsBytes": 23,
            })
        );
    }

    #[test]
    fn a_refused_call_says_why() {
        testing::set_config(json!({}));
        settle(json!({}), Some("blocked"));
        let line = only_line();
        assert_eq!((&line["isError"], &line["error"]), (&json!(true), &json!({"kind": "blocked", "stage": "prepare"})));
    }

    #[test]
    fn arguments_are_written_where_the_operator_says_so_but_not_their_secrets() {
        testing::set_config(json!({"arguments": "full"}));
        settle(json!({"path": "a\nb", "headers": {"X-Api-Key": "k", "n": 1.0}}), None);
        assert_eq!(only_line()["arguments"], json!({"path": "a\nb", "headers": {"X-Api-Key": "[redacted]", "n": 1.0}}));
        testing::set_config(json!({"arguments": "full", "redact-keys": ["path"]}));
        settle(json!({"path": ["a"], "token": "t"}), None);
        assert_eq!(only_line()["arguments"], json!({"path": "[redacted]", "token": "t"}));
    }

    #[test]
    fn lines_are_appended_to_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit.jsonl");
        testing::set_config(json!({"file": file}));
        settle(json!({}), None);
        settle(json!({"a": "line\nbreak"}), Some("declined"));
        let text = std::fs::read_to_string(file).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1]["error"]["kind"], "declined");
        assert_eq!(testing::logs().len(), 2);
    }

    #[test]
    fn a_file_that_can_not_be_written_is_told_to_the_operator() {
        testing::set_config(json!({"file": "/no/such/folder/audit.jsonl"}));
        settle(json!({}), None);
        let logs = testing::logs();
        assert_eq!((logs.len(), logs[1].0), (2, log::Level::Error));
        assert!(logs[1].1.contains("/no/such/folder/audit.jsonl: No such file"), "{}", logs[1].1);
    }

    #[test]
    fn broken_settings_are_an_error_that_names_them() {
        for (config, text) in [
            (json!({"path": "x"}), "unknown field `path`"),
            (json!({"arguments": "all"}), "unknown variant `all`, expected one of `digest`, `full`, `none`"),
        ] {
            testing::set_config(config.clone());
            let Err(error) = hooks() else { panic!("{config} was accepted") };
            assert!(error.to_string().contains(text), "{config}: {error}");
        }
    }
}
