//! The version that a change was made from: `version` in the body, or the version's ETag in `If-Match`
//! (CONTRACT 38). A missing version is answered with 428, an older one with 409.

use super::fields::Fields;
use crate::analysis::{ApiError, FieldProblem};
use axum::http::{HeaderMap, header};

const FIELD: &str = "version";
const HEADER: &str = "If-Match";

/// Takes the version out of the body; [`StatedVersion::settle`] compares it with the header.
pub(crate) fn stated(fields: &mut Fields, headers: &HeaderMap) -> StatedVersion {
    StatedVersion {
        in_body: fields.integer(FIELD),
        in_header: if_match(headers),
    }
}

/// The version of a request without a body.
pub(crate) fn stated_in_query(in_query: Option<i64>, headers: &HeaderMap) -> StatedVersion {
    StatedVersion {
        in_body: in_query,
        in_header: if_match(headers),
    }
}

/// The version as stated in the body, the header or both.
pub(crate) struct StatedVersion {
    in_body: Option<i64>,
    in_header: Result<Option<i64>, ApiError>,
}

impl StatedVersion {
    /// The version, if both places agree.
    pub(crate) fn settle(self) -> Result<i64, ApiError> {
        match (self.in_body, self.in_header?) {
            (Some(one), Some(other)) if one != other => {
                Err(FieldProblem::new(FIELD, "differs from the version in If-Match").into())
            }
            (one, other) => one.or(other).ok_or(ApiError::VersionMissing),
        }
    }
}

fn if_match(headers: &HeaderMap) -> Result<Option<i64>, ApiError> {
    let mut values = headers.get_all(header::IF_MATCH).iter();
    let (value, more) = (values.next(), values.next());
    let Some(value) = value else {
        return Ok(None);
    };
    let digits = value
        .to_str()
        .ok()
        .and_then(|text| text.trim().strip_prefix('"')?.strip_suffix('"'));
    let version = digits.and_then(|digits| digits.parse().ok());
    // A list, a weak ETag and `*` could all overwrite a change that the caller has not seen.
    match (version, more) {
        (Some(version), None) => Ok(Some(version)),
        _ => Err(FieldProblem::new(HEADER, "must be a single ETag, such as \"3\"").into()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::analysis::api::response::etag;

    fn headers(values: &[&str]) -> HeaderMap {
        let named = |value: &&str| (header::IF_MATCH, value.parse().unwrap());
        values.iter().map(named).collect()
    }

    #[test]
    fn the_version_comes_from_either_place_and_both_have_to_agree() {
        let settled = |in_body, values: &[&str]| {
            let stated = stated_in_query(in_body, &headers(values));
            stated.settle().map_err(|error| error.status())
        };
        assert_eq!(settled(Some(3), &[]), Ok(3));
        assert_eq!(settled(None, &["\"3\""]), Ok(3));
        assert_eq!(settled(Some(3), &["\"3\""]), Ok(3));
        assert_eq!(settled(Some(3), &["\"4\""]), Err(422));
        assert_eq!(settled(None, &[]), Err(428));
        assert_eq!(etag(3), "\"3\"");
    }

    #[test]
    fn an_if_match_that_names_no_one_version_is_refused() {
        for values in [
            &["*"][..],
            &["3"],
            &["W/\"3\""],
            &["\"3\", \"4\""],
            &["\"3\"", "\"3\""],
            &["\"x\""],
        ] {
            let stated = stated_in_query(None, &headers(values));
            assert_eq!(stated.settle().unwrap_err().status(), 422, "{values:?}");
        }
    }
}
