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
    /// When some of its records came, by their numbers.
    times: Times,
    /// An earlier process wrote it.
    found: bool,
    /// Records of it that are in memory on their way.
    pub(super) in_flight: u32,
}

/// The file of a segment that an earlier process left; times in milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundFile {
    pub(super) bytes: u64,
    /// When it was made, or no later than its first record came as far as that is known.
    pub(super) begun_ms: i64,
    /// When it was last written to.
    pub(super) last_ms: i64,
}

/// All segments.
#[derive(Debug, Default)]
pub(super) struct Book {
    segments: BTreeMap<SegmentId, Entry>,
    bytes: u64,
}

/// Every so often the number of a record and when it came, milliseconds since 1970.
#[derive(Debug, Default)]
struct Times {
    points: Vec<(u32, i64)>,
    /// Milliseconds between two of them at least.
    spacing: i64,
}

impl Times {
    const MOST: usize = 512;

    fn note(&mut self, ordinal: u32, now_ms: i64) {
        // A clock that was set back begins anew.
        let next = self.points.last().map(|(_, at)| at + self.spacing);
        if next.is_some_and(|next| (next - self.spacing..next).contains(&now_ms)) {
            return;
        }
        if self.points.len() == Self::MOST {
            let mut keep = false;
            self.points.retain(|_| {
                keep = !keep;
                keep
            });
            self.spacing *= 2;
        }
        self.spacing = self.spacing.max(500);
        self.points.push((ordinal, now_ms));
    }

    /// No later than when that record came.
    fn of(&self, ordinal: u32) -> Option<i64> {
        let behind = self
            .points
            .partition_point(|(number, _)| *number <= ordinal);
        Some(self.points.get(behind.checked_sub(1)?)?.1)
    }
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

    /// The first that is not set.
    fn first_unset(&self) -> u32 {
        let full = self.words.iter().take_while(|word| **word == u64::MAX);
        let full = full.count();
        let more = self.words.get(full).map_or(0, |word| word.trailing_ones());
        u32::try_from(full).unwrap_or(0) * 64 + more
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

    /// When the oldest record that is owed came, or no later; one of an earlier process counts from
    /// when its segment was begun.
    fn oldest_owed_ms(&self) -> Option<i64> {
        let unread = self.found && !self.sealed;
        let first = self.acked.first_unset();
        (unread || first < self.records).then(|| self.times.of(first))?
    }

    /// When its first record came.
    pub(super) fn begun_ms(&self) -> Option<i64> {
        self.times.of(0)
    }
}

impl Book {
    /// A segment found in the folder, with the acknowledgements its ledger holds.
    pub(super) fn found(&mut self, id: SegmentId, file: FoundFile, acked: &[u32]) {
        let mut entry = Entry {
            bytes: file.bytes,
            last_ms: file.last_ms,
            found: true,
            ..Entry::default()
        };
        entry.times.note(0, file.begun_ms);
        acked.iter().for_each(|ordinal| {
            entry.acked.set(*ordinal);
        });
        self.bytes += file.bytes;
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
        entry.times.note(ordinal, now_ms);
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

    /// When the oldest record that is owed came, milliseconds since 1970.
    pub(super) fn oldest_owed_ms(&self) -> Option<i64> {
        self.segments.values().find_map(Entry::oldest_owed_ms)
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

    fn file() -> FoundFile {
        FoundFile {
            bytes: 100,
            begun_ms: 1,
            last_ms: 7,
        }
    }

    #[test]
    fn contract_23_the_age_is_that_of_the_oldest_record_owed() {
        let mut book = Book::default();
        let places: Vec<_> = (0..20_000_i64)
            .map(|second| book.add(1, 10, second * 1_000))
            .collect();
        assert_eq!(book.oldest_owed_ms(), Some(0));
        for place in &places[..15_000] {
            book.ack(*place);
        }
        let oldest = book.oldest_owed_ms().unwrap_or_default();
        assert!((14_900_000..=15_000_000).contains(&oldest), "{oldest}");
        book.seal(1);
        let next = book.add(2, 10, 30_000_000);
        places[15_000..].iter().for_each(|place| {
            book.ack(*place);
        });
        assert_eq!(book.oldest_owed_ms(), Some(30_000_000));
        book.ack(next);
        assert_eq!(book.oldest_owed_ms(), None);
    }

    #[test]
    fn what_an_earlier_process_left_is_as_old_as_its_file() {
        let mut book = Book::default();
        book.found(3, file(), &[0]);
        assert_eq!(book.oldest_owed_ms(), Some(1));
        let place = |ordinal| Place {
            segment: 3,
            ordinal,
        };
        book.read(place(0));
        assert!(book.seal(3));
        assert_eq!(book.oldest_owed_ms(), None);
    }

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
        book.found(3, file(), &[0, 2, 2]);
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
        book.found(3, file(), &[0, 9, 64, 700]);
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
