//! `GET /records/{id}/attachments/{sha256}` (scope read, CONTRACT 29): a file of a record, for download only.

use crate::analysis::api::extract::{Api, PathIds, Query, Reader};
use crate::analysis::api::response::Outcome;
use crate::analysis::api::schemas;
use crate::analysis::records::attachments::WantedFile;
use crate::analysis::{ApiError, Caller, Services};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use monitor_model::RecordId;
use monitor_store::BlobHash;

/// Download a file of a record
///
/// Scope: read. Always sent as a download, never with the type of the file. The audit log has an entry for each
/// download of a file.
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
