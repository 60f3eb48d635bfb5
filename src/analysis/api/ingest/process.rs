//! `POST /process_request/` and `POST /process_response/` (§4.3), and both with rules of the request
//! (§4.4). The token is checked before the body is read, so that an unknown caller costs no memory.

use super::process_body::{self, RulesOf};
use super::surrogates::replace_lone;
use crate::analysis::api::extract::{Api, Ingester, body};
use crate::analysis::api::response::{Outcome, ok_of};
use crate::analysis::api::schemas;
use crate::analysis::{ApiError, Caller, Services};
use crate::fair_queue::{Urgency, heavy};
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use monitor_model::{AnalysisResponse, COMPACT_VERDICT, DEFERRED_HEADER, Stage, VERDICT_HEADER};

/// What the path says about a request.
struct Call {
    stage: Stage,
    rules: RulesOf,
}

/// Analyze a user's message by the rules of its application
#[utoipa::path(
    post,
    path = "/process_request",
    operation_id = "processRequest",
    description = "With the request header `X-Monitor-Verdict: compact` the verdict has no `entities` and `cleaned_text` is null; the record has both. Scope: ingest.",
    tag = "analysis",
    request_body = schemas::Message,
    responses(
        (
            status = 200,
            description = "The verdict. Its record is durable.",
            body = AnalysisResponse,
            headers(("X-Monitor-Batch"), ("X-Monitor-Tools")),
        ),
    ),
)]
pub(crate) async fn request(
    State(services): Api,
    Ingester(caller): Ingester,
    request: Request,
) -> Outcome {
    let call = Call {
        stage: Stage::PreCall,
        rules: RulesOf::Application,
    };
    process(&services, &caller, call, request).await
}

/// Analyze a model's answer by the rules of its application
#[utoipa::path(
    post,
    path = "/process_response",
    operation_id = "processResponse",
    description = "With the request header `X-Monitor-Verdict: compact` the verdict has no `entities` and `cleaned_text` is null; the record has both. Scope: ingest.",
    tag = "analysis",
    request_body = schemas::Message,
    responses(
        (
            status = 200,
            description = "The verdict. Its record is durable.",
            body = AnalysisResponse,
            headers(("X-Monitor-Batch"), ("X-Monitor-Tools")),
        ),
    ),
)]
pub(crate) async fn response(
    State(services): Api,
    Ingester(caller): Ingester,
    request: Request,
) -> Outcome {
    let call = Call {
        stage: Stage::PostCall,
        rules: RulesOf::Application,
    };
    process(&services, &caller, call, request).await
}

/// Analyze a user's message by the rules of the request
///
/// The application's rules do not apply. Scope: ingest.
#[utoipa::path(
    post,
    path = "/process_request/override",
    operation_id = "processRequestOverride",
    tag = "analysis",
    request_body = schemas::OverrideMessage,
    responses(
        (
            status = 200,
            description = "The verdict. Its record is durable.",
            body = AnalysisResponse,
            headers(("X-Monitor-Batch"), ("X-Monitor-Tools")),
        ),
    ),
)]
pub(crate) async fn request_override(
    State(services): Api,
    Ingester(caller): Ingester,
    request: Request,
) -> Outcome {
    let call = Call {
        stage: Stage::PreCall,
        rules: RulesOf::Request,
    };
    process(&services, &caller, call, request).await
}

/// Analyze a model's answer by the rules of the request
///
/// The application's rules do not apply. Custom policies are for user messages and are ignored here with a
/// warning. Scope: ingest.
#[utoipa::path(
    post,
    path = "/process_response/override",
    operation_id = "processResponseOverride",
    tag = "analysis",
    request_body = schemas::OverrideMessage,
    responses(
        (
            status = 200,
            description = "The verdict. Its record is durable.",
            body = AnalysisResponse,
            headers(("X-Monitor-Batch"), ("X-Monitor-Tools")),
        ),
    ),
)]
pub(crate) async fn response_override(
    State(services): Api,
    Ingester(caller): Ingester,
    request: Request,
) -> Outcome {
    let call = Call {
        stage: Stage::PostCall,
        rules: RulesOf::Request,
    };
    process(&services, &caller, call, request).await
}

async fn process(services: &Services, caller: &Caller, call: Call, request: Request) -> Outcome {
    let urgency = urgency(&request);
    let is_compact = asks_for_compact(request.headers());
    let parse = |bytes: &[u8]| process_body::parse(bytes, call.stage, call.rules, urgency);
    let (parsed, length) = parsed(services, request, parse).await?;
    let mut answer = services.ingest.process_for(caller, parsed).await?;
    if is_compact {
        answer.make_compact();
    }
    heavy(length, || ok_of(&answer, size(&answer)))
}

/// Whether a caller wants verdicts without their long parts.
pub(super) fn asks_for_compact(headers: &HeaderMap) -> bool {
    let value = headers.get(VERDICT_HEADER);
    value.is_some_and(|value| {
        value
            .as_bytes()
            .eq_ignore_ascii_case(COMPACT_VERDICT.as_bytes())
    })
}

/// Whether its sender waits for the verdict.
pub(super) fn urgency(request: &Request) -> Urgency {
    match request.headers().contains_key(DEFERRED_HEADER) {
        true => Urgency::Deferred,
        false => Urgency::Awaited,
    }
}

/// The body of a request as `parse` reads it, and its length. The bytes are gone before anything is analyzed.
pub(super) async fn parsed<T>(
    services: &Services,
    request: Request,
    parse: impl FnOnce(&[u8]) -> Result<T, ApiError>,
) -> Result<(T, usize), ApiError> {
    let mut bytes = body::read(request, services.ingest.max_body()).await?;
    let length = bytes.len();
    let parse = || {
        replace_lone(&mut bytes);
        parse(&bytes)
    };
    let parsed = heavy(length, || services.ingest.timed_parse(parse))?;
    Ok((parsed, length))
}

/// About how many bytes an answer has, more rather than less: growing on the way would copy it.
fn size(answer: &AnalysisResponse) -> usize {
    const REST: usize = 4 * 1024;
    const ENTITY: usize = 64;
    let report = &answer.dataclean;
    let text = report.cleaned_text.as_ref().map_or(0, |text| text.len());
    REST + text + text / 16 + ENTITY * report.entities.len()
}
