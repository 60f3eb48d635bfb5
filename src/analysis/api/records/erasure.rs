//! `DELETE /records?user_id=…` (scope admin): erases everything of one user; the answer is a receipt.

use crate::analysis::api::extract::{Admin, Api, Query};
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::{ApiError, FieldProblem};
use axum::extract::State;
use axum::http::StatusCode;

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
