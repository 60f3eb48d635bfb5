//! What was said to be lost.

use crate::observe::{DropReason, Metrics};

/// Records and dead letters that were said to be lost.
pub(super) fn lost(metrics: &Metrics) -> u64 {
    let reasons = [
        DropReason::Full,
        DropReason::Old,
        DropReason::Disk,
        DropReason::Damaged,
    ];
    let records: u64 = reasons
        .iter()
        .map(|reason| metrics.spool.lost_so_far(*reason))
        .sum();
    records + metrics.spool.letters_lost.get()
}

/// Records that were said to be lost by damage.
pub(super) fn damaged(metrics: &Metrics) -> u64 {
    metrics.spool.lost_so_far(DropReason::Damaged)
}
