//! The backend over HTTP: POST /process_request/ and /process_response/ with the access key as
//! bearer token (§4.2), over pooled HTTP/1.1 connections; batches where it offers them, and the attach
//! endpoint (CONTRACT 29).

use super::attach::{Body, Multipart, multipart};
use super::connect::connector_with;
use super::{
    Analyzer, AnalyzerError, AttachError, Attachment, BackendTls, BatchResult, Record,
    ReportSource, batch,
};
use crate::config::BaseUrl;
use async_trait::async_trait;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use monitor_model::{AnalysisRequest, AnalysisResponse, GATEWAY_HEADER, RecordId, Secret};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Largest answer of the backend that is read.
const MAX_ANSWER: usize = 32 << 20;
/// How long an idle connection is kept.
const POOL_IDLE: Duration = Duration::from_secs(30);

/// Between two words on the spool.
const REPORT_EVERY_MS: u64 = 1_000;

/// An [`Analyzer`] behind MONITOR_URL.
pub struct HttpAnalyzer {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    files: Client<HttpsConnector<HttpConnector>, Body>,
    base: String,
    request_uri: Uri,
    response_uri: Uri,
    batch_uri: Uri,
    /// Whether the latest answer said so.
    takes_batches: AtomicBool,
    timeout: Duration,
    reports: OnceLock<ReportSource>,
    started: Instant,
    next_report_ms: AtomicU64,
}

/// An answer, read whole.
struct Answer {
    status: u16,
    offers_batches: bool,
    body: Bytes,
}

impl HttpAnalyzer {
    /// `timeout` bounds one call whole (MONITOR_TIMEOUT); `files` are those of `monitor.ca` and beside it.
    ///
    /// # Errors
    /// When the system's trusted certificates cannot be read for an https backend, or the address
    /// makes no URI.
    pub fn new(
        base: &BaseUrl,
        timeout: Duration,
        files: Option<&Arc<BackendTls>>,
    ) -> Result<Self, AnalyzerError> {
        let broken = |error: &dyn std::fmt::Display| AnalyzerError::Unavailable(error.to_string());
        let connector = connector_with(base.tls, files).map_err(|error| broken(&error))?;
        let mut clients = Client::builder(TokioExecutor::new());
        clients
            .pool_idle_timeout(POOL_IDLE)
            .pool_timer(TokioTimer::new());
        let uri = |path: &str| {
            format!("{base}{path}")
                .parse()
                .map_err(|error| broken(&error))
        };
        Ok(Self {
            client: clients.build(connector.clone()),
            files: clients.build(connector),
            base: base.to_string(),
            request_uri: uri(monitor_model::Stage::PreCall.path())?,
            response_uri: uri(monitor_model::Stage::PostCall.path())?,
            batch_uri: uri(batch::PATH)?,
            takes_batches: AtomicBool::new(false),
            timeout,
            reports: OnceLock::new(),
            started: Instant::now(),
            next_report_ms: AtomicU64::new(0),
        })
    }

    fn request(&self, record: &Record) -> Result<Request<Full<Bytes>>, AnalyzerError> {
        let asked = AnalysisRequest {
            application_id: record.context.application_id.as_deref(),
            message: &record.message,
            additional_parameters: record.parameters(),
        };
        let mut body = Vec::with_capacity(batch::BESIDES + record.message.len());
        serde_json::to_writer(&mut body, &asked).map_err(|_| AnalyzerError::Refused(400))?;
        let uri = match record.stage {
            monitor_model::Stage::PreCall => &self.request_uri,
            monitor_model::Stage::PostCall => &self.response_uri,
        };
        let mut request = self.post(uri, "application/json", (record, body))?;
        let trace = record.context.trace.map(|trace| trace.header());
        if let Some(value) = trace.and_then(|trace| HeaderValue::try_from(trace).ok()) {
            request.headers_mut().insert("traceparent", value);
        }
        Ok(request)
    }

    fn post(
        &self,
        uri: &Uri,
        content_type: &'static str,
        (record, body): (&Record, Vec<u8>),
    ) -> Result<Request<Full<Bytes>>, AnalyzerError> {
        let mut request = Request::post(uri.clone())
            .header(AUTHORIZATION, bearer(&record.context.access_key)?)
            .header(CONTENT_TYPE, content_type)
            .header(USER_AGENT, "monitor-gateway");
        if let Some(report) = self.due_report() {
            request = request.header(GATEWAY_HEADER, report);
        }
        let body = Full::new(Bytes::from(body));
        request.body(body).map_err(|_| AnalyzerError::Refused(400))
    }

    /// What the backend is told of the spool, once in a while.
    fn due_report(&self) -> Option<String> {
        let report = self.reports.get()?;
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if now < self.next_report_ms.load(Ordering::Relaxed) {
            return None;
        }
        self.next_report_ms
            .store(now.saturating_add(REPORT_EVERY_MS), Ordering::Relaxed);
        Some(report().to_string())
    }

    async fn call(&self, request: Request<Full<Bytes>>) -> Result<Answer, AnalyzerError> {
        timeout(self.timeout, self.call_unbounded(request))
            .await
            .unwrap_or_else(|_| Err(unavailable("no answer within MONITOR_TIMEOUT")))
    }

    async fn call_unbounded(&self, request: Request<Full<Bytes>>) -> Result<Answer, AnalyzerError> {
        let answer = self.client.request(request).await.map_err(|error| {
            unavailable(if error.is_connect() {
                "no connection"
            } else {
                "the connection broke"
            })
        })?;
        let offer = answer.headers().get(batch::OFFER);
        let offers_batches = offer.is_some_and(|value| value == "1");
        let status = answer.status().as_u16();
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        let body = body
            .map_err(|_| unavailable("its answer broke off"))?
            .to_bytes();
        Ok(Answer {
            status,
            offers_batches,
            body,
        })
    }
}

/// What a status that is no success means for its record.
pub(super) fn refusal(status: u16) -> AnalyzerError {
    match status {
        401 | 403 => AnalyzerError::KeyRefused(status),
        408 | 429 => AnalyzerError::Busy(status),
        400..=499 => AnalyzerError::Refused(status),
        _ => AnalyzerError::Unavailable(format!("status {status}")),
    }
}

fn unavailable(what: &str) -> AnalyzerError {
    AnalyzerError::Unavailable(what.into())
}

impl HttpAnalyzer {
    async fn send(&self, request: Request<Body>) -> Result<(), AttachError> {
        let failed = |what: &str| AttachError::Failed(what.into());
        let answer = self.files.request(request).await;
        let answer = answer.map_err(|error| match error.is_connect() {
            true => AttachError::Unavailable("no connection"),
            false => failed("the connection broke"),
        })?;
        let status = answer.status().as_u16();
        // Read to its end, so that the connection can be used again.
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        match status {
            200..=299 => body.map(drop).map_err(|_| failed("its answer broke off")),
            status => Err(AttachError::of_status(status)),
        }
    }
}

fn bearer(key: &Secret) -> Result<HeaderValue, AnalyzerError> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose()))
        .map_err(|_| AnalyzerError::KeyRefused(401))?;
    value.set_sensitive(true);
    Ok(value)
}

#[async_trait]
impl Analyzer for HttpAnalyzer {
    async fn analyze(&self, record: &Record) -> Result<AnalysisResponse, AnalyzerError> {
        let answer = self.call(self.request(record)?).await?;
        self.takes_batches
            .store(answer.offers_batches, Ordering::Relaxed);
        match answer.status {
            200..=299 => serde_json::from_slice(&answer.body)
                .map_err(|_| unavailable("its answer is no analysis response (§2.9)")),
            status => Err(refusal(status)),
        }
    }

    fn set_report_source(&self, reports: ReportSource) {
        // Set once in the life of a process: it has one spool.
        let _ = self.reports.set(reports);
    }

    fn takes_batches(&self) -> bool {
        self.takes_batches.load(Ordering::Relaxed)
    }

    async fn analyze_batch(&self, records: &[&Record]) -> Option<Vec<BatchResult>> {
        let first = records.first()?;
        let body = batch::lines(records)?;
        let request = self.post(&self.batch_uri, batch::CONTENT_TYPE, (first, body));
        let answer = self.call(request.ok()?).await.ok()?;
        if let 200..=299 = answer.status {
            return Some(batch::fates(&answer.body, records.len()));
        }
        // What the whole is refused for, its key or its size, each record is told on its own.
        self.takes_batches
            .store(answer.offers_batches, Ordering::Relaxed);
        None
    }

    async fn attach(
        &self,
        key: &Secret,
        record: RecordId,
        file: Attachment,
    ) -> Result<(), AttachError> {
        let refused = || AttachError::Refused(400);
        let Multipart {
            body,
            content_type,
            length,
        } = multipart(file).ok_or_else(refused)?;
        let uri = format!("{}/user_prompt_analysis/{record}/attach_files", self.base);
        let request = Request::post(uri)
            .header(AUTHORIZATION, bearer(key).map_err(|_| refused())?)
            .header(CONTENT_TYPE, content_type)
            .header(CONTENT_LENGTH, length)
            .header(USER_AGENT, "monitor-gateway")
            .body(body)
            .map_err(|_| refused())?;
        timeout(self.timeout, self.send(request))
            .await
            .unwrap_or_else(|_| {
                let late = "no answer within MONITOR_TIMEOUT";
                Err(AttachError::Failed(late.into()))
            })
    }
}
