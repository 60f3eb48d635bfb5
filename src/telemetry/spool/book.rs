//! Which records of which segment are still owed to the backend (CONTRACT 23). Numbers only: no
//! file is touched here.

use super::segment::{HEADER, SegmentId};
use std::collections::BTreeMap;

/// One record's place: its segment and how many stand before it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) segment: SegmentId,
    pub(super) ordinal: u32,
}

/// What is known of one segment.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// Frames; while an old segment is not read to its end, those read so far.
    records: u32,
    /// Whether `records` is all there will be.
    sealed: bool,
    acked: Bits,
    /// Records that a call of their own delivers, or a lane from memory once that failed.
    held: Bits,
    /// Bytes of its file, or of what its file will be.
    pub(super) bytes: u64,
    /// When its latest record came, milliseconds since 1970.
    pub(super) last_ms: i64,
    /// Records of it that are in memory on their way.
    pub(super) in_flight: u32,
}

/// All segments.
#[derive(Debug, Default)]
pub(super) struct Book {
    segments: BTreeMap<SegmentId, Entry>,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Bits {
    words: Vec<u64>,
    count: u32,
}

impl Bits {
    /// False when it was set before.
    fn set(&mut self, bit: u32) -> bool {
        let (word, mask) = (bit as usize / 64, 1 << (bit % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let fresh = self.words[word] & mask == 0;
        self.words[word] |= mask;
        self.count += u32::from(fresh);
        fresh
    }

    /// Forgets every bit from this one on.
    fn truncate(&mut self, end: u32) {
        self.words.truncate(end.div_ceil(64) as usize);
        if let Some(last) = self.words.get_mut(end as usize / 64) {
            *last &= (1 << (end % 64)) - 1;
        }
        self.count = self.words.iter().map(|word| word.count_ones()).sum();
    }

    fn has(&self, bit: u32) -> bool {
        let word = self.words.get(bit as usize / 64);
        word.is_some_and(|word| word & (1 << (bit % 64)) != 0)
    }
}

impl Entry {
    fn is_settled(&self) -> bool {
        self.sealed && self.acked.count >= self.records
    }

    /// Records owed, as far as they are known.
    fn owed(&self) -> u64 {
        u64::from(self.records.saturating_sub(self.acked.count))
    }
}

impl Book {
    /// A segment found in the folder, with the acknowledgements its ledger holds.
    pub(super) fn found(&mut self, id: SegmentId, (bytes, last_ms): (u64, i64), acked: &[u32]) {
        let mut entry = Entry {
            bytes,
            last_ms,
            ..Entry::default()
        };
        acked.iter().for_each(|ordinal| {
            entry.acked.set(*ordinal);
        });
        self.bytes += bytes;
        self.segments.insert(id, entry);
    }

    /// Adds a record of `bytes` to a segment.
    pub(super) fn add(&mut self, id: SegmentId, bytes: u64, now_ms: i64) -> Place {
        let entry = self.segments.entry(id).or_insert_with(|| {
            self.bytes += HEADER;
            Entry {
                bytes: HEADER,
                ..Entry::default()
            }
        });
        let ordinal = entry.records;
        entry.records += 1;
        entry.bytes += bytes;
        entry.last_ms = now_ms;
        self.bytes += bytes;
        Place {
            segment: id,
            ordinal,
        }
    }

    /// A frame of an old segment was read; false where it is acknowledged already, or on its way.
    pub(super) fn read(&mut self, place: Place) -> bool {
        let Some(entry) = self.segments.get_mut(&place.segment) else {
            return false;
        };
        if !entry.sealed {
            entry.records = entry.records.max(place.ordinal + 1);
        }
        !entry.acked.has(place.ordinal) && !entry.held.has(place.ordinal)
    }

    /// No record will be added to the segment; true when nothing of it is owed.
    pub(super) fn seal(&mut self, id: SegmentId) -> bool {
        self.segments.get_mut(&id).is_some_and(|entry| {
            entry.sealed = true;
            // After a crash the ledger may know of frames that never reached the disk.
            entry.acked.truncate(entry.records);
            entry.is_settled()
        })
    }

    /// A record is settled; true when the segment may go.
    pub(super) fn ack(&mut self, place: Place) -> bool {
        self.segments.get_mut(&place.segment).is_some_and(|entry| {
            entry.acked.set(place.ordinal);
            entry.is_settled()
        })
    }

    /// Takes a segment out.
    pub(super) fn remove(&mut self, id: SegmentId) -> Option<Entry> {
        let entry = self.segments.remove(&id)?;
        self.bytes -= entry.bytes;
        Some(entry)
    }

    /// Bytes of all segments.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Records owed, as far as their segments have been read.
    pub(super) fn owed(&self) -> u64 {
        self.segments.values().map(Entry::owed).sum()
    }

    /// A segment, changeable.
    pub(super) fn get_mut(&mut self, id: SegmentId) -> Option<&mut Entry> {
        self.segments.get_mut(&id)
    }

    /// A segment.
    pub(super) fn get(&self, id: SegmentId) -> Option<&Entry> {
        self.segments.get(&id)
    }

    /// The oldest segment.
    pub(super) fn oldest(&self) -> Option<(SegmentId, &Entry)> {
        let (id, entry) = self.segments.first_key_value()?;
        Some((*id, entry))
    }

    /// The first segment behind this one.
    pub(super) fn after(&self, id: SegmentId) -> Option<SegmentId> {
        self.segments.range(id + 1..).next().map(|(id, _)| *id)
    }
}

impl Entry {
    /// A record of it is not read back: it is in memory until it is settled.
    pub(super) fn hold(&mut self, place: Place) {
        self.held.set(place.ordinal);
        self.in_flight += 1;
    }

    /// Records that go with it when it is given up: owed, and not in memory either.
    pub(super) fn lost(&self) -> u64 {
        self.owed().saturating_sub(u64::from(self.in_flight))
    }

    /// For a segment that is not read to its end: records acknowledged, or in memory on their way.
    pub(super) fn unread(&self) -> Option<u64> {
        (!self.sealed).then(|| u64::from(self.acked.count) + u64::from(self.in_flight))
    }

    /// Whether every record so far is acknowledged, and there is one.
    pub(super) fn is_delivered(&self) -> bool {
        self.records > 0 && self.acked.count >= self.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_may_go_once_it_is_sealed_and_all_is_acknowledged() {
        let mut book = Book::default();
        let places: Vec<_> = (0..130).map(|_| book.add(1, 10, 5)).collect();
        assert_eq!(
            places[129],
            Place {
                segment: 1,
                ordinal: 129
            }
        );
        assert_eq!((book.bytes(), book.owed()), (8 + 1300, 130));
        for place in &places[1..] {
            assert!(!book.ack(*place));
            assert!(!book.ack(*place), "twice is once");
        }
        assert!(!book.seal(1));
        assert_eq!(book.owed(), 1);
        assert!(book.ack(places[0]));
        book.remove(1);
        assert_eq!((book.bytes(), book.owed()), (0, 0));
        assert!(!book.ack(places[0]), "a segment that is gone owes nothing");
    }

    #[test]
    fn an_old_segment_owes_what_its_ledger_does_not_hold() {
        let mut book = Book::default();
        book.found(3, (100, 1), &[0, 2, 2]);
        let place = |ordinal| Place {
            segment: 3,
            ordinal,
        };
        let owed: Vec<_> = (0..4)
            .filter(|ordinal| book.read(place(*ordinal)))
            .collect();
        assert_eq!(owed, [1, 3]);
        assert!(!book.seal(3));
        assert!(!book.ack(place(1)));
        assert!(book.ack(place(3)));
    }

    #[test]
    fn a_ledger_that_says_more_than_the_segment_holds_changes_nothing() {
        let mut book = Book::default();
        book.found(3, (100, 1), &[0, 9, 64, 700]);
        let place = |ordinal| Place {
            segment: 3,
            ordinal,
        };
        assert!(!book.read(place(0)));
        assert!(book.read(place(1)));
        assert!(!book.seal(3));
        assert_eq!(book.owed(), 1);
        assert!(book.ack(place(1)));
    }
}
