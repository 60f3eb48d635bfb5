//! What a record lacks when the verdict on its message is known. A verdict waits for none of it, or for a moment only
//! where the answer says that the record is stored.

use crate::analysis::ingest::parts::PendingParts;
use crate::analysis::ingest::pricing::PendingCost;
use crate::analysis::ingest::pricing::names::CostNames;
use crate::config::Prices;
use futures_util::future::OptionFuture;
use monitor_store::NewRecord;
use std::sync::Arc;

/// The parts of a record that are found out behind its verdict.
pub(super) struct Pending {
    /// The calls or results of tools beside its message, which are not checked yet.
    pub(super) parts: Option<PendingParts>,
    /// The tokens of its prompt, which only the store knows.
    pub(super) cost: Option<PendingCost>,
    /// The names of its sums, where the store was not asked for those of its application yet.
    pub(super) names: Option<PendingNames>,
}

pub(super) struct PendingNames {
    pub(super) names: Arc<CostNames>,
    pub(super) prices: Arc<Prices>,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_none() && self.cost.is_none() && self.names.is_none()
    }

    /// The same where nobody waits for them.
    pub(super) fn unawaited(self) -> Self {
        Self {
            parts: self.parts.map(PendingParts::unawaited),
            cost: self.cost.map(PendingCost::unawaited),
            ..self
        }
    }

    /// Completes the record.
    pub(super) async fn complete(self, record: &mut NewRecord) {
        let Self { parts, cost, names } = self;
        let (application, at_ms) = (record.application_id, record.created_at_ms);
        let read = names
            .as_ref()
            .map(|pending| pending.names.read(application, at_ms, &pending.prices));
        let read = OptionFuture::from(read);
        let parts = OptionFuture::from(parts.map(PendingParts::check));
        let known = record.cost.take();
        let cost = async {
            match (cost, known) {
                (Some(pending), Some(known)) => Some(pending.complete(known).await),
                (_, known) => known,
            }
        };
        let (parts, cost, _) = tokio::join!(parts, cost, read);
        record.tool_parts = parts.unwrap_or_default();
        record.cost = cost;
        if let Some(pending) = names {
            // Its parts and its cost may have taken so long that a read which failed is due again.
            pending.names.name_by_known(record);
        }
    }
}
