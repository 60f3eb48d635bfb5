//! Bytes that the request path has added and the writer has not synced yet.
//!
//! Invariant: `unsynced` is the length of all chunks in `chunks`, plus that of the chunks the writer
//! has taken and neither synced nor discarded. It changes under the lock of the state, and is read without.

use crate::backend::Record;
use crate::spool::frames::writer::FrameWriter;
use crate::spool::record_codec;
use crate::spool::segment::SegmentId;
use crate::spool::segment_index::RecordPosition;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes kept for a disk that is behind or refuses to be written; beyond it records are dropped, and beyond half of it
/// those of access keys that no backend has accepted.
const MAX_UNSYNCED: u64 = 32 << 20;

/// A chunk of so many bytes takes no further frame, and a frame of so many is allocated at once.
const LARGE: usize = 1 << 20;

/// Frames for one segment.
pub(crate) struct Chunk {
    pub(crate) segment: SegmentId,
    /// Writes the segment's frames.
    pub(crate) writer: FrameWriter,
    /// The frames; drafts from `finished` on.
    pub(crate) bytes: Vec<u8>,
    pub(crate) finished: usize,
}

impl Chunk {
    fn new(segment: SegmentId, writer: FrameWriter) -> Self {
        Self {
            segment,
            writer,
            bytes: Vec::new(),
            finished: 0,
        }
    }

    /// Makes drafts into frames, each once: what is written again after a failure is the same bytes. What cannot be
    /// made into frames is blanked, and the reader counts it as damage: no later record waits for it, and no text of
    /// it is written.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        while self.finished < self.bytes.len() {
            let drafts = &mut self.bytes[self.finished..];
            match self.writer.finish(drafts) {
                Ok(length) => self.finished += length,
                Err(error) => {
                    drafts.fill(0);
                    self.finished = self.bytes.len();
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

#[derive(Default)]
pub(super) struct WriteBuffer {
    chunks: Vec<Chunk>,
    unsynced: Arc<AtomicU64>,
}

impl WriteBuffer {
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub(super) fn has_unsynced(&self) -> bool {
        self.unsynced() > 0
    }

    /// Whether the disk is so far behind that no record is taken, of a key that no backend has accepted or of others.
    pub(super) fn is_full(&self, is_unknown: bool) -> bool {
        let most = if is_unknown {
            MAX_UNSYNCED / 2
        } else {
            MAX_UNSYNCED
        };
        self.unsynced() > most
    }

    /// The bytes that are not synced, for those who have no lock.
    pub(super) fn watch_unsynced(&self) -> Arc<AtomicU64> {
        self.unsynced.clone()
    }

    fn unsynced(&self) -> u64 {
        self.unsynced.load(Ordering::Relaxed)
    }

    pub(super) fn set_unsynced(&self, bytes: u64) {
        self.unsynced.store(bytes, Ordering::Relaxed);
    }

    /// Encodes a record as the frame at this position of a segment; gives the frame's length.
    pub(super) fn append(
        &mut self,
        position: RecordPosition,
        writer: &FrameWriter,
        record: &Record,
    ) -> u64 {
        let RecordPosition { segment, ordinal } = position;
        let has_room = |chunk: &Chunk| chunk.segment == segment && chunk.bytes.len() < LARGE;
        if !self.chunks.last().is_some_and(has_room) {
            self.chunks.push(Chunk::new(segment, writer.clone()));
        }
        let Some(chunk) = self.chunks.last_mut() else {
            return 0;
        };
        let before = chunk.bytes.len();
        let weight = usize::try_from(record.weight()).unwrap_or(0);
        if weight >= LARGE {
            // Growing step by step, it would take up to three times as much for a moment.
            chunk.bytes.reserve_exact(weight);
        }
        writer.draft(&mut chunk.bytes, ordinal, |out| {
            record_codec::encode(record, out);
        });
        let length = (chunk.bytes.len() - before) as u64;
        self.set_unsynced(self.unsynced() + length);
        length
    }

    /// Hands all chunks to the writer, which reports each with [`Self::released`].
    pub(super) fn take(&mut self) -> Vec<Chunk> {
        std::mem::take(&mut self.chunks)
    }

    /// The writer has synced or discarded so many bytes.
    pub(super) fn released(&mut self, bytes: u64) {
        self.set_unsynced(self.unsynced() - bytes);
    }

    /// Discards the chunks of a segment that is dropped.
    pub(super) fn discard(&mut self, segment: SegmentId) {
        self.released(self.buffered(segment));
        self.chunks.retain(|chunk| chunk.segment != segment);
    }

    /// Bytes of a segment that the writer has not taken yet.
    pub(super) fn buffered(&self, segment: SegmentId) -> u64 {
        length_of(&self.chunks, segment)
    }
}

/// Bytes of these chunks that belong to a segment.
pub(crate) fn length_of<'a>(
    chunks: impl IntoIterator<Item = &'a Chunk>,
    segment: SegmentId,
) -> u64 {
    let own = chunks.into_iter().filter(|chunk| chunk.segment == segment);
    own.map(|chunk| chunk.bytes.len() as u64).sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::key_file::FileKey;
    use crate::spool::frames::keyring::Keyring;

    #[test]
    fn contract_23_a_draft_that_cannot_be_encrypted_is_blanked_and_nothing_waits_for_it() {
        let keys = Keyring::new(Some(FileKey::of(1).into()), Vec::new());
        let mut chunk = Chunk::new(1, FrameWriter::new(&keys));
        let writer = chunk.writer.clone();
        writer.draft(&mut chunk.bytes, 0, |out| out.extend_from_slice(b"first"));
        let first = chunk.bytes.len();
        writer.draft(&mut chunk.bytes, 1, |out| out.extend_from_slice(b"second"));
        // As the header of a draft that is too long.
        chunk.bytes[first + 12] ^= 1;
        chunk.finish().unwrap_err();
        assert!(chunk.bytes[first..].iter().all(|byte| *byte == 0));
        chunk.finish().unwrap();
        assert_ne!(chunk.bytes[..first], vec![0; first]);
    }
}
