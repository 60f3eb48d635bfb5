//! Failures of the store and of the storage of files that no metric has counted yet. They are counted where
//! errors are converted, which has no metrics at hand; `/metrics` takes them over when it is read.

use super::labels::{Label, StoreFault};
use std::sync::atomic::{AtomicU64, Ordering};

/// Those of this process.
pub(super) static FAILURES: Failures = Failures {
    store: [const { AtomicU64::new(0) }; StoreFault::ALL.len()],
    files: AtomicU64::new(0),
};

pub(super) struct Failures {
    store: [AtomicU64; StoreFault::ALL.len()],
    files: AtomicU64,
}

impl Failures {
    pub(super) fn add_store(&self, fault: StoreFault) {
        self.store[fault as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_files(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }

    /// Those since this was last asked.
    pub(super) fn take_store(&self, fault: StoreFault) -> u64 {
        self.store[fault as usize].swap(0, Ordering::Relaxed)
    }

    /// Those since this was last asked.
    pub(super) fn take_files(&self) -> u64 {
        self.files.swap(0, Ordering::Relaxed)
    }
}
