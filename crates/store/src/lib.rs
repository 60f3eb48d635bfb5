//! What the analysis server stores: records, applications with their policies, tokens, accounts and
//! attached files. This level holds the domain types and one trait per subject, without SQL; `sql` holds
//! what the SQL engines share, `sqlite` and `postgres` are the engines, `blobs` stores the bytes of
//! attached files. [`Store`] combines the traits. How a gateway looks up policies is `policy` (§2.5).
//!
//! A new engine implements the traits below. It may be composed of two databases: [`RecordStore`],
//! [`ExchangeStore`], [`FindingStore`], [`StatisticsStore`], [`ChainStore`] and [`RecordRemoval`] concern the volume of
//! records, all other traits concern settings, people and files.

mod alerts;
mod attachments;
mod blobs;
mod chain;
mod costs;
mod engine;
mod error;
mod exchanges;
mod fair_parts;
mod findings;
mod found_values;
mod gateway_reports;
mod people;
mod postgres;
mod record_filter;
mod records;
mod removal;
mod sessions;
mod settings;
mod siem;
mod sql;
mod sqlite;
mod start_lock;
mod statistics;
mod text_search;
mod transfer;
mod user_days;

pub use alerts::{
    Alert, AlertChange, AlertChanges, AlertChannel, AlertDelivery, AlertRule, AlertState,
    AlertStore, AlertUpdate, DeliveryEnd, DeliveryState, MOST_ALERTS,
};
pub use attachments::{
    AttachTarget, Attached, Attachment, AttachmentStore, BlobHash, Extraction, Findings,
    MOST_FILES, NewAttachment, REMOVAL, Scanned, WaitingLimits,
};
pub use blobs::{
    BlobError, BlobStore, Bytes as BlobBytes, ExportStore, ExportUpload, Received, Upload,
};
pub use chain::{
    ChainEntry, ChainFilter, ChainRun, ChainState, ChainStates, ChainStore, GatewaySeen, MOST_RUNS,
};
pub use costs::{
    CallCost, CostFilter, CostGroups, CostSum, KEPT_DAYS as KEPT_COST_DAYS, OTHER_NAMES,
    SpendingFilter, SpendingSpan, SpentUnit, SumNames, TokenSums, TopSpenders, Usage,
};
pub use engine::{Migrated, PoolFigures, Store, StoreEngine, StoreFacts};
pub use error::StoreError;
pub use exchanges::{Exchange, ExchangeStore, RecordLine};
pub use findings::{
    Alike, Assignee, AssigneeFilter, CATEGORY_LABEL, ClusterId, Finding, FindingChange,
    FindingEvent, FindingFilter, FindingPage, FindingReason, FindingState, FindingStore,
    FindingTargets, JudgedFilter, JudgedFinding, MOST_ALIKE, POLICY_LABEL,
};
pub use found_values::{
    FoundValue, LONGEST_VALUE_KIND, MOST_FOUND_VALUES, MOST_SAME, SameValues, ValueFilter,
    ValueHash,
};
pub use gateway_reports::{GatewayReportStore, ReceivedReport};
pub use people::accounts::{
    Account, AccountChange, AccountId, AccountStore, Identity, Role, SecondFactorChange,
};
pub use people::saved_filters::{FilterId, SavedFilter, SavedFilterStore, SeenFilter};
pub use people::sign_in_failures::{FIRST_WAIT, FailureCounter, LONGEST_WAIT, SignInFailureStore};
pub use people::sign_ins::{
    BegunSignIn, EndedSignIns, OpenSignIn, SecretHash, SignIn, SignInStore, TakenStates,
};
pub use postgres::{PostgresStore, postgres_options};
pub use record_filter::{RecordFilter, ToolFilter, VerdictFilter};
pub use records::{
    Durable, EarlierRecord, Insertion, NewRecord, RecordPage, RecordStore, RecordSummary, Searched,
    StoredRecord, ToolCall, WholePage,
};
pub use removal::{
    Erased, ErasedExchange, Erasure, RecordRemoval, Removed, RetentionLimits, RetentionRun,
    StoredAmount, TombstoneStore,
};
pub use sessions::{SessionFilter, SessionPage, SessionSummary};
pub use settings::applications::{
    Application, ApplicationChange, ApplicationFilter, ApplicationPage, ApplicationStore,
    ApplicationVersion, Changed, NameFilter, VersionLimits,
};
pub use settings::audit::{AuditEntry, AuditFilter, AuditStore};
pub use settings::policies::ApplicationPolicyStore;
pub use settings::token_id::TokenId;
pub use settings::tokens::{
    Scope, Scopes, Token, TokenChange, TokenHash, TokenRotation, TokenStore,
};
pub use settings::value_keys::{MOST_VALUE_KEYS, ValueKey, ValueKeyStore};
pub use siem::{EventSource, QueuedEvent, SiemDestination, SiemLag, SiemStore};
pub use sql::reused_id::STORED_APART;
pub use sqlite::SqliteStore;
pub use start_lock::StartLock;
pub use statistics::{
    DayStatistics, HourTraffic, KEPT_HOURS, OTHER_FINDS, StatisticsFilter, StatisticsStore,
    UserNames,
};
pub use transfer::{
    Column, ColumnKind, ErasureReplay, Row, RowError, RowSink, StoreReader, StoreWriter, Table,
    TransferError, Value,
};
pub use user_days::{
    MOST_USER_DAYS, UserCounts, UserDay, UserDayCount, UserDayFilter, UserFilter, UserOrder,
    UserTotal,
};
