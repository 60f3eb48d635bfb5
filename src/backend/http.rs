//! The backend over HTTP: POST /process_request/ and /process_response/ with the access key as bearer
//! token (§4.2), over pooled HTTP/1.1 connections; batches if the backend offers them, and the endpoint
//! for attached files (CONTRACT 29).

use super::answers::{ANSWER_PER_BYTE, SHORT_ANSWER, is_verdict, largest_answer};
use super::attach::{Multipart, multipart};
use super::known_keys::{KnownKey, KnownKeys};
use super::offers::Offers;
use super::questions::Questions;
use super::tool_question::{ToolQuestion, ToolSupport};
use super::{
    Analyzer, AnalyzerError, AttachError, Attachment, BatchResult, Recognition, Record,
    ReportSource, SentParts, Verdict, batch,
};
use crate::config::BaseUrl;
use crate::http_client::{self, Answer, Body, ClientError, HttpClient, ReloadableTls};
use crate::observe::events::ToolPartsOmitted;
use crate::observe::{Metrics, RecordSender};
use async_trait::async_trait;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Request, Uri};
use monitor_model::{
    AnalysisResponse, ApplicationId, COMPACT_VERDICT, DEFERRED_HEADER, GATEWAY_HEADER,
    KEY_APPLICATION_HEADER, RecordId, Secret, VERDICT_HEADER,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Milliseconds between two reports on the spool.
const REPORT_EVERY_MS: u64 = 1_000;

/// An [`Analyzer`] behind MONITOR_URL.
pub struct HttpAnalyzer {
    client: HttpClient,
    base: String,
    request_uri: Uri,
    response_uri: Uri,
    batch_uri: Uri,
    offers: Offers,
    tool_question: ToolQuestion,
    known_keys: KnownKeys,
    /// Questions about access keys at the same time.
    questions: Questions,
    timeout: Duration,
    metrics: Arc<Metrics>,
    reports: OnceLock<ReportSource>,
    started: Instant,
    next_report_ms: AtomicU64,
}

impl HttpAnalyzer {
    /// `timeout` bounds one call whole (MONITOR_TIMEOUT); `tls` holds `monitor.ca` and the gateway's certificate.
    ///
    /// # Errors
    /// When the system's trusted certificates cannot be read for an https backend, or the address
    /// makes no URI.
    pub fn new(
        base: &BaseUrl,
        timeout: Duration,
        tls: Option<&Arc<ReloadableTls>>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, AnalyzerError> {
        let broken = |error: &dyn std::fmt::Display| AnalyzerError::Unavailable(error.to_string());
        let client = HttpClient::pooled(base.tls, tls).map_err(|error| broken(&error))?;
        let uri = |path: &str| {
            format!("{base}{path}")
                .parse()
                .map_err(|error| broken(&error))
        };
        Ok(Self {
            client,
            base: base.to_string(),
            request_uri: uri(monitor_model::Stage::PreCall.path())?,
            response_uri: uri(monitor_model::Stage::PostCall.path())?,
            batch_uri: uri(batch::PATH)?,
            offers: Offers::default(),
            tool_question: ToolQuestion::new(timeout),
            known_keys: KnownKeys::default(),
            questions: Questions::default(),
            timeout,
            metrics: metrics.clone(),
            reports: OnceLock::new(),
            started: Instant::now(),
            next_report_ms: AtomicU64::new(0),
        })
    }

    fn request(&self, record: &Record, parts: SentParts) -> Result<Request<Body>, AnalyzerError> {
        let mut body = Vec::with_capacity(batch::OVERHEAD + record.message.len());
        record
            .write_request(parts, &mut body)
            .map_err(|_| AnalyzerError::Refused(400))?;
        let uri = match record.stage {
            monitor_model::Stage::PreCall => &self.request_uri,
            monitor_model::Stage::PostCall => &self.response_uri,
        };
        let mut request = self.post(uri, "application/json", record, body)?;
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
        record: &Record,
        body: Vec<u8>,
    ) -> Result<Request<Body>, AnalyzerError> {
        let mut request = Request::post(uri.clone())
            .header(AUTHORIZATION, bearer(&record.context.access_key)?)
            .header(CONTENT_TYPE, content_type)
            .header(VERDICT_HEADER, COMPACT_VERDICT);
        if let Some(report) = self.due_report() {
            request = request.header(GATEWAY_HEADER, report);
        }
        request
            .body(http_client::whole(body))
            .map_err(|_| AnalyzerError::Refused(400))
    }

    /// A report on the spool, if it is time for one.
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

    /// `request` makes the request, once more where its connection breaks.
    async fn verdict(
        &self,
        request: impl Fn() -> Result<Request<Body>, AnalyzerError>,
        largest: usize,
    ) -> Result<AnalysisResponse, AnalyzerError> {
        let answer = self.call(request, largest).await?;
        let body = answer.body.as_ref().map_err(|error| match error {
            ClientError::TooLarge(_) if is_verdict(&answer) => AnalyzerError::TooLong,
            error => unavailable(detail(*error)),
        })?;
        self.offers.note(&answer);
        match answer.status.as_u16() {
            200..=299 => serde_json::from_slice(body)
                .map_err(|_| unavailable("its answer is no analysis response (§2.9)")),
            status => Err(AnalyzerError::of_status(status)),
        }
    }

    /// Sends a batch without lines, which stores nothing.
    async fn ask(&self, key: &Secret) -> Result<Answer, AnalyzerError> {
        let authorization = bearer(key)?;
        let request = || {
            let request = Request::post(self.batch_uri.clone())
                .header(AUTHORIZATION, authorization.clone())
                .header(CONTENT_TYPE, batch::CONTENT_TYPE)
                .body(http_client::whole(Vec::new()));
            request.map_err(|_| AnalyzerError::Refused(400))
        };
        let answer = self.call(request, SHORT_ANSWER).await?;
        self.offers.note_tools(&answer);
        Ok(answer)
    }

    /// Whether the backend takes the parts of this record. One that has not told yet is asked.
    async fn tool_support(&self, record: &Record) -> ToolSupport {
        if record.tools.is_empty() {
            return ToolSupport::Unsupported;
        }
        let known = || self.offers.takes_tools();
        let ask = self.ask_tool_support(&record.context.access_key);
        self.tool_question.support(known, ask).await
    }

    async fn ask_tool_support(&self, key: &Secret) -> ToolSupport {
        let Ok(answer) = self.ask(key).await else {
            return ToolSupport::Unknown;
        };
        match (self.offers.takes_tools(), answer.status.as_u16()) {
            (Some(takes), _) => ToolSupport::of(takes),
            (None, 408 | 429 | 500 | 502..) => ToolSupport::Unknown,
            // A backend without that path takes none.
            (None, _) => ToolSupport::Unsupported,
        }
    }

    /// Counts the parts that a record was stored without.
    fn note_omitted(&self, record: &Record, sender: RecordSender) {
        ToolPartsOmitted {
            sender,
            count: record.tools.number().into(),
        }
        .emit(&self.metrics);
    }

    /// What the backend knows of an access key.
    async fn ask_about(&self, key: &Secret) -> Recognition {
        let answer = match self.ask(key).await {
            Ok(answer) => answer,
            Err(AnalyzerError::KeyRefused(_)) => return Recognition::UnknownKey,
            Err(_) => return Recognition::NoAnswer,
        };
        match answer.status.as_u16() {
            200..=299 => bound_to(&answer).map_or(Recognition::Known, Recognition::KnownFor),
            401 | 403 => Recognition::UnknownKey,
            408 | 429 | 500.. => Recognition::NoAnswer,
            _ => Recognition::Unsupported,
        }
    }

    async fn call(
        &self,
        request: impl Fn() -> Result<Request<Body>, AnalyzerError>,
        largest: usize,
    ) -> Result<Answer, AnalyzerError> {
        let (first, again) = (request()?, || request().ok());
        let answer = self
            .client
            .send_repeatable(first, again, largest, self.timeout);
        answer.await.map_err(|error| unavailable(detail(error)))
    }
}

/// The failure of a call to the backend, for the log.
fn detail(error: ClientError) -> &'static str {
    match error {
        ClientError::Connect => "no connection",
        ClientError::Broken => "the connection broke",
        ClientError::Late => "no answer within MONITOR_TIMEOUT",
        ClientError::Truncated => "its answer broke off",
        ClientError::TooLarge(_) => "its answer is longer than a verdict on its message can be",
    }
}

/// The application that the access key belongs to. Backends that do not name it know the key, and no more is known.
fn bound_to(answer: &Answer) -> Option<ApplicationId> {
    let own = answer.headers.get(KEY_APPLICATION_HEADER)?;
    own.to_str().ok()?.parse().ok()
}

fn unavailable(what: &str) -> AnalyzerError {
    AnalyzerError::Unavailable(what.into())
}

fn bearer(key: &Secret) -> Result<HeaderValue, AnalyzerError> {
    http_client::bearer(key).ok_or(AnalyzerError::KeyRefused(401))
}

#[async_trait]
impl Analyzer for HttpAnalyzer {
    async fn analyze(&self, record: &Record) -> Result<AnalysisResponse, AnalyzerError> {
        let support = self.tool_support(record).await;
        let largest = largest_answer(record.message.len());
        let request = || self.request(record, support.into());
        let analysis = self.verdict(request, largest).await;
        let is_stored = matches!(analysis, Ok(_) | Err(AnalyzerError::TooLong));
        if support == ToolSupport::Unknown && is_stored {
            self.note_omitted(record, RecordSender::Check);
        }
        analysis
    }

    async fn deliver(&self, record: &Record) -> Result<Verdict, AnalyzerError> {
        let support = self.tool_support(record).await;
        if support == ToolSupport::Unknown && self.tool_question.may_wait() {
            return Err(unavailable("it does not say what it takes"));
        }
        let request = || {
            let mut request = self.request(record, support.into())?;
            let deferred = HeaderValue::from_static("1");
            request.headers_mut().insert(DEFERRED_HEADER, deferred);
            Ok(request)
        };
        let largest = largest_answer(record.message.len());
        let analysis = self.verdict(request, largest).await;
        if support == ToolSupport::Unknown {
            match &analysis {
                Ok(_) | Err(AnalyzerError::TooLong) => {
                    self.note_omitted(record, RecordSender::Delivery);
                }
                Err(AnalyzerError::Unavailable(_) | AnalyzerError::Busy(_)) => {
                    self.tool_question.start_over();
                }
                Err(AnalyzerError::KeyRefused(_) | AnalyzerError::Refused(_)) => {}
            }
        }
        Ok(Verdict {
            analysis: analysis?,
            durable: None,
        })
    }

    async fn recognize(&self, key: &Secret, _: Option<&str>) -> Recognition {
        let known = self.known_keys.look(key, Instant::now());
        if let KnownKey::Valid(answer) = known {
            return answer;
        }
        let asking = async {
            let _question = match known {
                KnownKey::Never => self.questions.about_new().await,
                _ => self.questions.about_known().await,
            };
            // Another call with this key may have asked meanwhile.
            let meanwhile = self.known_keys.get(key, Instant::now());
            if let (Some(answer), false) = (meanwhile, matches!(known, KnownKey::Due(_))) {
                return answer;
            }
            let answer = self.ask_about(key).await;
            self.known_keys.set(key, answer, Instant::now());
            answer
        };
        let answer = tokio::time::timeout(self.timeout, asking).await;
        match (answer.unwrap_or(Recognition::NoAnswer), known) {
            (Recognition::NoAnswer, KnownKey::Due(still_valid)) => still_valid,
            (answer, _) => answer,
        }
    }

    fn set_report_source(&self, reports: ReportSource) {
        // Set once in the life of a process: it has one spool.
        let _ = self.reports.set(reports);
    }

    fn takes_batches(&self) -> bool {
        self.offers.takes_batches()
    }

    async fn analyze_batch(&self, records: &[&Record]) -> Option<Vec<BatchResult>> {
        let first = records.first()?;
        let has_tools = records.iter().any(|record| !record.tools.is_empty());
        let parts = match self.offers.takes_tools() {
            Some(true) => SentParts::All,
            // Each record asks or waits on its own.
            None if has_tools => return None,
            Some(false) | None => SentParts::Nothing,
        };
        let request = || {
            let body = batch::lines(records, parts).ok_or(AnalyzerError::Refused(400))?;
            self.post(&self.batch_uri, batch::CONTENT_TYPE, first, body)
        };
        let short = SHORT_ANSWER / ANSWER_PER_BYTE;
        let lengths = records.iter().map(|record| short + record.message.len());
        let answer = self.call(request, largest_answer(lengths.sum()));
        let answer = answer.await.ok()?;
        let body = answer.body.as_ref().ok()?;
        if answer.status.is_success() {
            self.offers.note_tools(&answer);
            return Some(batch::results(body, records));
        }
        // A batch that is refused as a whole, for its key or its size, is sent again record by record.
        self.offers.note(&answer);
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
            .body(body)
            .map_err(|_| refused())?;
        let answer = self.client.send(request, SHORT_ANSWER, self.timeout).await;
        let answer = answer.map_err(|error| match error {
            ClientError::Connect => AttachError::Unavailable("no connection"),
            other => AttachError::Failed(detail(other).into()),
        })?;
        // Read to its end, so that the connection can be used again.
        match answer.status.as_u16() {
            200..=299 => {
                let read = answer.body.map(drop);
                read.map_err(|error| AttachError::Failed(detail(error).into()))
            }
            status => Err(AttachError::of_status(status)),
        }
    }
}
