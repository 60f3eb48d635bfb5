//! `POST /user_prompt_analysis/{request_id}/attach_files`, the same below `by_request/` with the identifier of the
//! exchange, and their twins for answers (scope ingest), CONTRACT 29 and 48. A file is written to disk while it
//! arrives. If one is refused, those before it stay attached, and sending them again changes nothing.

use super::exchanges::named;
use crate::analysis::api::extract::read_ahead::ReadAhead;
use crate::analysis::api::extract::{Api, Ingester, PathId, Query, body};
use crate::analysis::api::response::{Outcome, ok};
use crate::analysis::api::schemas;
use crate::analysis::records::attachments::{AttachTo, UploadTarget};
use crate::analysis::records::exchanges::ExchangeName;
use crate::analysis::records::files::Linked;
use crate::analysis::{ApiError, Caller, RefusedBody, Services};
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest as _, Multipart, Request, State};
use axum::http::{HeaderMap, header};
use monitor_model::{RecordId, Stage, TypeCount};
use monitor_store::{Attachment, Extraction, Scanned};
use serde::Serialize;
use std::time::Duration;
use tokio::time::timeout;
use utoipa::ToSchema;

const FIELD: &str = "attached_files";
/// The longest wait for the next part of a body.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Serialize, ToSchema)]
#[schema(as = AttachedFile)]
struct StoredFile<'a> {
    /// The original name, as text and never as a path.
    #[schema(max_length = 255)]
    name: &'a str,
    /// The original media type; `application/octet-stream` if there was none.
    #[serde(rename = "type")]
    #[schema(max_length = 127)]
    kind: &'a str,
    /// Its size in bytes.
    size: u64,
    #[schema(pattern = "^[0-9a-f]{64}$")]
    sha256: String,
}

/// Files that were attached by the identifier of their exchange.
#[derive(Serialize, ToSchema)]
struct ExchangeFiles<'a> {
    /// Always true: a refused file is an error.
    success: bool,
    /// The identifier of the exchange.
    request_id: &'a str,
    /// In the order received.
    files: Vec<ExchangeFile<'a>>,
}

#[derive(Serialize, ToSchema)]
struct ExchangeFile<'a> {
    /// The SHA-256 of the content.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    id: String,
    /// The original name, as text and never as a path.
    #[schema(max_length = 255)]
    file_name: &'a str,
    processing_status: ProcessingStatus,
    /// The original media type; `application/octet-stream` if there was none.
    #[serde(rename = "type")]
    #[schema(max_length = 127)]
    kind: &'a str,
    /// Its size in bytes.
    size: u64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ProcessingStatus {
    /// It is a file of the message's record.
    Attached,
    /// It waits for the message to be analyzed.
    Waiting,
}

/// A file in the JSON of its record.
#[derive(Serialize, ToSchema)]
#[schema(as = Attachment)]
pub(crate) struct FileOfRecord<'a> {
    #[serde(flatten)]
    taken: StoredFile<'a>,
    /// False if the application keeps no originals: then the content is not stored.
    kept: bool,
    /// Milliseconds since 1970.
    attached_at_ms: i64,
    findings: FileFindings<'a>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FileFindings)]
struct FileFindings<'a> {
    /// How much of its text was analyzed: all of it, a part of it (its beginning, or without what could not be
    /// read), none (it has no text that can be read), or the analysis failed.
    scanned: Scanned,
    /// Why a document has no text; missing if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    extraction: Option<Extraction>,
    types: &'a [TypeCount],
}

/// Attach files to the record of a prompt
///
/// Scope: ingest. Each file is stored once under its SHA-256; attaching it under the same name again changes nothing.
/// Its text, if it can be read, is analyzed by the rules of the record's application. If a file is refused, those
/// before it stay attached.
#[utoipa::path(
    post,
    path = "/user_prompt_analysis/{id}/attach_files",
    operation_id = "attachToPrompt",
    tag = "records",
    params(schemas::RecordPath),
    request_body(content = schemas::AttachedFiles, content_type = "multipart/form-data"),
    responses(
        (
            status = 200,
            description = "The files, in the order received; durable.",
            body = Vec<StoredFile>,
        ),
    ),
)]
pub(crate) async fn to_prompt(
    State(services): Api,
    Ingester(caller): Ingester,
    PathId(record): PathId<RecordId>,
    request: Request,
) -> Outcome {
    let stage = Stage::PreCall;
    attach(&services, &caller, AttachTo { record, stage }, request).await
}

/// Attach files to the prompt of an exchange
///
/// Before or after the prompt is analyzed; until then the files wait, for a limited time.
/// Otherwise as attachToPrompt. Scope: ingest.
#[utoipa::path(
    post,
    path = "/user_prompt_analysis/by_request/{request_id}/attach_files",
    operation_id = "attachToPromptOfExchange",
    tag = "records",
    params(schemas::ExchangePath, schemas::ApplicationOfExchange),
    request_body(content = schemas::AttachedFiles, content_type = "multipart/form-data"),
    responses((status = 200, description = "The files; durable.", body = ExchangeFiles)),
)]
pub(crate) async fn to_prompt_of(
    State(services): Api,
    Ingester(caller): Ingester,
    PathId(id): PathId<String>,
    query: Query,
    request: Request,
) -> Outcome {
    let name = named(id, Stage::PreCall, query)?;
    attach_by_exchange(&services, &caller, name, request).await
}

/// Attach files to the answer of an exchange
///
/// Before or after the answer is analyzed; until then the files wait, for a limited time.
/// Otherwise as attachToAnswer. Scope: ingest.
#[utoipa::path(
    post,
    path = "/llm_response_analysis/by_request/{request_id}/attach_files",
    operation_id = "attachToAnswerOfExchange",
    tag = "records",
    params(schemas::ExchangePath, schemas::ApplicationOfExchange),
    request_body(content = schemas::AttachedFiles, content_type = "multipart/form-data"),
    responses((status = 200, description = "The files; durable.", body = ExchangeFiles)),
)]
pub(crate) async fn to_response_of(
    State(services): Api,
    Ingester(caller): Ingester,
    PathId(id): PathId<String>,
    query: Query,
    request: Request,
) -> Outcome {
    let name = named(id, Stage::PostCall, query)?;
    attach_by_exchange(&services, &caller, name, request).await
}

/// Attach files to the record of an answer
///
/// Scope: ingest. Each file is stored once under its SHA-256; attaching it under the same name again changes nothing.
/// Its text, if it can be read, is analyzed by the rules of the record's application. If a file is refused, those
/// before it stay attached.
#[utoipa::path(
    post,
    path = "/llm_response_analysis/{id}/attach_files",
    operation_id = "attachToAnswer",
    tag = "records",
    params(schemas::RecordPath),
    request_body(content = schemas::AttachedFiles, content_type = "multipart/form-data"),
    responses(
        (
            status = 200,
            description = "The files, in the order received; durable.",
            body = Vec<StoredFile>,
        ),
    ),
)]
pub(crate) async fn to_response(
    State(services): Api,
    Ingester(caller): Ingester,
    PathId(record): PathId<RecordId>,
    request: Request,
) -> Outcome {
    let stage = Stage::PostCall;
    attach(&services, &caller, AttachTo { record, stage }, request).await
}

/// Token and record are checked before the body is read.
async fn attach(services: &Services, caller: &Caller, to: AttachTo, request: Request) -> Outcome {
    let target = services.records.upload_target(caller, to).await?;
    let taken = taken(services, &target, request).await?;
    let files = taken.iter().map(|linked| StoredFile::from(&linked.file));
    ok(&files.collect::<Vec<_>>())
}

/// Token and application are checked before the body is read.
async fn attach_by_exchange(
    services: &Services,
    caller: &Caller,
    name: ExchangeName,
    request: Request,
) -> Outcome {
    let request_id = name.id.clone();
    let target = services.records.exchange_target(caller, name).await?;
    let taken = taken(services, &target, request).await?;
    ok(&ExchangeFiles {
        success: true,
        request_id: &request_id,
        files: taken.iter().map(ExchangeFile::from).collect(),
    })
}

/// The files of a request, each linked as it has arrived.
async fn taken(
    services: &Services,
    target: &UploadTarget,
    request: Request,
) -> Result<Vec<Linked>, ApiError> {
    if !is_multipart(request.headers()) {
        return Err(ApiError::NotMultipart);
    }
    if body::coding(request.headers())?.is_some() {
        return Err(ApiError::EncodedFiles);
    }
    // No file of the body is larger than all of it.
    let size = request.headers().get(header::CONTENT_LENGTH);
    let size = size.and_then(|value| value.to_str().ok()?.parse().ok());
    let read_ahead = ReadAhead::of(&request);
    let multipart = Multipart::from_request(read_ahead.bound(request), &()).await;
    let mut multipart = multipart.map_err(|_| ApiError::BrokenMultipart)?;
    let mut taken = Vec::new();
    while let Some(field) = in_time(multipart.next_field()).await? {
        read_ahead.taken();
        if field.name() != Some(FIELD) {
            let problem = "is the only field that is accepted";
            let field = FIELD;
            return Err(ApiError::Field { field, problem });
        }
        if taken.len() == services.records.max_files() {
            return Err(ApiError::TooManyFiles(taken.len()));
        }
        taken.push(file(services, target, Part { field, size }, &read_ahead).await?);
    }
    if taken.is_empty() {
        let (field, problem) = (FIELD, "missing");
        return Err(ApiError::Field { field, problem });
    }
    Ok(taken)
}

async fn in_time<T>(next: impl Future<Output = Result<T, MultipartError>>) -> Result<T, ApiError> {
    let refused = |error: MultipartError| RefusedBody::cause_of(&error).map(ApiError::from);
    match timeout(CHUNK_TIMEOUT, next).await {
        Ok(Ok(next)) => Ok(next),
        Ok(Err(error)) => Err(refused(error).unwrap_or(ApiError::BrokenMultipart)),
        Err(_) => Err(ApiError::BrokenMultipart),
    }
}

/// A part of the body, and the size of the body.
struct Part<'b> {
    field: Field<'b>,
    size: Option<u64>,
}

async fn file(
    services: &Services,
    target: &UploadTarget,
    Part { mut field, size }: Part<'_>,
    read_ahead: &ReadAhead,
) -> Result<Linked, ApiError> {
    let name = field.file_name().unwrap_or("file").to_owned();
    let kind = field.content_type().map(str::to_owned);
    let records = &services.records;
    let mut upload = records.begin_upload(target, size).await?;
    while let Some(bytes) = in_time(field.chunk()).await? {
        read_ahead.taken();
        records.write_upload(&mut upload, bytes).await?;
    }
    records.finish_upload(target, upload, name, kind).await
}

fn is_multipart(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|value| value.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("multipart/form-data"))
}

impl<'a> From<&'a Attachment> for StoredFile<'a> {
    fn from(file: &'a Attachment) -> Self {
        Self {
            name: &file.name,
            kind: &file.kind,
            size: file.size,
            sha256: file.hash.to_string(),
        }
    }
}

impl<'a> From<&'a Linked> for ExchangeFile<'a> {
    fn from(linked: &'a Linked) -> Self {
        let file = &linked.file;
        Self {
            id: file.hash.to_string(),
            file_name: &file.name,
            processing_status: match linked.waits {
                true => ProcessingStatus::Waiting,
                false => ProcessingStatus::Attached,
            },
            kind: &file.kind,
            size: file.size,
        }
    }
}

impl<'a> From<&'a Attachment> for FileOfRecord<'a> {
    fn from(file: &'a Attachment) -> Self {
        Self {
            taken: file.into(),
            kept: file.kept,
            attached_at_ms: file.attached_at_ms,
            findings: FileFindings {
                scanned: file.findings.scanned,
                extraction: file.findings.extraction,
                types: &file.findings.types,
            },
        }
    }
}
