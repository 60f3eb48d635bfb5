//! `DELETE /records?user_id=…` (scope admin): erases everything of one user; the answer is a receipt.

use crate::analysis::api::extract::{Admin, Api, Query};
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::api::schemas;
use crate::analysis::records::erasure::Receipt;
use crate::analysis::{ApiError, FieldProblem};
use axum::extract::State;
use axum::http::StatusCode;

/// Erase all records of a user
///
/// Scope: admin. Records are removed with their texts and files; the statistics stay. Later records
/// of this user are never stored: the caller gets the verdict with a warning that begins with
/// `erased:`. The call can be repeated.
#[utoipa::path(
    delete,
    path = "/records",
    operation_id = "eraseUser",
    tag = "records",
    params(schemas::UserToErase, schemas::ApplicationFilter),
    responses((status = 200, description = "What was removed.", body = Receipt)),
)]
pub(crate) async fn records(
    State(services): Api,
    Admin(caller): Admin,
    mut query: Query,
) -> Outcome {
    let user_id = query.take("user_id")?;
    let uuid = |text: &str| text.parse().ok();
    let application = query.typed("application_id", "must be a UUID", uuid)?;
    query.finish()?;
    let user_id = user_id.ok_or_else(|| FieldProblem::new("user_id", "missing"))?;
    // Runs to its end and its audit entry even if the client disconnects.
    let erased =
        tokio::spawn(async move { services.records.erase(&caller, user_id, application).await });
    let receipt = erased.await.map_err(|_| ApiError::Internal)??;
    response::unstored(StatusCode::OK, &receipt)
}
