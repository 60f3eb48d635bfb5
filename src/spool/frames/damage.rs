//! Keeps what cannot be read: the file gets a second name, so that nothing of it is gone when the spool is done with
//! the first one, and `monitor spool repair` can read it again.

use super::window::{WINDOW, Window};
use crate::observe::Metrics;
use crate::observe::events::SpoolDamaged;
use crate::spool::disk;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The extension of files that could not be read whole.
pub(crate) const DAMAGED: &str = "damaged";

/// Bytes that are kept of a file that is copied.
const MAX_COPY: u64 = 1 << 20;
/// Between the name of a file and the number of one of its ends.
const END: &str = ".end-";
/// Files that are kept under names of one file at most.
const MAX_KEPT: u32 = 1_000;

/// The second name of a file. Where another file is kept under that name, it gets a number.
pub(crate) fn kept_path(path: &Path) -> PathBuf {
    match path.extension().is_some_and(|kind| kind == "seg") {
        true => path.with_extension(DAMAGED),
        // Files of dead letters differ in their extensions.
        false => {
            let mut name = path.as_os_str().to_owned();
            name.push(".");
            name.push(DAMAGED);
            name.into()
        }
    }
}

/// The files in a folder that were set aside, or kept beside their originals; none if the folder is missing.
pub(crate) fn kept_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = match disk::list(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    files.retain(|path| is_kept_name(path));
    files.sort_unstable();
    Ok(files)
}

pub(crate) fn is_kept_name(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == DAMAGED)
}

/// Keeps a file of which so many bytes cannot be read, beside the one that is still read.
pub(crate) fn keep(path: &Path, bytes: u64, metrics: &Metrics) -> io::Result<()> {
    SpoolDamaged { file: path, bytes }.emit(metrics);
    keep_unreported(path)
}

/// The same for damage that is reported later.
pub(crate) fn keep_unreported(path: &Path) -> io::Result<()> {
    // Since an earlier part of it, or an earlier start.
    if is_kept(path)? {
        return Ok(());
    }
    let kept = name_for(path)?;
    match disk::link(path, &kept) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if may_refuse_links(&error) => copy(path, &kept, 0..u64::MAX),
        kept => kept,
    }
}

/// Keeps the end of a file of the first format, before it is cut off; a name of its own for each.
pub(crate) fn keep_end(path: &Path, from: u64) -> io::Result<()> {
    let names = (1..=MAX_KEPT).map(|number| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("{END}{number}"));
        kept_path(Path::new(&name))
    });
    let kept = first(names, |name| Ok(is_free(name)))?;
    copy(path, &kept, from..u64::MAX)
}

/// Whether a kept file is the end of one of the first format, which knows no encryption.
pub(crate) fn is_end(kept: &Path) -> bool {
    let name = kept.file_name().and_then(|name| name.to_str());
    is_kept_name(kept) && name.is_some_and(|name| name.contains(END))
}

/// A name with this extension, which no other file has, for a file that was kept and is done with.
pub(crate) fn done_name(kept: &Path, extension: &str) -> io::Result<PathBuf> {
    let done = kept.with_extension(extension);
    first(numbered(&done, extension), |name| Ok(is_free(name)))
}

/// Whether a file has a second name under which it is kept.
fn is_kept(path: &Path) -> io::Result<bool> {
    let identity = disk::about(path)?.identity;
    let is_same = |kept: &PathBuf| disk::about(kept).is_ok_and(|it| it.identity == identity);
    Ok(kept_files(path.parent().unwrap_or(path))?
        .iter()
        .any(is_same))
}

/// The name under which a file is to be kept: one that no other file has, as files of dead letters come and go under
/// the names of those before them.
fn name_for(path: &Path) -> io::Result<PathBuf> {
    let kept = kept_path(path);
    first(numbered(&kept, DAMAGED), |name| {
        Ok(is_free(name) || is_copy(path, name)?)
    })
}

fn numbered(name: &Path, extension: &str) -> impl Iterator<Item = PathBuf> {
    let others = (2..=MAX_KEPT).map(move |number| format!("{number}.{extension}"));
    std::iter::once(name.to_owned()).chain(others.map(|end| name.with_extension(end)))
}

fn first(
    mut names: impl Iterator<Item = PathBuf>,
    suits: impl Fn(&Path) -> io::Result<bool>,
) -> io::Result<PathBuf> {
    names
        .find_map(|name| suits(&name).map(|suits| suits.then_some(name)).transpose())
        .unwrap_or_else(|| {
            Err(io::Error::other(
                "too many damaged files are kept: monitor spool repair",
            ))
        })
}

fn is_free(path: &Path) -> bool {
    disk::about(path).is_err()
}

/// Whether a kept file holds what the beginning of this one does.
fn is_copy(path: &Path, kept: &Path) -> io::Result<bool> {
    let (Ok(kept), Ok(file)) = (disk::open(kept), disk::open(path)) else {
        return Ok(false);
    };
    let (mut kept, mut file) = (Window::new(kept), Window::new(file));
    let (end, mut at) = (kept.file_length()?, 0);
    while at < end {
        let bytes = kept.bytes(at, WINDOW, end)?;
        if bytes.is_empty() || file.bytes(at, bytes.len(), end)? != bytes {
            return Ok(false);
        }
        at += bytes.len() as u64;
    }
    Ok(end > 0)
}

/// Not every file system has second names for a file.
fn may_refuse_links(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, TooManyLinks, Unsupported};
    matches!(
        error.kind(),
        CrossesDevices | PermissionDenied | TooManyLinks | Unsupported
    )
}

/// Copies a part of a file to a name that it gets once it is whole and on disk.
fn copy(from: &Path, to: &Path, part: Range<u64>) -> io::Result<()> {
    if disk::about(to).is_ok() {
        return Ok(());
    }
    let mut name = to.as_os_str().to_owned();
    name.push(".part");
    let unfinished = PathBuf::from(name);
    let _ = disk::remove(&unfinished);
    let copied = write_copy(from, &unfinished, part);
    let copied = copied.and_then(|()| disk::rename(&unfinished, to));
    copied.inspect_err(|_| {
        let _ = disk::remove(&unfinished);
    })?;
    disk::sync_folder(to.parent().unwrap_or(to))
}

fn write_copy(from: &Path, to: &Path, part: Range<u64>) -> io::Result<()> {
    let mut source = Window::new(disk::open(from)?);
    let end = source.file_length()?.min(part.end);
    let (mut at, mut file) = (part.start, disk::create_new(to)?);
    while at < end {
        let bytes = source.bytes(at, WINDOW, end)?;
        if bytes.is_empty() {
            break;
        }
        file.write_all(bytes)?;
        at += bytes.len() as u64;
    }
    file.sync()
}

/// Sets a file aside that is not read any further.
pub(crate) fn set_aside(path: &Path, bytes: u64, metrics: &Metrics) -> io::Result<()> {
    SpoolDamaged { file: path, bytes }.emit(metrics);
    rename(path)
}

/// Leaves a file only the name under which it is kept.
pub(crate) fn rename(path: &Path) -> io::Result<()> {
    match is_kept(path)? {
        true => disk::remove(path),
        false => disk::rename(path, &name_for(path)?),
    }
}

/// Keeps the content of a small file that is written in place.
pub(crate) fn keep_copy(path: &Path, bytes: u64, metrics: &Metrics) -> io::Result<()> {
    SpoolDamaged { file: path, bytes }.emit(metrics);
    copy(path, &name_for(path)?, 0..MAX_COPY)
}
