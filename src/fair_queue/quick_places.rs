//! Places that short jobs take and return without a lock, for as long as nobody waits: one atomic operation
//! each. There are as many as one access key may have and all jobs may have together whoever they are for, so
//! that no rule has to be looked up. Once a job finds none, they are closed and the lock decides.

use std::sync::atomic::{AtomicU64, Ordering};

/// The lock decides who has a place.
const CLOSED: u64 = 1 << 63;

/// The holder of a place that is free, or was taken this moment.
const NOBODY: u64 = 0;

/// One bit is one place.
pub(super) struct QuickPlaces {
    taken: AtomicU64,
    /// Who has the place.
    holders: Box<[AtomicU64]>,
}

impl QuickPlaces {
    /// At most 63.
    pub(super) fn new(places: usize) -> Self {
        Self {
            taken: AtomicU64::new(0),
            holders: (0..places.min(63))
                .map(|_| AtomicU64::new(NOBODY))
                .collect(),
        }
    }

    /// Takes a place; None where none is free, or the lock decides.
    pub(super) fn take(&self, holder: u64) -> Option<u32> {
        let mut taken = self.taken.load(Ordering::Relaxed);
        loop {
            let place = taken.trailing_ones();
            let own = self.holders.get(place as usize);
            let own = own.filter(|_| taken & CLOSED == 0)?;
            let with_it = taken | 1 << place;
            let (set, read) = (Ordering::AcqRel, Ordering::Relaxed);
            match self.taken.compare_exchange_weak(taken, with_it, set, read) {
                Ok(_) => {
                    own.store(holder, Ordering::Relaxed);
                    return Some(place);
                }
                Err(now) => taken = now,
            }
        }
    }

    /// Returns a place, which names nobody until its next holder is written down. True where the lock decides who has it next.
    pub(super) fn give_back(&self, place: u32) -> bool {
        if let Some(holder) = self.holders.get(place as usize) {
            holder.store(NOBODY, Ordering::Relaxed);
        }
        let before = self.taken.fetch_and(!(1 << place), Ordering::AcqRel);
        before & CLOSED != 0
    }

    /// From now on the lock decides. Whoever holds it sees every place that is taken, and is asked about every
    /// place that is returned.
    pub(super) fn close(&self) {
        self.taken.fetch_or(CLOSED, Ordering::AcqRel);
    }

    pub(super) fn open(&self) {
        self.taken.fetch_and(!CLOSED, Ordering::AcqRel);
    }

    /// The places that are taken.
    pub(super) fn running(&self) -> usize {
        (self.taken.load(Ordering::Acquire) & !CLOSED).count_ones() as usize
    }

    /// Who has the places that are taken; None for one that was taken this moment.
    pub(super) fn holders(&self) -> impl Iterator<Item = Option<u64>> {
        let taken = self.taken.load(Ordering::Acquire);
        let places = self.holders.iter().enumerate();
        let taken = places.filter(move |(place, _)| taken & (1 << place) != 0);
        taken.map(|(_, holder)| match holder.load(Ordering::Relaxed) {
            NOBODY => None,
            holder => Some(holder),
        })
    }
}
