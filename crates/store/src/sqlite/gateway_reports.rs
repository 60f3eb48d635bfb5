//! The SQL of gateways' reports.

use super::store::SqliteStore;
use crate::error::StoreError;
use crate::gateway_reports::{GatewayReportStore, ReceivedReport};
use crate::sql::gateway_reports::reports;
use async_trait::async_trait;
use sqlx::SqliteConnection;

const PUT: &str = "
    INSERT INTO gateway_reports (gateway, report, at_ms) VALUES (?1, ?2, ?3)
    ON CONFLICT (gateway) DO UPDATE SET report = excluded.report, at_ms = excluded.at_ms
        WHERE gateway_reports.at_ms < excluded.at_ms";
const FORGET: &str = "
    DELETE FROM gateway_reports WHERE at_ms < max(?1, coalesce(
        (SELECT at_ms FROM gateway_reports ORDER BY at_ms DESC LIMIT 1 OFFSET ?2 - 1), ?1))";
const LIST: &str =
    "SELECT report, at_ms FROM gateway_reports ORDER BY at_ms DESC, gateway LIMIT ?1";

#[async_trait]
impl GatewayReportStore for SqliteStore {
    async fn put_gateway_reports(
        &self,
        reports: &[ReceivedReport],
        forgotten_ms: i64,
        most: u32,
    ) -> Result<(), StoreError> {
        let reports = reports.to_vec();
        self.writer
            .write(move |connection| Box::pin(put(connection, reports, forgotten_ms, most)))
            .await
    }

    async fn gateway_reports(&self, limit: u32) -> Result<Vec<ReceivedReport>, StoreError> {
        let rows = sqlx::query(LIST)
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        reports(&rows)
    }
}

async fn put(
    connection: &mut SqliteConnection,
    reports: Vec<ReceivedReport>,
    forgotten_ms: i64,
    most: u32,
) -> Result<(), StoreError> {
    for received in reports {
        sqlx::query(PUT)
            .bind(received.report.gateway)
            .bind(received.report.to_string())
            .bind(received.at_ms)
            .execute(&mut *connection)
            .await?;
    }
    let forget = sqlx::query(FORGET).bind(forgotten_ms);
    let forget = forget.bind(i64::from(most.max(1)));
    forget.execute(connection).await?;
    Ok(())
}
