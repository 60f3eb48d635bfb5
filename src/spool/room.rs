//! Calls wait while the disk is behind, so that a burst that is faster than the disk loses no record. They wait in
//! fair turns; those whose access key no backend has accepted wait earlier, and among themselves.

use super::core::SpoolCore;
use crate::fair_queue::{Claim, Tenant, Turn, TurnLimits, Turns, Urgency, is_stranger};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// Bytes that may wait for the disk before calls wait: half of what is kept.
const KNOWN: u64 = 16 << 20;
/// The same for calls whose access key no backend has accepted.
const STRANGERS: u64 = 4 << 20;
/// What records take on disk beside their messages, and small records beside large ones. Without it, half of what may
/// wait would have no room for a call of that size behind another one.
const OVERHEAD: u64 = 64 << 10;
/// A disk that takes nothing for so long hangs.
const HANGS: Duration = Duration::from_secs(2);
/// How long a call waits at most, for its turn and then for the disk each; larger ones a second more for each MiB.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Whose turn it is to wait for the disk.
pub(super) struct RoomQueue {
    unsynced: Arc<AtomicU64>,
    known: Arc<Turns>,
    strangers: Arc<Turns>,
}

/// The turn of a call, which ends once its record has been accepted.
pub(crate) struct Room {
    _turn: Option<Turn>,
}

impl RoomQueue {
    pub(super) fn new(unsynced: Arc<AtomicU64>) -> Self {
        let limits = TurnLimits::one_at_a_time(LONGEST_WAIT);
        Self {
            unsynced,
            known: Turns::new(limits),
            strangers: Turns::new(limits),
        }
    }

    /// Whether a call of so many bytes has room; a large one has it while half of what may wait is free.
    pub(super) fn has_room(&self, tenant: Tenant, bytes: u64) -> bool {
        let most = match is_stranger(tenant.holder) {
            true => STRANGERS,
            false => KNOWN,
        };
        self.unsynced.load(Ordering::Relaxed) + bytes.min(most / 2) <= most + OVERHEAD
    }

    /// Waits until the disk has room for a call of so many bytes. A call whose turn does not come in time, or whose
    /// disk hangs or refuses, goes on without.
    pub(super) async fn wait(&self, core: &SpoolCore, tenant: Tenant, bytes: u64) -> Room {
        if core.disk().is_degraded {
            return Room { _turn: None };
        }
        core.metrics().spool.waits.inc();
        let turns = match is_stranger(tenant.holder) {
            true => &self.strangers,
            false => &self.known,
        };
        let claim = Claim {
            tenant,
            urgency: Urgency::Awaited,
        };
        let Ok(turn) = turns.take(claim, bytes).await else {
            return Room { _turn: None };
        };
        let longest = LONGEST_WAIT + Duration::from_secs(bytes >> 20);
        let has_room = timeout(longest, self.wait_for_disk(core, tenant, bytes)).await;
        Room {
            _turn: has_room.is_ok_and(|has_room| has_room).then_some(turn),
        }
    }

    /// Whether there is room now; false for a disk that hangs or refuses.
    async fn wait_for_disk(&self, core: &SpoolCore, tenant: Tenant, bytes: u64) -> bool {
        let mut disk = core.watch_disk();
        loop {
            let is_degraded = disk.borrow_and_update().is_degraded;
            if self.has_room(tenant, bytes) || is_degraded {
                return !is_degraded;
            }
            let is_quiet = timeout(HANGS, disk.changed()).await.is_err();
            if is_quiet && !self.has_room(tenant, bytes) {
                core.set_degraded(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contract_23_a_large_call_has_room_behind_another_of_its_size() {
        for (holder, most) in [(0, STRANGERS), (u64::MAX, KNOWN)] {
            let unsynced = Arc::new(AtomicU64::new(0));
            let queue = RoomQueue::new(unsynced.clone());
            let tenant = Tenant {
                holder,
                application: 0,
            };
            // The record of a prompt, its frame included, and that of an answer.
            let record = most / 2 + 93 + 400;
            for (waiting, has_room) in [(0, true), (record, true), (2 * record, false)] {
                unsynced.store(waiting, Ordering::Relaxed);
                assert_eq!(queue.has_room(tenant, most / 2), has_room, "{waiting}");
                assert_eq!(queue.has_room(tenant, most), has_room, "{waiting}");
            }
        }
    }
}
