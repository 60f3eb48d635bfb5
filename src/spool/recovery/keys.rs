//! Which keys the files of a spool's folder need.

use super::{incoming, not_now, segments};
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::file_format::Format;
use crate::spool::frames::keyring::{KeyId, MissingKey};
use crate::spool::frames::reader::FrameReader;
use crate::spool::{dead_letter, disk, segment};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The number of files by their key; None for those that are not encrypted.
pub type FilesByKey = BTreeMap<Option<KeyId>, u64>;

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
pub(super) fn files_by_key(folder: &Path) -> io::Result<FilesByKey> {
    let mut files = FilesByKey::new();
    let kept = [folder.to_owned(), incoming::folder(folder)];
    let kept = kept.iter().map(|folder| super::damaged_files(folder));
    let kept: Vec<Vec<PathBuf>> = kept.collect::<io::Result<_>>()?;
    for path in waiting(folder)?.into_iter().chain(kept.concat()) {
        // What is no file of frames has no key.
        let format = FrameReader::open_sealed(&path).map(|reader| reader.format());
        if let Ok(format @ (Format::First | Format::Marked { .. })) = format {
            *files.entry(format.key()).or_default() += 1;
        }
    }
    Ok(files)
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
