//! What the analysis server stores: records, applications with their policies, tokens, accounts and
//! attached files. This level holds the domain types and one trait per subject, without SQL; `sql` holds
//! what the SQL engines share, `sqlite` and `postgres` are the engines, `blobs` stores the bytes of
//! attached files. [`Store`] combines the traits. How a gateway looks up policies is `policy` (§2.5).
//!
//! A new engine implements the traits below. It may be composed of two databases: [`RecordStore`],
//! [`ExchangeStore`], [`StatisticsStore`], [`ChainStore`] and [`RecordRemoval`] concern the volume of records, all other
//! traits concern settings, people and files.

mod accounts;
mod applications;
mod attachments;
mod audit;
mod blobs;
mod chain;
mod engine;
mod error;
mod exchanges;
mod fair_parts;
mod policies;
mod postgres;
mod records;
mod removal;
mod saved_filters;
mod sessions;
mod sign_ins;
mod sql;
mod sqlite;
mod statistics;
mod text_search;
mod token_id;
mod tokens;
mod transfer;

pub use accounts::{Account, AccountChange, AccountId, AccountStore, Identity, Role};
pub use applications::{
    Application, ApplicationChange, ApplicationFilter, ApplicationPage, ApplicationStore,
    ApplicationVersion, Changed, NameFilter, VersionLimits,
};
pub use attachments::{
    AttachTarget, Attached, Attachment, AttachmentStore, BlobHash, Extraction, Findings,
    MOST_FILES, NewAttachment, REMOVAL, Scanned, WaitingLimits,
};
pub use audit::{AuditEntry, AuditFilter, AuditStore};
pub use blobs::{BlobError, BlobStore, Bytes as BlobBytes, Received, Upload};
pub use chain::{
    ChainEntry, ChainFilter, ChainRun, ChainState, ChainStates, ChainStore, GatewaySeen, MOST_RUNS,
};
pub use engine::{Migrated, PoolFigures, Store, StoreEngine, StoreFacts};
pub use error::StoreError;
pub use exchanges::{Exchange, ExchangeStore};
pub use policies::ApplicationPolicyStore;
pub use postgres::{PostgresStore, postgres_options};
pub use records::{
    Durable, EarlierRecord, Insertion, NewRecord, RecordFilter, RecordPage, RecordStore,
    RecordSummary, Searched, StoredRecord, ToolCall, VerdictFilter, WholePage,
};
pub use removal::{
    Erased, ErasedExchange, Erasure, RecordRemoval, Removed, RetentionLimits, RetentionRun,
    StoredAmount, TombstoneStore,
};
pub use saved_filters::{FilterId, SavedFilter, SavedFilterStore, SeenFilter};
pub use sessions::{SessionFilter, SessionPage, SessionSummary};
pub use sign_ins::{SecretHash, SignIn, SignInStore};
pub use sql::reused_id::STORED_APART;
pub use sqlite::SqliteStore;
pub use statistics::{
    DayStatistics, HourTraffic, KEPT_HOURS, OTHER_FINDS, StatisticsFilter, StatisticsStore,
};
pub use token_id::TokenId;
pub use tokens::{Scope, Scopes, Token, TokenChange, TokenHash, TokenRotation, TokenStore};
pub use transfer::{
    Column, ColumnKind, ErasureReplay, Row, RowError, RowSink, StoreReader, StoreWriter, Table,
    TransferError, Value,
};
