//! Reads back from disk what memory could not hold or an earlier process left (CONTRACT 23). Runs on the
//! spool's thread. Damage costs the records that it covers: they are counted, and the segment is kept.

use super::backlog::{Backlog, Frames, Reached};
use crate::observe::events::SpoolRecordsDamaged;
use crate::spool::core::SpoolCore;
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::damage;
use crate::spool::frames::file_format::Format;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::recovery::salvage;
use crate::spool::segment::{self, SegmentId};
use crate::spool::segment_index::ReadCursor;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Frames read at once at most.
const MAX_FRAMES: usize = 256;
/// Bytes read at once at most, except for a longer frame.
const MAX_BYTES: u64 = 1 << 20;

pub(crate) struct BacklogReader {
    core: Arc<SpoolCore>,
    folder: SpoolFolder,
    open: Option<OpenSegment>,
    /// The segment that was salvaged last, and from where on, also where that could not be noted.
    salvaged: Option<(SegmentId, u64)>,
}

struct OpenSegment {
    id: SegmentId,
    reader: FrameReader,
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
    pub(crate) fn new(core: Arc<SpoolCore>, folder: SpoolFolder) -> Self {
        Self {
            core,
            folder,
            open: None,
            salvaged: None,
        }
    }

    /// Closes a segment whose file is about to be removed.
    pub(crate) fn close(&mut self, segment: SegmentId) {
        if self.open.as_ref().is_some_and(|open| open.id == segment) {
            self.open = None;
        }
    }

    /// Enqueues records for delivery as long as delivery has room. `readable` tells how much of a segment is synced.
    pub(crate) fn read_back(&mut self, readable: impl Fn(SegmentId) -> u64) -> BacklogStatus {
        loop {
            let Some(start) = self.core.lock().next_to_read() else {
                return BacklogStatus::Idle;
            };
            let end = readable(start.position.segment);
            let read = self.read_frames(start, end);
            let is_refused = read.reached == Reached::Refused;
            let goes_on = self.enqueue(read);
            if is_refused {
                return BacklogStatus::Refused;
            }
            if !goes_on {
                return BacklogStatus::Idle;
            }
        }
    }

    /// Enqueues the records of these frames; false if there is nothing more to do now.
    fn enqueue(&self, read: Frames) -> bool {
        let segment = read.start.position.segment;
        let mut backlog = Backlog {
            state: self.core.lock(),
            damaged: Vec::new(),
            lost: 0,
        };
        let goes_on = backlog.enqueue(read);
        let Backlog {
            state,
            damaged,
            lost,
        } = backlog;
        drop(state);
        for place in damaged {
            self.keep_damaged(segment, place);
        }
        self.log_lost(segment, lost);
        goes_on
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
            match open.reader.next(end) {
                Ok(NextFrame::Whole(frame)) => {
                    bytes += frame.place.end - frame.place.start;
                    read.frames.push(frame);
                }
                // The frames before it are enqueued first.
                Ok(NextFrame::Damaged(_) | NextFrame::Torn(_)) if !read.frames.is_empty() => break,
                stopped => {
                    read.reached = self.stop_at(start.position.segment, end, stopped);
                    break;
                }
            }
        }
        read
    }

    /// Decides how to go on where no frame is.
    fn stop_at(&mut self, segment: SegmentId, end: u64, stopped: io::Result<NextFrame>) -> Reached {
        match stopped {
            Ok(NextFrame::End | NextFrame::Whole(_)) => Reached::End,
            // Versions up to 4.1 left the last write of a process that was killed as it was. The start cuts off others.
            Ok(NextFrame::Torn(_)) if self.format() == Some(Format::First) => Reached::End,
            Ok(NextFrame::Torn(at)) => Reached::Damage(at..end),
            Ok(NextFrame::Damaged(place)) => self.salvage(segment, place, end),
            Err(error) => {
                self.core.log_disk_error(&error);
                Reached::Refused
            }
        }
    }

    fn format(&self) -> Option<Format> {
        self.open.as_ref().map(|open| open.reader.format())
    }

    fn has_ordinals(&self) -> bool {
        self.format().is_none_or(Format::has_ordinals)
    }

    /// Where frames do not tell which of them are acknowledged, all that follow damage are put back into the spool
    /// once, and the segment ends where the damage begins.
    fn salvage(&mut self, segment: SegmentId, place: Range<u64>, end: u64) -> Reached {
        if place.end == end || self.has_ordinals() {
            return Reached::Damage(place);
        }
        let known = self.salvaged.filter(|(id, _)| *id == segment);
        let known = known.map(|(_, from)| from);
        let done_from = known.or_else(|| salvage::salvaged_from(&self.folder, segment));
        if done_from.is_none_or(|from| place.end < from) {
            if let Err(error) = salvage::salvage(&self.folder, segment, place.end) {
                self.core.log_disk_error(&error);
                return Reached::Refused;
            }
            self.salvaged = Some((segment, place.end));
            if let Err(error) = salvage::note(&self.folder, segment, place.end) {
                self.core.log_disk_error(&error);
            }
        }
        Reached::Damage(place.start..end)
    }

    /// Opens the segment at the cursor, unless that is where the reader is.
    fn open(&mut self, cursor: ReadCursor, end: u64) -> Result<(), Reached> {
        let id = cursor.position.segment;
        let is_there = |open: &OpenSegment| open.id == id && open.reader.offset() == cursor.offset;
        if self.open.as_ref().is_some_and(is_there) {
            return Ok(());
        }
        self.open = None;
        let path = segment::path(&self.folder, id);
        match self.reader_at(&path, cursor) {
            Ok(reader) => {
                self.open = Some(OpenSegment { id, reader });
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Reached::End),
            // Not a file of frames, or not any more.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                // The second time nothing is left of it.
                let is_skipped = cursor.offset >= end;
                Err(match is_skipped {
                    true => Reached::End,
                    false => Reached::Damage(cursor.offset..end),
                })
            }
            // Too many open files, for instance: the records are there and stay.
            Err(error) => {
                self.core.log_disk_error(&error);
                Err(Reached::Refused)
            }
        }
    }

    fn reader_at(&self, path: &Path, cursor: ReadCursor) -> io::Result<FrameReader> {
        let ordinal = cursor.position.ordinal;
        let reader = FrameReader::open_at(path, self.folder.keys(), cursor.offset, ordinal)?;
        // A start cuts off a segment to which nothing was written.
        match reader.is_blank()? {
            true => Err(io::ErrorKind::InvalidData.into()),
            false => Ok(reader),
        }
    }

    /// Keeps a segment that cannot be read whole.
    fn keep_damaged(&self, id: SegmentId, place: Range<u64>) {
        let path = segment::path(&self.folder, id);
        let kept = damage::keep(&path, place.end - place.start, self.core.metrics());
        if let Err(error) = kept {
            self.core.log_disk_error(&error);
        }
    }

    fn log_lost(&self, id: SegmentId, count: u64) {
        if count > 0 {
            let file = &segment::path(&self.folder, id);
            SpoolRecordsDamaged { file, count }.emit(self.core.metrics());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::observe::Metrics;
    use crate::spool::core::SpoolBounds;
    use crate::spool::disk;
    use crate::spool::frames::tests::segment_of;
    use crate::spool::segment_index::SegmentIndex;
    use crate::spool::sequence::SequenceFile;
    use crate::spool::state::{Initial, State};
    use support::stack::Folder;

    #[test]
    fn little_more_than_what_is_read_at_once_is_in_memory() {
        let folder = Folder::unmade();
        std::fs::create_dir_all(folder.path()).unwrap();
        let content: &[u8] = &[7; 300_000];
        segment_of(folder.path(), 1, &[content; 20]);
        let end = disk::about(&segment::path(folder.path(), 1)).unwrap().bytes;
        let bounds = SpoolBounds {
            bytes: 1 << 30,
            age: std::time::Duration::MAX,
            memory: 1 << 30,
            concurrency: 0,
            dead: 0,
        };
        let metrics = Arc::new(Metrics::new().unwrap());
        let opened = SequenceFile::open(folder.path(), None, &metrics);
        let (sequence_file, sequencer) = opened.unwrap();
        let initial = Initial {
            keys: Arc::default(),
            index: SegmentIndex::default(),
            current: 2,
            sequencer,
        };
        let state = State::new(initial, bounds.eviction(), bounds.memory, None);
        let core = SpoolCore::new(bounds, state, sequence_file, metrics);
        let mut reader = BacklogReader::new(Arc::new(core), folder.path().into());
        let (mut cursor, mut count) = (ReadCursor::start(1), 0);
        loop {
            let read = reader.read_frames(cursor, end);
            let lengths = read.frames.iter().map(|frame| frame.content.len() as u64);
            let length: u64 = lengths.sum();
            assert!(length <= MAX_BYTES + 300_000, "{length}");
            for frame in &read.frames {
                cursor.move_behind(frame.ordinal.unwrap(), frame.place.end);
            }
            count += read.frames.len();
            if read.reached == Reached::End {
                break;
            }
        }
        assert_eq!(count, 20);
    }
}
