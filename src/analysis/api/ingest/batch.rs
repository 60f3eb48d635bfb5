//! `POST /process_batch/` (CONTRACT 39): NDJSON lines in, one verdict line for each, in the same order.
//! Each line is answered with the status that a call of its own would get.

use super::process_body::{self, RulesOf};
use super::surrogates::replace_lone;
use crate::analysis::api::extract::bearer::bearer;
use crate::analysis::api::extract::{Api, body, count_for};
use crate::analysis::api::response::{Outcome, content};
use crate::analysis::api::schemas;
use crate::analysis::ingest::request::ProcessRequest;
use crate::analysis::{ApiError, Caller, Services};
use crate::edge::names_another_charset;
use crate::fair_queue::Urgency;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use futures_util::future::join_all;
use monitor_model::{AnalysisResponse, KEY_APPLICATION_HEADER, Stage};
use monitor_store::Scope;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Lines of one batch. Together they may have as many bytes as one call.
const MOST_LINES: usize = 1_000;
/// Lines that are processed at the same time.
const AT_ONCE: usize = 64;
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
/// request, `{"stage": "pre" or "post", "body": Message}`. Scope: ingest.
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
            headers(("X-Monitor-Batch"), ("X-Monitor-Key-Application")),
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
    let mut out = Vec::with_capacity(bytes.len());
    let parsed = lines
        .into_iter()
        .map(|line| services.ingest.timed_parse(|| read(line)));
    let mut requests = (Box::new(parsed) as Requests<'_>).peekable();
    while requests.peek().is_some() {
        for verdict in wave(&services, &caller, &mut requests).await {
            serde_json::to_writer(&mut out, &verdict).map_err(|_| ApiError::Internal)?;
            out.push(b'\n');
        }
    }
    let mut answer = content(StatusCode::OK, NDJSON, out);
    if let Some(own) = caller.narrow(None)? {
        let own = HeaderValue::try_from(own.to_string()).map_err(|_| ApiError::Internal)?;
        answer.headers_mut().insert(KEY_APPLICATION_HEADER, own);
    }
    Ok(answer)
}

/// The requests of a batch, each parsed when its turn comes.
type Requests<'a> = Box<dyn Iterator<Item = Result<ProcessRequest, ApiError>> + Send + 'a>;

/// Processes the next lines concurrently, up to the next line of an exchange that is already among them:
/// the first line of an exchange is recorded first (CONTRACT 11).
async fn wave(
    services: &Services,
    caller: &Caller,
    lines: &mut std::iter::Peekable<Requests<'_>>,
) -> Vec<Verdict> {
    let mut exchanges: Vec<String> = Vec::new();
    let mut work = Vec::new();
    while work.len() < AT_ONCE {
        let exchange = lines.peek().and_then(exchange);
        if exchange.as_ref().is_some_and(|id| exchanges.contains(id)) {
            break;
        }
        exchanges.extend(exchange);
        let Some(request) = lines.next() else { break };
        work.push(async {
            let answer = async {
                services.access.admit(caller)?;
                services.ingest.process_for(caller, request?).await
            };
            Verdict::from(answer.await)
        });
    }
    join_all(work).await
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
