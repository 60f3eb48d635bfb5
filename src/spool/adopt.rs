//! What a process before left in a folder of its own: while one process hands over to the next, both
//! have a spool, each in its folder. Once the older one has ended, what the backend has not taken
//! goes to the one that runs, in its order, as records that are put back do, and so do the letters of
//! what the backend refused (CONTRACT 23).

use super::folder::lock;
use super::segment::{self, Next, Reader, SegmentId};
use super::{SpoolError, dead, incoming, inherited, ledger};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// Spools of one configuration beside each other: as many processes may be handing over at once.
const MOST: usize = 32;
/// What is written of a file before it is whole.
const UNFINISHED: &str = "part";

/// The folders that the spools of one configuration may have, the first one first.
pub fn sibling_folders(base: &Path) -> Vec<PathBuf> {
    let beside = (1..MOST).map(|number| base.join(format!("beside-{number}")));
    std::iter::once(base.to_owned()).chain(beside).collect()
}

/// Those that are there.
pub fn existing_folders(base: &Path) -> Vec<PathBuf> {
    let all = sibling_folders(base).into_iter();
    all.filter(|folder| folder.is_dir()).collect()
}

/// Takes over what is left in the folder `from`, for the spool in the folder `to`: the number of
/// records, or None while another process has that folder.
///
/// # Errors
/// When a file cannot be read or written; what was not taken over by then is still there.
pub fn take_over(from: &Path, to: &Path) -> io::Result<Option<u64>> {
    let _held = match lock(from) {
        Ok(held) => held,
        Err(SpoolError::InUse { .. }) => return Ok(None),
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    let arrivals = arrivals(to)?;
    letters(from, &arrivals)?;
    // What somebody put back there is not taken up any more.
    for path in incoming::files(&from.join(incoming::FOLDER))? {
        std::fs::rename(&path, place(&arrivals).with_extension("seg"))?;
    }
    let ids = segments(from)?;
    if ids.is_empty() {
        return Ok(Some(0));
    }
    let unfinished = place(&arrivals).with_extension(UNFINISHED);
    let count = gather(from, &ids, &unfinished)?;
    match count {
        0 => std::fs::remove_file(&unfinished)?,
        // One file for all of them, so that they keep their order.
        _ => std::fs::rename(&unfinished, unfinished.with_extension("seg"))?,
    }
    File::open(&arrivals)?.sync_all()?;
    for id in ids {
        // The ledger first: left behind, it would vouch for another segment of that number.
        let _ = std::fs::remove_file(ledger::path(from, id));
        std::fs::remove_file(segment::path(from, id))?;
    }
    Ok(Some(count))
}

/// The folder in a spool's that its process looks into.
fn arrivals(folder: &Path) -> io::Result<PathBuf> {
    let arrivals = folder.join(incoming::FOLDER);
    let mut folders = DirBuilder::new();
    folders.recursive(true).mode(0o700).create(&arrivals)?;
    Ok(arrivals)
}

/// The files of dead letters, and those that it had from one before it.
fn letters(from: &Path, arrivals: &Path) -> io::Result<()> {
    for path in inherited::files(from) {
        let name = path.file_name().unwrap_or_default();
        std::fs::rename(&path, arrivals.join(name))?;
    }
    if !dead::has_some(from) {
        return Ok(());
    }
    let _alone = dead::alone(&self::arrivals(from)?)?;
    // The oldest come first here, and last there: it is them that find no room where there is little.
    for order in (0..u8::MAX).rev() {
        let Some(taken) = dead::take_one(from)? else {
            break;
        };
        let name = format!("{order:03}-{}.{}", Uuid::new_v4(), inherited::ENDING);
        std::fs::rename(taken, arrivals.join(name))?;
    }
    File::open(arrivals)?.sync_all()
}

fn segments(folder: &Path) -> io::Result<Vec<SegmentId>> {
    let mut ids = Vec::new();
    for file in std::fs::read_dir(folder)? {
        let name = file?.file_name();
        ids.extend(name.to_str().and_then(segment::id_of));
    }
    ids.sort_unstable();
    Ok(ids)
}

/// Writes what is owed of these segments to one file, on disk when this returns.
fn gather(from: &Path, ids: &[SegmentId], file: &Path) -> io::Result<u64> {
    let out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    let mut out = BufWriter::new(out);
    out.write_all(segment::MAGIC)?;
    let mut count = 0;
    for id in ids {
        count += copy(from, *id, &mut out)?;
    }
    out.into_inner()?.sync_all()?;
    Ok(count)
}

/// The frames of a segment that nobody has acknowledged. Of one that cannot be read whole a copy
/// stays beside it.
fn copy(from: &Path, id: SegmentId, out: &mut impl Write) -> io::Result<u64> {
    let path = segment::path(from, id);
    let mut reader = match Reader::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            std::fs::copy(&path, path.with_extension("damaged"))?;
            return Ok(0);
        }
        opened => opened?,
    };
    let acked: std::collections::HashSet<u32> = ledger::read(from, id).into_iter().collect();
    let (end, mut count, mut bytes) = (reader.length()?, 0, Vec::new());
    for ordinal in 0.. {
        match reader.next(end)? {
            Next::Frame(content) if !acked.contains(&ordinal) => {
                bytes.clear();
                segment::frame(&mut bytes, |out| out.extend_from_slice(&content));
                out.write_all(&bytes)?;
                count += 1;
            }
            Next::Frame(_) => {}
            // The last write of a process that was killed is no damage.
            Next::End | Next::Torn(_) => break,
            Next::Broken(_) => {
                std::fs::copy(&path, path.with_extension("damaged"))?;
                break;
            }
        }
    }
    Ok(count)
}

fn place(arrivals: &Path) -> PathBuf {
    arrivals.join(Uuid::new_v4().to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::temporary::TemporaryFolder;

    fn segment_of(folder: &Path, id: SegmentId, contents: &[&[u8]]) {
        let mut bytes = Vec::new();
        for content in contents {
            segment::frame(&mut bytes, |out| out.extend_from_slice(content));
        }
        let mut file = segment::create(folder, id).unwrap();
        file.write_all(&bytes).unwrap();
    }

    fn contents(path: &Path) -> Vec<Vec<u8>> {
        let mut reader = Reader::open(path).unwrap();
        let end = reader.length().unwrap();
        let mut found = Vec::new();
        while let Next::Frame(content) = reader.next(end).unwrap() {
            found.push(content);
        }
        found
    }

    #[test]
    fn what_nobody_has_acknowledged_goes_over_once_and_in_order() {
        let base = TemporaryFolder::unmade();
        let (from, to) = (base.path().join("a"), base.path().join("b"));
        drop(lock(&from).unwrap());
        std::fs::create_dir_all(&to).unwrap();
        segment_of(&from, 1, &[b"one", b"two", b"three"]);
        segment_of(&from, 2, &[b"four"]);
        ledger::append(&from, 1, &[1]).unwrap();
        assert_eq!(take_over(&from, &to).unwrap(), Some(3));
        let files = incoming::files(&to.join(incoming::FOLDER)).unwrap();
        assert_eq!(files.len(), 1);
        let expected: [&[u8]; 3] = [b"one", b"three", b"four"];
        assert_eq!(contents(&files[0]), expected);
        assert_eq!(take_over(&from, &to).unwrap(), Some(0), "a second time");
        assert_eq!(
            incoming::files(&to.join(incoming::FOLDER)).unwrap().len(),
            1
        );
    }

    #[test]
    fn a_folder_that_another_has_is_left_alone() {
        let base = TemporaryFolder::unmade();
        let (from, to) = (base.path().join("a"), base.path().join("b"));
        let _held = lock(&from).unwrap();
        segment_of(&from, 1, &[b"one"]);
        assert_eq!(take_over(&from, &to).unwrap(), None);
        assert_eq!(segments(&from).unwrap(), [1]);
    }
}
