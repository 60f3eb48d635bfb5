//! The bearer token in the header of a request (§5).

use crate::analysis::ApiError;
use axum::http::{HeaderMap, header};
use monitor_model::Secret;

/// The token of `Authorization: Bearer`. A repeated header is refused: two parties could disagree about
/// which one counts.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<Secret, ApiError> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(ApiError::TokenMissing);
    };
    let value = value.to_str().map_err(|_| ApiError::TokenInvalid)?;
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
            let token = token.trim();
            if token.is_empty() {
                Err(ApiError::TokenMissing)
            } else {
                Ok(Secret::new(token))
            }
        }
        _ => Err(ApiError::TokenMissing),
    }
}
