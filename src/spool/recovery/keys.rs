//! Which keys the files of a spool's folder need.

use super::{incoming, not_now, segments};
use crate::spool::chain_file;
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::damage;
use crate::spool::frames::file_format::Format;
use crate::spool::frames::keyring::{KeyId, MissingKey};
use crate::spool::frames::reader::FrameReader;
use crate::spool::{dead_letter, disk, segment};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What a file needs to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeededKey {
    /// It is not encrypted.
    None,
    /// The key with this id.
    Key(KeyId),
    /// Its header is lost, or it cannot be opened: nothing tells without the keys.
    Unknown,
}

/// The number of files by what they need.
pub type FilesByKey = BTreeMap<NeededKey, u64>;

/// Whether every file that waits in the folder can be read with its keys.
///
/// # Errors
/// With the name of a file whose key is missing.
pub fn check_keys(folder: &SpoolFolder) -> io::Result<()> {
    for path in waiting(folder)? {
        let Err(error) = FrameReader::open(&path, folder.keys()) else {
            continue;
        };
        if MissingKey::is_in(&error) {
            return Err(error);
        }
        // It is read later, and says itself what is wrong with it.
        let is_readable = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData);
        if !is_readable && is_segment(&path) {
            return Err(not_now(&path, &error));
        }
    }
    Ok(())
}

fn is_segment(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.and_then(segment::id_of).is_some()
}

/// The keys of the files in the folder, those that are kept as damaged included.
pub(super) fn files_by_key(folder: &Path, kept: &[PathBuf]) -> io::Result<FilesByKey> {
    let mut files = FilesByKey::new();
    for path in waiting(folder)?.iter().chain(kept) {
        if let Some(key) = needed_key(path) {
            *files.entry(key).or_default() += 1;
        }
    }
    Ok(files)
}

/// What a file needs to be read; None if it holds no records.
fn needed_key(path: &Path) -> Option<NeededKey> {
    if damage::is_end(path) {
        return Some(NeededKey::None);
    }
    match FrameReader::open_sealed(path) {
        Ok(reader) => match reader.format() {
            Format::Empty => None,
            format => Some(format.key().map_or(NeededKey::None, NeededKey::Key)),
        },
        Err(error) if error.kind() == ErrorKind::NotFound || chain_file::is_kept(path) => None,
        Err(_) => Some(NeededKey::Unknown),
    }
}

/// Every file of frames that waits for somebody to read it; none if the folder is missing.
fn waiting(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if matches!(disk::list(folder), Err(error) if error.kind() == ErrorKind::NotFound) {
        return Ok(Vec::new());
    }
    let ids = segments(folder)?.into_iter();
    let mut files: Vec<PathBuf> = ids.map(|id| segment::path(folder, id)).collect();
    files.extend(incoming::ready_files(&incoming::folder(folder))?);
    files.extend(dead_letter::files::all_files(folder));
    Ok(files)
}
