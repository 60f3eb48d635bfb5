//! What keeps a spool within its bounds (CONTRACT 23): when a segment is closed, and which go, with or
//! without their records.

use super::State;
use crate::spool::book::Entry;
use crate::spool::gone::{Gone, Loss, Unread};
use crate::spool::segment::SegmentId;
use crate::spool::state::Cursor;

/// How long a segment whose records are all delivered stays when no new ones come.
const IDLE_MS: i64 = 5_000;
/// A segment takes records for this part of `spool.max_age` at most.
const AGE_PARTS: i64 = 8;

impl State {
    /// What is done once in a while: old segments go, a delivered one is closed so that its file
    /// does not outlive its records.
    pub(in crate::spool) fn tick(&mut self, now_ms: i64) -> Option<(Loss, u64)> {
        let limit = i64::try_from(self.bounds.age.as_millis()).unwrap_or(i64::MAX);
        let is_done = |entry: &Entry| {
            entry.is_delivered() && now_ms - entry.last_ms > IDLE_MS
                // Segments go by their latest record: a long one would keep its first for longer.
                || entry.begun_ms().is_some_and(|at| now_ms - at > limit / AGE_PARTS)
        };
        if self.book.get(self.current).is_some_and(is_done) {
            self.rotate();
        }
        let mut lost = 0;
        while let Some((id, entry)) = self.book.oldest()
            && now_ms.saturating_sub(entry.last_ms) > limit
        {
            lost += self.drop_segment(id, Loss::Old);
        }
        (lost > 0).then_some((Loss::Old, lost))
    }

    pub(super) fn rotate(&mut self) {
        let old = self.current;
        self.current += 1;
        if self.book.seal(old) {
            self.give_up(old);
        }
    }

    pub(super) fn make_room(&mut self) -> Option<(Loss, u64)> {
        let mut lost = 0;
        while self.book.bytes() > self.bounds.bytes {
            let Some((oldest, _)) = self.book.oldest() else {
                break;
            };
            lost += self.drop_segment(oldest, Loss::Full);
        }
        (lost > 0).then_some((Loss::Full, lost))
    }

    /// Gives what is lost, as far as it is known; a segment nobody has read is counted by the disk
    /// thread, before its file goes.
    fn drop_segment(&mut self, id: SegmentId, loss: Loss) -> u64 {
        self.leave(id);
        let Some(entry) = self.book.get(id) else {
            return 0;
        };
        let lost = entry.lost();
        let known = entry.unread();
        self.give_up(id);
        let (Some(known), Some(gone)) = (known, self.gone.last_mut()) else {
            return lost;
        };
        gone.unread = Some(Unread { known, loss });
        0
    }

    /// No more records go to this segment.
    pub(in crate::spool) fn leave(&mut self, id: SegmentId) {
        if id == self.current {
            self.rotate();
        }
    }

    /// Takes a segment out of the book; its file goes with the disk thread's next step.
    pub(super) fn give_up(&mut self, id: SegmentId) {
        self.book.remove(id);
        let unwritten: u64 = self
            .pending
            .iter()
            .filter(|chunk| chunk.segment == id)
            .map(|chunk| chunk.bytes.len() as u64)
            .sum();
        self.unwritten -= unwritten;
        self.pending.retain(|chunk| chunk.segment != id);
        self.acks.retain(|place| place.segment != id);
        self.gone.push(Gone {
            segment: id,
            unread: None,
        });
        if let Some(cursor) = self.behind
            && cursor.place.segment == id
        {
            let next = self.book.after(id).unwrap_or(self.current);
            self.behind = Some(Cursor::start(next));
        }
    }
}
