//! What the request path, the lanes and the disk thread of a spool share: the bytes not yet written,
//! the book of what is owed, and whether records go to the lanes from memory. No file is touched here.

use super::SpoolBounds;
use super::book::{Book, Place};
use super::entry;
use super::gone::{Gone, Unread};
use super::held::Waiting;
use super::numbers::{Digested, Numbered, Numbers};
use super::segment::{self, HEADER, SegmentId};
use crate::model::RecordId;
use crate::telemetry::{Kept, Record};
use tokio::sync::mpsc;
use uuid::Uuid;

/// Bytes after which a new segment begins.
const SEGMENT_BYTES: u64 = 16 << 20;
/// Bytes held for a disk that does not take them; beyond it records are dropped.
const MAX_PENDING: u64 = 32 << 20;
/// How long a segment whose records are all delivered stays when no new ones come.
const IDLE_MS: i64 = 5_000;

/// A record on its way through a lane.
pub(super) struct Item {
    /// None for one that the disk took no place for: its verdict is known, and it is about to be kept.
    pub(super) place: Option<Place>,
    pub(super) record: Record,
    pub(super) weight: u64,
    /// Ends once the record is kept under this id, where its verdict is known.
    pub(super) kept: Option<(RecordId, Kept)>,
    /// It leaves its lane once so many records are on disk.
    pub(super) ticket: u64,
}

/// Frames for one segment.
pub(super) struct Chunk {
    pub(super) segment: SegmentId,
    pub(super) bytes: Vec<u8>,
}

/// Where reading back goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) place: Place,
    pub(super) offset: u64,
}

impl Cursor {
    /// The first frame of a segment.
    pub(super) fn start(segment: SegmentId) -> Self {
        Self {
            place: Place {
                segment,
                ordinal: 0,
            },
            offset: HEADER,
        }
    }

    /// Goes to the next frame.
    pub(super) fn advance(&mut self, length: u64) {
        self.place.ordinal += 1;
        self.offset += length;
    }
}

/// Why records went without being delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// spool.max_bytes.
    Full,
    /// spool.max_age.
    Old,
    /// The disk took nothing and memory is full.
    Disk,
}

pub(super) struct State {
    pub(super) book: Book,
    bounds: SpoolBounds,
    current: SegmentId,
    pub(super) numbers: Numbers,
    pub(super) pending: Vec<Chunk>,
    /// Bytes in `pending` and in what the disk thread holds.
    pub(super) unwritten: u64,
    /// Records taken so far.
    pub(super) pushed: u64,
    pub(super) acks: Vec<Place>,
    /// Entries for the dead-letter file.
    pub(super) dead: Vec<Vec<u8>>,
    pub(super) gone: Vec<Gone>,
    lanes: Vec<mpsc::UnboundedSender<Item>>,
    /// Bytes of the records in the lanes.
    pub(super) held: u64,
    /// Records in the lanes.
    pub(super) in_lanes: u64,
    /// Where to read on; None while records go to the lanes from memory.
    pub(super) behind: Option<Cursor>,
    /// The lanes had no room for the record that is next to be read, and none has left one since.
    no_room: bool,
    /// Somebody waits for the disk.
    pub(super) urgent: bool,
    pub(super) closing: bool,
    /// The disk thread waits to be woken.
    pub(super) idle: bool,
}

impl State {
    /// `book` holds the segments found; `current` is the number of the first new one.
    pub(super) fn new(
        book: Book,
        current: SegmentId,
        bounds: SpoolBounds,
        lanes: Vec<mpsc::UnboundedSender<Item>>,
    ) -> Self {
        let behind = book.oldest().map(|(id, _)| Cursor::start(id));
        Self {
            book,
            bounds,
            current,
            numbers: Numbers::behind(Uuid::new_v4(), Numbered::default(), None),
            pending: Vec::new(),
            unwritten: 0,
            pushed: 0,
            acks: Vec::new(),
            dead: Vec::new(),
            gone: Vec::new(),
            lanes,
            held: 0,
            in_lanes: 0,
            behind,
            no_room: false,
            urgent: false,
            closing: false,
            idle: false,
        }
    }

    /// Takes a record; what was lost for it, if anything: the record itself, or older ones.
    pub(super) fn push(&mut self, digested: Digested, now_ms: i64) -> Option<(Loss, u64)> {
        if self.unwritten > MAX_PENDING {
            return Some((Loss::Disk, 1));
        }
        let (place, offset, record) = self.place(digested, now_ms);
        if self.behind.is_none() && !self.offer(place, record, self.pushed) {
            self.behind = Some(Cursor { place, offset });
        }
        self.make_room()
    }

    /// Takes a record that goes to no lane for now; without a place where the disk takes no more.
    pub(super) fn hold(
        &mut self,
        digested: Digested,
        now_ms: i64,
    ) -> (Waiting, Option<(Loss, u64)>) {
        let (place, record) = match self.unwritten > MAX_PENDING {
            true => (None, digested.record),
            false => {
                let (place, _, record) = self.place(digested, now_ms);
                (Some(place), record)
            }
        };
        if let Some(place) = place
            && let Some(entry) = self.book.get_mut(place.segment)
        {
            entry.hold(place);
        }
        let waiting = Waiting {
            place,
            record,
            ticket: self.pushed,
        };
        (waiting, self.make_room())
    }

    /// Numbers a record and adds it to the current segment: its place, where that begins, and it.
    fn place(&mut self, digested: Digested, now_ms: i64) -> (Place, u64, Record) {
        if self.current_bytes() >= SEGMENT_BYTES {
            self.rotate();
        }
        let record = self.numbers.give(digested);
        let offset = self.current_bytes();
        let size = self.encode(&record);
        let place = self.book.add(self.current, size, now_ms);
        self.unwritten += size;
        self.pushed += 1;
        (place, offset, record)
    }

    /// Puts a record into its lane; false where memory is full.
    pub(super) fn offer(&mut self, place: Place, record: Record, ticket: u64) -> bool {
        let weight = record.weight();
        if self.held + weight > self.bounds.memory && self.held > 0 {
            self.no_room = true;
            return false;
        }
        let sent = self.send(Item {
            place: Some(place),
            record,
            weight,
            kept: None,
            ticket,
        });
        if sent && let Some(entry) = self.book.get_mut(place.segment) {
            entry.in_flight += 1;
        }
        true
    }

    /// One exchange, one lane. Whatever the bound: [`State::offer`] keeps it.
    pub(super) fn send(&mut self, item: Item) -> bool {
        if self.lanes.is_empty() {
            return false;
        }
        let weight = item.weight;
        let lane = item.record.context.exchange.0.as_u128() % self.lanes.len() as u128;
        let sent = self.lanes[lane as usize].send(item).is_ok();
        if sent {
            self.held += weight;
            self.in_lanes += 1;
        }
        sent
    }

    /// A record left its lane for good.
    pub(super) fn settled(&mut self, place: Option<Place>, weight: u64) {
        self.no_room = false;
        self.held -= weight;
        self.in_lanes -= 1;
        if let Some(place) = place {
            self.settled_alone(place);
        }
    }

    /// As [`State::settled`], of a record that was in no lane.
    pub(super) fn settled_alone(&mut self, place: Place) {
        if let Some(entry) = self.book.get_mut(place.segment) {
            entry.in_flight -= 1;
            self.acks.push(place);
        }
        if self.book.ack(place) {
            self.give_up(place.segment);
        }
    }

    /// A frame that holds no record this program knows is done with.
    pub(super) fn settled_unread(&mut self, place: Place) {
        self.acks.push(place);
        if self.book.ack(place) {
            self.give_up(place.segment);
        }
    }

    /// No frame of this segment is still to be read.
    pub(super) fn read_to_its_end(&mut self, segment: SegmentId) {
        if self.book.seal(segment) {
            self.give_up(segment);
        }
    }

    /// What is done once in a while: old segments go, a delivered one is closed so that its file
    /// does not outlive its records.
    pub(super) fn tick(&mut self, now_ms: i64) -> Option<(Loss, u64)> {
        let current = self.book.get(self.current);
        if current.is_some_and(|entry| entry.is_delivered() && now_ms - entry.last_ms > IDLE_MS) {
            self.rotate();
        }
        let limit = i64::try_from(self.bounds.age.as_millis()).unwrap_or(i64::MAX);
        let mut lost = 0;
        while let Some((id, entry)) = self.book.oldest()
            && now_ms.saturating_sub(entry.last_ms) > limit
        {
            lost += self.drop_segment(id, Loss::Old);
        }
        (lost > 0).then_some((Loss::Old, lost))
    }

    /// Whether lanes have room for records that are read back.
    pub(super) fn wants_more(&self) -> bool {
        self.behind.is_some() && !self.no_room && self.held <= self.bounds.memory / 2
    }

    /// Bytes of a segment that are in its file.
    pub(super) fn written(&self, segment: SegmentId, held_back: u64) -> u64 {
        let pending = self.pending.iter().filter(|chunk| chunk.segment == segment);
        let pending: u64 = pending.map(|chunk| chunk.bytes.len() as u64).sum();
        let bytes = self.book.get(segment).map_or(0, |entry| entry.bytes);
        bytes.saturating_sub(pending + held_back)
    }

    /// Age of the oldest segment; 0 where there is none.
    pub(super) fn age_seconds(&self, now_ms: i64) -> f64 {
        let oldest = self.book.oldest();
        let age = oldest.map_or(0, |(_, entry)| now_ms - entry.last_ms);
        age.max(0) as f64 / 1e3
    }

    /// The segment that takes new records.
    pub(super) fn current(&self) -> SegmentId {
        self.current
    }

    /// Lets the lanes end once they are empty.
    pub(super) fn close_lanes(&mut self) {
        self.lanes.clear();
    }

    fn current_bytes(&self) -> u64 {
        self.book
            .get(self.current)
            .map_or(HEADER, |entry| entry.bytes)
    }

    fn encode(&mut self, record: &Record) -> u64 {
        let fits = self
            .pending
            .last()
            .is_some_and(|chunk| chunk.segment == self.current);
        if !fits {
            self.pending.push(Chunk {
                segment: self.current,
                bytes: Vec::new(),
            });
        }
        let Some(chunk) = self.pending.last_mut() else {
            return 0;
        };
        let before = chunk.bytes.len();
        segment::frame(&mut chunk.bytes, |out| entry::encode(record, out));
        (chunk.bytes.len() - before) as u64
    }

    fn rotate(&mut self) {
        let old = self.current;
        self.current += 1;
        if self.book.seal(old) {
            self.give_up(old);
        }
    }

    fn make_room(&mut self) -> Option<(Loss, u64)> {
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
    pub(super) fn leave(&mut self, id: SegmentId) {
        if id == self.current {
            self.rotate();
        }
    }

    /// Takes a segment out of the book; its file goes with the disk thread's next step.
    fn give_up(&mut self, id: SegmentId) {
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
