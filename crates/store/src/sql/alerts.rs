//! The statements of alerts, which both engines understand, and alerts from their columns.

use super::columns::Columns;
use crate::alerts::{Alert, AlertChannel, AlertDelivery, AlertRule, AlertState, DeliveryState};
use crate::error::StoreError;
use monitor_model::ApplicationId;

pub(crate) const RULES: &str = "SELECT * FROM alert_rules ORDER BY created_at_ms, id LIMIT $1";
pub(crate) const PUT_RULE: &str = "
    INSERT INTO alert_rules (id, application_id, user_hash, document, created_at_ms)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (id) DO UPDATE SET application_id = excluded.application_id,
        user_hash = excluded.user_hash, document = excluded.document
    RETURNING id";
pub(crate) const REMOVE_RULE: &str = "DELETE FROM alert_rules WHERE id = $1";
pub(crate) const END_OF_RULE: &str = "
    UPDATE alerts SET resolved_ms = CASE WHEN state = 'firing' THEN $2 ELSE resolved_ms END, state = 'ended'
    WHERE rule_id = $1 AND state <> 'ended'";
pub(crate) const CHANNELS: &str =
    "SELECT * FROM alert_channels ORDER BY created_at_ms, id LIMIT $1";
pub(crate) const PUT_CHANNEL: &str = "
    INSERT INTO alert_channels (id, document, created_at_ms) VALUES ($1, $2, $3)
    ON CONFLICT (id) DO UPDATE SET document = excluded.document RETURNING id";
pub(crate) const REMOVE_CHANNEL: &str = "DELETE FROM alert_channels WHERE id = $1 RETURNING id";
pub(crate) const ALERTS: &str = "SELECT * FROM alerts ORDER BY first_ms DESC, id DESC LIMIT $1";
pub(crate) const ALERTS_BEFORE: &str = "
    SELECT * FROM alerts WHERE (first_ms, id) < ($2, $3) ORDER BY first_ms DESC, id DESC LIMIT $1";
pub(crate) const OPEN: &str = "
    SELECT * FROM alerts WHERE rule_id = $1 AND state <> 'ended' ORDER BY first_ms, id LIMIT $2";
pub(crate) const RAISE: &str = "
    INSERT INTO alerts (id, rule_id, group_hash, user_hash, application_id, facts, state, updates, first_ms,
        last_ms, notified_ms, muted_until_ms, resolved_ms, resolved_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
pub(crate) const UPDATE: &str = "
    UPDATE alerts SET facts = $2, notified_ms = $3, last_ms = $4, updates = updates + 1
    WHERE id = $1 AND state <> 'ended'";
pub(crate) const END: &str = "
    UPDATE alerts SET resolved_ms = CASE WHEN state = 'firing' THEN $2 ELSE resolved_ms END, state = 'ended'
    WHERE id = $1 AND state <> 'ended'";
pub(crate) const DELIVER: &str = "
    INSERT INTO alert_deliveries (id, alert_id, channel_id, channel_name, channel_kind, message, state, attempts,
        next_ms, created_at_ms, done_ms, failure)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
pub(crate) const CLOSE: &str = "
    UPDATE alerts SET state = 'closed', resolved_ms = $2, resolved_by = $3
    WHERE id = $1 AND state = 'firing' RETURNING id";
pub(crate) const MUTE: &str =
    "UPDATE alerts SET muted_until_ms = $2 WHERE id = $1 AND state = 'firing' RETURNING id";
pub(crate) const DELIVERIES: &str = "
    SELECT * FROM alert_deliveries WHERE alert_id = $1 ORDER BY created_at_ms, id LIMIT $2";
pub(crate) const END_DELIVERY: &str = "
    UPDATE alert_deliveries SET state = $2, next_ms = $3, done_ms = $4, failure = $5
    WHERE id = $1 AND state = 'waiting'";
pub(crate) const RETRY: &str = "
    UPDATE alert_deliveries SET state = 'waiting', attempts = 0, next_ms = $2, done_ms = NULL
    WHERE id = $1 AND state = 'dead' RETURNING id";
pub(crate) const LEASE: &str = "
    INSERT INTO alert_lease (id, server, until_ms) VALUES (1, $1, $3)
    ON CONFLICT (id) DO UPDATE SET server = excluded.server, until_ms = excluded.until_ms
        WHERE alert_lease.server = excluded.server OR alert_lease.until_ms <= $2
    RETURNING id";
pub(crate) const FORGET: &str = "
    DELETE FROM alerts WHERE id IN (
        SELECT id FROM alerts WHERE first_ms < $1 AND state = 'ended' AND last_ms < $1
        ORDER BY first_ms, id LIMIT 500)";
/// Ends alerts whose rule is gone otherwise: with its application or its user, or while a server looked at it.
pub(crate) const END_LOST: &str = "
    UPDATE alerts SET resolved_ms = coalesce(resolved_ms, last_ms), state = 'ended'
    WHERE state <> 'ended' AND NOT EXISTS (SELECT 1 FROM alert_rules r WHERE r.id = alerts.rule_id)";
/// What names an erased user ($1, the hash), in one application or in all.
pub(crate) const FORGET_USER: [&str; 2] = [
    "DELETE FROM alerts WHERE user_hash = $1 AND (application_id = $2 OR $2 IS NULL)",
    "DELETE FROM alert_rules WHERE user_hash = $1 AND (application_id = $2 OR $2 IS NULL)",
];
/// The same for every tombstone: rows that are older than it may come back.
pub(crate) const FORGET_ERASED: [&str; 2] = [
    "DELETE FROM alerts WHERE EXISTS (
        SELECT 1 FROM erased_users u WHERE u.user_hash = alerts.user_hash
            AND (u.application_id IS NULL OR u.application_id = alerts.application_id))",
    "DELETE FROM alert_rules WHERE EXISTS (
        SELECT 1 FROM erased_users u WHERE u.user_hash = alert_rules.user_hash
            AND (u.application_id IS NULL OR u.application_id = alert_rules.application_id))",
];
/// The same for one alert ($1): its user may have been erased while a server looked.
pub(crate) const FORGET_RAISED: &str = "
    DELETE FROM alerts WHERE id = $1 AND EXISTS (
        SELECT 1 FROM erased_users u WHERE u.user_hash = alerts.user_hash
            AND (u.application_id IS NULL OR u.application_id = alerts.application_id))";

pub(crate) fn rule(row: &impl Columns) -> Result<AlertRule, StoreError> {
    Ok(AlertRule {
        id: row.id("id")?,
        application_id: row.optional_id("application_id")?.map(ApplicationId),
        user_hash: row.bytes("user_hash")?.to_vec(),
        document: row.raw("document")?.to_owned(),
        created_at_ms: row.number("created_at_ms")?,
    })
}

pub(crate) fn channel(row: &impl Columns) -> Result<AlertChannel, StoreError> {
    Ok(AlertChannel {
        id: row.id("id")?,
        document: row.raw("document")?.to_owned(),
        created_at_ms: row.number("created_at_ms")?,
    })
}

pub(crate) fn alert(row: &impl Columns) -> Result<Alert, StoreError> {
    let state = AlertState::from_word(row.raw("state")?);
    Ok(Alert {
        id: row.id("id")?,
        rule_id: row.id("rule_id")?,
        group_hash: row.bytes("group_hash")?.to_vec(),
        user_hash: row.bytes("user_hash")?.to_vec(),
        application_id: row.optional_id("application_id")?.map(ApplicationId),
        facts: row.raw("facts")?.to_owned(),
        state: state.ok_or(StoreError::Unreadable("alert"))?,
        updates: row.number("updates")?,
        first_ms: row.number("first_ms")?,
        last_ms: row.number("last_ms")?,
        notified_ms: row.number("notified_ms")?,
        muted_until_ms: row.optional_number("muted_until_ms")?,
        resolved_ms: row.optional_number("resolved_ms")?,
        resolved_by: row.optional_raw("resolved_by")?.map(str::to_owned),
    })
}

pub(crate) fn delivery(row: &impl Columns) -> Result<AlertDelivery, StoreError> {
    let state = DeliveryState::from_word(row.raw("state")?);
    Ok(AlertDelivery {
        id: row.id("id")?,
        alert_id: row.id("alert_id")?,
        channel_id: row.id("channel_id")?,
        channel_name: row.raw("channel_name")?.to_owned(),
        channel_kind: row.raw("channel_kind")?.to_owned(),
        message: row.raw("message")?.to_owned(),
        state: state.ok_or(StoreError::Unreadable("delivery"))?,
        attempts: row.number("attempts")?,
        next_ms: row.number("next_ms")?,
        created_at_ms: row.number("created_at_ms")?,
        done_ms: row.optional_number("done_ms")?,
        failure: row.optional_raw("failure")?.map(str::to_owned),
    })
}

/// The writes of alerts over a connection of one engine, within its transaction.
macro_rules! alert_writes {
    ($connection:ty) => {
        async fn write_alerts(
            connection: &mut $connection,
            changes: crate::alerts::AlertChanges,
        ) -> Result<(), sqlx::Error> {
            let now_ms = changes.now_ms;
            let raised: Vec<uuid::Uuid> = changes.raised.iter().map(|alert| alert.id).collect();
            for id in changes.ended {
                let end = sqlx::query(crate::sql::alerts::END).bind(id);
                end.bind(now_ms).execute(&mut *connection).await?;
            }
            for alert in changes.raised {
                raise(connection, alert).await?;
            }
            for update in changes.updated {
                sqlx::query(crate::sql::alerts::UPDATE)
                    .bind(update.id)
                    .bind(update.facts)
                    .bind(update.notified_ms)
                    .bind(now_ms)
                    .execute(&mut *connection)
                    .await?;
            }
            for delivery in changes.deliveries {
                deliver(connection, delivery).await?;
            }
            for id in raised {
                let forget = sqlx::query(crate::sql::alerts::FORGET_RAISED).bind(id);
                forget.execute(&mut *connection).await?;
            }
            Ok(())
        }

        async fn raise(
            connection: &mut $connection,
            alert: crate::alerts::Alert,
        ) -> Result<(), sqlx::Error> {
            sqlx::query(crate::sql::alerts::RAISE)
                .bind(alert.id)
                .bind(alert.rule_id)
                .bind(alert.group_hash)
                .bind(alert.user_hash)
                .bind(alert.application_id.map(|id| id.0))
                .bind(alert.facts)
                .bind(alert.state.as_str())
                .bind(alert.updates)
                .bind(alert.first_ms)
                .bind(alert.last_ms)
                .bind(alert.notified_ms)
                .bind(alert.muted_until_ms)
                .bind(alert.resolved_ms)
                .bind(alert.resolved_by)
                .execute(connection)
                .await
                .map(drop)
        }

        async fn deliver(
            connection: &mut $connection,
            delivery: crate::alerts::AlertDelivery,
        ) -> Result<(), sqlx::Error> {
            sqlx::query(crate::sql::alerts::DELIVER)
                .bind(delivery.id)
                .bind(delivery.alert_id)
                .bind(delivery.channel_id)
                .bind(delivery.channel_name)
                .bind(delivery.channel_kind)
                .bind(delivery.message)
                .bind(delivery.state.as_str())
                .bind(delivery.attempts)
                .bind(delivery.next_ms)
                .bind(delivery.created_at_ms)
                .bind(delivery.done_ms)
                .bind(delivery.failure)
                .execute(connection)
                .await
                .map(drop)
        }

        async fn end_deliveries(
            connection: &mut $connection,
            ends: Vec<crate::alerts::DeliveryEnd>,
        ) -> Result<(), sqlx::Error> {
            for end in ends {
                sqlx::query(crate::sql::alerts::END_DELIVERY)
                    .bind(end.id)
                    .bind(end.state.as_str())
                    .bind(end.next_ms)
                    .bind(end.done_ms)
                    .bind(end.failure)
                    .execute(&mut *connection)
                    .await?;
            }
            Ok(())
        }

        /// Whether there was such an alert.
        async fn change_alert(
            connection: &mut $connection,
            id: uuid::Uuid,
            change: crate::alerts::AlertChange,
        ) -> Result<bool, sqlx::Error> {
            let query = match change {
                crate::alerts::AlertChange::Close { by, at_ms } => {
                    let close = sqlx::query(crate::sql::alerts::CLOSE).bind(id);
                    close.bind(at_ms).bind(by)
                }
                crate::alerts::AlertChange::Mute(until_ms) => sqlx::query(crate::sql::alerts::MUTE)
                    .bind(id)
                    .bind(until_ms),
            };
            Ok(query.fetch_optional(connection).await?.is_some())
        }
    };
}
pub(crate) use alert_writes;
