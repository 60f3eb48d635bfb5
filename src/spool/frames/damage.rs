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
/// Ends of one file that are kept at most.
const MAX_ENDS: usize = 1_000;

/// The second name of a file.
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

/// Keeps a file of which so many bytes cannot be read, beside the one that is still read.
pub(crate) fn keep(path: &Path, bytes: u64, metrics: &Metrics) -> io::Result<()> {
    SpoolDamaged { file: path, bytes }.emit(metrics);
    let kept = kept_path(path);
    match disk::link(path, &kept) {
        // It is kept since an earlier part of it, or an earlier start.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if may_refuse_links(&error) => copy(path, &kept, 0..u64::MAX),
        kept => kept,
    }
}

/// Keeps the end of a file of the first format, before it is cut off; a name of its own for each.
pub(crate) fn keep_end(path: &Path, from: u64) -> io::Result<()> {
    let names = (1..).map(|number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".end-{number}"));
        kept_path(Path::new(&name))
    });
    let is_free = |path: &PathBuf| disk::about(path).is_err();
    match names.take(MAX_ENDS).find(is_free) {
        Some(kept) => copy(path, &kept, from..u64::MAX),
        None => Err(io::Error::other(
            "too many damaged ends are kept: monitor spool repair",
        )),
    }
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
    disk::rename(path, &kept_path(path))?;
    // If it had both names, renaming one to the other changed nothing.
    match disk::remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Keeps the content of a small file that is written in place.
pub(crate) fn keep_copy(path: &Path, bytes: u64, metrics: &Metrics) -> io::Result<()> {
    SpoolDamaged { file: path, bytes }.emit(metrics);
    let file = disk::open(path)?;
    let length = usize::try_from(file.about()?.bytes.min(MAX_COPY)).unwrap_or_default();
    let mut content = vec![0; length];
    let read = file.read_at(&mut content, 0)?;
    match disk::create_new(&kept_path(path)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        kept => kept?.write_all(&content[..read]),
    }
}
