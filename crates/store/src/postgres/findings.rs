//! The SQL of findings. They have a table of their own, which is not partitioned.

use super::pool::with_timeout;
use super::seq::first_seq_at;
use super::settings::audit;
use super::store::PostgresStore;
use super::values::{escaped, text_key};
use crate::error::StoreError;
use crate::findings::{
    self, AssigneeFilter, EXAMINED, Finding, FindingChange, FindingEvent, FindingFilter,
    FindingPage, FindingState, FindingStore, FindingTargets, JudgedFilter, JudgedFinding,
    MOST_ALIKE, ReadState, SHOWN_CHANGES, StatePage,
};
use crate::settings::audit::AuditEntry;
use crate::sql::findings::{IS_NEWEST, SHOWN, SHOWN_END, edge, event, finding, judged, whole_page};
use async_trait::async_trait;
use monitor_model::RecordId;
use sqlx::{Connection as _, PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

/// Records of a removed application exist until they are deleted, but are not shown any more.
const NOT_REMOVED: &str = " AND NOT EXISTS (SELECT FROM removed_applications gone
    WHERE gone.application_id = findings.application_id AND findings.seq < gone.below)";
const HISTORY: &str = "
    SELECT c.* FROM findings f JOIN finding_changes c ON c.seq = f.seq
    WHERE f.record_id = $1 ORDER BY c.number DESC LIMIT $2";
/// Rows are locked in the order of their positions.
const OF_RECORDS: &str = "
    SELECT seq FROM findings WHERE record_id = ANY ($1) AND ($2::uuid IS NULL OR application_id = $2)
        AND NOT EXISTS (SELECT FROM removed_applications gone
            WHERE gone.application_id = findings.application_id AND findings.seq < gone.below)
    ORDER BY seq FOR UPDATE OF findings";
const ALIKE: &str = "
    SELECT seq FROM findings WHERE seq IN (
        SELECT n.seq FROM findings f JOIN findings n ON n.cluster = f.cluster AND n.state = f.state
        WHERE f.record_id = $1 ORDER BY n.seq DESC LIMIT $3)
        AND ($2::uuid IS NULL OR application_id = $2)
        AND NOT EXISTS (SELECT FROM removed_applications gone
            WHERE gone.application_id = findings.application_id AND findings.seq < gone.below)
    ORDER BY seq FOR UPDATE OF findings";
/// Before the change itself: it tells the state of before.
const NOTE: &str = "
    INSERT INTO finding_changes (seq, number, at_ms, actor, from_state, to_state, reason, assignee, note)
    SELECT f.seq, coalesce((SELECT max(c.number) FROM finding_changes c WHERE c.seq = f.seq), 0) + 1,
        $2::bigint, $3::text, f.state, coalesce($4::text, f.state), $5::text, $6::text, $7::text
    FROM findings f WHERE f.seq = ANY ($1)";
const CHANGE: &str = "
    UPDATE findings SET state = coalesce($2::text, state),
        reason = CASE WHEN $2::text IS NULL THEN reason ELSE $3::text END,
        assignee_id = CASE WHEN $4::boolean THEN $5::uuid ELSE assignee_id END, changed_at_ms = $6
    WHERE seq = ANY ($1)";

#[async_trait]
impl FindingStore for PostgresStore {
    async fn findings(&self, filter: &FindingFilter) -> Result<FindingPage, StoreError> {
        findings::page(self, filter).await
    }

    async fn finding(&self, id: RecordId) -> Result<Option<Finding>, StoreError> {
        let mut query = QueryBuilder::new(SHOWN);
        query.push("SELECT * FROM findings WHERE record_id = ");
        query.push_bind(id.0);
        query.push(NOT_REMOVED).push(SHOWN_END);
        let rows = self.all(query.build()).await?;
        rows.first().map(finding).transpose()
    }

    async fn finding_history(&self, id: RecordId) -> Result<Vec<FindingEvent>, StoreError> {
        let query = sqlx::query(HISTORY).bind(id.0).bind(SHOWN_CHANGES);
        self.all(query).await?.iter().map(event).collect()
    }

    async fn change_findings(
        &self,
        change: FindingChange,
        audit: Option<AuditEntry>,
    ) -> Result<u64, StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        let changed = with_timeout(async {
            let mut transaction = connection.begin().await?;
            let seqs = targets(&mut transaction, &change).await?;
            if !seqs.is_empty() {
                alter(&mut transaction, &change, &seqs).await?;
                audit::append(&mut transaction, audit).await?;
            }
            transaction.commit().await?;
            Ok(seqs.len() as u64)
        })
        .await?;
        pooled.release();
        Ok(changed)
    }

    async fn judged_findings(
        &self,
        filter: &JudgedFilter,
    ) -> Result<Vec<JudgedFinding>, StoreError> {
        let mut query =
            QueryBuilder::new("SELECT * FROM findings WHERE state IN ('confirmed', 'false_alarm')");
        query.push(NOT_REMOVED);
        if let Some(id) = filter.application_id {
            query.push(" AND application_id = ").push_bind(id.0);
        }
        if let Some(before) = filter.before {
            query.push(" AND seq < ").push_bind(before);
        }
        query.push(" ORDER BY seq DESC LIMIT ");
        query.push_bind(i64::from(filter.limit));
        self.all(query.build()).await?.iter().map(judged).collect()
    }
}

#[async_trait]
impl ReadState for PostgresStore {
    async fn of_state(
        &self,
        filter: &FindingFilter,
        state: FindingState,
    ) -> Result<StatePage, StoreError> {
        let rows = self.all(shown(filter, state).build()).await?;
        let mut page = whole_page(&rows, filter)?;
        if page.next_before.is_none() && filter.is_searched() {
            let mut query =
                QueryBuilder::new("SELECT count(*) AS examined, min(seq) AS edge FROM (");
            push_narrowed(&mut query, filter, state);
            push_order(&mut query, "seq", EXAMINED);
            query.push(") AS narrowed");
            let rows = self.all(query.build()).await?;
            page.next_before = rows.first().map(edge).transpose()?.flatten();
        }
        Ok(page)
    }
}

/// One more than a page has.
fn shown(filter: &FindingFilter, state: FindingState) -> QueryBuilder<Postgres> {
    let most = i64::from(filter.limit).saturating_add(1);
    let mut query = QueryBuilder::new(SHOWN);
    if !filter.is_searched() {
        push_narrowed(&mut query, filter, state);
        push_order(&mut query, "seq", most);
        query.push(SHOWN_END);
        return query;
    }
    query.push("SELECT g.* FROM (");
    push_narrowed(&mut query, filter, state);
    push_order(&mut query, "seq", EXAMINED);
    query.push(") AS g WHERE true");
    if let Some(label) = &filter.label {
        let label = escaped(label).into_owned();
        query.push(" AND jsonb_exists(g.labels::jsonb, ");
        query.push_bind(label).push(")");
    }
    if filter.only_newest {
        query.push(IS_NEWEST);
    }
    push_order(&mut query, "g.seq", most);
    query.push(SHOWN_END);
    query
}

fn push_order(query: &mut QueryBuilder<Postgres>, column: &str, limit: i64) {
    query.push(" ORDER BY ").push(column).push(" DESC LIMIT ");
    query.push_bind(limit);
}

/// The findings that the conditions with an index leave.
fn push_narrowed(query: &mut QueryBuilder<Postgres>, filter: &FindingFilter, state: FindingState) {
    query.push("SELECT * FROM findings WHERE state = ");
    query.push_bind(state.as_str());
    query.push(NOT_REMOVED);
    if let Some(cluster) = filter.cluster {
        query.push(" AND cluster = ").push_bind(cluster.0);
    }
    if let Some(user) = &filter.user_id {
        let user = escaped(user).into_owned();
        query.push(" AND user_key = ").push_bind(text_key(&user));
        query.push(" AND user_id = ").push_bind(user);
    }
    match filter.assignee {
        Some(AssigneeFilter::Of(account)) => {
            query.push(" AND assignee_id = ").push_bind(account.0);
        }
        Some(AssigneeFilter::Nobody) => {
            query.push(" AND assignee_id IS NULL");
        }
        None => {}
    }
    if let Some(id) = filter.application_id {
        query.push(" AND application_id = ").push_bind(id.0);
    }
    if let Some(before) = filter.before {
        query.push(" AND seq < ").push_bind(before);
    }
    push_time(query, filter);
}

/// A span of time is a range of positions.
fn push_time(query: &mut QueryBuilder<Postgres>, filter: &FindingFilter) {
    if let Some(from) = filter.from_ms {
        query.push(" AND seq >= ").push_bind(first_seq_at(from));
        query.push(" AND created_at_ms >= ").push_bind(from);
    }
    if let Some(to) = filter.to_ms {
        query.push(" AND created_at_ms < ").push_bind(to);
    }
}

/// The positions of the findings that a change is about.
async fn targets(
    connection: &mut PgConnection,
    change: &FindingChange,
) -> Result<Vec<i64>, sqlx::Error> {
    let application = change.application_id.map(|id| id.0);
    match &change.targets {
        FindingTargets::Records(ids) => {
            let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
            let query = sqlx::query_scalar(OF_RECORDS).bind(ids).bind(application);
            query.fetch_all(connection).await
        }
        FindingTargets::AlikeTo(id) => {
            let query = sqlx::query_scalar(ALIKE).bind(id.0).bind(application);
            let query = query.bind(i64::from(MOST_ALIKE));
            query.fetch_all(connection).await
        }
    }
}

async fn alter(
    connection: &mut PgConnection,
    change: &FindingChange,
    seqs: &[i64],
) -> Result<(), sqlx::Error> {
    let state = change.state.map(FindingState::as_str);
    let reason = change.reason.map(|reason| reason.as_str());
    sqlx::query(NOTE)
        .bind(seqs)
        .bind(change.at_ms)
        .bind(escaped(&change.actor).into_owned())
        .bind(state)
        .bind(reason)
        .bind(change.assignee_name())
        .bind(
            change
                .note
                .as_deref()
                .map(|note| escaped(note).into_owned()),
        )
        .execute(&mut *connection)
        .await?;
    sqlx::query(CHANGE)
        .bind(seqs)
        .bind(state)
        .bind(reason)
        .bind(change.assignee.is_some())
        .bind(change.assignee_id())
        .bind(change.at_ms)
        .execute(connection)
        .await
        .map(drop)
}
