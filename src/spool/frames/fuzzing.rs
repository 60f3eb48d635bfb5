//! The files of frames for fuzz/fuzz_targets/spool_frames.rs: written as the spool writes them, read as it reads
//! them. Only builds for fuzzing and tests have it.

use super::keyring::Keyring;
use super::reader::{FrameReader, NextFrame};
use super::writer::FrameWriter;
use std::io;
use std::ops::Range;
use std::path::Path;

/// A file that was written whole, and where each of its frames lies.
pub struct Written {
    /// The bytes of the file, from its header on.
    pub bytes: Vec<u8>,
    /// One place for each content, in order.
    pub frames: Vec<Range<usize>>,
}

/// A file of frames with these contents.
///
/// # Errors
/// When a content cannot be encrypted.
pub fn write(contents: &[&[u8]], keys: &Keyring) -> io::Result<Written> {
    let writer = FrameWriter::new(keys);
    let (mut bytes, mut frames) = (writer.header().to_vec(), Vec::new());
    for (ordinal, content) in (0..).zip(contents) {
        let start = bytes.len();
        writer.frame(&mut bytes, ordinal, |out| out.extend_from_slice(content))?;
        frames.push(start..bytes.len());
    }
    Ok(Written { bytes, frames })
}

/// The contents that a file still has, in order, with the numbers of their frames.
///
/// # Errors
/// When it is not recognized as a file of frames: the spool sets such a file aside.
pub fn read(path: &Path, keys: &Keyring) -> io::Result<Vec<(Option<u32>, Vec<u8>)>> {
    let mut reader = FrameReader::open(path, keys)?;
    let end = reader.length()?;
    let mut found = Vec::new();
    loop {
        match reader.next(end)? {
            NextFrame::Whole(frame) => found.push((frame.ordinal, frame.content)),
            NextFrame::Damaged(_) => {}
            NextFrame::Torn(_) | NextFrame::End => return Ok(found),
        }
    }
}
