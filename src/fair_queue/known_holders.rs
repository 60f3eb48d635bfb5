//! Access keys that a backend has accepted since the process started. They have shares of their own; all others
//! count together, however many are invented. Of a key that is bound to an application, the share is that of the
//! application: whoever may make keys for it has one share, however many it makes. Only numbers are kept that reveal
//! nothing of a key.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Keys that are remembered; further ones count as those that nobody knows.
const MOST: usize = 20_000;
/// A power of two, and roomy enough that a number is found within a few steps.
const SLOTS: usize = 1 << 15;

/// A set of holders that only grows, read without a lock on every call.
#[derive(Default)]
pub(crate) struct KnownHolders {
    slots: OnceLock<Box<[Slot]>>,
    count: AtomicUsize,
}

#[derive(Default)]
struct Slot {
    holder: AtomicU64,
    /// The holder whose share it has; zero for its own.
    share: AtomicU64,
}

impl KnownHolders {
    /// A backend has accepted this holder.
    pub(crate) fn insert(&self, holder: u64) {
        let _ = self.slot_for(holder);
    }

    /// A backend has accepted this holder, which has the share of another one with others.
    pub(crate) fn insert_with_share(&self, holder: u64, share: u64) {
        if let Some(slot) = self.slot_for(holder) {
            slot.share.store(share, Ordering::Relaxed);
        }
    }

    /// Whether a backend has accepted it.
    pub(crate) fn contains(&self, holder: u64) -> bool {
        self.slot(holder).is_some()
    }

    /// Whose share a holder has; None if no backend has accepted it.
    pub(crate) fn share_of(&self, holder: u64) -> Option<u64> {
        let share = self.slot(holder)?.share.load(Ordering::Relaxed);
        Some(if share == 0 { holder } else { share })
    }

    fn slot(&self, holder: u64) -> Option<&Slot> {
        let mut slots = slots_of(holder, self.slots.get()?);
        // No number is ever removed: behind a free slot there is none.
        slots.find_map(|slot| match slot.holder.load(Ordering::Relaxed) {
            0 => Some(None),
            own => (own == holder).then_some(Some(slot)),
        })?
    }

    /// The slot of a holder, a free one if it has none; None where there are too many.
    fn slot_for(&self, holder: u64) -> Option<&Slot> {
        if let Some(slot) = self.slot(holder) {
            return Some(slot);
        }
        if self.count.load(Ordering::Relaxed) >= MOST {
            return None;
        }
        let empty = || (0..SLOTS).map(|_| Slot::default()).collect();
        let mut slots = slots_of(holder, self.slots.get_or_init(empty));
        slots.find(|slot| {
            let (set, read) = (Ordering::Relaxed, Ordering::Relaxed);
            match slot.holder.compare_exchange(0, holder, set, read) {
                Ok(_) => {
                    self.count.fetch_add(1, Ordering::Relaxed);
                    true
                }
                Err(other) => other == holder,
            }
        })
    }
}

/// The slots in which the holder may be, in the order in which they are tried.
fn slots_of(holder: u64, slots: &[Slot]) -> impl Iterator<Item = &Slot> {
    let first = usize::try_from(holder % SLOTS as u64).unwrap_or(0);
    let (before, from) = slots.split_at(first);
    from.iter().chain(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_holders_are_found_and_no_others() {
        let known = KnownHolders::default();
        // The same first slot, up to the last one and around.
        let same: Vec<u64> = (1..=50).map(|round| round * SLOTS as u64 - 1).collect();
        assert!(same.iter().all(|holder| !known.contains(*holder)));
        for holder in &same {
            known.insert(*holder);
            known.insert(*holder);
        }
        assert!(same.iter().all(|holder| known.contains(*holder)));
        assert!(!known.contains(51 * SLOTS as u64 - 1) && !known.contains(7));
    }

    #[test]
    fn a_holder_has_its_own_share_until_it_is_known_for_another() {
        let known = KnownHolders::default();
        assert_eq!(known.share_of(5), None);
        known.insert(5);
        assert_eq!(known.share_of(5), Some(5));
        known.insert_with_share(5, 9);
        known.insert_with_share(6, 9);
        known.insert(5);
        assert_eq!([5, 6].map(|key| known.share_of(key)), [Some(9); 2]);
        assert_eq!(known.share_of(9), None);
    }

    #[test]
    fn the_set_is_bounded() {
        let known = KnownHolders::default();
        let holders = || (1..).map(|number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        holders()
            .take(MOST + 100)
            .for_each(|holder| known.insert(holder));
        let found = holders()
            .take(MOST + 100)
            .filter(|holder| known.contains(*holder));
        assert_eq!(found.count(), MOST);
    }
}
