//! The body of a request, read up to a size limit.

use crate::analysis::{ApiError, BodyMemory, RefusedBody};
use crate::edge::{Coding, Decoding, Undecodable, names_another_charset};
use crate::fair_queue::heavy;
use axum::body::{Body, HttpBody as _};
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

/// The whole body of a JSON request.
pub(crate) async fn read(request: Request, max_bytes: u64) -> Result<Vec<u8>, ApiError> {
    if !is_json(request.headers()) || names_another_charset(request.headers()) {
        return Err(ApiError::NotJsonType);
    }
    read_any(request, max_bytes).await
}

/// The whole body, of any type.
pub(crate) async fn read_any(request: Request, max_bytes: u64) -> Result<Vec<u8>, ApiError> {
    let coding = coding(request.headers())?;
    let memory = request.extensions().get::<BodyMemory>().cloned();
    let bytes = read_body(request.into_body(), max_bytes).await?;
    match coding {
        None => Ok(bytes),
        Some(coding) => decoded(&bytes, coding, max_bytes, memory).await,
    }
}

/// How the body is compressed; None for not at all.
pub(crate) fn coding(headers: &HeaderMap) -> Result<Option<Coding>, ApiError> {
    Coding::of(headers).map_err(|_| ApiError::UnknownCoding)
}

/// A compressed body, decoded to at most `max_bytes`; they count as those that came.
async fn decoded(
    encoded: &[u8],
    coding: Coding,
    max_bytes: u64,
    memory: Option<BodyMemory>,
) -> Result<Vec<u8>, ApiError> {
    let refused = |reason| match reason {
        Undecodable::Malformed(coding) => ApiError::Undecodable(coding.name()),
        Undecodable::TooLarge => ApiError::TooLarge(max_bytes),
        Undecodable::Expands => ApiError::Expands,
    };
    let window = coding.window(encoded.len());
    let mut counted = 0;
    let mut decoding = Decoding::new(coding, encoded, max_bytes).map_err(refused)?;
    loop {
        let step = heavy(decoding.typical_text(), || decoding.next_step()).map_err(refused)?;
        // The text is in memory twice while its buffer grows.
        let needed = window + 2 * decoding.decoded() + step;
        if let Some(memory) = &memory
            && needed > counted
        {
            memory.grow(needed - counted).await?;
            counted = needed;
        }
        if heavy(step, || decoding.step(step)).map_err(refused)? {
            return Ok(decoding.into_text());
        }
    }
}

/// Memory for a body before more of it has come than this.
const FIRST_BYTES: usize = 64 * 1024;

/// The whole of a body, in one copy: where its length is announced it is read to its place.
pub(crate) async fn read_body(body: Body, max_bytes: u64) -> Result<Vec<u8>, ApiError> {
    let announced = body.size_hint().lower();
    if announced > max_bytes {
        return Err(ApiError::TooLarge(max_bytes));
    }
    let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let announced = usize::try_from(announced).unwrap_or(0);
    // Whoever announces a body and sends none of it takes no memory.
    let mut bytes = Vec::with_capacity(announced.min(FIRST_BYTES));
    let mut body = Limited::new(body, limit);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            if let Some(refused) = RefusedBody::cause_of(&*error) {
                return refused.into();
            }
            match error.is::<LengthLimitError>() {
                true => ApiError::TooLarge(max_bytes),
                false => ApiError::NotJson(": it is incomplete".to_owned()),
            }
        })?;
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > bytes.capacity() {
                bytes.reserve_exact(announced.saturating_sub(bytes.len()));
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}

/// `application/json` or a type based on it, with any parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = value
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim();
    let Some((main, sub)) = essence.split_once('/') else {
        return false;
    };
    let suffix = sub.rsplit_once('+').map_or(sub, |(_, suffix)| suffix);
    main.eq_ignore_ascii_case("application") && suffix.eq_ignore_ascii_case("json")
}

pub(crate) fn not_json(error: &serde_json::Error) -> ApiError {
    // The position only: the parser's message could quote the body.
    ApiError::NotJson(format!(
        ", see line {} column {}",
        error.line(),
        error.column()
    ))
}
