//! Parameters of paths.

use monitor_model::{ApplicationId, RecordId};
use utoipa::IntoParams;
use uuid::Uuid;

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct ApplicationPath {
    /// The application's id.
    id: ApplicationId,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct VersionPath {
    /// The number of the version, from 1.
    version: i64,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct RecordPath {
    /// The record's `request_id`.
    id: RecordId,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct ExchangePath {
    /// `additional_parameters.request_id` of the message.
    request_id: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct AttachmentPath {
    /// The SHA-256 of the content.
    #[param(pattern = "^[0-9a-fA-F]{64}$")]
    sha256: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct TokenPath {
    /// The token's id.
    id: Uuid,
}
