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
/// A disk that takes nothing for so long hangs.
const HANGS: Duration = Duration::from_secs(2);
/// How long a small call waits for its turn at most, and larger ones a second more for each MiB.
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
        let limits = TurnLimits {
            places: 1,
            reserved: 0,
            short: 0,
            waiting_cost: u64::MAX,
            parts: 1,
            longest_wait: LONGEST_WAIT,
        };
        Self {
            unsynced,
            known: Turns::new(limits),
            strangers: Turns::new(limits),
        }
    }

    /// Whether so many bytes have room; more than there ever is have it while nothing waits for the disk.
    pub(super) fn has_room(&self, tenant: Tenant, bytes: u64) -> bool {
        let most = match is_stranger(tenant.holder) {
            true => STRANGERS,
            false => KNOWN,
        };
        let unsynced = self.unsynced.load(Ordering::Relaxed);
        unsynced == 0 || unsynced + bytes <= most
    }

    /// Waits until the disk has room for a call of so many bytes. A call whose turn does not come in time, or whose
    /// disk hangs or refuses, goes on without.
    pub(super) async fn wait(&self, core: &SpoolCore, tenant: Tenant, bytes: u64) -> Room {
        let turns = match is_stranger(tenant.holder) {
            true => &self.strangers,
            false => &self.known,
        };
        let claim = Claim {
            tenant,
            urgency: Urgency::Awaited,
        };
        core.metrics().spool.waits.inc();
        let turn = turns.take(claim, bytes).await.ok();
        let mut disk = core.watch_disk();
        while turn.is_some()
            && !disk.borrow_and_update().is_degraded
            && !self.has_room(tenant, bytes)
        {
            if timeout(HANGS, disk.changed()).await.is_err() {
                core.set_degraded(true);
            }
        }
        Room { _turn: turn }
    }
}
