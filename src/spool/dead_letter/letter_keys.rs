//! Files of dead letters that were begun with another key, or with none.

use super::files;
use crate::spool::disk::{self, File};
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::file_format::Format;
use crate::spool::frames::keyring::{Keyring, SpoolKey};
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::frames::writer::FrameWriter;
use crate::spool::recovery::incoming;
use std::io::{self, BufWriter, ErrorKind, Write as _};
use std::path::Path;

/// Whether further letters may be written to a file of this format: it has the current key, or none as there is none.
pub(super) fn is_current(format: Format, keys: &Keyring) -> bool {
    format == Format::Empty || format.key() == keys.current().map(SpoolKey::id)
}

/// Whether no file has to be written again: it has the current key, or is missing, or is no file of letters.
pub(super) fn has_current_key(path: &Path, spool: &SpoolFolder) -> io::Result<bool> {
    match FrameReader::open(path, spool.keys()) {
        // What is no file of letters is set aside by whoever writes it.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => {
            Ok(true)
        }
        opened => Ok(is_current(opened?.format(), spool.keys())),
    }
}

/// Writes the whole letters of a file again with the current key if it has another one.
pub(super) fn use_current_key(path: &Path, spool: &SpoolFolder) -> io::Result<()> {
    let keys = spool.keys();
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    // What an attempt left that did not finish.
    match disk::remove(part) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if has_current_key(path, spool)? {
        return Ok(());
    }
    let mut reader = FrameReader::open(path, keys)?;
    // No replay takes the file meanwhile.
    let lock = files::try_lock(&incoming::create_folder(spool)?)?;
    let _lock = lock.ok_or(ErrorKind::WouldBlock)?;
    let copied = copy(&mut reader, keys, disk::create_new(part)?);
    let renamed = copied.and_then(|()| disk::rename(part, path));
    renamed.inspect_err(|_| {
        // It is tried again: what there is room for is not taken by an attempt.
        let _ = disk::remove(part);
    })?;
    disk::sync_folder(spool)
}

/// Moves a file with another key to those of a process before, of which some letters at a time are imported: letters
/// that come now need a file with the current key.
pub(super) fn leave_to_import(path: &Path, spool: &SpoolFolder) -> io::Result<()> {
    let reader = FrameReader::open(path, spool.keys());
    // What cannot be opened stays where it is; the error is logged by whoever writes to it.
    if !reader.is_ok_and(|reader| !is_current(reader.format(), spool.keys())) {
        return Ok(());
    }
    let incoming = incoming::create_folder(spool)?;
    let lock = files::try_lock(&incoming)?;
    let _lock = lock.ok_or(ErrorKind::WouldBlock)?;
    files::move_to_imported(path, &incoming, u8::MAX)
}

/// Writes the whole letters of a file to a new one, and syncs it.
fn copy(reader: &mut FrameReader, keys: &Keyring, file: File) -> io::Result<()> {
    let (writer, mut out) = (FrameWriter::new(keys), BufWriter::new(file));
    out.write_all(&writer.header())?;
    let (end, mut ordinal) = (reader.length()?, 0);
    loop {
        match reader.next(end)? {
            NextFrame::Whole(frame) => {
                let mut bytes = Vec::new();
                writer.frame(&mut bytes, ordinal, |out| {
                    out.extend_from_slice(&frame.content);
                })?;
                out.write_all(&bytes)?;
                ordinal += 1;
            }
            NextFrame::Damaged(_) => {}
            // The record of a torn letter is still in its segment.
            NextFrame::Torn(_) | NextFrame::End => break,
        }
    }
    out.into_inner()?.sync()
}
