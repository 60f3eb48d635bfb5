//! The charset that a Content-Type names. JSON and event streams are read as UTF-8; whoever follows another declaration
//! reads another text in the same bytes.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// Charsets whose bytes mean the same in UTF-8.
const CHARSETS: [&str; 4] = ["utf-8", "utf8", "us-ascii", "ascii"];

/// Whether a Content-Type names another charset than UTF-8, in any spelling that a reader may take for one.
pub(crate) fn names_another_charset(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_TYPE).iter().any(|value| {
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
