//! `POST /value_keys/rotate` (scope admin): a new key for the hashes of found values.

use crate::analysis::api::extract::{Admin, Api, NoFields, OptionalBody};
use crate::analysis::api::refusals::BodyRefused;
use crate::analysis::api::response::{self, Outcome};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = MadeValueKey)]
struct Made {
    /// The number of the new key.
    key_id: i64,
}

/// Make a new key for found values
///
/// Takes no body, or an empty object. The hashes of values that are found from now on are made with it; every server
/// does so within a minute. The three keys before it are kept: what was found with them is still found. An access key
/// that is bound to an application may not do this. Scope: admin.
#[utoipa::path(
    post,
    path = "/value_keys/rotate",
    operation_id = "rotateValueKey",
    tag = "tokens",
    responses((status = 201, description = "The key is made.", body = Made), BodyRefused),
)]
pub(crate) async fn rotate(
    State(services): Api,
    Admin(caller): Admin,
    _: OptionalBody<NoFields>,
) -> Outcome {
    let key_id = services.records.rotate_value_key(&caller).await?;
    response::unstored(StatusCode::CREATED, &Made { key_id })
}
