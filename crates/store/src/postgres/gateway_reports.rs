//! The SQL of gateways' reports.

use super::store::PostgresStore;
use crate::error::StoreError;
use crate::gateway_reports::{GatewayReportStore, ReceivedReport};
use crate::sql::gateway_reports::reports;
use async_trait::async_trait;

/// Servers that write at the same moment take the rows in the same order.
const PUT: &str = "
    INSERT INTO gateway_reports AS kept (gateway, report, at_ms)
    SELECT gateway, report, at_ms
        FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS received (gateway, report, at_ms) ORDER BY gateway
    ON CONFLICT (gateway) DO UPDATE SET report = excluded.report, at_ms = excluded.at_ms
        WHERE kept.at_ms < excluded.at_ms
    RETURNING gateway";
/// What another server writes at this moment is not old.
const FORGET: &str = "
    DELETE FROM gateway_reports WHERE gateway IN (
        SELECT gateway FROM gateway_reports
        WHERE at_ms < greatest($1, (SELECT at_ms FROM gateway_reports ORDER BY at_ms DESC OFFSET $2 - 1 LIMIT 1))
        FOR UPDATE SKIP LOCKED)
    RETURNING gateway";
const LIST: &str =
    "SELECT report, at_ms FROM gateway_reports ORDER BY at_ms DESC, gateway LIMIT $1";

#[async_trait]
impl GatewayReportStore for PostgresStore {
    async fn put_gateway_reports(
        &self,
        reports: &[ReceivedReport],
        forgotten_ms: i64,
        most: u32,
    ) -> Result<(), StoreError> {
        let gateways: Vec<_> = reports.iter().map(|one| one.report.gateway).collect();
        let texts: Vec<_> = reports.iter().map(|one| one.report.to_string()).collect();
        let times: Vec<_> = reports.iter().map(|one| one.at_ms).collect();
        let put = sqlx::query(PUT).bind(gateways).bind(texts).bind(times);
        self.all(put).await?;
        let forget = sqlx::query(FORGET)
            .bind(forgotten_ms)
            .bind(i64::from(most.max(1)));
        self.all(forget).await.map(drop)
    }

    async fn gateway_reports(&self, limit: u32) -> Result<Vec<ReceivedReport>, StoreError> {
        let rows = self.all(sqlx::query(LIST).bind(i64::from(limit))).await?;
        reports(&rows)
    }
}
