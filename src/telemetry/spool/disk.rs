//! The thread of a spool that owns its folder: writes and syncs what was taken, notes what was
//! acknowledged, removes what is delivered, and reads back what memory could not hold (CONTRACT 23).
//! A disk that refuses keeps nothing from the clients: bytes wait in memory and are tried again.

use super::dead::Letters;
use super::incoming::Incoming;
use super::segment::{self, Next, Reader, SegmentId};
use super::state::{Chunk, Cursor, Loss, State};
use super::{Shared, entry, ledger, now_ms};
use crate::observe::events::{SpoolDamaged, SpoolDisk, SpoolLost};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

/// Records that come within this time share one sync.
const GATHER: Duration = Duration::from_millis(5);
/// How often the thread looks when nothing happens.
const TICK: Duration = Duration::from_millis(200);
/// Between two tries of a disk that refuses.
const RETRY: Duration = Duration::from_millis(250);
/// Frames read back at once.
const FRAMES: usize = 256;

pub(super) struct Disk {
    shared: Arc<Shared>,
    folder: PathBuf,
    /// Held for as long as the folder is used.
    _lock: File,
    open: Option<Open>,
    waiting: VecDeque<Chunk>,
    reader: Option<(SegmentId, Reader)>,
    /// The newest segment of an earlier process: its end may be torn.
    newest_found: Option<SegmentId>,
    refuses: bool,
    letters: Letters,
    incoming: Incoming,
}

/// The segment being written.
struct Open {
    segment: SegmentId,
    file: File,
    length: u64,
}

/// What one step takes from the shared state.
struct Work {
    pushed: u64,
    acks: BTreeMap<SegmentId, Vec<u32>>,
    dead: Vec<Vec<u8>>,
    gone: Vec<SegmentId>,
    last: bool,
}

impl Disk {
    pub(super) fn new(
        shared: Arc<Shared>,
        folder: PathBuf,
        lock: File,
        newest_found: Option<SegmentId>,
    ) -> Self {
        let incoming = Incoming::new(&folder);
        Self {
            shared,
            folder,
            _lock: lock,
            open: None,
            waiting: VecDeque::new(),
            reader: None,
            newest_found,
            refuses: false,
            letters: Letters::default(),
            incoming,
        }
    }

    /// Runs until the spool is closed and everything is written.
    pub(super) fn run(mut self) {
        loop {
            let mut work = self.take();
            let written = self.write_all();
            if written {
                self.shared.durable.send_replace(work.pushed);
            }
            self.note(&mut work);
            self.read_back();
            if work.last {
                return;
            }
            if written {
                self.incoming.step(&self.shared);
            }
            if !written {
                std::thread::sleep(RETRY);
            }
        }
    }

    /// Waits for something to do.
    fn take(&mut self) -> Work {
        let shared = self.shared.clone();
        let mut state = shared.lock();
        if !self.has_work(&state) {
            state.idle = true;
            state = shared.wait(state, TICK);
            state.idle = false;
        }
        if !state.pending.is_empty() && !state.urgent && !state.closing {
            drop(state);
            std::thread::sleep(GATHER);
            state = shared.lock();
        }
        let lost = state.tick(now_ms());
        self.report(lost);
        shared.measure(&state);
        state.urgent = false;
        self.waiting.extend(state.pending.drain(..));
        let mut acks = BTreeMap::<_, Vec<_>>::new();
        for place in state.acks.drain(..) {
            acks.entry(place.segment).or_default().push(place.ordinal);
        }
        Work {
            pushed: state.pushed,
            acks,
            dead: std::mem::take(&mut state.dead),
            gone: std::mem::take(&mut state.gone),
            last: state.closing,
        }
    }

    fn has_work(&self, state: &MutexGuard<'_, State>) -> bool {
        !state.pending.is_empty()
            || !self.waiting.is_empty()
            || state.closing
            || self.incoming.is_under_way()
            || !state.dead.is_empty()
            || state.wants_more()
    }

    /// Writes and syncs; false where the disk refused, and then nothing is half done.
    fn write_all(&mut self) -> bool {
        let mut written = 0;
        let mut refused = None;
        while let Some(chunk) = self.waiting.front() {
            match append(&mut self.open, &self.folder, chunk) {
                Ok(()) => written += chunk.bytes.len() as u64,
                Err(error) => {
                    refused = Some(error);
                    break;
                }
            }
            self.waiting.pop_front();
        }
        if written > 0 {
            let synced = self
                .open
                .as_ref()
                .map_or(Ok(()), |open| open.file.sync_data());
            refused = refused.or(synced.err());
            self.shared.lock().unwritten -= written;
        }
        self.say(refused.as_ref());
        refused.is_none()
    }

    fn say(&mut self, refused: Option<&io::Error>) {
        if refused.is_some() != self.refuses {
            self.refuses = refused.is_some();
            self.shared.set_degraded(self.refuses);
        }
        if let Some(error) = refused {
            SpoolDisk { error }.emit(&self.shared.metrics);
        }
    }

    /// Acknowledgements, dead letters and files that may go. What fails here costs a record sent
    /// twice or a file that stays, never a record.
    fn note(&mut self, work: &mut Work) {
        self.note_letters(std::mem::take(&mut work.dead));
        for (segment, ordinals) in &work.acks {
            if let Err(error) = ledger::append(&self.folder, *segment, ordinals) {
                SpoolDisk { error: &error }.emit(&self.shared.metrics);
            }
        }
        for segment in &work.gone {
            let unwritten = self
                .waiting
                .iter()
                .filter(|chunk| chunk.segment == *segment);
            let unwritten: u64 = unwritten.map(|chunk| chunk.bytes.len() as u64).sum();
            self.shared.lock().unwritten -= unwritten;
            self.waiting.retain(|chunk| chunk.segment != *segment);
            if self
                .open
                .as_ref()
                .is_some_and(|open| open.segment == *segment)
            {
                self.open = None;
            }
            if self.reader.as_ref().is_some_and(|(id, _)| id == segment) {
                self.reader = None;
            }
            // The ledger first: left behind, it would vouch for another segment of that number.
            let _ = std::fs::remove_file(ledger::path(&self.folder, *segment));
            let _ = std::fs::remove_file(segment::path(&self.folder, *segment));
        }
    }

    fn note_letters(&mut self, letters: Vec<Vec<u8>>) {
        let (written, dropped) = self.letters.write(&self.folder, letters);
        if let Err(error) = written {
            SpoolDisk { error: &error }.emit(&self.shared.metrics);
        }
        self.report((dropped > 0).then_some((Loss::Disk, dropped)));
        let count = self.letters.count(&self.folder);
        let metric = &self.shared.metrics.spool_dead_letters;
        metric.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Hands records that memory could not hold to the lanes, as far as these have room.
    fn read_back(&mut self) {
        loop {
            let (cursor, end) = {
                let state = self.shared.lock();
                let Some(cursor) = state
                    .behind
                    .filter(|_| state.wants_more() && !state.closing)
                else {
                    return;
                };
                let id = cursor.place.segment;
                let held_back = self.waiting.iter().filter(|chunk| chunk.segment == id);
                let held_back = held_back.map(|chunk| chunk.bytes.len() as u64).sum();
                (cursor, state.written(id, held_back))
            };
            if !self.hand_over(cursor, end) {
                return;
            }
        }
    }

    /// One step of reading back; false when there is nothing more to do now.
    fn hand_over(&mut self, cursor: Cursor, end: u64) -> bool {
        let (frames, at_end) = self.frames(cursor, end);
        let mut state = self.shared.lock();
        if state.behind != Some(cursor) {
            return true;
        }
        let mut next = cursor;
        for (content, length) in &frames {
            if state.book.read(next.place) {
                let Some(record) = entry::decode(content) else {
                    SpoolDamaged { bytes: *length }.emit(&self.shared.metrics);
                    state.settled_unread(next.place);
                    next.advance(*length);
                    continue;
                };
                if !state.offer(next.place, record) {
                    state.behind = Some(next);
                    return false;
                }
            }
            next.advance(*length);
        }
        state.behind = Some(next);
        if !at_end {
            return true;
        }
        let segment = next.place.segment;
        if segment < state.current() {
            if state
                .book
                .get(segment)
                .is_some_and(|entry| entry.bytes > end)
            {
                return false;
            }
            state.read_to_its_end(segment);
            if state.behind == Some(next) {
                let after = state.book.after(segment).unwrap_or(state.current());
                state.behind = Some(Cursor::start(after));
            }
            return true;
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

    /// Some frames from the cursor on with their lengths in the file, and whether the segment ends
    /// behind them.
    fn frames(&mut self, cursor: Cursor, end: u64) -> (Vec<(Vec<u8>, u64)>, bool) {
        let id = cursor.place.segment;
        let mut frames = Vec::new();
        let fits =
            |(open, reader): &(SegmentId, Reader)| *open == id && reader.offset() == cursor.offset;
        if !self.reader.as_ref().is_some_and(fits) {
            self.reader = match Reader::open_at(&segment::path(&self.folder, id), cursor.offset) {
                Ok(reader) => Some((id, reader)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return (frames, true),
                Err(_) => {
                    self.set_aside(id, end);
                    return (frames, true);
                }
            };
        }
        while frames.len() < FRAMES
            && let Some((_, reader)) = &mut self.reader
        {
            let before = reader.offset();
            match reader.next(end) {
                Ok(Next::Frame(content)) => frames.push((content, reader.offset() - before)),
                Ok(Next::End) => return (frames, true),
                Ok(Next::Broken(at)) => {
                    // The last write of a process that was killed is no damage.
                    if self.newest_found != Some(id) {
                        self.set_aside(id, end - at);
                    }
                    return (frames, true);
                }
                Err(error) => {
                    SpoolDisk { error: &error }.emit(&self.shared.metrics);
                    self.set_aside(id, end - before);
                    return (frames, true);
                }
            }
        }
        (frames, false)
    }

    /// Keeps a copy of a segment that cannot be read whole; what can be read of it is delivered.
    fn set_aside(&self, id: SegmentId, bytes: u64) {
        let path = segment::path(&self.folder, id);
        // It may stand there from an earlier start.
        let _ = std::fs::hard_link(&path, path.with_extension("damaged"));
        SpoolDamaged { bytes }.emit(&self.shared.metrics);
    }

    fn report(&self, lost: Option<(Loss, u64)>) {
        if let Some((loss, count)) = lost {
            SpoolLost {
                reason: loss.reason(),
                count,
            }
            .emit(&self.shared.metrics);
        }
    }
}

/// Adds a chunk to its segment's file. What a failure leaves behind the last whole chunk is cut off
/// by the next try, and read as a torn end until then.
fn append(open: &mut Option<Open>, folder: &std::path::Path, chunk: &Chunk) -> io::Result<()> {
    let fits = open
        .as_ref()
        .is_some_and(|open| open.segment == chunk.segment);
    if !fits {
        if let Some(old) = open.take() {
            old.file.sync_data()?;
        }
        let file = segment::create(folder, chunk.segment)?;
        *open = Some(Open {
            segment: chunk.segment,
            file,
            length: segment::HEADER,
        });
    }
    let Some(open) = open else {
        return Ok(());
    };
    // A failed write may have left a part of itself.
    if open.file.metadata()?.len() != open.length {
        open.file.set_len(open.length)?;
    }
    open.file.write_all(&chunk.bytes)?;
    open.length += chunk.bytes.len() as u64;
    Ok(())
}

impl Loss {
    fn reason(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Old => "old",
            Self::Disk => "disk",
        }
    }
}
