//! `toolgate check`.

use serde_json::{Value, json};

use crate::support::{Workspace, component};

fn report(workspace: &Workspace, args: &[&str]) -> (i32, Value) {
    let done = workspace.run(&[&["check", "--json"], args].concat());
    (done.code, serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{}{}", done.out, done.err)))
}

#[test]
fn a_good_component_has_no_problems() {
    let (code, report) = report(&Workspace::bare(), &[&component("calc")]);
    assert_eq!((code, &report["ok"]), (0, &true.into()), "{report:#}");
    assert_eq!((&report["contract"], &report["tools"][0]["name"]), (&"0.1.0".into(), &"calc".into()));
    let trial = &report["tools"][0]["trial"];
    assert!(trial["arguments"]["expression"].is_string() && trial["metrics"]["fuel"].as_u64() > Some(0), "{trial}");
    let formats: Vec<&Value> =
        report["tools"][0]["providers"].as_array().unwrap().iter().map(|p| &p["format"]).collect();
    assert_eq!(formats, ["openai", "anthropic", "google", "mcp"]);
    assert!(
        report["costs"]["instantiateMs"].as_f64() > Some(0.0) && report["costs"]["memoryBytes"].as_u64() > Some(65_535)
    );
    assert!(report["imports"].as_array().is_some_and(|imports| !imports.is_empty()));
}

#[test]
fn people_read_it_too() {
    let done = Workspace::bare().run(&["check", &component("fs")]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    for part in [
        "may want   files: granted by [[plugins.NAME.dirs]]",
        "costs      compiled",
        "\nread  ",
        "  openai     fine; ",
        "  trial      ",
        "no problems\n",
    ] {
        assert!(done.out.contains(part), "{part} in {}", done.out);
    }
}

#[test]
fn what_is_no_component_is_a_problem_and_does_not_load() {
    let workspace = Workspace::bare();
    workspace.write("text.wasm", "(module)");
    let (code, report) = report(&workspace, &["text.wasm"]);
    assert_eq!((code, &report["ok"]), (3, &false.into()));
    assert_eq!(report["findings"][0]["level"], "problem");
    assert!(report["findings"][0]["text"].as_str().unwrap().contains("is text, not a component"));
    assert_eq!(workspace.run(&["check", "gone.wasm"]).code, 2);
}

fn scripted(tools: &str) -> Workspace {
    Workspace::new(&format!("[plugins.scripted]\nfile = \"GUESTS/scripted-tool.wasm\"\n{tools}"))
}

#[test]
fn settings_of_toolgate_toml_are_used_and_problems_found() {
    let workspace = scripted(
        r#"
[[plugins.scripted.config.tools]]
name = "2silent"
parameters = { type = "object", required = ["n"], properties = { n = { type = "integer", minimum = 3 } } }
[[plugins.scripted.config.tools]]
name = "picky"
description = "Wants what nobody can guess."
parameters = { type = "object", required = ["n"], properties = { n = { type = "string", pattern = "^[0-9]{3}$", description = "Three digits." } } }
"#,
    );
    let file = component("scripted-tool");
    let (code, report) = report(&workspace, &["--config", "toolgate.toml", &file]);
    assert_eq!(code, 1, "{report:#}");
    let findings: Vec<String> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            format!(
                "{} {} {}",
                finding["level"].as_str().unwrap(),
                finding["tool"].as_str().unwrap_or("-"),
                finding["text"].as_str().unwrap()
            )
        })
        .collect();
    for part in [
        "problem 2silent google: Google refuses names that do not begin with a letter",
        "advice 2silent arguments without a description: n",
        "advice picky not tried: no valid arguments could be made up",
    ] {
        assert!(findings.iter().any(|finding| finding.starts_with(part)), "{part}: {findings:#?}");
    }
    assert_eq!(report["tools"][0]["trial"]["arguments"], json!({ "n": 3 }));
    let other = workspace.run(&["check", "--config", "toolgate.toml", &component("calc")]);
    assert_eq!((other.code, other.err.contains("has no plugin with the file")), (2, true), "{}", other.err);
}

#[test]
fn tools_that_trap_or_hang_are_problems_and_no_call_is_made_where_none_is_wanted() {
    let workspace = Workspace::new(
        "[plugins.misbehave]\nfile = \"GUESTS/misbehave.wasm\"\ntools = [\"panic\", \"loop-forever\", \"echo\"]\nlimits = { deadline-ms = 300 }\n",
    );
    let file = component("misbehave");
    let (code, report) = report(&workspace, &["--config", "toolgate.toml", &file]);
    assert_eq!(code, 1);
    let texts = report["findings"].to_string();
    assert!(
        texts.contains("valid arguments end as trap") && texts.contains("valid arguments end as deadline"),
        "{texts}"
    );
    let (_, quiet) = self::report(&workspace, &["--config", "toolgate.toml", "--no-calls", &file]);
    assert!(quiet["tools"].as_array().unwrap().iter().all(|tool| tool.get("trial").is_none()));
    assert!(!quiet["findings"].to_string().contains("end as"));
}

#[test]
fn hooks_are_tried_on_stand_ins() {
    let workspace = Workspace::new(
        "[plugins.gate]\nfile = \"GUESTS/permission-gate.wasm\"\nconfig = { default = \"block\" }\n[[hooks]]\nplugin = \"gate\"\n",
    );
    let (code, report) = report(&workspace, &["--config", "toolgate.toml", &component("permission-gate")]);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(report["hookEvents"][0]["event"], "before-tool-call");
}
