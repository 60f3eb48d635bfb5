//! `GET /records/export?format=jsonl|csv` with the filters of the list (read scope): whole records,
//! newest first, page after page, so that its memory does not grow with it. An export that the store
//! breaks off ends in a cut connection, never in a shorter file that looks whole.

use super::csv;
use super::filters::{self, Parameters};
use super::records::reader;
use super::shapes::Whole;
use crate::analysis::{ApiError, Service};
use crate::store::{RecordFilter, StoredRecord, Token};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use futures_util::stream::try_unfold;
use std::sync::Arc;

/// Records read at once.
const PAGE: u32 = 200;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Jsonl,
    Csv,
}

/// Where an export stands.
struct Export {
    service: Arc<Service>,
    token: Token,
    filter: RecordFilter,
    format: Format,
    /// Records still wanted; None for all.
    left: Option<u64>,
    at: At,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Start,
    Middle,
    End,
}

pub(super) async fn records(
    State(service): State<Arc<Service>>,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let token = reader(&service, &headers).await?;
    let mut format = Format::Jsonl;
    let mut left = None;
    let mut rest = Vec::new();
    for (name, value) in filters::pairs(parameters)? {
        match name.as_str() {
            "format" => format = Format::named(&value)?,
            "limit" => left = Some(count(&value)?),
            _ => rest.push((name, value)),
        }
    }
    let filter = RecordFilter {
        limit: PAGE,
        ..filters::records(rest)?
    };
    let export = Export {
        service,
        token,
        filter,
        format,
        left,
        at: At::Start,
    };
    // The first page before the head, so that what is refused has its own status.
    let Some((first, export)) = export.next().await? else {
        return Err(ApiError::Internal);
    };
    let rest = try_unfold(export, |export| async move { export.next().await });
    let first = futures_util::stream::iter([Ok::<Bytes, ApiError>(first)]);
    let body = Body::from_stream(futures_util::StreamExt::chain(first, rest));
    Ok(format.response(body))
}

impl Export {
    /// The next page's bytes.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, ApiError> {
        if self.at == At::End {
            return Ok(None);
        }
        let page = self
            .service
            .whole_page(&self.token, self.filter.clone())
            .await?;
        let mut out = String::new();
        if self.at == At::Start && self.format == Format::Csv {
            out.push_str(csv::HEADER);
        }
        let wanted = self.left.map_or(usize::MAX, |left| {
            usize::try_from(left).unwrap_or(usize::MAX)
        });
        for record in page.records.iter().take(wanted) {
            self.format.write(record, &mut out)?;
        }
        let written = page.records.len().min(wanted);
        self.left = self.left.map(|left| left - written as u64);
        self.filter.before = page.next_before;
        self.at = match page.next_before.is_none() || self.left == Some(0) {
            true => At::End,
            false => At::Middle,
        };
        Ok(Some((out.into(), self)))
    }
}

impl Format {
    fn named(word: &str) -> Result<Self, ApiError> {
        match word {
            "jsonl" => Ok(Self::Jsonl),
            "csv" => Ok(Self::Csv),
            _ => Err(filters::problem("format", "must be jsonl or csv")),
        }
    }

    fn write(self, record: &StoredRecord, out: &mut String) -> Result<(), ApiError> {
        match self {
            Self::Csv => csv::line(record, out),
            Self::Jsonl => {
                let line = serde_json::to_string(&Whole::from(record));
                out.push_str(&line.map_err(|_| ApiError::Internal)?);
                out.push('\n');
            }
        }
        Ok(())
    }

    fn response(self, body: Body) -> Response {
        let (kind, file) = match self {
            Self::Jsonl => (
                "application/x-ndjson",
                "attachment; filename=\"records.jsonl\"",
            ),
            Self::Csv => (
                "text/csv; charset=utf-8; header=present",
                "attachment; filename=\"records.csv\"",
            ),
        };
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(file));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        response
    }
}

fn count(value: &str) -> Result<u64, ApiError> {
    let count = value.parse().ok().filter(|count| *count > 0);
    count.ok_or(filters::problem("limit", "must be a positive integer"))
}
