//! Extractors of a JSON body: its fields as a type, alone or with the version that a change was made from.

use super::fields::Fields;
use super::version::stated;
use crate::analysis::ApiError;
use axum::extract::{FromRequest, Request};

/// A value that is read from the fields of a body. Problems are noted in the fields and fail the request;
/// the returned value is not used then.
pub(crate) trait ReadFields: Sized {
    fn read(fields: &mut Fields) -> Self;
}

/// A required body.
pub(crate) struct Body<T>(pub(crate) T);

/// An optional body.
pub(crate) struct OptionalBody<T>(pub(crate) T);

/// A change with the version it was made from, in the body or as `If-Match` (CONTRACT 38).
pub(crate) struct Versioned<T> {
    pub(crate) version: i64,
    pub(crate) edit: T,
}

/// A body without fields.
pub(crate) struct NoFields;

impl ReadFields for NoFields {
    fn read(_: &mut Fields) -> Self {
        Self
    }
}

impl<S: Send + Sync, T: ReadFields> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let mut fields = Fields::read(request).await?;
        let value = T::read(&mut fields);
        fields.finish()?;
        Ok(Self(value))
    }
}

impl<S: Send + Sync, T: ReadFields> FromRequest<S> for OptionalBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let mut fields = Fields::read_optional(request).await?;
        let value = T::read(&mut fields);
        fields.finish()?;
        Ok(Self(value))
    }
}

impl<S: Send + Sync, T: ReadFields> FromRequest<S> for Versioned<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let headers = request.headers().clone();
        let mut fields = Fields::read(request).await?;
        let version = stated(&mut fields, &headers);
        let edit = T::read(&mut fields);
        fields.finish()?;
        Ok(Self {
            version: version.settle()?,
            edit,
        })
    }
}
