//! Spans and metrics to an OpenTelemetry collector, over OTLP and HTTP.
//!
//! The standard variables say where and how: `OTEL_EXPORTER_OTLP_ENDPOINT` (`http://` only: for a collector elsewhere
//! run one on this machine), `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_TIMEOUT`, `OTEL_SERVICE_NAME`,
//! `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, `OTEL_METRIC_EXPORT_INTERVAL`.

use std::io;
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{TraceContextExt as _, TracerProvider as _};
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{Aggregation, Instrument, SdkMeterProvider, Stream};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tracing::{Span, Subscriber};
use tracing_opentelemetry::{MetricsLayer, OpenTelemetrySpanExt as _};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::registry::LookupSpan;

use super::{TARGET, TraceParent};

/// Bounds of the duration's buckets in seconds, as the GenAI conventions give them for operations.
const DURATION_BUCKETS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// How long an export may take.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why exporting does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtelError {
    /// A variable is wrong, or the exporter cannot be made.
    #[error("OpenTelemetry export: {0}; look at the OTEL_EXPORTER_OTLP_ variables")]
    Exporter(#[from] ExporterBuildError),
    /// No thread to export on.
    #[error("OpenTelemetry export: {0}")]
    Thread(#[from] io::Error),
}

/// Sends what is recorded until it is dropped or [`finish`](Self::finish)ed.
pub struct Exporting {
    tracer: SdkTracerProvider,
    meter: SdkMeterProvider,
    /// Exporters run on their own threads, where no runtime is; their HTTP client needs one.
    runtime: Option<(tokio::sync::oneshot::Sender<()>, std::thread::JoinHandle<()>)>,
}

/// Whether the environment names a collector.
pub fn is_configured() -> bool {
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
        && std::env::var_os("OTEL_SDK_DISABLED").is_none_or(|value| !value.eq_ignore_ascii_case("true"))
}

/// Whether the environment wants arguments and results in spans: `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`
/// is `true`, as for OpenTelemetry's own GenAI instrumentations.
pub fn content_is_wanted() -> bool {
    std::env::var_os("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Starts exporting, and makes the layer that records for it: spans at level info, metrics, all of [`TARGET`] alone.
///
/// # Errors
///
/// A wrong variable, or no thread.
pub fn start<S>() -> Result<(impl Layer<S>, Exporting), OtelError>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let thread = std::thread::Builder::new().name("toolgate-otel".into()).spawn(move || {
        runtime.block_on(async { drop(stopped.await) });
    })?;
    let client = Client { client: HyperClient::with_default_connector(EXPORT_TIMEOUT, None), handle };
    let resource =
        Resource::builder().with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    let resource = match std::env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => resource,
        None => resource.with_service_name("toolgate"),
    }
    .build();
    let spans = SpanExporter::builder().with_http().with_http_client(client.clone()).build()?;
    let tracer = SdkTracerProvider::builder().with_resource(resource.clone()).with_batch_exporter(spans).build();
    let metrics = MetricExporter::builder().with_http().with_http_client(client).build()?;
    let meter = SdkMeterProvider::builder()
        .with_resource(resource)
        .with_periodic_exporter(metrics)
        .with_view(|instrument: &Instrument| {
            if instrument.name() != "gen_ai.execute_tool.duration" {
                return None;
            }
            let boundaries = DURATION_BUCKETS.to_vec();
            let aggregation = Aggregation::ExplicitBucketHistogram { boundaries, record_min_max: true };
            Stream::builder().with_unit("s").with_aggregation(aggregation).build().ok()
        })
        .build();
    let of_spans = tracing_opentelemetry::layer()
        .with_tracer(tracer.tracer("toolgate"))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_filter(Targets::new().with_target(TARGET, LevelFilter::INFO));
    let of_metrics =
        MetricsLayer::new(meter.clone()).with_filter(Targets::new().with_target(TARGET, LevelFilter::TRACE));
    Ok((of_spans.and_then(of_metrics), Exporting { tracer, meter, runtime: Some((stop, thread)) }))
}

impl Exporting {
    /// Sends what is left, and ends. Waits at most 10 s for each of spans and metrics.
    pub fn finish(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some((stop, thread)) = self.runtime.take() else { return };
        if let Err(error) = self.tracer.shutdown() {
            tracing::warn!("not all spans were exported: {error}");
        }
        if let Err(error) = self.meter.shutdown() {
            tracing::warn!("not all metrics were exported: {error}");
        }
        drop(stop);
        let _ = thread.join();
    }
}

impl Drop for Exporting {
    fn drop(&mut self) {
        self.end();
    }
}

/// hyper's client, on a runtime of its own.
#[derive(Clone, Debug)]
struct Client {
    client: HyperClient,
    handle: Handle,
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        self.handle.spawn(async move { client.send_bytes(request).await }).await?
    }
}

pub(super) fn set_parent(span: &Span, parent: Option<&TraceParent>) {
    let Some(parent) = parent else { return };
    let carrier = std::collections::HashMap::from([("traceparent".to_owned(), parent.as_str().to_owned())]);
    // Fails where nobody records spans.
    let _ = span.set_parent(TraceContextPropagator::new().extract(&carrier));
}

pub(super) fn trace_parent(span: &Span) -> Option<TraceParent> {
    if span.is_disabled() {
        return None;
    }
    let context = span.context();
    let span = context.span();
    let place = span.span_context();
    if !place.is_valid() {
        return None;
    }
    let text = format!("00-{}-{}-{:02x}", place.trace_id(), place.span_id(), place.trace_flags().to_u8() & 1);
    text.parse().ok()
}
