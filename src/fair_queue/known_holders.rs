//! Access keys that a backend has accepted since the process started. They have shares of their own; all others
//! count together, however many are invented. Only numbers are kept that reveal nothing of a key.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Keys that are remembered; further ones count as those that nobody knows.
const MOST: usize = 20_000;
/// A power of two, and roomy enough that a number is found within a few steps.
const SLOTS: usize = 1 << 15;

/// A set of holders that only grows, read without a lock on every call.
#[derive(Default)]
pub(crate) struct KnownHolders {
    slots: OnceLock<Box<[AtomicU64]>>,
    count: AtomicUsize,
}

impl KnownHolders {
    /// A backend has accepted this holder.
    pub(crate) fn insert(&self, holder: u64) {
        if self.contains(holder) || self.count.load(Ordering::Relaxed) >= MOST {
            return;
        }
        let empty = || (0..SLOTS).map(|_| AtomicU64::new(0)).collect();
        for slot in slots_of(holder, self.slots.get_or_init(empty)) {
            let (set, read) = (Ordering::Relaxed, Ordering::Relaxed);
            match slot.compare_exchange(0, holder, set, read) {
                Ok(_) => {
                    self.count.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                Err(other) if other == holder => return,
                Err(_) => {}
            }
        }
    }

    /// Whether a backend has accepted it.
    pub(crate) fn contains(&self, holder: u64) -> bool {
        let Some(slots) = self.slots.get() else {
            return false;
        };
        let numbers = slots_of(holder, slots).map(|slot| slot.load(Ordering::Relaxed));
        // No number is ever removed: behind a free slot there is none.
        numbers.take_while(|own| *own != 0).any(|own| own == holder)
    }
}

/// The slots in which the holder may be, in the order in which they are tried.
fn slots_of(holder: u64, slots: &[AtomicU64]) -> impl Iterator<Item = &AtomicU64> {
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
