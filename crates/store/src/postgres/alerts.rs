//! The SQL of alerts. Servers that take deliveries at the same moment take different ones.

use super::pool::with_timeout;
use super::settings::audit;
use super::store::PostgresStore;
use crate::alerts::{
    Alert, AlertChange, AlertChanges, AlertChannel, AlertDelivery, AlertRule, AlertStore,
    DeliveryEnd, MOST_ALERTS,
};
use crate::error::StoreError;
use crate::record_filter::RecordFilter;
use crate::settings::audit::AuditEntry;
use crate::sql::alerts::{self as sql, alert, alert_writes, channel, delivery, rule};
use crate::sql::columns::Columns as _;
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

const CLAIM: &str = "
    UPDATE alert_deliveries SET attempts = attempts + 1, next_ms = $2 WHERE id IN (
        SELECT id FROM alert_deliveries WHERE state = 'waiting' AND next_ms <= $1 ORDER BY next_ms LIMIT $3
        FOR UPDATE SKIP LOCKED)
    RETURNING *";

alert_writes!(PgConnection);

#[async_trait]
impl AlertStore for PostgresStore {
    async fn alert_rules(&self) -> Result<Vec<AlertRule>, StoreError> {
        let query = sqlx::query(sql::RULES).bind(i64::from(MOST_ALERTS));
        self.all(query).await?.iter().map(rule).collect()
    }

    async fn put_alert_rule(&self, rule: AlertRule, audit: AuditEntry) -> Result<(), StoreError> {
        let query = sqlx::query(sql::PUT_RULE)
            .bind(rule.id)
            .bind(rule.application_id.map(|id| id.0))
            .bind(rule.user_hash)
            .bind(rule.document)
            .bind(rule.created_at_ms);
        self.change(query, Some(audit)).await.map(drop)
    }

    async fn remove_alert_rule(
        &self,
        id: Uuid,
        now_ms: i64,
        audit: AuditEntry,
    ) -> Result<(), StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        with_timeout(async {
            let mut transaction = connection.begin().await?;
            let remove = sqlx::query(sql::REMOVE_RULE).bind(id);
            remove.execute(&mut *transaction).await?;
            let end = sqlx::query(sql::END_OF_RULE).bind(id).bind(now_ms);
            end.execute(&mut *transaction).await?;
            audit::append(&mut transaction, Some(audit)).await?;
            transaction.commit().await
        })
        .await?;
        pooled.release();
        Ok(())
    }

    async fn alert_channels(&self) -> Result<Vec<AlertChannel>, StoreError> {
        let query = sqlx::query(sql::CHANNELS).bind(i64::from(MOST_ALERTS));
        self.all(query).await?.iter().map(channel).collect()
    }

    async fn put_alert_channel(
        &self,
        channel: AlertChannel,
        audit: AuditEntry,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(sql::PUT_CHANNEL)
            .bind(channel.id)
            .bind(channel.document)
            .bind(channel.created_at_ms);
        self.change(query, Some(audit)).await.map(drop)
    }

    async fn remove_alert_channel(&self, id: Uuid, audit: AuditEntry) -> Result<(), StoreError> {
        let query = sqlx::query(sql::REMOVE_CHANNEL).bind(id);
        self.change(query, Some(audit)).await.map(drop)
    }

    async fn alerts(
        &self,
        before: Option<(i64, Uuid)>,
        limit: u32,
    ) -> Result<Vec<Alert>, StoreError> {
        let query = match before {
            None => sqlx::query(sql::ALERTS).bind(i64::from(limit)),
            Some((at_ms, id)) => {
                let query = sqlx::query(sql::ALERTS_BEFORE).bind(i64::from(limit));
                query.bind(at_ms).bind(id)
            }
        };
        self.all(query).await?.iter().map(alert).collect()
    }

    async fn open_alerts(&self, rule: Uuid) -> Result<Vec<Alert>, StoreError> {
        let query = sqlx::query(sql::OPEN).bind(rule);
        let rows = self.all(query.bind(i64::from(MOST_ALERTS))).await?;
        rows.iter().map(alert).collect()
    }

    async fn write_alerts(&self, changes: AlertChanges) -> Result<(), StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        with_timeout(async {
            let mut transaction = connection.begin().await?;
            write_alerts(&mut transaction, changes).await?;
            transaction.commit().await
        })
        .await?;
        pooled.release();
        Ok(())
    }

    async fn change_alert(
        &self,
        id: Uuid,
        change: AlertChange,
        audit: AuditEntry,
    ) -> Result<bool, StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        let has_changed = with_timeout(async {
            let mut transaction = connection.begin().await?;
            let has_changed = change_alert(&mut transaction, id, change).await?;
            audit::append(&mut transaction, has_changed.then_some(audit)).await?;
            transaction.commit().await?;
            Ok(has_changed)
        })
        .await?;
        pooled.release();
        Ok(has_changed)
    }

    async fn alert_deliveries(&self, alert: Uuid) -> Result<Vec<AlertDelivery>, StoreError> {
        let query = sqlx::query(sql::DELIVERIES).bind(alert);
        let rows = self.all(query.bind(i64::from(MOST_ALERTS))).await?;
        rows.iter().map(delivery).collect()
    }

    async fn claim_deliveries(
        &self,
        now_ms: i64,
        until_ms: i64,
        limit: u32,
    ) -> Result<Vec<AlertDelivery>, StoreError> {
        let claim = sqlx::query(CLAIM).bind(now_ms).bind(until_ms);
        let rows = self.all(claim.bind(i64::from(limit))).await?;
        rows.iter().map(delivery).collect()
    }

    async fn end_deliveries(&self, ends: Vec<DeliveryEnd>) -> Result<(), StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        with_timeout(async {
            let mut transaction = connection.begin().await?;
            end_deliveries(&mut transaction, ends).await?;
            transaction.commit().await
        })
        .await?;
        pooled.release();
        Ok(())
    }

    async fn retry_delivery(
        &self,
        id: Uuid,
        now_ms: i64,
        audit: AuditEntry,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query(sql::RETRY).bind(id).bind(now_ms);
        let rows = self.change(query, Some(audit)).await?;
        Ok(!rows.is_empty())
    }

    async fn lease_alerts(
        &self,
        server: Uuid,
        now_ms: i64,
        until_ms: i64,
    ) -> Result<bool, StoreError> {
        let lease = sqlx::query(sql::LEASE).bind(server).bind(now_ms);
        let rows = self.all(lease.bind(until_ms)).await?;
        Ok(!rows.is_empty())
    }

    async fn forget_alerts(&self, before_ms: i64) -> Result<(), StoreError> {
        self.all(sqlx::query(sql::END_LOST)).await?;
        let forget = sqlx::query(sql::FORGET).bind(before_ms);
        self.all(forget).await.map(drop)
    }

    async fn record_owners(
        &self,
        filter: &RecordFilter,
    ) -> Result<Vec<(Option<String>, ApplicationId)>, StoreError> {
        let columns = "r.user_id, r.application_id";
        let rows = self.newest(filter, columns, filter.limit).await?;
        let owner = |row: &PgRow| -> Result<_, StoreError> {
            let application = ApplicationId(row.id("application_id")?);
            Ok((row.optional_text("user_id")?, application))
        };
        rows.iter().map(owner).collect()
    }
}
