//! The store in PostgreSQL: one database that any number of analysis servers share, and whose view
//! `gateway_policies` gateways read (CONTRACT 16). Records are written by two tasks with group commit
//! (`writer`), kept in a partition a day (`partitions`, `retention`), and read in spans of partitions
//! (`pages`). A server keeps nothing of its own but what `settings_changed` tells it to forget.

mod accounts;
mod attachments;
mod batch;
mod chain;
mod connect;
mod leftovers;
mod listener;
mod migrate;
mod order;
mod overview;
mod pages;
mod partitions;
mod policies;
mod removed;
mod retention;
mod row;
mod saved;
mod search;
mod settings;
mod shared;
mod tally;
mod text;
mod tokens;
mod traffic;
mod upkeep;
mod versions;
mod writer;

pub use connect::postgres_options;

use super::{
    DayStatistics, HourTraffic, Migrated, NewRecord, RecordFilter, RecordPage, RecordStore,
    RetentionLimits, SessionFilter, SessionSummary, StatisticsFilter, StoreError, StoreFacts,
    StoredRecord, WholePage,
};
use async_trait::async_trait;
use connect::Connector;
use listener::Listener;
use monitor_model::StoreSettings;
use monitor_model::{AnalysisResponse, ApplicationId, RecordId, TypeCount};
use order::Day;
use row::Row;
use shared::{Connections, timed};
use sqlx::Postgres;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use std::sync::Arc;
use tokio::sync::watch;
use upkeep::Upkeep;
use writer::Writer;

/// Records, applications with their policies, and tokens in a PostgreSQL database.
pub struct PostgresStore {
    connector: Connector,
    connections: Connections,
    writer: Writer,
    listener: Listener,
    upkeep: Upkeep,
    /// The days that have a partition, as this process last saw them.
    days: Arc<watch::Sender<Vec<Day>>>,
    policy_written: watch::Sender<()>,
}

impl PostgresStore {
    /// Opens the database that the settings name, brings its schema up to date and makes the next
    /// days' partitions. Its tasks run on the calling runtime, which has to outlive the store.
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`], or [`StoreError::Unavailable`] within seconds.
    pub async fn open(settings: &StoreSettings) -> Result<Self, StoreError> {
        let connector = Connector::new(settings);
        let mut connection = connector.connect_to_migrate().await?;
        migrate::migrate(&mut connection).await?;
        connect::close(connection).await;
        let mut connection = connector.connect_patient().await?;
        let days = partitions::make_ahead(&mut connection).await?;
        connect::close(connection).await;
        let days = Arc::new(watch::Sender::new(days));
        Ok(Self {
            connections: Connections::new(connector.clone()),
            writer: Writer::start(&connector),
            listener: Listener::start(&connector),
            upkeep: Upkeep::start(connector.clone(), days.clone()),
            days,
            policy_written: watch::Sender::new(()),
            connector,
        })
    }

    /// Brings the schema of a database up to date and does nothing else.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub async fn migrate(settings: &StoreSettings) -> Result<Migrated, StoreError> {
        let mut connection = Connector::new(settings).connect_to_migrate().await?;
        let migrated = migrate::migrate(&mut connection).await?;
        connect::close(connection).await;
        Ok(migrated)
    }

    /// Every row of one statement.
    async fn all(&self, query: Query<'_, Postgres, PgArguments>) -> Result<Vec<PgRow>, StoreError> {
        let mut lent = self.connections.lend().await?;
        let rows = timed(query.fetch_all(lent.get())).await?;
        lent.give_back();
        Ok(rows)
    }

    fn days(&self) -> Vec<Day> {
        self.days.borrow().clone()
    }
}

#[async_trait]
impl RecordStore for PostgresStore {
    async fn insert(&self, record: NewRecord) -> Result<AnalysisResponse, StoreError> {
        let answer = record.answer.clone();
        match self.writer.keep(Row::new(record)?).await? {
            None => Ok(answer),
            Some(earlier) => Ok(*earlier),
        }
    }

    async fn page(&self, filter: &RecordFilter) -> Result<RecordPage, StoreError> {
        self.read_page(filter).await
    }

    async fn record(&self, id: RecordId) -> Result<Option<StoredRecord>, StoreError> {
        self.read_record(id).await
    }

    async fn whole_page(&self, filter: &RecordFilter) -> Result<WholePage, StoreError> {
        self.read_whole_page(filter).await
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionSummary>, StoreError> {
        self.read_sessions(filter).await
    }

    async fn statistics(
        &self,
        filter: &StatisticsFilter,
    ) -> Result<Vec<DayStatistics>, StoreError> {
        self.read_statistics(filter).await
    }

    async fn traffic(
        &self,
        application: Option<ApplicationId>,
        hours: (i64, i64),
    ) -> Result<Vec<HourTraffic>, StoreError> {
        self.read_traffic(application, hours).await
    }

    async fn traffic_types(
        &self,
        application: Option<ApplicationId>,
        hours: (i64, i64),
        limit: u32,
    ) -> Result<Vec<TypeCount>, StoreError> {
        self.read_traffic_types(application, (hours, limit)).await
    }

    fn kind(&self) -> &'static str {
        "PostgreSQL"
    }

    async fn facts(&self) -> Result<StoreFacts, StoreError> {
        self.read_facts().await
    }

    async fn enforce_retention(
        &self,
        application: Option<ApplicationId>,
        limits: RetentionLimits,
        now_ms: i64,
    ) -> Result<u64, StoreError> {
        if self.connections.are_closed() {
            return Err(StoreError::Closed);
        }
        let mut connection = self.connector.connect_patient().await?;
        let scope = retention::Scope {
            application: application.map(|id| id.0),
            limits,
            now_ms,
        };
        let gone = retention::enforce(&mut connection, scope).await?;
        if gone > 0 {
            let days = partitions::days(&mut connection).await?;
            self.days.send_replace(days);
        }
        connect::close(connection).await;
        Ok(gone)
    }

    async fn close(&self) {
        self.writer.stop().await;
        self.listener.stop().await;
        self.upkeep.stop().await;
        self.connections.close().await;
    }
}
