//! The SQL of findings. The index of a list is chosen here and not by the planner, which has no statistics of a new
//! file.

use super::settings::audit;
use super::store::SqliteStore;
use super::values::json_list;
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
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

const HISTORY: &str = "
    SELECT c.* FROM findings AS f JOIN finding_changes AS c ON c.seq = f.seq
    WHERE f.record_id = ?1 ORDER BY c.number DESC LIMIT ?2";
const OF_RECORDS: &str = "
    SELECT seq FROM findings
    WHERE record_id IN (SELECT unhex(value) FROM json_each(?1)) AND (?2 IS NULL OR application_id = ?2)
        AND application_id NOT IN (SELECT id FROM removed_applications)";
const ALIKE: &str = "
    SELECT n.seq FROM findings AS f CROSS JOIN findings AS n INDEXED BY findings_by_cluster
        ON n.cluster = f.cluster AND n.state = f.state
    WHERE f.record_id = ?1 AND (?2 IS NULL OR f.application_id = ?2)
        AND f.application_id NOT IN (SELECT id FROM removed_applications)
    ORDER BY n.seq DESC LIMIT ?3";
/// Before the change itself: it tells the state of before.
const NOTE: &str = "
    INSERT INTO finding_changes (seq, number, at_ms, actor, from_state, to_state, reason, assignee, note)
    SELECT seq, coalesce((SELECT max(number) FROM finding_changes AS c WHERE c.seq = findings.seq), 0) + 1,
        ?2, ?3, state, coalesce(?4, state), ?5, ?6, ?7
    FROM findings WHERE seq IN (SELECT value FROM json_each(?1))";
const CHANGE: &str = "
    UPDATE findings SET state = coalesce(?2, state), reason = CASE WHEN ?2 IS NULL THEN reason ELSE ?3 END,
        assignee_id = CASE WHEN ?4 THEN ?5 ELSE assignee_id END, changed_at_ms = ?6
    WHERE seq IN (SELECT value FROM json_each(?1))";

#[async_trait]
impl FindingStore for SqliteStore {
    async fn findings(&self, filter: &FindingFilter) -> Result<FindingPage, StoreError> {
        findings::page(self, filter).await
    }

    async fn finding(&self, id: RecordId) -> Result<Option<Finding>, StoreError> {
        let mut query = QueryBuilder::new(SHOWN);
        query.push("SELECT * FROM findings WHERE record_id = ");
        query.push_bind(id.0);
        query.push(" AND application_id NOT IN (SELECT id FROM removed_applications)");
        query.push(SHOWN_END);
        let row = query.build().fetch_optional(&self.readers).await?;
        row.as_ref().map(finding).transpose()
    }

    async fn finding_history(&self, id: RecordId) -> Result<Vec<FindingEvent>, StoreError> {
        let query = sqlx::query(HISTORY).bind(id.0).bind(SHOWN_CHANGES);
        let rows = query.fetch_all(&self.readers).await?;
        rows.iter().map(event).collect()
    }

    async fn change_findings(
        &self,
        change: FindingChange,
        audit: Option<AuditEntry>,
    ) -> Result<u64, StoreError> {
        self.writer
            .write(move |connection| Box::pin(alter(connection, change, audit)))
            .await
    }

    async fn judged_findings(
        &self,
        filter: &JudgedFilter,
    ) -> Result<Vec<JudgedFinding>, StoreError> {
        let mut query = QueryBuilder::new("SELECT * FROM findings INDEXED BY ");
        query.push(match filter.application_id {
            Some(_) => "findings_judged_of_one",
            None => "findings_judged",
        });
        query.push(" WHERE state IN ('confirmed', 'false_alarm')");
        query.push(" AND application_id NOT IN (SELECT id FROM removed_applications)");
        if let Some(id) = filter.application_id {
            query.push(" AND application_id = ").push_bind(id.0);
        }
        if let Some(before) = filter.before {
            query.push(" AND seq < ").push_bind(before);
        }
        query.push(" ORDER BY seq DESC LIMIT ");
        query.push_bind(i64::from(filter.limit));
        let rows = query.build().fetch_all(&self.readers).await?;
        rows.iter().map(judged).collect()
    }
}

#[async_trait]
impl ReadState for SqliteStore {
    async fn of_state(
        &self,
        filter: &FindingFilter,
        state: FindingState,
    ) -> Result<StatePage, StoreError> {
        let rows = shown(filter, state)
            .build()
            .fetch_all(&self.readers)
            .await?;
        let mut page = whole_page(&rows, filter)?;
        if page.next_before.is_none() && filter.is_searched() {
            let mut query =
                QueryBuilder::new("SELECT count(*) AS examined, min(seq) AS edge FROM (");
            push_narrowed(&mut query, filter, state);
            push_order(&mut query, EXAMINED);
            query.push(")");
            let row = query.build().fetch_one(&self.readers).await?;
            page.next_before = edge(&row)?;
        }
        Ok(page)
    }
}

/// One more than a page has.
fn shown(filter: &FindingFilter, state: FindingState) -> QueryBuilder<Sqlite> {
    let most = i64::from(filter.limit).saturating_add(1);
    let mut query = QueryBuilder::new(SHOWN);
    if !filter.is_searched() {
        push_narrowed(&mut query, filter, state);
        push_order(&mut query, most);
        query.push(SHOWN_END);
        return query;
    }
    query.push("SELECT g.* FROM (");
    push_narrowed(&mut query, filter, state);
    push_order(&mut query, EXAMINED);
    query.push(") AS g WHERE true");
    if let Some(label) = &filter.label {
        query.push(" AND EXISTS (SELECT 1 FROM json_each(g.labels) WHERE json_each.value = ");
        query.push_bind(label.clone()).push(")");
    }
    if filter.only_newest {
        query.push(IS_NEWEST);
    }
    push_order(&mut query, most);
    query.push(SHOWN_END);
    query
}

fn push_order(query: &mut QueryBuilder<Sqlite>, limit: i64) {
    query.push(" ORDER BY seq DESC LIMIT ");
    query.push_bind(limit);
}

/// The index of the most selective condition, in the order of the list.
fn index(filter: &FindingFilter) -> &'static str {
    match filter {
        FindingFilter {
            cluster: Some(_), ..
        } => "findings_by_cluster",
        FindingFilter {
            user_id: Some(_), ..
        } => "findings_by_user",
        FindingFilter {
            assignee: Some(AssigneeFilter::Of(_)),
            ..
        } => "findings_by_assignee",
        FindingFilter {
            application_id: Some(_),
            ..
        } => "findings_by_application",
        _ => "findings_by_state",
    }
}

/// The findings that the conditions with an index leave.
fn push_narrowed(query: &mut QueryBuilder<Sqlite>, filter: &FindingFilter, state: FindingState) {
    query.push("SELECT * FROM findings INDEXED BY ");
    query.push(index(filter));
    query.push(" WHERE state = ").push_bind(state.as_str());
    query.push(" AND application_id NOT IN (SELECT id FROM removed_applications)");
    if let Some(cluster) = filter.cluster {
        query.push(" AND cluster = ").push_bind(cluster.0);
    }
    if let Some(user) = &filter.user_id {
        query.push(" AND user_id = ").push_bind(user.clone());
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

/// A span of time is a range of positions, with a few records at its ends that do not belong to it.
fn push_time(query: &mut QueryBuilder<Sqlite>, filter: &FindingFilter) {
    if let Some(from) = filter.from_ms {
        query.push(" AND seq >= (SELECT min(block) * 1024 FROM record_blocks WHERE last_ms >= ");
        query.push_bind(from).push(") AND created_at_ms >= ");
        query.push_bind(from);
    }
    if let Some(to) = filter.to_ms {
        query.push(
            " AND seq < (SELECT max(block) * 1024 + 1024 FROM record_blocks WHERE first_ms < ",
        );
        query.push_bind(to).push(") AND created_at_ms < ");
        query.push_bind(to);
    }
}

async fn alter(
    connection: &mut SqliteConnection,
    change: FindingChange,
    audit: Option<AuditEntry>,
) -> Result<u64, StoreError> {
    let seqs = targets(connection, &change).await?;
    if seqs.is_empty() {
        return Ok(0);
    }
    let list = json_list(seqs.iter().copied());
    let state = change.state.map(FindingState::as_str);
    let reason = change.reason.map(|reason| reason.as_str());
    sqlx::query(NOTE)
        .bind(list.clone())
        .bind(change.at_ms)
        .bind(change.actor.clone())
        .bind(state)
        .bind(reason)
        .bind(change.assignee_name().map(str::to_owned))
        .bind(change.note.clone())
        .execute(&mut *connection)
        .await?;
    sqlx::query(CHANGE)
        .bind(list)
        .bind(state)
        .bind(reason)
        .bind(change.assignee.is_some())
        .bind(change.assignee_id())
        .bind(change.at_ms)
        .execute(&mut *connection)
        .await?;
    audit::append(connection, audit).await?;
    Ok(seqs.len() as u64)
}

/// The positions of the findings that a change is about.
async fn targets(
    connection: &mut SqliteConnection,
    change: &FindingChange,
) -> Result<Vec<i64>, StoreError> {
    let application = change.application_id.map(|id| id.0);
    let query = match &change.targets {
        FindingTargets::Records(ids) => {
            let ids = ids.iter().map(|id| id.0.simple().to_string());
            sqlx::query_scalar(OF_RECORDS)
                .bind(json_list(ids))
                .bind(application)
        }
        FindingTargets::AlikeTo(id) => sqlx::query_scalar(ALIKE)
            .bind(id.0)
            .bind(application)
            .bind(i64::from(MOST_ALIKE)),
    };
    Ok(query.fetch_all(connection).await?)
}
