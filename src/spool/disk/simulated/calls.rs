//! The calls of the operating system, on the simulated disk: each of [`super::super::real`] has its counterpart here.

use super::changes::{Change, NameChange, about_of};
use super::machine::with;
use crate::spool::disk::about::About;
use std::io;
use std::path::{Path, PathBuf};

/// An open file.
#[derive(Debug)]
pub(crate) struct File(u64);

impl File {
    pub(crate) fn about(&self) -> io::Result<About> {
        with(|machine| machine.node(self.0).map(|node| about_of(self.0, node)))
    }

    pub(crate) fn set_length(&self, bytes: u64) -> io::Result<()> {
        with(|machine| {
            let node = machine.node(self.0)?;
            let change = Change::Length(usize::try_from(bytes).unwrap_or(0));
            change.apply(&mut node.visible);
            node.changes.push(change);
            Ok(())
        })
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        with(|machine| machine.sync(self.0))
    }

    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        with(|machine| {
            let node = machine.node(self.0)?;
            let from = usize::try_from(offset).unwrap_or(0).min(node.visible.len());
            let read = bytes.len().min(node.visible.len() - from);
            bytes[..read].copy_from_slice(&node.visible[from..from + read]);
            Ok(read)
        })
    }

    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let at = usize::try_from(offset).unwrap_or(0);
        with(|machine| machine.write(self.0, Some(at), bytes)).map(drop)
    }

    /// No other process runs on this machine.
    pub(crate) fn lock(&self) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn try_lock(&self) -> io::Result<bool> {
        Ok(true)
    }
}

impl io::Write for &File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        with(|machine| machine.write(self.0, None, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn open(path: &Path) -> io::Result<File> {
    with(|machine| {
        machine.faults.open()?;
        let node = machine.node_of(path)?;
        match machine.faults.denies_opens {
            true => Err(io::ErrorKind::PermissionDenied.into()),
            false => Ok(node),
        }
    })
    .map(File)
}

pub(crate) fn open_folder(_: &Path) -> io::Result<File> {
    Ok(File(0))
}

pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    with(|machine| match machine.node_of(path) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => machine.create(path),
    })
    .map(File)
}

pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    with(|machine| machine.node_of(path).or_else(|_| machine.create(path))).map(File)
}

pub(crate) fn open_update(path: &Path) -> io::Result<File> {
    open_append(path)
}

// --- Names ---

pub(crate) fn create_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    with(|machine| {
        for change in std::mem::take(&mut machine.name_changes) {
            change.apply(&mut machine.durable_names);
        }
    });
    Ok(())
}

/// In the order in which the files were created, whatever their names.
pub(crate) fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    with(|machine| {
        machine.faults.open()?;
        let names = machine.names.iter();
        let mut found: Vec<_> = names
            .filter(|(path, _)| path.parent() == Some(folder))
            .map(|(path, node)| (*node, path.clone()))
            .collect();
        found.sort_by_key(|(node, _)| *node);
        Ok(found.into_iter().map(|(_, path)| path).collect())
    })
}

pub(crate) fn about(path: &Path) -> io::Result<About> {
    with(|machine| machine.node_of(path).map(File))?.about()
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    with(|machine| {
        let node = machine.node_of(from)?;
        if machine.node_of(to).is_ok_and(|other| other == node) {
            return Ok(());
        }
        machine.change_name(NameChange::Move(from.into(), to.into()));
        Ok(())
    })
}

pub(crate) fn link(from: &Path, to: &Path) -> io::Result<()> {
    with(|machine| {
        let node = machine.node_of(from)?;
        if machine.faults.no_links {
            return Err(io::Error::from_raw_os_error(1));
        }
        if machine.node_of(to).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        machine.change_name(NameChange::Add(to.into(), node));
        Ok(())
    })
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    with(|machine| {
        machine.node_of(path)?;
        if machine.faults.no_removal {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        machine.change_name(NameChange::Remove(path.into()));
        Ok(())
    })
}
