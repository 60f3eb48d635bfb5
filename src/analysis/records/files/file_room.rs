//! Room for the bytes of files within `retention.bytes`, which are looked at before a file is stored and not only every
//! few seconds. A file that would take the store beyond its limit by more than the margin of retention waits until no
//! other is being stored, and until retention has looked and removed what is beyond the limit. So files exceed the
//! limit by the margin and one of them. The files of tenants take turns, one at a time: those of a flood wait for each
//! other, and the file of another tenant for one of them. The totals are those that retention read last, with the files
//! since then: an upload does not read them.

use crate::analysis::error::ApiError;
use crate::fair_queue::{Claim, QUANTUM, TurnFigures, TurnLimits, Turns};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// Retention begins once the store is over a limit by this part of it: one in so many.
const MARGIN: u64 = 64;
/// A file that has waited for so long is refused.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Whether an amount is over its limit by more than the margin.
pub(crate) fn is_clearly_over(amount: u64, limit: Option<u64>) -> bool {
    limit.is_some_and(|limit| amount.saturating_sub(limit) > limit / MARGIN)
}

/// Bytes, as far as this process knows.
#[derive(Default)]
struct Known {
    /// Those of all records when retention read them last.
    stored: u64,
    /// Those of files that were claimed since, or that were being stored then.
    claimed: u64,
    /// Those of files that are being stored.
    storing: u64,
}

/// Who waits for room, and what retention is asked for.
pub(crate) struct FileRoom {
    /// The most bytes of the store: `retention.bytes`.
    limit: Option<u64>,
    known: watch::Sender<Known>,
    /// Held by the one file that waits for retention.
    turns: Arc<Turns>,
    /// Counts the requests for a look of retention, and has the last one that it answered.
    asked: watch::Sender<u64>,
    answered: watch::Sender<u64>,
    /// Whether bytes were stored that may have no record.
    has_unlinked: AtomicBool,
}

/// Room for a file while it is stored.
pub(crate) struct ClaimedRoom<'r> {
    room: &'r FileRoom,
    bytes: u64,
}

impl Drop for ClaimedRoom<'_> {
    fn drop(&mut self) {
        let bytes = self.bytes;
        self.room.known.send_modify(|known| known.storing -= bytes);
    }
}

impl FileRoom {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            known: watch::Sender::default(),
            // Those that wait are in `upload_room`, which bounds them.
            turns: Turns::new(TurnLimits::one_at_a_time(LONGEST_WAIT)),
            asked: watch::Sender::default(),
            answered: watch::Sender::default(),
            has_unlinked: AtomicBool::new(false),
        }
    }

    /// Room for a file of this size, at once or when it is its turn and retention has made it.
    pub(crate) async fn claim(
        &self,
        claim: Claim,
        bytes: u64,
    ) -> Result<ClaimedRoom<'_>, ApiError> {
        let claimed = timeout(LONGEST_WAIT, self.wait_for(claim, bytes)).await;
        claimed.ok().flatten().ok_or(ApiError::StoreDown)
    }

    async fn wait_for(&self, claim: Claim, bytes: u64) -> Option<ClaimedRoom<'_>> {
        let _turn = self.turns.take(claim, bytes.max(QUANTUM)).await.ok()?;
        if !self.fits(bytes) {
            let mut known = self.known.subscribe();
            // Cannot end early: the sender is here.
            let _ = known.wait_for(|known| known.storing == 0).await;
            self.ask_retention().await;
        }
        self.known.send_modify(|known| {
            known.claimed += bytes;
            known.storing += bytes;
        });
        Some(ClaimedRoom { room: self, bytes })
    }

    /// The files that take room or wait for it.
    pub(crate) fn figures(&self) -> TurnFigures {
        self.turns.figures()
    }

    fn fits(&self, bytes: u64) -> bool {
        let known = self.known.borrow();
        let with_it = known.stored.saturating_add(known.claimed);
        !is_clearly_over(with_it.saturating_add(bytes), self.limit)
    }

    /// Returns when retention has looked, and removed what it could.
    async fn ask_retention(&self) {
        let mut number = 0;
        self.asked.send_modify(|asked| {
            *asked += 1;
            number = *asked;
        });
        let mut answered = self.answered.subscribe();
        let _ = answered.wait_for(|answered| *answered >= number).await;
    }

    /// A file was refused when its bytes may have been stored already.
    pub(crate) fn note_unlinked(&self) {
        self.has_unlinked.store(true, Ordering::Relaxed);
    }

    /// For retention: whether there was such a file since the last time. Not while a file is being stored, whose bytes
    /// have no record either.
    pub(crate) fn take_unlinked(&self) -> bool {
        self.known.borrow().storing == 0 && self.has_unlinked.swap(false, Ordering::Relaxed)
    }

    /// For retention: the requests from now on, and those that came before.
    pub(crate) fn requests(&self) -> watch::Receiver<u64> {
        let mut requests = self.asked.subscribe();
        requests.mark_changed();
        requests
    }

    /// For retention: the known totals have what it could achieve since this request came.
    pub(crate) fn answer(&self, request: u64) {
        self.answered.send_replace(request);
    }

    /// For retention, before it reads the totals: bytes of files that they have.
    pub(crate) fn settled(&self) -> u64 {
        let known = self.known.borrow();
        known.claimed - known.storing
    }

    /// For retention: the totals it has read, with so many bytes of files that were claimed since the last time.
    pub(crate) fn note(&self, stored: u64, settled: u64) {
        self.known.send_modify(|known| {
            known.stored = stored;
            known.claimed -= settled;
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::FileRoom;
    use crate::analysis::error::ApiError;
    use crate::fair_queue::{Claim, Tenant, Urgency};
    use futures_util::FutureExt as _;

    /// With a margin of 10.
    const LIMIT: u64 = 640;

    fn claim() -> Claim {
        Claim {
            tenant: Tenant::default(),
            urgency: Urgency::Awaited,
        }
    }

    #[tokio::test]
    async fn what_fits_the_limit_and_its_margin_is_claimed_at_once() {
        let room = FileRoom::new(Some(LIMIT));
        room.note(600, room.settled());
        let first = room.claim(claim(), 40).now_or_never().unwrap().unwrap();
        let second = room.claim(claim(), 10).now_or_never().unwrap().unwrap();
        assert!(room.claim(claim(), 1).now_or_never().is_none());
        drop((first, second));
        assert!(
            room.claim(claim(), 1).now_or_never().is_none(),
            "they are stored"
        );
        let unlimited = FileRoom::new(None);
        unlimited.note(600, 0);
        assert!(unlimited.claim(claim(), 1 << 40).now_or_never().is_some());
    }

    #[tokio::test]
    async fn what_does_not_fit_waits_for_the_others_and_for_retention() {
        let room = FileRoom::new(Some(LIMIT));
        let mut requests = room.requests();
        requests.borrow_and_update();
        let first = room.claim(claim(), LIMIT).await.unwrap();
        let settled = room.settled();
        let mut second = Box::pin(room.claim(claim(), 100));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(
            !requests.has_changed().unwrap(),
            "the first is being stored"
        );
        drop(first);
        assert!(second.as_mut().now_or_never().is_none());
        assert!(requests.has_changed().unwrap());
        let request = *requests.borrow_and_update();
        room.note(300, settled);
        room.answer(request - 1);
        assert!(second.as_mut().now_or_never().is_none(), "an earlier one");
        // The totals had been read while the first one was being stored.
        assert_eq!(room.settled(), LIMIT);
        room.note(300, room.settled());
        room.answer(request);
        let second = second.await.unwrap();
        let third = room.claim(claim(), LIMIT + 10 - 400).await.unwrap();
        assert!(room.claim(claim(), 1).now_or_never().is_none());
        drop((second, third));
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_for_too_long_is_refused_and_leaves_its_turn() {
        let room = FileRoom::new(Some(LIMIT));
        room.note(LIMIT, room.settled());
        let refused = room.claim(claim(), 11).await.err();
        assert_eq!(refused, Some(ApiError::StoreDown));
        assert!(room.claim(claim(), 10).await.is_ok());
    }
}
