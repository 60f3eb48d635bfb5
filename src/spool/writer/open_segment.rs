//! The file of a segment that takes records: how far it is written, and how far it is synced.

use crate::spool::disk::File;
use crate::spool::fault_points::{self, FaultPoint};
use crate::spool::frames::format;
use crate::spool::segment::{self, SegmentId};
use crate::spool::state::Chunk;
use std::io;
use std::path::Path;
use std::sync::Arc;

pub(super) struct OpenSegment {
    pub(super) id: SegmentId,
    file: Arc<File>,
    /// Whatever is behind these bytes is left of a write that failed. None of them: the file is to begin again.
    written: u64,
    /// Bytes that a sync confirmed. None of them: neither is the file's name.
    synced: u64,
}

impl OpenSegment {
    pub(super) fn create(folder: &Path, chunk: &Chunk) -> io::Result<Self> {
        let file = segment::create(folder, chunk.segment, &chunk.writer)?;
        Ok(Self {
            id: chunk.segment,
            file: Arc::new(file),
            written: format::HEADER,
            synced: 0,
        })
    }

    /// Appends frames, and gives where they end. After a failure, what is left of them reads as a torn end.
    pub(super) fn append(&mut self, frames: &[u8]) -> io::Result<u64> {
        if self.file.about()?.bytes != self.written {
            self.file.set_length(self.written)?;
        }
        let appended = fault_points::write(FaultPoint::Write, &mut &*self.file, frames);
        if appended.is_err() && self.written == format::HEADER {
            // The name is free again while the disk refuses.
            self.rewind();
        }
        appended?;
        self.written += frames.len() as u64;
        Ok(self.written)
    }

    /// Counts as written what is synced, and nothing else.
    pub(super) fn rewind(&mut self) {
        self.written = self.synced;
    }

    /// Whether the file is to begin again.
    pub(super) fn is_blank(&self) -> bool {
        self.written == 0
    }

    pub(super) fn is_synced(&self) -> bool {
        self.synced == self.written
    }

    pub(super) fn synced(&self) -> u64 {
        self.synced
    }

    /// What is to be synced, as far as it is written now.
    pub(super) fn unsynced(&self) -> UnsyncedFile {
        UnsyncedFile {
            id: self.id,
            file: self.file.clone(),
            bytes: self.written,
            is_new: self.synced == 0,
        }
    }

    pub(super) fn set_synced(&mut self, bytes: u64) {
        self.synced = bytes;
    }
}

/// A file to sync, with the bytes that are on disk afterwards.
pub(super) struct UnsyncedFile {
    pub(super) id: SegmentId,
    pub(super) bytes: u64,
    pub(super) is_new: bool,
    file: Arc<File>,
}

impl UnsyncedFile {
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}
