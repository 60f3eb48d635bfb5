//! Chooses the simulated file system for paths below its root, and the operating system's for all others.

use super::{About, real, simulated};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// An open file of either.
#[derive(Debug)]
pub(crate) enum File {
    Real(real::File),
    Simulated(simulated::File),
}

macro_rules! delegate {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        impl File {
            $(pub(crate) fn $name(&self, $($argument: $kind),*) -> $result {
                match self {
                    Self::Real(file) => file.$name($($argument),*),
                    Self::Simulated(file) => file.$name($($argument),*),
                }
            })*
        }
    };
}

delegate! {
    about() -> io::Result<About>;
    set_length(bytes: u64) -> io::Result<()>;
    sync() -> io::Result<()>;
    read_at(bytes: &mut [u8], offset: u64) -> io::Result<usize>;
    write_at(bytes: &[u8], offset: u64) -> io::Result<()>;
    lock() -> io::Result<()>;
    try_lock() -> io::Result<bool>;
}

impl From<std::fs::File> for File {
    fn from(file: std::fs::File) -> Self {
        Self::Real(file.into())
    }
}

impl Write for &File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            File::Real(file) => (&*file).write(bytes),
            File::Simulated(file) => (&*file).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

macro_rules! choose {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        $(pub(crate) fn $name(path: &Path, $($argument: $kind),*) -> io::Result<$result> {
            match simulated::holds(path) {
                true => simulated::$name(path, $($argument),*),
                false => real::$name(path, $($argument),*),
            }
        })*
    };
}

choose! {
    create_folder() -> ();
    sync_folder() -> ();
    list() -> Vec<PathBuf>;
    about() -> About;
    rename(to: &Path) -> ();
    link(to: &Path) -> ();
    remove() -> ();
}

macro_rules! choose_open {
    ($($name:ident)*) => {
        $(pub(crate) fn $name(path: &Path) -> io::Result<File> {
            match simulated::holds(path) {
                true => simulated::$name(path).map(File::Simulated),
                false => real::$name(path).map(File::Real),
            }
        })*
    };
}

choose_open!(open open_folder create_new open_append open_update);
