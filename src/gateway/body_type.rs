//! Whether a request declares its body as something else than JSON in UTF-8. The gateway reads JSON whatever is
//! declared and forwards the declaration, so a model server that follows it would read another body.

use crate::edge::{self, UnknownCoding};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};

/// What is declared, but not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsupported {
    /// A form, whose fields a server would read from the text of a JSON string.
    Form,
    /// Another charset than UTF-8.
    Charset,
    /// A coding that is not decoded, or several on top of each other.
    Encoding,
}

impl From<UnknownCoding> for Unsupported {
    fn from(_: UnknownCoding) -> Self {
        Self::Encoding
    }
}

/// Parts of the types of forms, looked for anywhere: servers differ in where a type ends.
const FORMS: [&str; 2] = ["x-www-form-urlencoded", "multipart/"];

/// Checks the Content-Type of a body. No Content-Type, and any type that is not one of a form, stands for JSON.
///
/// # Errors
/// [`Unsupported::Form`] or [`Unsupported::Charset`], for the first value that names one.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Unsupported> {
    let uncommon = |value: &&HeaderValue| !edge::is_common_type(value);
    for value in headers.get_all(CONTENT_TYPE).iter().filter(uncommon) {
        let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        if FORMS.iter().any(|form| value.contains(form)) {
            return Err(Unsupported::Form);
        }
    }
    if edge::names_another_charset(headers) {
        return Err(Unsupported::Charset);
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(value: &str) -> HeaderMap {
        let value = HeaderValue::from_str(value).unwrap();
        HeaderMap::from_iter([(CONTENT_TYPE, value)])
    }

    #[test]
    fn json_in_utf8_is_read_whatever_its_type_is_called() {
        assert_eq!(check_type(&HeaderMap::new()), Ok(()));
        for value in [
            "",
            "application/json",
            "Application/JSON;charset=UTF-8",
            "application/json; charset=\"utf-8\"; profile=x",
            "application/problem+json; charset = utf8 ",
            "text/plain; charset=us-ascii",
            "application/json; charset=utf-8; charset=utf-8",
        ] {
            assert_eq!(check_type(&headers(value)), Ok(()), "{value}");
        }
    }

    #[test]
    fn every_spelling_of_another_charset_is_refused() {
        for value in [
            "application/json; charset=utf-7",
            "application/json;CHARSET=\"UTF-7\"",
            "application/json; charset=utf-8; charset=utf-7",
            "application/json; charset = utf-16",
            "application/json; charset=",
            "application/json; charset=utf-8 utf-7",
            "application/json; charset='utf-8'",
            "application/json; charset=\"utf\\-7\"",
            "application/json; charset=\"utf-8",
            "application/json; charset*=us-ascii''utf-7",
            "application/json; charset*0=utf; charset*1=-7",
            "application/json, text/plain charset=unicode_escape",
            "application/json; charset=\u{a0}utf-7",
        ] {
            assert_eq!(
                check_type(&headers(value)),
                Err(Unsupported::Charset),
                "{value}"
            );
        }
    }

    #[test]
    fn the_types_of_forms_are_refused() {
        for value in [
            "application/x-www-form-urlencoded",
            "Application/X-WWW-Form-Urlencoded; charset=utf-8",
            "application/x-www-form-urlencoded, application/json",
            "application/json, multipart/form-data; boundary=x",
            "multipart/mixed; boundary=x",
        ] {
            assert_eq!(
                check_type(&headers(value)),
                Err(Unsupported::Form),
                "{value}"
            );
        }
    }
}
