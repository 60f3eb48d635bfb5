//! The SQL of alerts. One connection writes, so that no two servers take the same delivery.

use super::records::filters;
use super::settings::audit::append as append_audit;
use super::store::SqliteStore;
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
use sqlx::SqliteConnection;
use uuid::Uuid;

const CLAIM: &str = "
    UPDATE alert_deliveries SET attempts = attempts + 1, next_ms = $2 WHERE id IN (
        SELECT id FROM alert_deliveries WHERE state = 'waiting' AND next_ms <= $1 ORDER BY next_ms LIMIT $3)
    RETURNING *";

alert_writes!(SqliteConnection);

#[async_trait]
impl AlertStore for SqliteStore {
    async fn alert_rules(&self) -> Result<Vec<AlertRule>, StoreError> {
        let query = sqlx::query(sql::RULES).bind(i64::from(MOST_ALERTS));
        let rows = query.fetch_all(&self.readers).await?;
        rows.iter().map(rule).collect()
    }

    async fn put_alert_rule(&self, rule: AlertRule, audit: AuditEntry) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(put_rule(connection, rule, audit)))
            .await
    }

    async fn remove_alert_rule(
        &self,
        id: Uuid,
        now_ms: i64,
        audit: AuditEntry,
    ) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(remove_rule(connection, id, now_ms, audit)))
            .await
    }

    async fn alert_channels(&self) -> Result<Vec<AlertChannel>, StoreError> {
        let query = sqlx::query(sql::CHANNELS).bind(i64::from(MOST_ALERTS));
        let rows = query.fetch_all(&self.readers).await?;
        rows.iter().map(channel).collect()
    }

    async fn put_alert_channel(
        &self,
        channel: AlertChannel,
        audit: AuditEntry,
    ) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(put_channel(connection, channel, audit)))
            .await
    }

    async fn remove_alert_channel(&self, id: Uuid, audit: AuditEntry) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(remove_channel(connection, id, audit)))
            .await
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
        let rows = query.fetch_all(&self.readers).await?;
        rows.iter().map(alert).collect()
    }

    async fn open_alerts(&self, rule: Uuid) -> Result<Vec<Alert>, StoreError> {
        let query = sqlx::query(sql::OPEN).bind(rule);
        let query = query.bind(i64::from(MOST_ALERTS));
        let rows = query.fetch_all(&self.readers).await?;
        rows.iter().map(alert).collect()
    }

    async fn write_alerts(&self, changes: AlertChanges) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(written(connection, changes)))
            .await
    }

    async fn change_alert(
        &self,
        id: Uuid,
        change: AlertChange,
        audit: AuditEntry,
    ) -> Result<bool, StoreError> {
        self.writer
            .write(move |connection| Box::pin(changed(connection, id, change, audit)))
            .await
    }

    async fn alert_deliveries(&self, alert: Uuid) -> Result<Vec<AlertDelivery>, StoreError> {
        let query = sqlx::query(sql::DELIVERIES).bind(alert);
        let query = query.bind(i64::from(MOST_ALERTS));
        let rows = query.fetch_all(&self.readers).await?;
        rows.iter().map(delivery).collect()
    }

    async fn claim_deliveries(
        &self,
        now_ms: i64,
        until_ms: i64,
        limit: u32,
    ) -> Result<Vec<AlertDelivery>, StoreError> {
        let due =
            "SELECT id FROM alert_deliveries WHERE state = 'waiting' AND next_ms <= $1 LIMIT 1";
        let due = sqlx::query(due).bind(now_ms);
        // Most of the time nothing is due, and nothing is written.
        if due.fetch_optional(&self.readers).await?.is_none() {
            return Ok(Vec::new());
        }
        self.writer
            .write(move |connection| Box::pin(claimed(connection, now_ms, until_ms, limit)))
            .await
    }

    async fn end_deliveries(&self, ends: Vec<DeliveryEnd>) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(ended(connection, ends)))
            .await
    }

    async fn retry_delivery(
        &self,
        id: Uuid,
        now_ms: i64,
        audit: AuditEntry,
    ) -> Result<bool, StoreError> {
        self.writer
            .write(move |connection| Box::pin(retry(connection, id, now_ms, audit)))
            .await
    }

    async fn lease_alerts(
        &self,
        server: Uuid,
        now_ms: i64,
        until_ms: i64,
    ) -> Result<bool, StoreError> {
        self.writer
            .write(move |connection| Box::pin(leased(connection, server, now_ms, until_ms)))
            .await
    }

    async fn forget_alerts(&self, before_ms: i64) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(forgotten(connection, before_ms)))
            .await
    }

    async fn record_owners(
        &self,
        filter: &RecordFilter,
    ) -> Result<Vec<(Option<String>, ApplicationId)>, StoreError> {
        let columns = "r.user_id, r.application_id";
        let mut query = filters::query(filter, columns, "", i64::from(filter.limit));
        let rows = query.build().fetch_all(&self.readers).await?;
        let owner = |row: &sqlx::sqlite::SqliteRow| -> Result<_, StoreError> {
            let application = ApplicationId(row.id("application_id")?);
            Ok((row.optional_text("user_id")?, application))
        };
        rows.iter().map(owner).collect()
    }
}

async fn put_rule(
    connection: &mut SqliteConnection,
    rule: AlertRule,
    audit: AuditEntry,
) -> Result<(), StoreError> {
    sqlx::query(sql::PUT_RULE)
        .bind(rule.id)
        .bind(rule.application_id.map(|id| id.0))
        .bind(rule.user_hash)
        .bind(rule.document)
        .bind(rule.created_at_ms)
        .execute(&mut *connection)
        .await?;
    append_audit(connection, Some(audit)).await
}

async fn remove_rule(
    connection: &mut SqliteConnection,
    id: Uuid,
    now_ms: i64,
    audit: AuditEntry,
) -> Result<(), StoreError> {
    let remove = sqlx::query(sql::REMOVE_RULE).bind(id);
    remove.execute(&mut *connection).await?;
    let end = sqlx::query(sql::END_OF_RULE).bind(id).bind(now_ms);
    end.execute(&mut *connection).await?;
    append_audit(connection, Some(audit)).await
}

async fn put_channel(
    connection: &mut SqliteConnection,
    channel: AlertChannel,
    audit: AuditEntry,
) -> Result<(), StoreError> {
    sqlx::query(sql::PUT_CHANNEL)
        .bind(channel.id)
        .bind(channel.document)
        .bind(channel.created_at_ms)
        .execute(&mut *connection)
        .await?;
    append_audit(connection, Some(audit)).await
}

async fn remove_channel(
    connection: &mut SqliteConnection,
    id: Uuid,
    audit: AuditEntry,
) -> Result<(), StoreError> {
    let remove = sqlx::query(sql::REMOVE_CHANNEL).bind(id);
    remove.execute(&mut *connection).await?;
    append_audit(connection, Some(audit)).await
}

async fn retry(
    connection: &mut SqliteConnection,
    id: Uuid,
    now_ms: i64,
    audit: AuditEntry,
) -> Result<bool, StoreError> {
    let retry = sqlx::query(sql::RETRY).bind(id).bind(now_ms);
    let is_there = retry.fetch_optional(&mut *connection).await?.is_some();
    append_audit(connection, is_there.then_some(audit)).await?;
    Ok(is_there)
}

async fn written(
    connection: &mut SqliteConnection,
    changes: AlertChanges,
) -> Result<(), StoreError> {
    Ok(write_alerts(connection, changes).await?)
}

async fn changed(
    connection: &mut SqliteConnection,
    id: Uuid,
    change: AlertChange,
    audit: AuditEntry,
) -> Result<bool, StoreError> {
    let has_changed = change_alert(connection, id, change).await?;
    append_audit(connection, has_changed.then_some(audit)).await?;
    Ok(has_changed)
}

async fn claimed(
    connection: &mut SqliteConnection,
    now_ms: i64,
    until_ms: i64,
    limit: u32,
) -> Result<Vec<AlertDelivery>, StoreError> {
    let claim = sqlx::query(CLAIM).bind(now_ms).bind(until_ms);
    let claim = claim.bind(i64::from(limit));
    let rows = claim.fetch_all(connection).await?;
    rows.iter().map(delivery).collect()
}

async fn ended(
    connection: &mut SqliteConnection,
    ends: Vec<DeliveryEnd>,
) -> Result<(), StoreError> {
    Ok(end_deliveries(connection, ends).await?)
}

async fn leased(
    connection: &mut SqliteConnection,
    server: Uuid,
    now_ms: i64,
    until_ms: i64,
) -> Result<bool, StoreError> {
    let lease = sqlx::query(sql::LEASE).bind(server).bind(now_ms);
    let lease = lease.bind(until_ms).fetch_optional(connection);
    Ok(lease.await?.is_some())
}

async fn forgotten(connection: &mut SqliteConnection, before_ms: i64) -> Result<(), StoreError> {
    sqlx::query(sql::END_LOST).execute(&mut *connection).await?;
    let forget = sqlx::query(sql::FORGET).bind(before_ms);
    forget.execute(connection).await?;
    Ok(())
}
