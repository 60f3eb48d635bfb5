//! Files and folders that are no good before they are whole: they are made beside their place, and get its name last.
//! What is beside it may be somebody else's: only what carries our mark is emptied or removed.

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{CWD, FlockOperation, OFlags, RenameFlags, flock, renameat_with};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, lchown,
};
use std::path::{Path, PathBuf};

/// Ends the name of the file that marks a folder beside its place as ours.
const MARK: &str = ".unfinished";

/// A path beside another: the same name and a suffix.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(suffix);
    PathBuf::from(name)
}

/// Gives something that is whole its name, on disk when this returns.
///
/// # Errors
/// When there is something under that name: nothing is written over.
pub(super) fn publish(whole: &Path, name: &Path) -> Result<()> {
    let renamed = match renameat_with(CWD, whole, CWD, name, RenameFlags::NOREPLACE) {
        // A file system that cannot tell: nobody else makes this name in between.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) if !exists(name) => {
            std::fs::rename(whole, name)
        }
        renamed => renamed.map_err(std::io::Error::from),
    };
    renamed.with_context(|| format!("{} cannot get its name", name.display()))?;
    sync_folder(name)
}

/// Whether there is anything under a path, a broken link included.
pub(super) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn sync_folder(path: &Path) -> Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.with_context(|| format!("{} cannot be written to disk", folder.display()))
}

/// A file that is being written beside its place. It is removed unless it was published.
pub(super) struct PartialFile {
    path: PathBuf,
    name: PathBuf,
    /// Held while it is written.
    lock: Option<File>,
}

impl PartialFile {
    /// Begins a file for its owner alone.
    ///
    /// # Errors
    /// When its place is taken, or another process writes it.
    pub(super) fn begin(name: &Path) -> Result<(Self, File)> {
        let shown = name.display();
        ensure!(
            !exists(name),
            "{shown} exists and is not written over: name another file, or remove this one"
        );
        let path = beside(name, ".partial");
        let file = open_partial(&path)?;
        ensure!(
            flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok(),
            "{} is being written by another process: wait for it, or name another file",
            path.display()
        );
        if !is_at(&file, &path)? {
            return Self::begin(name);
        }
        // What an interrupted process left.
        file.set_len(0)?;
        let lock = Some(file.try_clone()?);
        let name = name.to_owned();
        Ok((Self { path, name, lock }, file))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name.
    pub(super) fn publish(mut self) -> Result<()> {
        publish(&self.path, &self.name)?;
        self.lock = None;
        self.path = PathBuf::new();
        Ok(())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Opens a file that this user alone may read and write, and that is no link. It keeps its content.
fn open_partial(path: &Path) -> Result<File> {
    let shown = path.display();
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(path);
    let file = opened.with_context(|| format!("{shown} cannot be written"))?;
    let about = file.metadata()?;
    ensure!(
        about.is_file() && about.uid() == rustix::process::geteuid().as_raw(),
        "{shown} belongs to another user: name another file, or remove this one"
    );
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Whether this file still has this name: whoever had the lock before may have given it another one.
fn is_at(file: &File, path: &Path) -> Result<bool> {
    let (own, found) = (file.metadata()?, path.symlink_metadata());
    Ok(found.is_ok_and(|found| (found.dev(), found.ino()) == (own.dev(), own.ino())))
}

/// A folder that is being filled beside its place, for its owner alone. It is removed unless it was published.
pub(super) struct PartialFolder {
    path: PathBuf,
    name: PathBuf,
}

impl PartialFolder {
    /// Begins a folder; what an interrupted process left of it is removed.
    ///
    /// # Errors
    /// When its name is taken by something that no process of this program left.
    pub(super) fn begin(name: &Path, suffix: &str) -> Result<Self> {
        let path = beside(name, suffix);
        let mark = beside(&path, MARK);
        ensure!(
            !exists(&path) || exists(&mark) || std::fs::remove_dir(&path).is_ok(),
            "{} is in the way and was not left by an interrupted command: move it away, or name another place",
            path.display()
        );
        remove_all(&path)?;
        if let Some(folder) = path.parent() {
            make_private(folder)?;
        }
        let marked = open_partial(&mark).and_then(|mark| Ok(mark.sync_all()?));
        marked.with_context(|| format!("{} cannot be written", mark.display()))?;
        make_private(&path)?;
        Ok(Self {
            path,
            name: name.to_owned(),
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name; an empty folder that has it makes room.
    pub(super) fn publish(mut self) -> Result<PathBuf> {
        remove_empty(&self.name)?;
        publish(&self.path, &self.name)?;
        remove_mark(&self.path);
        self.path = PathBuf::new();
        Ok(std::mem::take(&mut self.name))
    }
}

impl Drop for PartialFolder {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = std::fs::remove_dir_all(&self.path);
            if !exists(&self.path) {
                remove_mark(&self.path);
            }
        }
    }
}

fn remove_mark(folder: &Path) {
    // One that stays says no more than that a command was interrupted.
    let _ = std::fs::remove_file(beside(folder, MARK));
}

/// Folders that have their names already. They are removed again unless everything that belongs to them has its own.
#[derive(Default)]
pub(super) struct Published(Vec<PathBuf>);

impl Published {
    pub(super) fn add(&mut self, folder: Option<PathBuf>) {
        self.0.extend(folder);
    }

    /// Everything is in its place.
    pub(super) fn keep(mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        for folder in &self.0 {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Creates a folder for its owner alone (0700), and those above it.
pub(super) fn make_private(path: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("{} cannot be created", path.display()))
}

/// Removes a folder with everything in it, if it is there.
pub(super) fn remove_all(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", path.display()))
        }
        _ => Ok(()),
    }
}

/// The first file in a folder or below it; None without one, or without the folder.
pub(super) fn first_file(folder: &Path) -> Result<Option<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries.with_context(|| format!("{} cannot be read", folder.display()))?,
    };
    for entry in entries {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            false => return Ok(Some(entry.path())),
            true => {
                if let Some(found) = first_file(&entry.path())? {
                    return Ok(Some(found));
                }
            }
        }
    }
    Ok(None)
}

/// Removes a folder that has only empty folders in it, if it is there.
fn remove_empty(folder: &Path) -> Result<()> {
    match first_file(folder)? {
        None => remove_all(folder),
        Some(file) => bail!("{} is in the way", file.display()),
    }
}

/// Where root worked for another user's service, gives what was made to the owner of the folder that it is in.
pub(super) fn give_to_owner(folder: &Path, made: &[PathBuf]) -> Result<()> {
    let about = folder.metadata()?;
    let is_given = rustix::process::geteuid().is_root() && about.uid() != 0;
    if !is_given {
        return Ok(());
    }
    made.iter()
        .try_for_each(|path| give(path, about.uid(), about.gid()))
}

/// The same for one file that was made beside another.
pub(super) fn give_to_owner_of(neighbor: &Path, made: &Path) -> std::io::Result<()> {
    let about = neighbor.metadata()?;
    match rustix::process::geteuid().is_root() {
        true => lchown(made, Some(about.uid()), Some(about.gid())),
        false => Ok(()),
    }
}

fn give(path: &Path, user: u32, group: u32) -> Result<()> {
    let given = lchown(path, Some(user), Some(group));
    given.with_context(|| format!("{} cannot be given to user {user}", path.display()))?;
    if path.is_dir() {
        for entry in std::fs::read_dir(path)? {
            give(&entry?.path(), user, group)?;
        }
    }
    Ok(())
}

/// The right to fill a data folder; one process at a time has it.
pub(super) fn lock_data_folder(data_dir: &Path) -> Result<File> {
    make_private(data_dir)?;
    let folder = File::open(data_dir)?;
    ensure!(
        flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok(),
        "another restore into {} is at work: wait for it",
        data_dir.display()
    );
    Ok(folder)
}

#[cfg(test)]
mod tests;
