//! Moves the backlog behind what was read from a segment: records are offered to delivery, and those that damage
//! covers are counted (CONTRACT 23).

use crate::spool::frames::format::FRAME_HEADER;
use crate::spool::frames::reader::Frame;
use crate::spool::record_codec;
use crate::spool::segment::SegmentId;
use crate::spool::segment_index::{ReadCursor, RecordPosition};
use crate::spool::state::State;
use std::ops::Range;
use std::sync::MutexGuard;

/// What was read from a segment at a cursor.
pub(super) struct Frames {
    pub(super) start: ReadCursor,
    /// Bytes of the segment that are in its file.
    pub(super) end: u64,
    pub(super) frames: Vec<Frame>,
    pub(super) reached: Reached,
}

/// Why reading stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// So many frames are read at once, or damage follows.
    Limit,
    /// Nothing was read but these bytes, which are no frame.
    Damage(Range<u64>),
    /// Nothing readable is left in the segment.
    End,
    /// The system refuses for now.
    Refused,
}

/// The backlog under the lock of the state. What is found damaged is kept and said once the lock is free.
pub(super) struct Backlog<'a> {
    pub(super) state: MutexGuard<'a, State>,
    pub(super) damaged: Vec<Range<u64>>,
    /// Records that were in damaged parts.
    pub(super) lost: u64,
}

impl Backlog<'_> {
    /// Enqueues the records of these frames; false if there is nothing more to do now.
    pub(super) fn enqueue(&mut self, read: Frames) -> bool {
        let Frames {
            start,
            end,
            frames,
            reached,
        } = read;
        if !self.state.reads_at(start) {
            return true;
        }
        if !self.offer(start, frames) {
            return false;
        }
        match reached {
            Reached::Damage(place) => {
                self.skip_damage(start, place);
                true
            }
            Reached::End => self.end_segment(start.position.segment, end),
            Reached::Limit | Reached::Refused => true,
        }
    }

    /// Offers the records that are to be delivered and moves the backlog behind them; false if delivery
    /// has no more room.
    fn offer(&mut self, start: ReadCursor, frames: Vec<Frame>) -> bool {
        let mut cursor = start;
        for frame in frames {
            let position = RecordPosition {
                ordinal: frame.ordinal.unwrap_or(cursor.position.ordinal),
                ..cursor.position
            };
            if !self.count_missing(cursor, position, &frame) {
                cursor.offset = frame.place.end;
                continue;
            }
            cursor.position = position;
            if self.state.count_frame(position) {
                match record_codec::decode_in_place(frame.content) {
                    Some(record) => {
                        if !self.state.offer_backlog(position, record) {
                            self.state.read_up_to(cursor);
                            return false;
                        }
                    }
                    None => {
                        // It may be another version's: the segment is kept.
                        self.damaged.push(frame.place.clone());
                        self.state.skip_frame(position);
                    }
                }
            }
            cursor.move_behind(position.ordinal, frame.place.end);
        }
        self.state.read_up_to(cursor);
        true
    }

    /// Counts the records between the cursor and a frame, which were damaged. False if the frame is not one of
    /// those that are still expected: a disk may show old bytes in a new place.
    fn count_missing(&mut self, cursor: ReadCursor, found: RecordPosition, frame: &Frame) -> bool {
        // No frame is shorter than its header.
        let most = frame.place.start / FRAME_HEADER as u64;
        let first = u64::from(cursor.position.ordinal);
        if !(first..=most.max(first)).contains(&found.ordinal.into()) {
            return false;
        }
        self.lost += self.state.skip_damaged(cursor.position, found.ordinal);
        true
    }

    /// Goes on behind a segment in which nothing readable is left; false if there is nothing more to do now.
    fn end_segment(&mut self, segment: SegmentId, end: u64) -> bool {
        match self.state.lacking_from(segment, end) {
            // It was longer when its records were counted.
            Some(cursor) => {
                let place = cursor.offset..end.max(cursor.offset);
                self.skip_damage(cursor, place);
                true
            }
            None => self.state.end_of_segment(segment, end),
        }
    }

    /// Moves the backlog from the cursor behind bytes that are no frame, and counts the records that were there as
    /// far as no later frame tells how many they were.
    fn skip_damage(&mut self, cursor: ReadCursor, place: Range<u64>) {
        let mut cursor = cursor;
        cursor.offset = place.end;
        let segment = cursor.position.segment;
        if !self.state.has_more(segment, place.end) {
            self.lost += self.state.skip_damaged_end(cursor.position);
        }
        self.damaged.push(place);
        self.state.read_up_to(cursor);
        self.state.stop_appending(segment);
    }
}
