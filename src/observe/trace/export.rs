//! Exports spans to a collector: OTLP as JSON over HTTP, in batches. Nothing here is on the path of a call:
//! a collector that is slow or down costs spans, which are counted, and nothing else.

use super::{Resource, Span, encode};
use crate::config::TraceSettings;
use crate::http_client::{Answer, HttpClient, ReloadableTls, whole};
use crate::observe::events::{ExportFailed, SpansDropped, SpansExported, SpansLost};
use crate::observe::metrics::Metrics;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Request, Uri};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use uuid::Uuid;

/// The path of traces below the configured address (OTLP).
const PATH: &str = "/v1/traces";
/// Largest answer of a collector that is read.
const MAX_ANSWER: usize = 64 << 10;
/// Attempts for one batch while the collector answers; one attempt while it does not.
const TRIES: u32 = 4;
/// The pause after a first failure; it doubles up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause, even if the collector asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Sends the spans in a tracer's queue.
pub struct SpanExporter {
    client: HttpClient,
    uri: Uri,
    authorization: Option<HeaderValue>,
    resource: Resource,
    settings: TraceSettings,
    metrics: Arc<Metrics>,
    /// Failures in a row.
    failures: u32,
}

/// Why a collector has not taken a batch.
enum Fault {
    /// The collector refuses the batch and would refuse it later.
    Refused,
    /// The collector may take the batch later; perhaps not before this time has passed.
    Later(Option<Duration>),
}

impl SpanExporter {
    /// An exporter for the collector of the settings. `instance` identifies this process.
    ///
    /// # Errors
    /// When the trusted certificates cannot be read for https, the address is not a URI, or the header's
    /// value is invalid.
    pub fn new(settings: TraceSettings, instance: Uuid, metrics: Arc<Metrics>) -> io::Result<Self> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
        let uri = format!("{}{PATH}", settings.endpoint).parse();
        let authorization = settings.authorization.as_ref().map(|secret| {
            let mut value = HeaderValue::from_str(secret.expose())
                .map_err(|_| invalid("trace.authorization is not a valid header value"))?;
            value.set_sensitive(true);
            Ok::<_, io::Error>(value)
        });
        let tls = ReloadableTls::new(settings.ca.as_deref(), None).map_err(io::Error::other)?;
        Ok(Self {
            client: HttpClient::pooled(settings.endpoint.tls, tls.as_ref())?,
            uri: uri.map_err(|_| invalid("trace.endpoint is not a valid address"))?,
            authorization: authorization.transpose()?,
            resource: Resource {
                service_name: settings.service_name.clone(),
                instance,
            },
            settings,
            metrics,
            failures: 0,
        })
    }

    /// Of the collector that it sends to.
    pub fn settings(&self) -> &TraceSettings {
        &self.settings
    }

    /// Sends until the queue is closed, or `stop` says so and it is empty.
    pub async fn run(mut self, mut spans: Receiver<Span>, mut stop: watch::Receiver<bool>) {
        let mut batch = Vec::new();
        loop {
            let first = tokio::select! {
                biased;
                first = spans.recv() => first,
                () = stopped(&mut stop), if !spans.is_closed() => {
                    spans.close();
                    continue;
                }
            };
            let Some(first) = first else { return };
            batch.push(first);
            self.fill(&mut batch, &mut spans, &mut stop).await;
            self.deliver(&batch, &mut stop).await;
            batch.clear();
        }
    }

    /// Waits for more spans, at most `trace.interval` long.
    async fn fill(
        &self,
        batch: &mut Vec<Span>,
        spans: &mut Receiver<Span>,
        stop: &mut watch::Receiver<bool>,
    ) {
        let until = Instant::now() + self.settings.interval;
        while batch.len() < self.settings.batch {
            tokio::select! {
                biased;
                span = spans.recv() => match span {
                    Some(span) => batch.push(span),
                    None => return,
                },
                () = stopped(stop), if !spans.is_closed() => spans.close(),
                () = sleep_until(until) => return,
            }
        }
    }

    async fn deliver(&mut self, batch: &[Span], stop: &mut watch::Receiver<bool>) {
        let body = Bytes::from(encode(&self.resource, batch));
        let count = batch.len() as u64;
        let tries = if self.failures == 0 { TRIES } else { 1 };
        for _ in 0..tries {
            let Err(fault) = self.send(body.clone()).await else {
                let is_back = std::mem::take(&mut self.failures) > 0;
                return SpansExported { count, is_back }.emit(&self.metrics);
            };
            ExportFailed.emit(&self.metrics);
            let pause = match fault {
                Fault::Refused => {
                    let reason = SpansLost::Refused;
                    return SpansDropped { reason, count }.emit(&self.metrics);
                }
                Fault::Later(asked) => asked.unwrap_or_else(|| self.pause()),
            };
            self.failures = self.failures.saturating_add(1);
            tokio::select! {
                () = sleep(pause.min(LONGEST_PAUSE)) => {}
                () = stopped(stop) => break,
            }
        }
        let reason = SpansLost::Unavailable;
        SpansDropped { reason, count }.emit(&self.metrics);
    }

    fn pause(&self) -> Duration {
        FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(self.failures))
    }

    async fn send(&self, body: Bytes) -> Result<(), Fault> {
        let mut request = Request::post(self.uri.clone()).header(CONTENT_TYPE, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(whole(body)).map_err(|_| Fault::Refused)?;
        let sent = self.client.send(request, MAX_ANSWER, self.settings.timeout);
        outcome(&sent.await.map_err(|_| Fault::Later(None))?)
    }
}

/// Tells which answers are worth another attempt (OTLP/HTTP, "Retryable Response Codes").
fn outcome(answer: &Answer) -> Result<(), Fault> {
    match answer.status.as_u16() {
        200..=299 => Ok(()),
        429 | 502 | 503 | 504 => {
            let seconds = answer.headers.get(RETRY_AFTER);
            let seconds = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
            Err(Fault::Later(seconds.map(Duration::from_secs)))
        }
        _ => Err(Fault::Refused),
    }
}

/// Resolves when the process is to stop; never once the sender is dropped.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|is| *is).await.is_err() {
        std::future::pending().await
    }
}
