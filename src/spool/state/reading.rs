//! How far the backlog has been read back from disk.

use super::State;
use super::delivery_queue::{DeliveryItem, Offered};
use crate::backend::Record;
use crate::spool::segment::SegmentId;
use crate::spool::segment_index::{ReadCursor, RecordPosition};

impl State {
    /// Where to read on, if delivery has room and the spool is not closing.
    pub(crate) fn next_to_read(&self) -> Option<ReadCursor> {
        let reads = self.can_read_backlog() && !self.closing;
        self.backlog().filter(|_| reads)
    }

    /// Whether a segment has more than these bytes: the rest is still to be written to its file.
    pub(crate) fn has_more(&self, segment: SegmentId, end: u64) -> bool {
        self.log.bytes_of(segment).is_some_and(|bytes| bytes > end)
    }

    /// Whether the backlog still continues at this place: its segment may have been dropped.
    pub(crate) fn reads_at(&self, cursor: ReadCursor) -> bool {
        self.backlog() == Some(cursor)
    }

    /// Bytes of a segment that are in its file, if the writer still holds `held_back` of them.
    pub(crate) fn readable_bytes(&self, segment: SegmentId, held_back: u64) -> u64 {
        self.log.bytes_in_file(segment, held_back)
    }

    /// Counts the frame at the backlog's cursor; whether its record is to be delivered.
    pub(crate) fn count_frame(&mut self, position: RecordPosition) -> bool {
        self.log.count_frame(position)
    }

    /// Enqueues the record at the backlog's cursor; false if delivery has no room for it.
    pub(crate) fn offer_backlog(&mut self, position: RecordPosition, record: Record) -> bool {
        // It is on disk: it leaves the process at once.
        self.offer(DeliveryItem::new(Some(position), record, 0)) != Offered::NoRoom
    }

    /// The frame at this position is not a record this version knows; it is done with.
    pub(crate) fn skip_frame(&mut self, position: RecordPosition) {
        self.log.skip_frame(position);
    }

    /// The frames up to ordinal `end` are damaged. Gives how many of them were still to be delivered.
    pub(crate) fn skip_damaged(&mut self, from: RecordPosition, end: u32) -> u64 {
        self.log.skip_damaged(from, end)
    }

    /// Nothing more is readable in this segment. Gives how many records were still to be delivered, if known.
    pub(crate) fn skip_damaged_end(&mut self, from: RecordPosition) -> u64 {
        self.log.skip_damaged_end(from)
    }

    /// Continues the backlog at `cursor`, unless its segment was dropped while its frames were enqueued.
    pub(crate) fn read_up_to(&mut self, cursor: ReadCursor) {
        if self.cursor_in(cursor.position.segment).is_some() {
            self.backlog = Some(cursor);
        }
    }

    /// Where a segment that takes no more records lacks some that it had, if nothing more can be read in it and
    /// `end` of its bytes are in its file.
    pub(crate) fn lacking_from(&self, segment: SegmentId, end: u64) -> Option<ReadCursor> {
        let cursor = self.cursor_in(segment)?;
        let is_whole = segment != self.log.current() && !self.has_more(segment, end);
        (is_whole && self.log.has_readable(cursor.position)).then_some(cursor)
    }

    /// Nothing readable is left in a segment, of which `end` bytes are in its file. True if reading goes
    /// on in the next segment.
    pub(crate) fn end_of_segment(&mut self, segment: SegmentId, end: u64) -> bool {
        let Some(cursor) = self.cursor_in(segment) else {
            return true;
        };
        if segment == self.log.current() {
            // Level with the request path: from here on records are delivered from memory.
            let bytes = self.log.bytes_of(segment);
            if bytes.is_none_or(|bytes| bytes == cursor.offset) {
                self.backlog = None;
            }
            return false;
        }
        if self.has_more(segment, end) {
            return false;
        }
        self.log.seal(segment);
        self.backlog = Some(ReadCursor::start(self.log.next_after(segment)));
        true
    }

    /// No more records are appended to this segment: it is damaged.
    pub(crate) fn stop_appending(&mut self, segment: SegmentId) {
        self.log.stop_appending(segment);
    }

    /// Where reading back continues: at the beginning of the next segment if its own is gone.
    pub(super) fn backlog(&self) -> Option<ReadCursor> {
        let cursor = self.backlog?;
        let segment = cursor.position.segment;
        Some(match self.log.has(segment) {
            true => cursor,
            false => ReadCursor::start(self.log.next_after(segment)),
        })
    }

    pub(super) fn can_read_backlog(&self) -> bool {
        self.backlog.is_some() && self.delivery.has_room()
    }

    fn cursor_in(&self, segment: SegmentId) -> Option<ReadCursor> {
        self.backlog()
            .filter(|cursor| cursor.position.segment == segment)
    }
}
