//! Dead letters on their way back (CONTRACT 23): they become a file in the folder that the spool's
//! own thread looks into, so that nobody has to stop the process that owns the spool. Letters go only
//! once that file is on disk; a try that was cut short costs a record sent twice.

use super::segment::{self, Next, Reader};
use super::{dead, incoming, inherited};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, chown};
use std::path::Path;
use uuid::Uuid;

/// What is written of a file before it is whole.
const UNFINISHED: &str = "part";

/// Puts every dead letter back and gives how many there were. What could not be read of them is kept
/// beside the spool with the ending `.damaged`.
///
/// # Errors
/// When a file cannot be read or written; what was not put back by then is a dead letter still.
pub fn replay_dead_letters(folder: &Path) -> io::Result<u64> {
    let arrivals = folder.join(incoming::FOLDER);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&arrivals)?;
    same_owner(&arrivals, folder)?;
    let _alone = dead::alone(&arrivals)?;
    forget_unfinished(&arrivals)?;
    let mut count = 0;
    while let Some(taken) = dead::take_one(folder)? {
        count += move_all(&taken, &arrivals)?;
    }
    // What the process has not taken up yet of one before it.
    for path in inherited::files(folder) {
        count += move_all(&path, &arrivals)?;
    }
    Ok(count)
}

/// The file goes once its records are arrivals.
fn move_all(taken: &Path, arrivals: &Path) -> io::Result<u64> {
    let (letters, whole) = copy(taken, arrivals)?;
    match whole {
        true => std::fs::remove_file(taken)?,
        false => std::fs::rename(taken, dead::damaged(taken))?,
    }
    Ok(letters)
}

/// The records of a file of letters as a file of arrivals: how many, and whether these were all.
fn copy(taken: &Path, arrivals: &Path) -> io::Result<(u64, bool)> {
    let mut reader = match Reader::open(taken) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok((0, false)),
        opened => opened?,
    };
    let name = arrivals.join(Uuid::new_v4().to_string());
    let unfinished = name.with_extension(UNFINISHED);
    let mut out = BufWriter::new(create(&unfinished)?);
    out.write_all(segment::MAGIC)?;
    let (end, mut count, mut whole) = (reader.length()?, 0, true);
    loop {
        let content = match reader.next(end)? {
            Next::Frame(content) => content,
            Next::End => break,
            Next::Broken(_) | Next::Torn(_) => {
                whole = false;
                match reader.resume(end, dead::begins_as_letter)? {
                    true => continue,
                    false => break,
                }
            }
        };
        let Some(entry) = dead::entry_of(&content) else {
            whole = false;
            continue;
        };
        let mut bytes = Vec::with_capacity(content.len());
        segment::frame(&mut bytes, |out| out.extend_from_slice(entry));
        out.write_all(&bytes)?;
        count += 1;
    }
    out.into_inner()?.sync_all()?;
    same_owner(&unfinished, arrivals)?;
    std::fs::rename(&unfinished, name.with_extension("seg"))?;
    File::open(arrivals)?.sync_all()?;
    Ok((count, whole))
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// So that the spool's process can read what another user, such as root, puts there.
fn same_owner(path: &Path, model: &Path) -> io::Result<()> {
    let (is, wanted) = (std::fs::metadata(path)?, std::fs::metadata(model)?);
    if (is.uid(), is.gid()) == (wanted.uid(), wanted.gid()) {
        return Ok(());
    }
    chown(path, Some(wanted.uid()), Some(wanted.gid()))
}

fn forget_unfinished(arrivals: &Path) -> io::Result<()> {
    for file in std::fs::read_dir(arrivals)? {
        let path = file?.path();
        if path.extension().is_some_and(|kind| kind == UNFINISHED) {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}
