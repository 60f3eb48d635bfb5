//! `GET /records/export?format=jsonl|csv` with the filters of the list (scope read, or read_cleaned without originals):
//! whole records, newest first, streamed page by page. Its beginning and its end stand in the audit log. If the store
//! fails midway, the connection is cut, so that a truncated file never looks complete.

pub(crate) mod csv;
pub(in crate::analysis) mod scheduled;

use super::filters;
use super::shapes::Whole;
use crate::analysis::api::extract::{Api, Query, RecordReader};
use crate::analysis::api::response::Outcome;
use crate::analysis::api::schemas;
use crate::analysis::records::originals::ExportBegun;
use crate::analysis::{ApiError, Caller, Services};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream::{BoxStream, StreamExt as _, try_unfold};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use monitor_store::{RecordFilter, StoredRecord};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Records read at once.
const PAGE: u32 = 200;

/// The format of an export.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Jsonl,
    Csv,
}

/// The state of an export.
struct Export {
    services: Arc<Services>,
    begun: ExportBegun,
    filter: RecordFilter,
    format: Format,
    /// Records still to be written; None for all.
    left: Option<u64>,
    written: u64,
    at: At,
}

/// The pages of an export. The size hint shows what of them is in memory: the listener counts it before anybody reads.
pub(super) struct Pages {
    first: Option<Bytes>,
    rest: BoxStream<'static, Result<Bytes, ApiError>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Start,
    Middle,
    End,
}

/// Export whole records, newest first
///
/// JSONL has one Record per line. In CSV (RFC 4180) a cell that a spreadsheet could read as a formula begins
/// with an apostrophe. The audit log has an entry with the filter when an export begins, and one with the number of
/// records when it is complete. Scope: read, or read_cleaned without originals and without the parameter text.
#[utoipa::path(
    get,
    path = "/records/export",
    operation_id = "exportRecords",
    tag = "records",
    params(
        schemas::ApplicationFilter,
        schemas::RecordFilters,
        schemas::TextFilter,
        schemas::Page,
        schemas::ExportOptions,
    ),
    responses(
        (
            status = 200,
            description = "A stream. If the store fails midway, the connection is cut.",
            content((schemas::Lines = "application/x-ndjson"), (schemas::Lines = "text/csv")),
        ),
    ),
)]
pub(crate) async fn records(
    State(services): Api,
    RecordReader(caller): RecordReader,
    mut query: Query,
) -> Outcome {
    let format = query.typed("format", "must be jsonl or csv", Format::named)?;
    let count = |text: &str| {
        let count: i64 = text.parse().ok()?;
        u64::try_from(count).ok().filter(|count| *count > 0)
    };
    let left = query.typed("limit", "must be a positive integer of 64 bits", count)?;
    let filter = RecordFilter {
        limit: PAGE,
        ..filters::narrowed(&mut query)?
    };
    query.finish()?;
    let format = format.unwrap_or(Format::Jsonl);
    let export = Export::begin(services, &caller, filter, format).await?;
    Export { left, ..export }.answer().await
}

/// Exports every record of a filter that the caller may read.
pub(crate) async fn all(
    services: Arc<Services>,
    caller: &Caller,
    filter: RecordFilter,
    format: Format,
) -> Outcome {
    let filter = RecordFilter {
        limit: PAGE,
        ..filter
    };
    let export = Export::begin(services, caller, filter, format).await?;
    export.answer().await
}

impl Export {
    async fn begin(
        services: Arc<Services>,
        caller: &Caller,
        filter: RecordFilter,
        format: Format,
    ) -> Result<Self, ApiError> {
        let records = &services.records;
        let begun = records.begin_export(caller, &filter, format.word()).await?;
        Ok(Self {
            services,
            begun,
            filter,
            format,
            left: None,
            written: 0,
            at: At::Start,
        })
    }

    async fn answer(self) -> Outcome {
        let format = self.format;
        // The first page is read before the head is sent, so that an error gets its own status.
        let Some((first, export)) = self.next().await? else {
            return Err(ApiError::Internal);
        };
        let rest = try_unfold(export, |export| async move { export.next().await });
        let pages = Pages::new(first, rest.boxed());
        Ok(format.response(Body::new(pages)))
    }

    /// The bytes of the next page.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, ApiError> {
        if self.at == At::End {
            return Ok(None);
        }
        let page = self
            .services
            .records
            .export_page(&self.begun, self.filter.clone())
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
        self.written += written as u64;
        self.filter.before = page.next_before;
        self.at = match page.next_before.is_none() || self.left == Some(0) {
            true => At::End,
            false => At::Middle,
        };
        if self.at == At::End {
            let records = &self.services.records;
            records.end_export(&self.begun, self.written).await?;
        }
        // Without the room that the text did not need.
        Ok(Some((out.into_boxed_str().into_boxed_bytes().into(), self)))
    }
}

impl Pages {
    pub(super) fn new(first: Bytes, rest: BoxStream<'static, Result<Bytes, ApiError>>) -> Self {
        let first = Some(first);
        Self { first, rest }
    }
}

impl HttpBody for Pages {
    type Data = Bytes;
    type Error = ApiError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ApiError>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        let next = self.rest.poll_next_unpin(cx);
        next.map(|page| page.map(|page| page.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        let mut size = SizeHint::default();
        size.set_lower(self.first.as_ref().map_or(0, |first| first.len() as u64));
        size
    }
}

impl Format {
    pub(crate) fn named(word: &str) -> Option<Self> {
        match word {
            "jsonl" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
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
