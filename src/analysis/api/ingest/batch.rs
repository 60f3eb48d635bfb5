//! `POST /process_batch/` (CONTRACT 39): NDJSON lines in, one verdict line for each, in the same order.
//! Each line is answered with the status that a call of its own would get.

use super::process::asks_for_compact;
use super::process_body::{self, RulesOf};
use super::surrogates::replace_lone;
use crate::analysis::api::extract::bearer::bearer;
use crate::analysis::api::extract::{Api, body, count_for};
use crate::analysis::api::response::{Outcome, content};
use crate::analysis::api::schemas;
use crate::analysis::ingest::request::ProcessRequest;
use crate::analysis::{ApiError, BodyMemory, Caller, RefusedBody, Services};
use crate::edge::names_another_charset;
use crate::fair_queue::Urgency;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use monitor_model::{AnalysisResponse, KEY_APPLICATION_HEADER, Stage};
use monitor_store::Scope;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Lines of one batch. Together they may have as many bytes as one call.
const MOST_LINES: usize = 1_000;
/// Lines that are processed at the same time.
const AT_ONCE: usize = 64;
/// Bytes of their messages, unless a single one is longer: the findings of a message may take many times its bytes.
const BYTES_AT_ONCE: usize = 128 << 10;
const NDJSON: &str = "application/x-ndjson";

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    stage: Option<&'a RawValue>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

/// The answer of a line: the status and body that a call of its own would get.
#[derive(Serialize)]
struct Verdict {
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    body: Body,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body {
    Answer(Box<AnalysisResponse>),
    Error(Box<RawValue>),
}

/// Analyze many messages
///
/// NDJSON of at most 1,000 lines, together at most the configured size of a body. Each line is an independent
/// request, `{"stage": "pre" or "post", "body": Message}`. With the request header `X-Monitor-Verdict: compact` the
/// verdicts have no `entities` and `cleaned_text` is null. Scope: ingest.
#[utoipa::path(
    post,
    path = "/process_batch",
    operation_id = "processBatch",
    tag = "analysis",
    request_body(content = schemas::Lines, content_type = "application/x-ndjson"),
    responses(
        (
            status = 200,
            description = "NDJSON: one line for each line, in the same order, `{\"status\", \"body\"}` as in the answer to a single call, with `retry_after` for 429 and 503.",
            body = schemas::Lines,
            content_type = "application/x-ndjson",
            headers(("X-Monitor-Batch"), ("X-Monitor-Tools"), ("X-Monitor-Key-Application")),
        ),
    ),
)]
pub(crate) async fn process(State(services): Api, request: Request) -> Outcome {
    let key = bearer(request.headers())?;
    let caller = services.access.recognize(&key, Scope::Ingest).await?;
    count_for(&caller, request.extensions());
    if !is_ndjson(request.headers()) || names_another_charset(request.headers()) {
        return Err(ApiError::NotNdjsonType);
    }
    let is_compact = asks_for_compact(request.headers());
    let memory = request.extensions().get::<BodyMemory>().cloned();
    let mut bytes = body::read_any(request, services.ingest.max_body()).await?;
    replace_lone(&mut bytes);
    let lines: Vec<&[u8]> = bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
        .take(MOST_LINES + 1)
        .collect();
    if lines.len() > MOST_LINES {
        return Err(ApiError::TooManyLines(MOST_LINES));
    }
    let mut out = Verdicts::new(is_compact, memory);
    let parsed = lines
        .into_iter()
        .map(|line| services.ingest.timed_parse(|| read(line)));
    let mut requests = (Box::new(parsed) as Requests<'_>).peekable();
    while requests.peek().is_some() {
        let wave = next_wave(&mut requests);
        let verdicts = match out.is_full {
            false => process_wave(&services, &caller, wave).await,
            true => refused(wave, || ApiError::Overloaded),
        };
        out.push(verdicts).await?;
    }
    let mut answer = content(StatusCode::OK, NDJSON, out.lines);
    if let Some(own) = caller.narrow(None)? {
        let own = HeaderValue::try_from(own.to_string()).map_err(|_| ApiError::Internal)?;
        answer.headers_mut().insert(KEY_APPLICATION_HEADER, own);
    }
    Ok(answer)
}

/// The requests of a batch, each parsed when its turn comes.
type Requests<'a> = Box<dyn Iterator<Item = Result<ProcessRequest, ApiError>> + Send + 'a>;

/// The next lines that are processed concurrently, up to the next line of an exchange that is already among them:
/// the first line of an exchange is recorded first (CONTRACT 11).
fn next_wave(
    lines: &mut std::iter::Peekable<Requests<'_>>,
) -> Vec<Result<ProcessRequest, ApiError>> {
    let mut exchanges: Vec<String> = Vec::new();
    let (mut wave, mut bytes) = (Vec::new(), 0);
    while let Some(next) = lines.peek()
        && wave.len() < AT_ONCE
    {
        let (exchange, length) = (exchange(next), length(next));
        let is_full = !wave.is_empty() && bytes + length > BYTES_AT_ONCE;
        if is_full || exchange.as_ref().is_some_and(|id| exchanges.contains(id)) {
            break;
        }
        exchanges.extend(exchange);
        bytes += length;
        wave.extend(lines.next());
    }
    wave
}

/// Processes lines concurrently, in the turn of their tenant.
async fn process_wave(
    services: &Services,
    caller: &Caller,
    wave: Vec<Result<ProcessRequest, ApiError>>,
) -> Vec<Verdict> {
    let bytes: usize = wave.iter().map(length).sum();
    let analyzer = &services.ingest.analyzer;
    let _turn = match analyzer.batch_turn(caller.batches(), bytes).await {
        Ok(turn) => turn,
        Err(reason) => return refused(wave, || ApiError::Busy(reason)),
    };
    let work = wave.into_iter().map(|request| async move {
        let answer = async {
            services.access.admit(caller)?;
            services.ingest.process_for(caller, request?).await
        };
        Verdict::from(answer.await)
    });
    // Unlike `join_all`, it lets other tasks run between two lines whatever their number.
    let work: FuturesOrdered<_> = work.collect();
    work.collect().await
}

/// The verdicts on lines that are not processed.
fn refused(
    wave: Vec<Result<ProcessRequest, ApiError>>,
    error: impl Fn() -> ApiError,
) -> Vec<Verdict> {
    let errors = wave
        .into_iter()
        .map(|request| request.err().unwrap_or_else(&error));
    errors.map(|error| Verdict::from(Err(error))).collect()
}

/// The bytes of a line's message.
fn length(request: &Result<ProcessRequest, ApiError>) -> usize {
    let request = request.as_ref();
    request.map_or(0, |request| request.input.message.len())
}

/// The verdicts so far, counted in the memory of the client.
struct Verdicts {
    is_compact: bool,
    memory: Option<BodyMemory>,
    lines: Vec<u8>,
    /// There is no memory for more of them.
    is_full: bool,
}

impl Verdicts {
    fn new(is_compact: bool, memory: Option<BodyMemory>) -> Self {
        Self {
            is_compact,
            memory,
            lines: Vec::new(),
            is_full: false,
        }
    }

    /// Adds verdicts; those that there is no memory for become refusals, and a retry finds their records stored.
    async fn push(&mut self, verdicts: Vec<Verdict>) -> Result<(), ApiError> {
        let (count, mut text) = (verdicts.len(), Vec::new());
        for mut verdict in verdicts {
            if let (true, Body::Answer(answer)) = (self.is_compact, &mut verdict.body) {
                answer.make_compact();
            }
            verdict.write(&mut text)?;
        }
        if !self.is_full && self.make_room(text.len()).await.is_err() {
            self.is_full = true;
            text.clear();
            for _ in 0..count {
                Verdict::from(Err(ApiError::Overloaded)).write(&mut text)?;
            }
        }
        self.lines.extend_from_slice(&text);
        Ok(())
    }

    async fn make_room(&mut self, bytes: usize) -> Result<(), RefusedBody> {
        let (needed, capacity) = (self.lines.len() + bytes, self.lines.capacity());
        if needed > capacity {
            let larger = needed.max(2 * capacity);
            if let Some(memory) = &self.memory {
                memory.grow(larger - capacity).await?;
            }
            self.lines.reserve_exact(larger - self.lines.len());
        }
        Ok(())
    }
}

impl Verdict {
    fn write(&self, out: &mut Vec<u8>) -> Result<(), ApiError> {
        serde_json::to_writer(&mut *out, self).map_err(|_| ApiError::Internal)?;
        out.push(b'\n');
        Ok(())
    }
}

fn exchange(request: &Result<ProcessRequest, ApiError>) -> Option<String> {
    let parameters = &request.as_ref().ok()?.input.additional_parameters;
    let id = parameters.get("request_id").and_then(Value::as_str)?;
    Some(id.to_owned())
}

fn read(line: &[u8]) -> Result<ProcessRequest, ApiError> {
    let problem = |field, problem| ApiError::Field { field, problem };
    // A derived deserializer would also accept an array with the two fields in order.
    if line.first() == Some(&b'[') {
        return Err(problem("line", "must be an object"));
    }
    let line: Line<'_> = serde_json::from_slice(line).map_err(|error| match error.is_data() {
        true => problem("line", "must be an object that contains each field once"),
        false => body::not_json(&error),
    })?;
    let stage = line
        .stage
        .ok_or(problem("stage", "missing; allowed: pre, post"))?;
    let stage: Stage =
        serde_json::from_str(stage.get()).map_err(|_| problem("stage", "must be pre or post"))?;
    let body = line.body.ok_or(problem("body", "missing"))?;
    let body = body.get().as_bytes();
    process_body::parse(body, stage, RulesOf::Application, Urgency::Deferred)
}

impl From<Result<AnalysisResponse, ApiError>> for Verdict {
    fn from(answer: Result<AnalysisResponse, ApiError>) -> Self {
        match answer {
            Ok(answer) => Self {
                status: StatusCode::OK.as_u16(),
                retry_after: None,
                body: Body::Answer(Box::new(answer)),
            },
            Err(error) => Self {
                status: error.status(),
                retry_after: error.retry_after(),
                body: Body::Error(raw(error.envelope().to_json())),
            },
        }
    }
}

/// An envelope, as JSON.
fn raw(json: Vec<u8>) -> Box<RawValue> {
    let text = String::from_utf8(json).unwrap_or_default();
    RawValue::from_string(text).unwrap_or_default()
}

fn is_ndjson(headers: &HeaderMap) -> bool {
    let value = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = value
        .and_then(|value| value.split(';').next())
        .unwrap_or_default();
    let names = [NDJSON, "application/ndjson", "application/jsonl"];
    names
        .iter()
        .any(|name| essence.trim().eq_ignore_ascii_case(name))
}
