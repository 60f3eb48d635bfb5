//! The charset that a Content-Type names. JSON and event streams are read as UTF-8; whoever follows another declaration
//! reads another text in the same bytes.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};

/// Charsets whose bytes mean the same in UTF-8.
const CHARSETS: [&str; 4] = ["utf-8", "utf8", "us-ascii", "ascii"];

/// Values that name JSON or an event stream and no other charset than UTF-8: nearly all that there are.
const COMMON: [&str; 4] = [
    "application/json",
    "application/json; charset=utf-8",
    "text/event-stream",
    "text/event-stream; charset=utf-8",
];

/// Whether a Content-Type needs no closer look: JSON or an event stream in UTF-8, in the usual spelling.
pub(crate) fn is_common_type(value: &HeaderValue) -> bool {
    let value = value.as_bytes();
    COMMON
        .iter()
        .any(|common| value.eq_ignore_ascii_case(common.as_bytes()))
}

/// Whether a Content-Type names another charset than UTF-8, in any spelling that a reader may take for one.
pub(crate) fn names_another_charset(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    values.any(|value| {
        if is_common_type(value) {
            return false;
        }
        let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        // Whatever stands before the word: readers differ in where a parameter begins.
        !value.split("charset").skip(1).all(is_utf8)
    })
}

/// Whether what follows the word `charset` names UTF-8, in quotes or not, and ends with it.
fn is_utf8(parameter: &str) -> bool {
    let Some(value) = parameter.trim_start().strip_prefix('=') else {
        return false;
    };
    let end = value.find([';', ',']).unwrap_or(value.len());
    let value = value[..end].trim();
    let quoted = value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'));
    CHARSETS.contains(&quoted.unwrap_or(value))
}
