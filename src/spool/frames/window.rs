//! Bytes of a file, read in large pieces. Sectors that the disk cannot read are zeros.

use crate::spool::disk::File;
use std::io;

/// Bytes read from the file at once.
pub(super) const WINDOW: usize = 256 << 10;
/// Bytes that a disk reads or fails to read as one.
const SECTOR: u64 = 4096;

/// A file, and the piece of it that was read last.
pub(super) struct Window {
    file: File,
    bytes: Vec<u8>,
    start: u64,
}

impl Window {
    pub(super) fn new(file: File) -> Self {
        Self {
            file,
            bytes: Vec::new(),
            start: 0,
        }
    }

    /// The file's current length in bytes.
    pub(super) fn file_length(&self) -> io::Result<u64> {
        Ok(self.file.about()?.bytes)
    }

    /// Up to `length` bytes at an offset; fewer only at the end.
    pub(super) fn bytes(&mut self, at: u64, length: usize, end: u64) -> io::Result<&[u8]> {
        let length = length_within(at, length, end);
        let is_there =
            at >= self.start && at + length as u64 <= self.start + self.bytes.len() as u64;
        if !is_there {
            // Nothing behind the end is remembered: it may still be written again.
            self.bytes
                .resize(length_within(at, length.max(WINDOW), end), 0);
            self.start = at;
            let read = read_past_failures(&self.file, &mut self.bytes, at)?;
            self.bytes.truncate(read);
        }
        let from = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        let to = from.saturating_add(length).min(self.bytes.len());
        Ok(self.bytes.get(from..to).unwrap_or_default())
    }

    /// The same bytes as a value of their own, which may be longer than a piece.
    pub(super) fn read(&mut self, at: u64, length: usize, end: u64) -> io::Result<Vec<u8>> {
        if length <= WINDOW {
            return Ok(self.bytes(at, length, end)?.to_vec());
        }
        let mut bytes = vec![0; length_within(at, length, end)];
        let read = read_past_failures(&self.file, &mut bytes, at)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// Reads on to find a byte that is not zero; false if there is none.
    pub(super) fn find_content(&mut self, from: u64, end: u64) -> io::Result<bool> {
        let mut from = from;
        while from < end {
            let bytes = self.bytes(from, WINDOW, end)?;
            if bytes.is_empty() || bytes.iter().any(|byte| *byte != 0) {
                return Ok(true);
            }
            from += bytes.len() as u64;
        }
        Ok(false)
    }
}

fn length_within(at: u64, length: usize, end: u64) -> usize {
    let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
    length.min(left)
}

/// Reads at an offset; sectors that the disk cannot read are zeros.
fn read_past_failures(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    match file.read_at(bytes, at) {
        Err(error) if is_unreadable(&error) => {}
        read => return read,
    }
    let mut done = 0;
    while done < bytes.len() {
        let offset = at + done as u64;
        let sector = usize::try_from(SECTOR - offset % SECTOR).unwrap_or(usize::MAX);
        let to = bytes.len().min(done + sector);
        match file.read_at(&mut bytes[done..to], offset) {
            Ok(read) if read < to - done => return Ok(done + read),
            Ok(_) => {}
            Err(error) if is_unreadable(&error) => bytes[done..to].fill(0),
            Err(error) => return Err(error),
        }
        done = to;
    }
    Ok(done)
}

fn is_unreadable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}
