//! What is stored: records with their files, sessions, statistics, chain reports, saved filters, and how
//! records go again: erasure and retention; findings and what they say of the detection.

pub(crate) mod attachments;
pub(crate) mod by_value;
pub(crate) mod chain_report;
pub mod documents;
pub(crate) mod erasure;
pub(crate) mod exchanges;
pub(crate) mod files;
pub(crate) mod findings;
pub(crate) mod masking;
pub(crate) mod originals;
pub(crate) mod queries;
pub(crate) mod retention;
pub(crate) mod rows;
pub(crate) mod saved_filters;
pub(crate) mod tool_parts;
pub(crate) mod user_sums;
pub(crate) mod users;

pub(crate) use crate::analysis::budgets::spending::{BudgetUse, Spending};
// The types of the store that callers of this service pass and get.
pub(crate) use monitor_store::{
    Attachment, CallCost, ChainFilter, CostFilter, CostGroups, CostSum, FilterId, GatewaySeen,
    HourTraffic, KEPT_HOURS, MOST_SAME, OTHER_FINDS, RecordFilter, RecordPage, RecordSummary,
    SameValues, Scanned, SeenFilter, SessionFilter, SessionPage, SessionSummary, StoreFacts,
    StoredRecord, UserCounts, UserDay, UserDayCount, UserDayFilter, UserFilter, UserTotal,
    WholePage,
};
pub(crate) use users::UserPage;

use crate::analysis::access::Access;
use crate::analysis::access::read_turns::ReadTurns;
use crate::analysis::audit::AuditLog;
use crate::analysis::budgets::BudgetBoard;
use crate::analysis::found_values::ValueKeys;
use crate::analysis::ingest::analyzer::MessageAnalyzer;
use crate::analysis::ingest::application_cache::ApplicationCache;
use crate::fair_queue::TurnFigures;
use files::Files;
use files::file_room::FileRoom;
use files::upload_room::{UploadFigures, UploadRoom};
use monitor_store::{
    AccountStore, ApplicationStore, ChainStore, ExchangeStore, FindingStore, RecordRemoval,
    RecordStore, SavedFilterStore, StatisticsStore, StoreEngine, TombstoneStore, ValueKeyStore,
};
use std::sync::Arc;

/// Reads, exports and erases what is stored.
pub struct Records {
    pub(super) records: Arc<dyn RecordStore>,
    pub(super) exchanges: Arc<dyn ExchangeStore>,
    pub(super) findings: Arc<dyn FindingStore>,
    pub(super) accounts: Arc<dyn AccountStore>,
    pub(super) applications: Arc<dyn ApplicationStore>,
    pub(super) statistics: Arc<dyn StatisticsStore>,
    pub(super) chain: Arc<dyn ChainStore>,
    pub(super) tombstones: Arc<dyn TombstoneStore>,
    pub(super) removal: Arc<dyn RecordRemoval>,
    pub(super) saved_filters: Arc<dyn SavedFilterStore>,
    pub(super) engine: Arc<dyn StoreEngine>,
    pub(super) access: Arc<Access>,
    pub(super) reads: Arc<ReadTurns>,
    pub(super) audit: AuditLog,
    pub(super) files: Files,
    pub(super) room: Arc<FileRoom>,
    pub(super) uploads: Arc<UploadRoom>,
    pub(super) documents: documents::Reader,
    pub(super) application_cache: Arc<ApplicationCache>,
    pub(super) analyzer: Arc<MessageAnalyzer>,
    pub(super) budgets: Arc<BudgetBoard>,
    pub(super) value_keys: Arc<ValueKeys>,
    pub(super) new_value_keys: Arc<dyn ValueKeyStore>,
}

impl Records {
    /// The PDF and DOCX files that are read, and those that wait for it.
    pub(crate) fn reader_figures(&self) -> TurnFigures {
        self.documents.figures()
    }

    /// The reads of the store that are under way, and those that wait for their turn.
    pub(crate) fn read_figures(&self) -> TurnFigures {
        self.reads.figures()
    }

    /// The files that are being uploaded.
    pub(crate) fn upload_figures(&self) -> UploadFigures {
        self.uploads.figures()
    }

    /// The files that take room in the store, and those that wait for their turn.
    pub(crate) fn file_figures(&self) -> TurnFigures {
        self.room.figures()
    }
}
