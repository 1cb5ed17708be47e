//! Traces and metrics, as a collector on loopback receives them.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::support::{PLUGINS, Workspace};

/// Receives OTLP over HTTP.
struct Collector {
    port: u16,
    requests: Receiver<(String, Vec<u8>)>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let sender = sender.clone();
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    while let Some(request) = receive(&mut stream) {
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
                        let _ = sender.send(request);
                    }
                });
            }
        });
        Self { port, requests }
    }

    /// Runs a call to its end, and gives what was exported.
    fn trace(&self, env: &[(&str, &str)], args: &[&str]) -> (Vec<Span>, ExportMetricsServiceRequest) {
        let workspace = Workspace::new(PLUGINS);
        let mut command = workspace.command(args);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{}", self.port)).envs(env.iter().copied());
        let output = command.output().unwrap();
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(!complaints.contains("WARN") && !complaints.contains("ERROR"), "{complaints}");
        let (mut spans, mut metrics) = (Vec::new(), ExportMetricsServiceRequest::default());
        // The process has ended: all that it sent is here.
        while let Ok((path, body)) = self.requests.try_recv() {
            match &*path {
                "/v1/traces" => {
                    let request = ExportTraceServiceRequest::decode(&*body).unwrap();
                    let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
                    spans.extend(scopes.flat_map(|scope| scope.spans));
                }
                "/v1/metrics" => {
                    let request = ExportMetricsServiceRequest::decode(&*body).unwrap();
                    metrics.resource_metrics.extend(request.resource_metrics);
                }
                other => panic!("{other}"),
            }
        }
        (spans, metrics)
    }
}

/// Path and body of one request; none where the connection ends.
fn receive(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some((head.split(' ').nth(1)?.to_owned(), body))
}

fn attributes(attributes: &[KeyValue]) -> BTreeMap<&str, String> {
    let text = |value: &KeyValue| match value.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        other => format!("{other:?}"),
    };
    attributes.iter().map(|value| (&*value.key, text(value))).collect()
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name}: {spans:?}"))
}

#[test]
fn a_call_is_a_span_below_the_callers_with_stages_and_a_duration() {
    let collector = Collector::start();
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let (spans, metrics) =
        collector.trace(&[("TRACEPARENT", parent)], &["call", "calc", r#"{"expression": "1+secret"}"#]);
    let batch = named(&spans, "batch");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(&batch.trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(hex(&batch.parent_span_id), "00f067aa0ba902b7");
    let call = named(&spans, "execute_tool calc");
    assert_eq!(call.parent_span_id, batch.span_id);
    for stage in ["prepare", "execute", "finalize"] {
        assert_eq!(named(&spans, stage).parent_span_id, call.span_id, "{stage}");
    }
    let of_call = attributes(&call.attributes);
    for (key, value) in [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "calc"),
        ("gen_ai.tool.call.id", "call-1"),
        ("toolgate.plugin", "calc"),
        ("error.type", "tool-failed"),
    ] {
        assert_eq!(of_call.get(key).map(String::as_str), Some(value), "{key}: {of_call:?}");
    }
    assert_eq!(call.status.as_ref().map(|status| status.code), Some(2));
    assert!(!format!("{spans:?}{metrics:?}").contains("secret"), "arguments are not told unasked");

    let all = metrics.resource_metrics.iter().flat_map(|resource| &resource.scope_metrics).flat_map(|s| &s.metrics);
    let duration = all.into_iter().find(|metric| metric.name == "gen_ai.execute_tool.duration").expect("the metric");
    assert_eq!(duration.unit, "s");
    let Some(Data::Histogram(histogram)) = &duration.data else { panic!("{duration:?}") };
    assert_eq!(histogram.data_points[0].count, 1);
    let of_point = attributes(&histogram.data_points[0].attributes);
    assert_eq!(of_point.get("gen_ai.tool.name").map(String::as_str), Some("calc"), "{of_point:?}");
    assert_eq!(of_point.get("error.type").map(String::as_str), Some("tool-failed"), "{of_point:?}");
}

#[test]
fn arguments_and_results_are_told_where_the_operator_says_so() {
    let collector = Collector::start();
    let wanted = [("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")];
    let (spans, _) = collector.trace(&wanted, &["call", "calc", r#"{"expression": "6*7"}"#]);
    let call = attributes(&named(&spans, "execute_tool calc").attributes);
    assert_eq!(
        call.get("gen_ai.tool.call.arguments").map(String::as_str),
        Some(r#"{"expression": "6*7"}"#),
        "{call:?}"
    );
    assert!(call.get("gen_ai.tool.call.result").is_some_and(|result| result.contains("42")), "{call:?}");
}

#[test]
fn a_collector_that_is_not_there_delays_nothing_for_long_and_changes_no_result() {
    let workspace = Workspace::new(PLUGINS);
    let mut command = workspace.command(&["call", "calc", r#"{"expression": "6*7"}"#]);
    // Bound and closed again: nobody listens.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{port}"));
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"42\n"[..]));
}
