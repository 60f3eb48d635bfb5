//! `GET /chain` (scope read or admin): whether records of a gateway are missing (CONTRACT 5).

use crate::analysis::api::extract::bearer;
use crate::analysis::api::extract::query::{Given, Query};
use crate::analysis::api::response::ok;
use crate::analysis::{ApiError, Services};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use monitor_store::{ChainFilter, Scope};
use std::sync::Arc;
use uuid::Uuid;

pub(in crate::analysis::api) async fn list(
    State(services): State<Arc<Services>>,
    given: Given,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let scopes = [Scope::Read, Scope::Admin];
    let caller = services
        .access
        .authorize_any(&bearer::bearer(&headers)?, &scopes)
        .await?;
    let filter = filter(Query::read(given)?)?;
    ok(&services.records.chains(&caller, filter).await?)
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
