//! One plugin written in every language, and one set of cases that each must pass: `tests/conformance`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::component::{Loader, PluginSpec, Source};
use toolgate::model::{AssistantMessage, Event, ExecutionMode, Json, ToolResultMessage};
use toolgate::pipeline::{
    Approval, ApprovalRequest, Approver, Batch, EventSink, LogLine, LogSink, Question, SinkError, Step,
};
use toolgate_tests::guests::{self, root};

const LANGUAGES: [&str; 4] = ["rust", "js", "go", "python"];
/// Far longer than any case takes, shorter than what a guest that is deaf to cancellation would be given.
const SOON: Duration = Duration::from_secs(120);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    definitions: BTreeMap<String, Value>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// As text: its order of keys counts.
    config: Option<Box<RawValue>>,
    #[serde(default)]
    hooks: bool,
    approve: Option<bool>,
    batches: Vec<CaseBatch>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CaseBatch {
    turn: Option<String>,
    conversation: Option<String>,
    mode: Option<ExecutionMode>,
    cancel_after_ms: Option<u64>,
    /// As a model would write them, numbers and all.
    calls: Box<RawValue>,
    #[serde(default)]
    updates: BTreeMap<String, Vec<String>>,
    questions: Option<Vec<Value>>,
    logs: Option<Vec<String>>,
    messages: Vec<Expected>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Expected {
    kind: Option<Kinds>,
    is_error: Option<bool>,
    text: Option<String>,
    text_contains: Option<String>,
    text_number: Option<Value>,
    content: Option<Value>,
    details: Option<Value>,
    structured_content: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Kinds {
    One(String),
    Any(Vec<String>),
}

/// `${N*TEXT}` is TEXT, N times: megabytes that nobody has to scroll past.
fn expand(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, after) = after.split_once('}').expect("`${` without `}`");
        let (times, repeated) = inside.split_once('*').expect("`${N*TEXT}`");
        out.push_str(before);
        out.push_str(&repeated.repeat(times.parse().expect("`${N*TEXT}`")));
        rest = after;
    }
    out + rest
}

fn suite() -> Suite {
    let text = std::fs::read_to_string(root().join("tests/conformance/cases.json")).unwrap();
    serde_json::from_str(&expand(&text)).unwrap_or_else(|error| panic!("tests/conformance/cases.json: {error}"))
}

/// The language's component, unless nobody built it.
fn component(language: &str) -> Option<PathBuf> {
    let package = format!("conformance-{language}");
    if language == "rust" {
        return Some(guests::component(&package));
    }
    let path = root().join("target/guests/components").join(format!("{package}.wasm"));
    path.is_file().then_some(path)
}

/// Everything that is seen of a batch while it runs.
#[derive(Default)]
struct Watch {
    updates: Mutex<BTreeMap<String, Vec<String>>>,
    logs: Mutex<Vec<String>>,
    questions: Mutex<Vec<Question>>,
    approve: Option<bool>,
    cancel: Mutex<Option<(Duration, CancellationToken)>>,
}

#[async_trait]
impl EventSink for Watch {
    fn name(&self) -> &str {
        "watch"
    }

    async fn event(&self, event: &Event) -> Result<(), SinkError> {
        if let Event::ToolExecutionUpdate { tool_call_id, partial_result, .. } = event {
            let text = partial_result.content.iter().filter_map(|block| block.as_text()).collect::<Vec<_>>().join("\n");
            self.updates.lock().unwrap().entry(tool_call_id.to_string()).or_default().push(text);
        }
        Ok(())
    }

    async fn step(&self, _position: u32, step: &Step) -> Result<(), SinkError> {
        if matches!(step, Step::Executing)
            && let Some((after, cancel)) = self.cancel.lock().unwrap().take()
        {
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                cancel.cancel();
            });
        }
        Ok(())
    }
}

impl LogSink for Watch {
    fn log(&self, line: &LogLine<'_>) {
        // What a language's runtime prints is its own affair.
        if line.stream == "log" && line.tool_call_id.is_some() {
            let level = format!("{:?}", line.level).to_lowercase();
            self.logs.lock().unwrap().push(format!("{level}: {}", line.message));
        }
    }
}

#[async_trait]
impl Approver for Watch {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        self.questions.lock().unwrap().extend(request.questions);
        if self.approve == Some(true) { Approval::Approved } else { Approval::Declined { reason: None } }
    }
}

/// What is wrong; nothing where nothing is.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn unless_equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, found: &T, expected: &T) {
        if found != expected {
            self.0.push(format!("{what}: found {}, expected {}", short(found), short(expected)));
        }
    }
}

fn short(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(300) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text,
    }
}

fn compare(at: &str, message: &ToolResultMessage, expected: &Expected, faults: &mut Faults) {
    let wire = json!(message);
    let text = message.result.content.iter().filter_map(|block| block.as_text()).collect::<Vec<_>>().join("\n");
    let kind = message.error.as_ref().map_or("ok", |error| error.kind.as_str());
    let kinds = match &expected.kind {
        None => vec!["ok"],
        Some(Kinds::One(kind)) => vec![kind.as_str()],
        Some(Kinds::Any(kinds)) => kinds.iter().map(String::as_str).collect(),
    };
    if !kinds.contains(&kind) {
        faults.0.push(format!("{at}: kind {kind} ({}), expected {}", short(&text), kinds.join(" or ")));
        return;
    }
    let is_error = expected.is_error.unwrap_or(!kinds.contains(&"ok"));
    faults.unless_equal(&format!("{at}: isError"), &message.is_error, &is_error);
    if let Some(expected) = &expected.text {
        faults.unless_equal(&format!("{at}: text"), &text, expected);
    }
    if let Some(part) = &expected.text_contains
        && !text.contains(part)
    {
        faults.0.push(format!("{at}: text {} does not contain {part:?}", short(&text)));
    }
    if let Some(expected) = &expected.text_number {
        // Read first: libraries differ in how they write an exponent.
        let number: Option<Value> = serde_json::from_str(&text).ok();
        faults.unless_equal(&format!("{at}: text as a number"), &number.as_ref(), &Some(expected));
    }
    let fields = [
        ("content", &expected.content),
        ("details", &expected.details),
        ("structuredContent", &expected.structured_content),
    ];
    for (field, expected) in fields {
        if let Some(expected) = expected {
            faults.unless_equal(&format!("{at}: {field}"), &wire[field], expected);
        }
    }
}

async fn run_batch(host: &Host, watch: &Arc<Watch>, batch: &CaseBatch, at: &str, faults: &mut Faults) {
    let mut run = Batch::new(AssistantMessage::parse(batch.calls.get()).unwrap()).sink(watch.clone());
    run.turn = batch.turn.as_deref().map(Into::into);
    run.conversation = batch.conversation.as_deref().map(Into::into);
    run.mode = batch.mode;
    if let Some(after) = batch.cancel_after_ms {
        let token = CancellationToken::new();
        *watch.cancel.lock().unwrap() = Some((Duration::from_millis(after), token.clone()));
        run = run.cancel(token);
    }
    let ids: Vec<_> = run.message.calls.iter().map(|call| call.id.clone()).collect();
    let Ok(outcome) = tokio::time::timeout(SOON, host.run(run)).await else {
        faults.0.push(format!("{at}: not over after {SOON:?}"));
        return;
    };
    faults.unless_equal(&format!("{at}: messages"), &outcome.messages.len(), &batch.messages.len());
    for ((message, expected), id) in outcome.messages.iter().zip(&batch.messages).zip(ids) {
        compare(&format!("{at}, {id}"), message, expected, faults);
    }
    let updates = std::mem::take(&mut *watch.updates.lock().unwrap());
    for (id, expected) in &batch.updates {
        faults.unless_equal(&format!("{at}, {id}: updates"), updates.get(id).unwrap_or(&Vec::new()), expected);
    }
    let mut logs = std::mem::take(&mut *watch.logs.lock().unwrap());
    if let Some(expected) = &batch.logs {
        // An SDK may note for the author where an error came from.
        logs.retain(|line| !line.starts_with("debug: ") || expected.contains(line));
        faults.unless_equal(&format!("{at}: log lines"), &logs, expected);
    }
    let questions = std::mem::take(&mut *watch.questions.lock().unwrap());
    if let Some(expected) = &batch.questions {
        let found: Vec<_> = questions.iter().map(|asked| json!({"title": asked.title, "text": asked.text})).collect();
        faults.unless_equal(&format!("{at}: questions"), &found, expected);
    }
}

async fn run_case(loader: &Loader, mut spec: PluginSpec, case: &Case, faults: &mut Faults) {
    let at = &case.name;
    if let Some(config) = &case.config {
        spec.config = Json::verify(config.get()).unwrap();
    }
    let mut plugin = match loader.load(spec).await {
        Ok(plugin) => plugin,
        Err(error) => return faults.0.push(format!("{at}: {error}")),
    };
    if !case.hooks {
        plugin.hook = None;
    }
    let watch = Arc::new(Watch { approve: case.approve, ..Watch::default() });
    let mut builder = Host::builder().logs(watch.clone()).grace(SOON * 2);
    if case.approve.is_some() {
        builder = builder.approver(watch.clone());
    }
    let host = builder.build();
    if let Err(error) = host.load(plugin) {
        return faults.0.push(format!("{at}: {error}"));
    }
    for (number, batch) in case.batches.iter().enumerate() {
        let at = if case.batches.len() > 1 { format!("{at}, batch {}", number + 1) } else { at.clone() };
        run_batch(&host, &watch, batch, &at, faults).await;
    }
}

/// The type a schema gives a property, without the null of an optional one.
fn type_of(schema: &Value) -> Value {
    let types: Vec<&Value> = match &schema["type"] {
        Value::Array(types) => types.iter().filter(|kind| *kind != "null").collect(),
        Value::Null => {
            let members = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array());
            // An enum may come as constants, an optional value as a union with null.
            let of_members = members.into_iter().flatten().map(|member| &member["type"]);
            of_members.filter(|kind| *kind != "null").collect()
        }
        one => vec![one],
    };
    match types.as_slice() {
        [one, rest @ ..] if rest.iter().all(|kind| kind == one) => (*one).clone(),
        // A list of constants needs no type.
        [] if schema["enum"].as_array().is_some_and(|values| values.iter().all(Value::is_string)) => json!("string"),
        _ => schema.clone(),
    }
}

fn compare_definition(name: &str, found: &Value, expected: &Value, faults: &mut Faults) {
    for (field, expected) in expected.as_object().unwrap() {
        let at = format!("definition of {name}: {field}");
        match field.as_str() {
            "hasOutput" => faults.unless_equal(&at, &json!(found["output"].is_object()), expected),
            "arguments" => {
                let parameters = &found["parameters"];
                let required = parameters["required"].as_array().cloned().unwrap_or_default();
                let properties = parameters["properties"].as_object().cloned().unwrap_or_default();
                let types = properties.iter().map(|(property, schema)| {
                    let mark = if required.iter().any(|name| name == property) { "" } else { "?" };
                    (format!("{property}{mark}"), type_of(schema))
                });
                faults.unless_equal(&at, &Value::Object(types.collect()), expected);
            }
            _ => faults.unless_equal(&at, &found[field], expected),
        }
    }
    if found["description"].as_str().is_none_or(str::is_empty) {
        faults.0.push(format!("definition of {name}: no description"));
    }
}

async fn definitions(loader: &Loader, spec: PluginSpec, suite: &Suite, faults: &mut Faults) {
    let plugin = match loader.load(spec).await {
        Ok(plugin) => plugin,
        Err(error) => return faults.0.push(error.to_string()),
    };
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    for tool in &plugin.tools {
        found.insert(tool.definition().name.clone(), json!(tool.definition()));
    }
    let names = |tools: &BTreeMap<String, Value>| tools.keys().cloned().collect::<Vec<_>>();
    faults.unless_equal("tools", &names(&found), &names(&suite.definitions));
    for (name, expected) in &suite.definitions {
        if let Some(found) = found.get(name) {
            compare_definition(name, found, expected, faults);
        }
    }
    if plugin.hook.is_none() {
        faults.0.push("the component has no hooks".into());
    }
}

async fn language(language: &str, component: PathBuf) -> Vec<String> {
    let suite = suite();
    let loader = Loader::new(guests::engine());
    let spec = PluginSpec::new(format!("conformance-{language}"), Source::File(component));
    let mut faults = Faults::default();
    definitions(&loader, spec.clone(), &suite, &mut faults).await;
    for case in &suite.cases {
        run_case(&loader, spec.clone(), case, &mut faults).await;
    }
    faults.0
}

#[tokio::test(flavor = "multi_thread")]
async fn every_language_gives_the_same_answers() {
    let required = std::env::var("TOOLGATE_LANGUAGES").unwrap_or_default();
    let (mut ran, mut skipped, mut report) = (Vec::new(), Vec::new(), String::new());
    for name in LANGUAGES {
        let Some(component) = component(name) else {
            assert!(
                !required.split(',').any(|required| required.trim() == name),
                "TOOLGATE_LANGUAGES names {name}, but target/guests/components/conformance-{name}.wasm is not there"
            );
            skipped.push(name);
            continue;
        };
        ran.push(name);
        // One after another: a compiler that takes both cores leaves the others' deadlines little.
        for fault in language(name, component).await {
            let _ = writeln!(report, "{name}: {fault}");
        }
    }
    // Components from elsewhere: an SDK that is being written, or another engine.
    for path in std::env::split_paths(&std::env::var_os("TOOLGATE_CONFORMANCE").unwrap_or_default()) {
        let Some(name) = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()) else { continue };
        for fault in language(&name, root().join(&path)).await {
            let _ = writeln!(report, "{name}: {fault}");
        }
    }
    // Past the test harness's capture, so that a skip is seen.
    let cases = suite().cases.len();
    let mut line =
        format!("conformance: {cases} cases in {} of {} languages ({})", ran.len(), LANGUAGES.len(), ran.join(", "));
    if !skipped.is_empty() {
        let _ = write!(line, "; skipped: {} (no component in target/guests/components)", skipped.join(", "));
    }
    let _ = writeln!(std::io::stderr(), "{line}");
    assert!(report.is_empty(), "\n{report}");
}
