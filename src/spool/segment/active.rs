//! The segment that takes new records: how chunks are appended to its file.

use crate::spool::disk::{self, File};
use crate::spool::fault_points::{self, FaultPoint};
use crate::spool::frames::format;
use crate::spool::segment::{self, SegmentId};
use crate::spool::state::Chunk;
use std::io;
use std::path::Path;

/// The segment being written.
pub(crate) struct ActiveSegment {
    pub(crate) id: SegmentId,
    file: File,
    /// Synced bytes; whatever is behind them is cut off before the next write.
    pub(crate) length: u64,
}

/// Appends a chunk to its segment's file and syncs it. The next attempt cuts off whatever a failed one left behind the
/// last synced byte; until then it reads as a torn end. A failed sync is never just repeated: the system may have
/// dropped the bytes and report success the second time. For the same reason a segment of which nothing is synced
/// begins again with its header.
pub(crate) fn append(
    active: &mut Option<ActiveSegment>,
    folder: &Path,
    chunk: &Chunk,
) -> io::Result<()> {
    let appended = try_append(active, folder, chunk);
    let is_new = |active: &mut ActiveSegment| active.length == format::HEADER;
    if appended.is_err() && active.take_if(is_new).is_some() {
        disk::remove(&segment::path(folder, chunk.segment))?;
    }
    appended
}

fn try_append(active: &mut Option<ActiveSegment>, folder: &Path, chunk: &Chunk) -> io::Result<()> {
    let is_active = |active: &ActiveSegment| active.id == chunk.segment;
    if !active.as_ref().is_some_and(is_active) {
        *active = Some(ActiveSegment {
            id: chunk.segment,
            file: segment::create(folder, chunk.segment, &chunk.writer)?,
            length: format::HEADER,
        });
    }
    let Some(active) = active else {
        return Ok(());
    };
    if active.file.about()?.bytes != active.length {
        active.file.set_length(active.length)?;
    }
    fault_points::write(FaultPoint::Write, &mut active.file, &chunk.bytes)?;
    fault_points::reached(FaultPoint::Sync);
    active.file.sync()?;
    fault_points::reached(FaultPoint::Synced);
    active.length += chunk.bytes.len() as u64;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::spool::frames::writer::FrameWriter;

    #[test]
    fn contract_23_what_a_failed_sync_leaves_does_not_count_as_written() {
        // Takes every byte and cannot be synced.
        let file = std::fs::File::options().append(true).open("/dev/null");
        let file = File::from(file.unwrap());
        let mut active = Some(ActiveSegment {
            id: 1,
            file,
            length: 0,
        });
        let chunk = Chunk {
            segment: 1,
            writer: FrameWriter::new(&Default::default()),
            bytes: b"bytes".to_vec(),
            finished: 0,
        };
        assert!(append(&mut active, Path::new("/nowhere"), &chunk).is_err());
        assert_eq!(active.unwrap().length, 0);
    }
}
