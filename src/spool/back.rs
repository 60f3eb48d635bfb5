//! Reading back what memory could not hold or an earlier process left (CONTRACT 23). Runs on the
//! spool's thread; what can be read of a damaged segment is delivered, and a copy of it is kept.

use super::item::Chunk;
use super::segment::{self, Next, Reader, SegmentId};
use super::state::{Cursor, State};
use super::{Shared, entry};
use crate::observe::events::{SpoolDamaged, SpoolDiskFailed};
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Frames read back at once.
const FRAMES: usize = 256;
/// Bytes read back at once, but for a longer frame.
const BYTES: u64 = 1 << 20;

/// What reads back.
pub(super) struct Back {
    shared: Arc<Shared>,
    folder: PathBuf,
    reader: Option<(SegmentId, Reader)>,
    /// The newest segment of an earlier process: its end may be torn.
    newest_found: Option<SegmentId>,
}

/// How far a step came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    More,
    /// Nothing readable is left in the segment.
    End,
    /// The system refuses for now.
    Later,
}

impl Back {
    pub(super) fn new(
        shared: Arc<Shared>,
        folder: PathBuf,
        newest_found: Option<SegmentId>,
    ) -> Self {
        Self {
            shared,
            folder,
            reader: None,
            newest_found,
        }
    }

    /// Closes a segment that goes.
    pub(super) fn forget(&mut self, segment: SegmentId) {
        if self.reader.as_ref().is_some_and(|(id, _)| *id == segment) {
            self.reader = None;
        }
    }

    /// Hands records to the lanes, as far as these have room. `waiting` is not in its file yet. False
    /// where the system refuses and is to be asked again later.
    pub(super) fn read_back(&mut self, waiting: &VecDeque<Chunk>) -> bool {
        loop {
            let (cursor, end) = {
                let state = self.shared.lock();
                let Some(cursor) = state
                    .behind
                    .filter(|_| state.wants_more() && !state.closing)
                else {
                    return true;
                };
                let id = cursor.place.segment;
                let held_back = waiting.iter().filter(|chunk| chunk.segment == id);
                let held_back = held_back.map(|chunk| chunk.bytes.len() as u64).sum();
                (cursor, state.written(id, held_back))
            };
            let (frames, reached) = self.frames(cursor, end);
            let goes_on = self.hand_over(cursor, end, (&frames, reached));
            if reached == Reached::Later || !goes_on {
                return reached != Reached::Later;
            }
        }
    }

    /// One step of reading back; false when there is nothing more to do now.
    fn hand_over(
        &self,
        cursor: Cursor,
        end: u64,
        (frames, reached): (&[(Vec<u8>, u64)], Reached),
    ) -> bool {
        let mut state = self.shared.lock();
        if state.behind != Some(cursor) {
            return true;
        }
        let Some(next) = self.offer(&mut state, cursor, frames) else {
            return false;
        };
        let segment = next.place.segment;
        if reached != Reached::End {
            return true;
        }
        if segment < state.current() {
            return go_on_behind(&mut state, next, end);
        }
        // Level with the request path: from here on records go to the lanes from memory.
        let caught_up = state
            .book
            .get(segment)
            .is_none_or(|entry| entry.bytes == next.offset);
        if caught_up {
            state.behind = None;
        }
        false
    }

    /// Puts what is owed of these frames into the lanes and gives the place behind them; None where
    /// the lanes are full.
    fn offer(
        &self,
        state: &mut State,
        mut next: Cursor,
        frames: &[(Vec<u8>, u64)],
    ) -> Option<Cursor> {
        for (content, length) in frames {
            if state.book.read(next.place) {
                match entry::decode(content) {
                    Some(record) => {
                        if !state.offer(next.place, record, 0) {
                            state.behind = Some(next);
                            return None;
                        }
                    }
                    None => {
                        // Another version's, perhaps: it is not ours to throw away.
                        self.set_aside(next.place.segment, *length);
                        state.settled_unread(next.place);
                    }
                }
            }
            next.advance(*length);
        }
        state.behind = Some(next);
        Some(next)
    }

    /// Some frames from the cursor on with their lengths in the file, and how far they go.
    fn frames(&mut self, cursor: Cursor, end: u64) -> (Vec<(Vec<u8>, u64)>, Reached) {
        let id = cursor.place.segment;
        let mut frames = Vec::new();
        if let Err(reached) = self.open(cursor, end) {
            return (frames, reached);
        }
        let mut bytes = 0;
        while frames.len() < FRAMES
            && bytes < BYTES
            && let Some((_, reader)) = &mut self.reader
        {
            let before = reader.offset();
            match reader.next(end) {
                Ok(Next::Frame(content)) => {
                    let length = reader.offset() - before;
                    bytes += length;
                    frames.push((content, length));
                }
                Ok(Next::End) => return (frames, Reached::End),
                // The last write of a process that was killed is no damage.
                Ok(Next::Torn(_)) if self.newest_found == Some(id) => {
                    return (frames, Reached::End);
                }
                Ok(Next::Torn(at) | Next::Broken(at)) => {
                    self.set_aside(id, end - at);
                    self.shared.lock().leave(id);
                    return (frames, Reached::End);
                }
                Err(error) => {
                    SpoolDiskFailed { error: &error }.emit(&self.shared.metrics);
                    self.set_aside(id, end - before);
                    self.shared.lock().leave(id);
                    return (frames, Reached::End);
                }
            }
        }
        (frames, Reached::More)
    }

    fn open(&mut self, cursor: Cursor, end: u64) -> Result<(), Reached> {
        let id = cursor.place.segment;
        let fits =
            |(open, reader): &(SegmentId, Reader)| *open == id && reader.offset() == cursor.offset;
        if self.reader.as_ref().is_some_and(fits) {
            return Ok(());
        }
        match Reader::open_at(&segment::path(&self.folder, id), cursor.offset) {
            Ok(reader) => {
                self.reader = Some((id, reader));
                Ok(())
            }
            Err(error) => {
                self.reader = None;
                Err(self.unopened(&error, id, end))
            }
        }
    }

    fn unopened(&self, error: &io::Error, id: SegmentId, end: u64) -> Reached {
        match error.kind() {
            io::ErrorKind::NotFound => Reached::End,
            io::ErrorKind::InvalidData => {
                self.set_aside(id, end);
                Reached::End
            }
            // Too many open files, for one: the records are there and keep.
            _ => {
                SpoolDiskFailed { error }.emit(&self.shared.metrics);
                Reached::Later
            }
        }
    }

    /// Keeps a copy of a segment that cannot be read whole; what can be read of it is delivered.
    fn set_aside(&self, id: SegmentId, bytes: u64) {
        let path = segment::path(&self.folder, id);
        // It may stand there from an earlier start.
        let _ = std::fs::hard_link(&path, path.with_extension("damaged"));
        SpoolDamaged { bytes }.emit(&self.shared.metrics);
    }
}

/// Goes to the next segment; false while some of this one is not written yet.
fn go_on_behind(state: &mut State, next: Cursor, end: u64) -> bool {
    let segment = next.place.segment;
    let entry = state.book.get(segment);
    if entry.is_some_and(|entry| entry.bytes > end) {
        return false;
    }
    state.read_to_its_end(segment);
    if state.behind == Some(next) {
        let after = state.book.after(segment).unwrap_or(state.current());
        state.behind = Some(Cursor::start(after));
    }
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::observe::Metrics;
    use crate::spool::book::Book;
    use crate::spool::marks::Marks;
    use crate::spool::{Gate, SpoolBounds};
    use crate::temporary::TemporaryFolder;
    use std::io::Write;
    use std::sync::{Condvar, Mutex};
    use tokio::sync::watch;

    #[test]
    fn little_more_than_what_is_read_at_once_is_in_memory() {
        let folder = TemporaryFolder::unmade();
        std::fs::create_dir_all(folder.path()).unwrap();
        let mut bytes = Vec::new();
        for _ in 0..20 {
            segment::frame(&mut bytes, |out| out.resize(out.len() + 300_000, 7));
        }
        let mut file = segment::create(folder.path(), 1).unwrap();
        file.write_all(&bytes).unwrap();
        let bounds = SpoolBounds {
            bytes: 1 << 30,
            age: std::time::Duration::MAX,
            memory: 1 << 30,
            concurrency: 0,
            dead: 0,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(Book::default(), 2, bounds, None)),
            wake: Condvar::new(),
            durable: watch::Sender::default(),
            metrics: Arc::new(Metrics::new().unwrap()),
            gate: Gate::default(),
            marks: Marks::open(folder.path(), None).unwrap().0,
            files: super::super::owed::Owing::new(1).0,
        });
        let mut back = Back::new(shared, folder.path().into(), None);
        let (mut cursor, mut read) = (Cursor::start(1), 0);
        loop {
            let (frames, reached) = back.frames(cursor, 8 + bytes.len() as u64);
            let length: u64 = frames.iter().map(|(_, length)| length).sum();
            assert!(length <= BYTES + 300_008, "{length}");
            frames
                .iter()
                .for_each(|(_, length)| cursor.advance(*length));
            read += frames.len();
            if reached == Reached::End {
                break;
            }
        }
        assert_eq!(read, 20);
    }
}
