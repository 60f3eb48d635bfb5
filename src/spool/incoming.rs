//! Records that others put into a spool's folder (CONTRACT 23): files of frames in a folder inside
//! it, taken up like records of the request path and removed once they are on disk as such. A crash
//! in between takes them up twice, which the backend takes for once.

use super::segment::{Next, Reader};
use super::{Shared, entry};
use crate::observe::events::{SpoolDamaged, SpoolDiskFailed};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folder inside the spool's.
pub(super) const FOLDER: &str = "incoming";
/// How often the folder is looked into.
const LOOK: Duration = Duration::from_secs(1);
/// Bytes taken up between two writes, so that they never stand in the way of the request path's.
const STEP: u64 = 2 << 20;

/// The folder, looked into by the spool's thread.
pub(super) struct Incoming {
    folder: PathBuf,
    next_look: Instant,
    open: Option<Arrival>,
    /// Taken up whole; its records are on disk with the next write.
    taken_up: Option<PathBuf>,
}

struct Arrival {
    path: PathBuf,
    reader: Reader,
    end: u64,
}

impl Incoming {
    /// `folder` is the spool's.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.join(FOLDER),
            next_look: Instant::now(),
            open: None,
            taken_up: None,
        }
    }

    /// Whether there is something to do now.
    pub(super) fn is_under_way(&self) -> bool {
        self.open.is_some() || self.taken_up.is_some()
    }

    /// Goes on after a write that left nothing unwritten.
    pub(super) fn step(&mut self, shared: &Shared) {
        if let Err(error) = self.try_step(shared) {
            SpoolDiskFailed { error: &error }.emit(&shared.metrics);
        }
    }

    fn try_step(&mut self, shared: &Shared) -> io::Result<()> {
        if let Some(path) = self.taken_up.take() {
            std::fs::remove_file(path)?;
        }
        if self.open.is_none() && self.next_look <= Instant::now() {
            self.next_look = Instant::now() + LOOK;
            self.open = self.look(shared)?;
        }
        if let Some(arrival) = &mut self.open
            && arrival.take_up(shared)?
        {
            self.taken_up = self.open.take().map(|arrival| arrival.path);
        }
        Ok(())
    }

    fn look(&self, shared: &Shared) -> io::Result<Option<Arrival>> {
        for path in files(&self.folder)? {
            match Reader::open(&path) {
                Ok(reader) => {
                    let end = reader.length()?;
                    return Ok(Some(Arrival { path, reader, end }));
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    set_aside(&path, shared)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

impl Arrival {
    /// Takes up some records; true when there are no more.
    fn take_up(&mut self, shared: &Shared) -> io::Result<bool> {
        let stop = self.reader.offset() + STEP;
        while self.reader.offset() < stop {
            match self.reader.next(self.end)? {
                Next::Frame(content) => match entry::decode(&content) {
                    Some(record) => {
                        shared.push(record);
                    }
                    None => set_aside(&self.path, shared)?,
                },
                Next::End => return Ok(true),
                Next::Broken(_) | Next::Torn(_) => {
                    set_aside(&self.path, shared)?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// The files that are whole, in no order; none where the folder is missing.
pub(super) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let found = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found?,
    };
    let paths = found.map(|file| file.map(|file| file.path()));
    let paths: io::Result<Vec<_>> = paths.collect();
    Ok(paths?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == "seg"))
        .collect())
}

/// Keeps a copy under a name that nobody takes up.
fn set_aside(path: &Path, shared: &Shared) -> io::Result<()> {
    let kept = path.with_extension("damaged");
    if kept.exists() {
        return Ok(());
    }
    let bytes = std::fs::metadata(path)?.len();
    std::fs::copy(path, kept)?;
    SpoolDamaged { bytes }.emit(&shared.metrics);
    Ok(())
}
