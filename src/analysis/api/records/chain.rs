//! `GET /chain` (scope read or admin): whether records of a gateway are missing (CONTRACT 5).

use crate::analysis::ApiError;
use crate::analysis::api::extract::{Api, Query, SettingsReader};
use crate::analysis::api::response::{Outcome, ok};
use crate::analysis::api::schemas;
use crate::analysis::records::chain_report::ChainPage;
use axum::extract::State;
use monitor_store::ChainFilter;
use uuid::Uuid;

/// Check whether records of a gateway are missing
///
/// Scope: read or admin; the token must not be bound to an application. Each gateway numbers its records from
/// 1 without gaps and chains them by hash. A page has the next `limit` gateways. One answer covers at most
/// 2,000,000 records; `next_from` of a gateway and `next_after` of the page are where to continue.
#[utoipa::path(
    get,
    path = "/chain",
    operation_id = "getChain",
    tag = "records",
    params(schemas::ChainFilter, schemas::Limit),
    responses((status = 200, description = "The state of the numbers.", body = ChainPage)),
)]
pub(crate) async fn list(
    State(services): Api,
    SettingsReader(caller): SettingsReader,
    query: Query,
) -> Outcome {
    ok(&services.records.chains(&caller, filter(query)?).await?)
}

fn filter(mut query: Query) -> Result<ChainFilter, ApiError> {
    let uuid = |text: &str| Uuid::try_parse(text).ok();
    let number = |text: &str| {
        let number = text.parse().ok();
        number.filter(|number| (1..=i64::MAX as u64).contains(number))
    };
    let whole = "must be a whole number from 1";
    let filter = ChainFilter {
        gateway: query.typed("gateway", "must be a UUID", uuid)?,
        from: query.typed("from", whole, number)?.unwrap_or(1),
        to: query.typed("to", whole, number)?,
        after: query.typed("after", "must be a UUID", uuid)?,
        limit: query.limit()?,
    };
    query.finish()?;
    Ok(filter)
}
