//! What the request path, the lanes and the disk thread of a spool share: the bytes not yet written,
//! the book of what is owed, and whether records go to the lanes from memory. No file is touched here.

mod room;

use super::SpoolBounds;
use super::book::{Book, Place};
use super::dead::Letter;
use super::entry;
use super::gone::{Gone, Loss};
use super::held::Waiting;
use super::item::{Chunk, Item};
use super::letters::MAX_WAITING;
use super::numbers::{Digested, Numbered, Numbers};
use super::segment::{self, HEADER, SegmentId};
use crate::backend::Record;
use std::sync::Arc;
use tokio::sync::Notify;
use uuid::Uuid;

/// Bytes after which a new segment begins.
const SEGMENT_BYTES: u64 = 16 << 20;
/// Bytes held for a disk that does not take them; beyond it records are dropped.
const MAX_PENDING: u64 = 32 << 20;
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
    /// Dead letters that are to be written.
    pub(super) dead: Vec<Letter>,
    dead_bytes: usize,
    pub(super) gone: Vec<Gone>,
    /// Told when records wait for their lanes; None where nobody delivers, or not any more.
    outlet: Option<Arc<Notify>>,
    /// Records that wait for their lanes.
    outbox: Vec<Item>,
    /// Bytes of the records in the lanes, but for those that are parked.
    pub(super) held: u64,
    /// Records in the lanes.
    pub(super) in_lanes: u64,
    /// Records in the lanes that the backend fails on while it takes others.
    pub(super) parked: u64,
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
        outlet: Option<Arc<Notify>>,
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
            dead_bytes: 0,
            gone: Vec::new(),
            outlet,
            outbox: Vec::new(),
            held: 0,
            in_lanes: 0,
            parked: 0,
            behind,
            no_room: false,
            urgent: false,
            closing: false,
            idle: false,
        }
    }

    /// What the spool may use.
    pub(super) fn bounds(&self) -> SpoolBounds {
        self.bounds
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
        if self.unwritten > MAX_PENDING {
            let (place, record, ticket) = (None, digested.record, self.pushed);
            let waiting = Waiting {
                place,
                record,
                ticket,
            };
            return (waiting, None);
        }
        let (place, _, record) = self.place(digested, now_ms);
        if let Some(entry) = self.book.get_mut(place.segment) {
            entry.hold(place);
        }
        let waiting = Waiting {
            place: Some(place),
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
        let Some(outlet) = &self.outlet else {
            return false;
        };
        self.held += item.weight;
        self.in_lanes += 1;
        self.outbox.push(item);
        if self.outbox.len() == 1 {
            outlet.notify_one();
        }
        true
    }

    /// What waits for its lanes, and whether more may come.
    pub(super) fn take_outbox(&mut self) -> (Vec<Item>, bool) {
        (std::mem::take(&mut self.outbox), self.outlet.is_some())
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

    /// A record stands aside in its lane: it takes no memory from those that come behind it. Its lane
    /// bounds what is parked.
    pub(super) fn park(&mut self, weight: u64) {
        self.no_room = false;
        self.held -= weight;
        self.parked += 1;
    }

    /// A parked record is about to leave its lane.
    pub(super) fn unpark(&mut self, weight: u64) {
        self.held += weight;
        self.parked -= 1;
    }

    /// Takes a dead letter for the disk thread; false where that has not written the others yet and
    /// there is no room for it.
    pub(super) fn bury(&mut self, letter: Letter) -> bool {
        if self.dead_bytes > MAX_WAITING {
            return false;
        }
        self.dead_bytes += letter.bytes.len();
        self.dead.push(letter);
        true
    }

    /// The dead letters that are to be written.
    pub(super) fn take_dead(&mut self) -> Vec<Letter> {
        self.dead_bytes = 0;
        std::mem::take(&mut self.dead)
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

    /// Age of the oldest record that is owed; 0 where there is none.
    pub(super) fn age_seconds(&self, now_ms: i64) -> f64 {
        let oldest = self.book.oldest_owed_ms();
        let age = oldest.map_or(0, |at| now_ms - at);
        age.max(0) as f64 / 1e3
    }

    /// The segment that takes new records.
    pub(super) fn current(&self) -> SegmentId {
        self.current
    }

    /// Lets the lanes end once they are empty.
    pub(super) fn close_lanes(&mut self) {
        if let Some(outlet) = self.outlet.take() {
            outlet.notify_one();
        }
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
}
