//! `POST /user_prompt_analysis/{request_id}/attach_files`, its twin for answers (scope ingest), and `GET
//! /records/{id}/attachments/{sha256}` (scope read), CONTRACT 29. A file is written to disk while it
//! arrives. If one is refused, those before it stay attached, and sending them again changes nothing.

use crate::analysis::api::extract::read_ahead::ReadAhead;
use crate::analysis::api::extract::{Api, Ingester, PathId, PathIds, Query, Reader};
use crate::analysis::api::response::{Outcome, ok};
use crate::analysis::api::schemas;
use crate::analysis::records::attachments::{AttachTo, UploadTarget, WantedFile};
use crate::analysis::{ApiError, Caller, RefusedBody, Services};
use axum::body::Body;
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest as _, Multipart, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use monitor_model::{RecordId, Stage, TypeCount};
use monitor_store::{Attachment, BlobHash, Extraction, Scanned};
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
/// Scope: ingest. Each file is stored once under its SHA-256; attaching it under the same name again changes nothing. Its text,
/// if it can be read, is analyzed by the rules of the record's application. If a file is refused, those
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

/// Attach files to the record of an answer
///
/// Scope: ingest. Each file is stored once under its SHA-256; attaching it under the same name again changes nothing. Its text,
/// if it can be read, is analyzed by the rules of the record's application. If a file is refused, those
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
    if !is_multipart(request.headers()) {
        return Err(ApiError::NotMultipart);
    }
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
        taken.push(file(services, &target, field, &read_ahead).await?);
    }
    if taken.is_empty() {
        let (field, problem) = (FIELD, "missing");
        return Err(ApiError::Field { field, problem });
    }
    ok(&taken.iter().map(StoredFile::from).collect::<Vec<_>>())
}

async fn in_time<T>(next: impl Future<Output = Result<T, MultipartError>>) -> Result<T, ApiError> {
    let refused = |error: MultipartError| RefusedBody::cause_of(&error).map(ApiError::from);
    match timeout(CHUNK_TIMEOUT, next).await {
        Ok(Ok(next)) => Ok(next),
        Ok(Err(error)) => Err(refused(error).unwrap_or(ApiError::BrokenMultipart)),
        Err(_) => Err(ApiError::BrokenMultipart),
    }
}

async fn file(
    services: &Services,
    target: &UploadTarget,
    mut field: Field<'_>,
    read_ahead: &ReadAhead,
) -> Result<Attachment, ApiError> {
    let name = field.file_name().unwrap_or("file").to_owned();
    let kind = field.content_type().map(str::to_owned);
    let mut upload = services.records.begin_upload().await?;
    let taken = loop {
        match in_time(field.chunk()).await {
            Ok(Some(bytes)) => {
                read_ahead.taken();
                if let Err(error) = services.records.write_upload(&mut upload, bytes).await {
                    break Err(error);
                }
            }
            Ok(None) => break Ok((name, kind)),
            Err(error) => break Err(error),
        }
    };
    services.records.finish_upload(target, upload, taken).await
}

fn is_multipart(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|value| value.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("multipart/form-data"))
}

/// Download a file of a record
///
/// Scope: read. Always sent as a download, never with the type of the file.
#[utoipa::path(
    get,
    path = "/records/{id}/attachments/{sha256}",
    operation_id = "getAttachment",
    tag = "records",
    params(schemas::RecordPath, schemas::AttachmentPath, schemas::AttachmentName),
    responses(
        (
            status = 200,
            description = "The content of the file.",
            body = schemas::FileContent,
            content_type = "application/octet-stream",
            headers(
                ("Content-Disposition" = String, description = "`attachment`, with the original file name without a path."),
                ("X-Content-Type-Options"),
            ),
        ),
    ),
)]
pub(crate) async fn download(
    State(services): Api,
    Reader(caller): Reader,
    PathIds(record, hash): PathIds<RecordId, BlobHash>,
    mut query: Query,
) -> Outcome {
    let name = query.take("name")?;
    query.finish()?;
    saved(&services, &caller, record, &WantedFile { hash, name }).await
}

/// The answer with a file, for download.
pub(crate) async fn saved(
    services: &Services,
    caller: &Caller,
    record: RecordId,
    wanted: &WantedFile,
) -> Outcome {
    let (file, bytes) = services.records.attachment(caller, record, wanted).await?;
    let mut response = Response::new(Body::from_stream(bytes));
    let headers = response.headers_mut();
    for (name, value) in [
        // Never its own type: a browser must not display it.
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; sandbox",
        ),
        (header::CACHE_CONTROL, "private, no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(file.size));
    let disposition = HeaderValue::from_str(&disposition(&file.name));
    let disposition = disposition.map_err(|_| ApiError::Internal)?;
    headers.insert(header::CONTENT_DISPOSITION, disposition);
    Ok(response)
}

/// RFC 6266: a plain name for all clients, and the full one for those that read `filename*`. No path,
/// no leading dot.
fn disposition(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let last = last.trim_start_matches('.').trim();
    let name = if last.is_empty() { "file" } else { last };
    let plain = |c: char| match c {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '.' | '-' | '_' | ' ' => c,
        _ => '_',
    };
    let plain: String = name.chars().map(plain).collect();
    let mut whole = String::new();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                whole.push(char::from(byte));
            }
            other => whole.push_str(&format!("%{other:02X}")),
        }
    }
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}")
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

#[cfg(test)]
mod tests {
    use super::disposition;

    #[test]
    fn a_file_is_saved_under_a_name_that_is_no_path() {
        for (name, plain, whole) in [
            ("a b.txt", "a b.txt", "a%20b.txt"),
            ("../../etc/passwd", "passwd", "passwd"),
            ("c:\\dir\\.bashrc", "bashrc", "bashrc"),
            (
                "отчёт\".pdf",
                "_____\u{5f}.pdf",
                "%D0%BE%D1%82%D1%87%D1%91%D1%82%22.pdf",
            ),
            ("..", "file", "file"),
            ("", "file", "file"),
        ] {
            let expected = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}");
            assert_eq!(disposition(name), expected);
        }
    }
}
