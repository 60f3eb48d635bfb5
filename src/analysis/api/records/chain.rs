//! `GET /chain` (scope read or admin): whether records of a gateway are missing (CONTRACT 5).

use crate::analysis::ApiError;
use crate::analysis::api::extract::{Api, Query, SettingsReader};
use crate::analysis::api::response::{Outcome, ok};
use axum::extract::State;
use monitor_store::ChainFilter;
use uuid::Uuid;

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
