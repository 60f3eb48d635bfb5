//! Reads back from disk what memory could not hold or an earlier process left (CONTRACT 23). Runs on the
//! spool's thread. What can be read of a damaged segment is delivered, and a copy of it is kept.

use crate::observe::events::SpoolDamaged;
use crate::spool::core::SpoolCore;
use crate::spool::record_codec;
use crate::spool::segment::{self, NextFrame, SegmentId, SegmentReader};
use crate::spool::segment_index::ReadCursor;
use crate::spool::state::{Chunk, State, length_of};
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Frames read at once at most.
const MAX_FRAMES: usize = 256;
/// Bytes read at once at most, except for a longer frame.
const MAX_BYTES: u64 = 1 << 20;

pub(crate) struct BacklogReader {
    core: Arc<SpoolCore>,
    folder: PathBuf,
    open: Option<OpenSegment>,
    /// The newest segment of an earlier process, whose end may be torn.
    newest_found: Option<SegmentId>,
}

struct OpenSegment {
    id: SegmentId,
    reader: SegmentReader,
}

/// What was read from a segment at a cursor.
struct Frames {
    start: ReadCursor,
    /// Bytes of the segment that are in its file.
    end: u64,
    frames: Vec<Frame>,
    reached: Reached,
}

struct Frame {
    content: Vec<u8>,
    /// Bytes in the file.
    length: u64,
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    /// So many frames are read at once.
    Limit,
    /// Nothing readable is left in the segment.
    End,
    /// The system refuses for now.
    Refused,
}

/// How far the backlog has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BacklogStatus {
    /// There is nothing more to read, or no room for it.
    Idle,
    /// The system refuses for now and is to be asked again later.
    Refused,
}

impl BacklogReader {
    pub(crate) fn new(
        core: Arc<SpoolCore>,
        folder: PathBuf,
        newest_found: Option<SegmentId>,
    ) -> Self {
        Self {
            core,
            folder,
            open: None,
            newest_found,
        }
    }

    /// Closes a segment whose file is about to be removed.
    pub(crate) fn close(&mut self, segment: SegmentId) {
        if self.open.as_ref().is_some_and(|open| open.id == segment) {
            self.open = None;
        }
    }

    /// Enqueues records for delivery as long as delivery has room. `unwritten` is not in its file yet.
    pub(crate) fn read_back(&mut self, unwritten: &VecDeque<Chunk>) -> BacklogStatus {
        loop {
            let state = self.core.lock();
            let Some(start) = state.next_to_read() else {
                return BacklogStatus::Idle;
            };
            let segment = start.position.segment;
            let end = state.readable_bytes(segment, length_of(unwritten, segment));
            drop(state);
            let frames = self.read_frames(start, end);
            let goes_on = self.enqueue(&frames);
            if frames.reached == Reached::Refused {
                return BacklogStatus::Refused;
            }
            if !goes_on {
                return BacklogStatus::Idle;
            }
        }
    }

    /// Enqueues the records of these frames; false if there is nothing more to do now.
    fn enqueue(&self, frames: &Frames) -> bool {
        let mut state = self.core.lock();
        if !state.reads_at(frames.start) {
            return true;
        }
        if !self.offer(&mut state, frames) {
            return false;
        }
        frames.reached != Reached::End
            || state.end_of_segment(frames.start.position.segment, frames.end)
    }

    /// Offers the records that are to be delivered and moves the backlog behind them; false if delivery
    /// has no more room.
    fn offer(&self, state: &mut State, frames: &Frames) -> bool {
        let mut cursor = frames.start;
        for frame in &frames.frames {
            let position = cursor.position;
            if state.count_frame(position) {
                match record_codec::decode(&frame.content) {
                    Some(record) => {
                        if !state.offer_backlog(position, record) {
                            state.read_up_to(cursor);
                            return false;
                        }
                    }
                    None => {
                        // It may be another version's: a copy is kept.
                        self.keep_damaged(position.segment, frame.length);
                        state.skip_frame(position);
                    }
                }
            }
            cursor.advance(frame.length);
        }
        state.read_up_to(cursor);
        true
    }

    /// Reads frames from the cursor on.
    fn read_frames(&mut self, start: ReadCursor, end: u64) -> Frames {
        let mut read = Frames {
            start,
            end,
            frames: Vec::new(),
            reached: Reached::Limit,
        };
        if let Err(reached) = self.open(start, end) {
            read.reached = reached;
            return read;
        }
        let mut bytes = 0;
        while read.frames.len() < MAX_FRAMES
            && bytes < MAX_BYTES
            && let Some(open) = &mut self.open
        {
            let before = open.reader.offset();
            match open.reader.next(end) {
                Ok(NextFrame::Whole(content)) => {
                    let length = open.reader.offset() - before;
                    bytes += length;
                    read.frames.push(Frame { content, length });
                }
                stopped => {
                    self.stop_at(start.position.segment, before, end, stopped);
                    read.reached = Reached::End;
                    break;
                }
            }
        }
        read
    }

    /// Keeps a copy of a segment that is damaged at `offset`, unless it just ends there.
    fn stop_at(&self, segment: SegmentId, offset: u64, end: u64, stopped: io::Result<NextFrame>) {
        let damage = match stopped {
            Ok(NextFrame::End | NextFrame::Whole(_)) => return,
            // The last write of a process that was killed is not damage.
            Ok(NextFrame::Torn(_)) if self.newest_found == Some(segment) => return,
            Ok(NextFrame::Torn(at) | NextFrame::Broken(at)) => at,
            Err(error) => {
                self.core.log_disk_error(&error);
                offset
            }
        };
        self.keep_damaged(segment, end - damage);
        self.core.lock().stop_appending(segment);
    }

    /// Opens the segment at the cursor, unless that is where the reader is.
    fn open(&mut self, cursor: ReadCursor, end: u64) -> Result<(), Reached> {
        let id = cursor.position.segment;
        let is_there = |open: &OpenSegment| open.id == id && open.reader.offset() == cursor.offset;
        if self.open.as_ref().is_some_and(is_there) {
            return Ok(());
        }
        self.open = None;
        match SegmentReader::open_at(&segment::path(&self.folder, id), cursor.offset) {
            Ok(reader) => {
                self.open = Some(OpenSegment { id, reader });
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Reached::End),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.keep_damaged(id, end);
                Err(Reached::End)
            }
            // Too many open files, for instance: the records are there and stay.
            Err(error) => {
                self.core.log_disk_error(&error);
                Err(Reached::Refused)
            }
        }
    }

    /// Keeps a copy of a segment that cannot be read whole.
    fn keep_damaged(&self, id: SegmentId, bytes: u64) {
        let path = segment::path(&self.folder, id);
        // The copy may exist from an earlier start.
        let _ = std::fs::hard_link(&path, path.with_extension("damaged"));
        SpoolDamaged { bytes }.emit(self.core.metrics());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::observe::Metrics;
    use crate::spool::core::SpoolBounds;
    use crate::spool::segment_index::SegmentIndex;
    use crate::spool::sequence::SequenceFile;
    use crate::spool::state::Initial;
    use std::io::Write;
    use support::stack::Folder;

    #[test]
    fn little_more_than_what_is_read_at_once_is_in_memory() {
        let folder = Folder::unmade();
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
        let (sequence_file, sequencer) = SequenceFile::open(folder.path(), None).unwrap();
        let initial = Initial {
            index: SegmentIndex::default(),
            current: 2,
            sequencer,
        };
        let metrics = Arc::new(Metrics::new().unwrap());
        let state = State::new(initial, bounds.eviction(), bounds.memory, None);
        let core = SpoolCore::new(bounds, state, sequence_file, metrics);
        let mut reader = BacklogReader::new(Arc::new(core), folder.path().into(), None);
        let (mut cursor, mut count) = (ReadCursor::start(1), 0);
        loop {
            let read = reader.read_frames(cursor, 8 + bytes.len() as u64);
            let length: u64 = read.frames.iter().map(|frame| frame.length).sum();
            assert!(length <= MAX_BYTES + 300_008, "{length}");
            for frame in &read.frames {
                cursor.advance(frame.length);
            }
            count += read.frames.len();
            if read.reached == Reached::End {
                break;
            }
        }
        assert_eq!(count, 20);
    }
}
