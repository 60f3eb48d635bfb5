//! The body of a request, read up to a size limit.

use super::escapes::LongEscapes;
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
    let body = request.into_body();
    match coding {
        None => read_text(body, max_bytes).await,
        Some(coding) => {
            let bytes = read_body(body, max_bytes).await?;
            decoded(&bytes, coding, max_bytes, memory).await
        }
    }
}

/// JSON, in which an escape of a control character counts as one byte: a text that is within the bound stays within it
/// whatever it is made of. On its way it takes four times the bound at most.
async fn read_text(body: Body, max_bytes: u64) -> Result<Vec<u8>, ApiError> {
    let bounds = Bounds {
        sent: max_bytes.saturating_mul(4),
        counted: max_bytes,
    };
    read_within(body, bounds).await
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

/// The bytes that a body may have.
struct Bounds {
    /// As they are sent.
    sent: u64,
    /// With each long escape as one byte.
    counted: u64,
}

/// The whole of a body, in one copy: where its length is announced it is read to its place.
pub(crate) async fn read_body(body: Body, max_bytes: u64) -> Result<Vec<u8>, ApiError> {
    let bounds = Bounds {
        sent: max_bytes,
        counted: max_bytes,
    };
    read_within(body, bounds).await
}

async fn read_within(body: Body, bounds: Bounds) -> Result<Vec<u8>, ApiError> {
    let too_large = || ApiError::TooLarge(bounds.counted);
    let announced = body.size_hint().lower();
    if announced > bounds.sent {
        return Err(too_large());
    }
    let [sent, counted] =
        [bounds.sent, bounds.counted].map(|bound| usize::try_from(bound).unwrap_or(usize::MAX));
    let announced = usize::try_from(announced).unwrap_or(0);
    // Whoever announces a body and sends none of it takes no memory.
    let mut bytes = Vec::with_capacity(announced.min(FIRST_BYTES));
    let mut escapes = LongEscapes::default();
    let mut body = Limited::new(body, sent);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            if let Some(refused) = RefusedBody::cause_of(&*error) {
                return refused.into();
            }
            match error.is::<LengthLimitError>() {
                true => too_large(),
                false => ApiError::NotJson(": it is incomplete".to_owned()),
            }
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let length = bytes.len() + data.len();
        if length > bytes.capacity() {
            // Bytes beyond the bound take memory once escapes have made room for them.
            let place = match length > counted {
                true => announced,
                false => announced.min(counted),
            };
            bytes.reserve_exact(place.saturating_sub(bytes.len()));
        }
        bytes.extend_from_slice(&data);
        if length > counted && length - escapes.saved(&bytes) > counted {
            return Err(too_large());
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
