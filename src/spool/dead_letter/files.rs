//! The files with dead letters in a spool's folder: their names, how they are read, and how they are
//! taken from the process that writes them. A file that is taken gets the extension `taken`. Files
//! that a process before left arrive in the folder `incoming` with the extension `letters`.

use super::encoding::{DeadLetter, RefusalClass, decode};
use crate::spool::disk::{self, File};
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::recovery::incoming;
use std::io;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// The extension of files that a process before left.
const IMPORTED: &str = "letters";

/// Every dead letter in a spool's folder, oldest first. What cannot be read is left out.
///
/// # Errors
/// When a file exists and cannot be opened.
pub fn dead_letters(folder: &SpoolFolder) -> io::Result<Vec<DeadLetter>> {
    let mut letters = Vec::new();
    for path in all_files(folder) {
        let reader = FrameReader::open(&path, folder.keys());
        for_each_letter(&path, reader, |content| letters.extend(decode(content)))?;
    }
    letters.sort_by_key(|letter| letter.at_ms);
    Ok(letters)
}

/// What cannot be read of a file of dead letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LetterDamage {
    pub(crate) bytes: u64,
    /// Letters that were there, as far as it is known.
    pub(crate) letters: u64,
}

/// Calls `visit` with each whole dead letter of a file that was opened, and gives what is damaged; nothing for a file
/// that is missing.
pub(crate) fn for_each_letter(
    path: &Path,
    opened: io::Result<FrameReader>,
    mut visit: impl FnMut(&[u8]),
) -> io::Result<LetterDamage> {
    let mut damage = LetterDamage::default();
    let mut reader = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(damage),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            let bytes = disk::about(path)?.bytes;
            return Ok(LetterDamage { bytes, letters: 1 });
        }
        opened => opened?,
    };
    let (end, mut expected) = (reader.length()?, 0_u32);
    loop {
        match reader.next(end)? {
            NextFrame::Whole(frame) => {
                let ordinal = frame.ordinal.unwrap_or(expected);
                damage.letters += u64::from(ordinal.saturating_sub(expected));
                expected = ordinal.saturating_add(1);
                visit(&frame.content);
            }
            NextFrame::Damaged(place) => {
                damage.bytes += place.end - place.start;
                damage.letters += u64::from(reader.is_uncounted(&place, end));
            }
            // A torn end, or damage that looks like one.
            NextFrame::Torn(at) if !reader.format().has_ordinals() => damage.bytes += end - at,
            NextFrame::Torn(at) if reader.check_blank(at, end)? => {
                damage.bytes += end - at;
                damage.letters += 1;
            }
            NextFrame::Torn(_) | NextFrame::End => return Ok(damage),
        }
    }
}

/// Counts the dead letters in a spool's folder.
pub(crate) fn count(folder: &Path) -> io::Result<u64> {
    let mut count = 0;
    for path in all_files(folder) {
        for_each_letter(&path, FrameReader::open_sealed(&path), |_| count += 1)?;
    }
    Ok(count)
}

/// Bytes of all files: a change tells that another process changed them.
pub(crate) fn size(folder: &Path) -> u64 {
    let sizes = all_files(folder).map(|path| disk::about(&path).map_or(0, |about| about.bytes));
    sizes.sum()
}

/// Takes one file from the process that writes it; None if there is none left.
pub(crate) fn take_one(folder: &Path) -> io::Result<Option<PathBuf>> {
    for name in own_names() {
        let (path, taken) = (folder.join(name), taken(folder, name));
        if disk::about(&taken).is_ok() {
            return Ok(Some(taken));
        }
        match disk::rename(&path, &taken) {
            Ok(()) => {
                // A process that opened the file before has finished once the lock is free.
                disk::open(&taken)?.lock()?;
                return Ok(Some(taken));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The right to take files; two at a time would take each other's.
pub(crate) fn lock(incoming: &Path) -> io::Result<File> {
    let file = disk::open_folder(incoming)?;
    file.lock()?;
    Ok(file)
}

/// The same without waiting; None while another has it.
pub(crate) fn try_lock(incoming: &Path) -> io::Result<Option<File>> {
    let file = disk::open_folder(incoming)?;
    Ok(file.try_lock()?.then_some(file))
}

/// Moves all files of the spool in the folder `from` into another spool's folder `incoming`, where
/// [`imported_files`] lists them.
pub(crate) fn move_all(from: &Path, incoming: &Path) -> io::Result<()> {
    for path in imported_files(from) {
        let name = path.file_name().unwrap_or_default();
        disk::rename(&path, &incoming.join(name))?;
    }
    let files = own_names()
        .into_iter()
        .flat_map(|name| with_taken(from, name));
    if !files.into_iter().any(|path| disk::about(&path).is_ok()) {
        return Ok(());
    }
    let _lock = lock(&incoming::create_folder(from)?)?;
    // The oldest file is taken first and imported last: it is the one to find no room if there is little.
    for order in (0..u8::MAX).rev() {
        let Some(taken) = take_one(from)? else {
            break;
        };
        move_to_imported(&taken, incoming, order)?;
    }
    disk::sync_folder(incoming)
}

/// Moves one file into a folder `incoming`, where those with a lower `order` are imported before it.
pub(crate) fn move_to_imported(path: &Path, incoming: &Path, order: u8) -> io::Result<()> {
    let name = format!("{order:03}-{}.{IMPORTED}", Uuid::new_v4());
    disk::rename(path, &incoming.join(name))
}

/// The files that a process before left, in the order in which they are imported; none if the folder
/// cannot be read.
pub(crate) fn imported_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = disk::list(&incoming::folder(folder)).unwrap_or_default();
    files.retain(|path| path.extension().is_some_and(|kind| kind == IMPORTED));
    files.sort_unstable();
    files
}

/// Every file there may be, those being replayed and those a process before left included.
pub(crate) fn all_files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let own = own_names().into_iter();
    let own = own.flat_map(move |name| with_taken(folder, name));
    own.chain(imported_files(folder))
}

fn own_names() -> [&'static str; 4] {
    let [record, key] = RefusalClass::ALL;
    [record.older(), record.newer(), key.older(), key.newer()]
}

fn with_taken(folder: &Path, name: &str) -> [PathBuf; 2] {
    [taken(folder, name), folder.join(name)]
}

/// The name of a file while it is taken; an existing one was left by an attempt that did not finish.
fn taken(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.taken"))
}
