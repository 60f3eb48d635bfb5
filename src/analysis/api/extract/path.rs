//! Extractors of identifiers in a path. An identifier that cannot be parsed does not exist: 404.

use crate::analysis::ApiError;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use std::str::FromStr;

/// The only identifier of a path.
pub(crate) struct PathId<T>(pub(crate) T);

/// The two identifiers of a path, in its order.
pub(crate) struct PathIds<T, U>(pub(crate) T, pub(crate) U);

fn read<T: FromStr>(text: &str) -> Result<T, ApiError> {
    text.parse().map_err(|_| ApiError::NotFound)
}

impl<S: Send + Sync, T: FromStr> FromRequestParts<S> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(text) = path.map_err(|_| ApiError::NotFound)?;
        Ok(Self(read(&text)?))
    }
}

impl<S: Send + Sync, T: FromStr, U: FromStr> FromRequestParts<S> for PathIds<T, U> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Path((first, second)) = path.map_err(|_| ApiError::NotFound)?;
        Ok(Self(read(&first)?, read(&second)?))
    }
}
