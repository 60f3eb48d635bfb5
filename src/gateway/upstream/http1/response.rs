//! The head of an answer: parsed as pingora does for transparent routes, and what it says of body and connection.

use super::body::Body;
use super::chunks::Chunks;
use bytes::{Buf, Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Version};
use httparse::{ParserConfig, Status};
use pingora_core::Result;
use pingora_error::{Error, ErrorType, OrErr};
use pingora_http::{ResponseHeader, header_value_from_raw};
use std::mem::MaybeUninit;

const MOST_HEADERS: usize = 256;
/// The most bytes of a head, which count in no limit while it arrives.
const LONGEST: usize = 64 << 10;

/// Takes the head at the beginning of `read` off it; None while it is incomplete. Its end is not within the first `seen`
/// bytes, which were read before.
///
/// # Errors
/// Where it is no head, or too long.
pub(super) fn take_head(read: &mut BytesMut, seen: usize) -> Result<Option<Box<ResponseHeader>>> {
    let too_long = || Err(invalid("the response head is longer than 64 KiB"));
    if !has_empty_line(&read[seen.saturating_sub(3)..]) {
        return if read.len() > LONGEST {
            too_long()
        } else {
            Ok(None)
        };
    }
    let (header, length) = parse(read)?;
    if length > LONGEST {
        return too_long();
    }
    read.advance(length);
    Ok(Some(Box::new(header)))
}

/// The head at the beginning of `read`, and its length.
fn parse(read: &[u8]) -> Result<(ResponseHeader, usize)> {
    let mut headers = [MaybeUninit::uninit(); MOST_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let mut config = ParserConfig::default();
    config.allow_spaces_after_header_name_in_responses(true);
    config.allow_obsolete_multiline_headers_in_responses(true);
    let parsed = config.parse_response_with_uninit_headers(&mut response, read, &mut headers);
    // The parser's own error would name bytes of the answer.
    let Ok(Status::Complete(length)) = parsed else {
        return Err(invalid("the response head is malformed"));
    };
    let bytes = Bytes::copy_from_slice(&read[..length]);
    let part = |part: &[u8]| {
        let begin = part.as_ptr() as usize - read.as_ptr() as usize;
        bytes.slice(begin..begin + part.len())
    };
    let lines = response.headers.iter();
    let lines = lines.filter(|line| !line.name.is_empty());
    let mut header =
        ResponseHeader::build(response.code.unwrap_or(0), Some(response.headers.len()))?;
    header.set_version(match response.version {
        Some(1) => Version::HTTP_11,
        _ => Version::HTTP_10,
    });
    header.set_reason_phrase(response.reason)?;
    for line in lines {
        let value = header_value_from_raw(part(line.value));
        header
            .append_header(part(line.name.as_bytes()), value)
            .or_err(ErrorType::InvalidHTTPHeader, "a header of the response")?;
    }
    if header.headers.contains_key(TRANSFER_ENCODING) {
        // RFC 9112 6.3: the coding overrides the length.
        header.remove_header(&CONTENT_LENGTH);
    }
    Ok((header, length))
}

/// Whether an empty line ends in these bytes.
fn has_empty_line(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', bytes)
        .any(|end| matches!(&bytes[end + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}

/// The body behind a final head. Some statuses have none; HEAD is never asked.
///
/// # Errors
/// Where the lengths contradict each other or are no numbers.
pub(super) fn body(header: &ResponseHeader) -> Result<Body> {
    let length = content_length(&header.headers)?;
    if matches!(header.status.as_u16(), 204 | 304) {
        return Ok(Body::Length(0));
    }
    let mut codings = header.headers.get_all(TRANSFER_ENCODING).iter();
    let coding = codings.next_back().map(|coding| coding.as_bytes());
    let last = coding.and_then(|coding| coding.rsplit(|byte| *byte == b',').next());
    Ok(match (last, length) {
        (Some(last), _) if last.trim_ascii().eq_ignore_ascii_case(b"chunked") => {
            Body::Chunks(Chunks::new())
        }
        (None, Some(length)) => Body::Length(length),
        _ => Body::UntilClose,
    })
}

/// The length that all values, in one header or several, agree on.
fn content_length(headers: &HeaderMap) -> Result<Option<u64>> {
    let values = headers.get_all(CONTENT_LENGTH).iter();
    let mut length = None;
    for value in values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')) {
        let digits = value.trim_ascii();
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(digits).ok().filter(|_| is_number);
        let number = number.and_then(|number| number.parse::<u64>().ok());
        let number = number.ok_or_else(|| invalid("the Content-Length is no number"))?;
        if length.is_some_and(|length| length != number) {
            return Err(invalid("two different Content-Length"));
        }
        length = Some(number);
    }
    Ok(length)
}

/// Whether the server keeps the connection (RFC 9112 9.3). In doubt it does not: a coding that HTTP/1.0 does not know.
pub(super) fn keeps_connection(header: &ResponseHeader) -> bool {
    let is_current = header.version == Version::HTTP_11;
    if !is_current && header.headers.contains_key(TRANSFER_ENCODING) {
        return false;
    }
    let mut keeps = is_current;
    for value in header.headers.get_all(CONNECTION) {
        for option in value.as_bytes().split(|byte| *byte == b',') {
            let option = option.trim_ascii();
            if option.eq_ignore_ascii_case(b"close") {
                return false;
            }
            keeps |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }
    keeps
}

fn invalid(why: &'static str) -> Box<Error> {
    Error::explain(ErrorType::InvalidHTTPHeader, why)
}
