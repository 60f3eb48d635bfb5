//! What was said to be lost.

use crate::observe::{DropReason, Label as _, Metrics};

/// Records and dead letters that were said to be lost.
pub(super) fn lost(metrics: &Metrics) -> u64 {
    let reasons = DropReason::ALL.iter();
    let records = reasons.map(|reason| metrics.spool.lost_so_far(*reason));
    records.sum::<u64>() + metrics.spool.letters_lost.get()
}

/// Records that were said to be lost by damage.
pub(super) fn damaged(metrics: &Metrics) -> u64 {
    metrics.spool.lost_so_far(DropReason::Damaged)
}
