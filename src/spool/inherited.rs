//! Dead letters of a process before (CONTRACT 23): files of them that [`super::adopt`] has put into the
//! folder inside the spool's. The spool's thread reads them in steps, and a file goes once its letters are
//! in this spool's own. A crash in between keeps some twice, which the backend takes for once.

use super::dead::{self, Letter};
use super::incoming;
use super::letters::Letters;
use super::segment::{Next, Reader};
use crate::observe::Metrics;
use crate::observe::events::{DeadLettersLost, SpoolDamaged};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How such files end.
pub(super) const ENDING: &str = "letters";
/// How often the folder is looked into, and a disk that refuses is tried again.
const LOOK: Duration = Duration::from_secs(1);
/// Bytes of letters that are read between two writes.
const STEP: usize = 1 << 20;

/// The folder, looked into by the spool's thread.
pub(super) struct Inherited {
    /// The spool's.
    folder: PathBuf,
    open: Option<Inheritance>,
    /// Nothing is done before.
    next_look: Instant,
}

/// One file.
struct Inheritance {
    path: PathBuf,
    reader: Reader,
    end: u64,
    /// Read and not yet in this spool's files.
    letters: Vec<Letter>,
    is_read: bool,
    is_damaged: bool,
    /// Whoever puts letters back waits.
    _alone: File,
}

impl Inherited {
    /// `folder` is the spool's.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.into(),
            open: None,
            next_look: Instant::now(),
        }
    }

    /// Whether there is something to do now.
    pub(super) fn is_under_way(&self) -> bool {
        self.open.is_some() && self.next_look <= Instant::now()
    }

    /// Hands some over.
    ///
    /// # Errors
    /// When a file cannot be read or written; it is tried again a little later.
    pub(super) fn step(&mut self, letters: &mut Letters, metrics: &Metrics) -> io::Result<()> {
        if self.next_look > Instant::now() {
            return Ok(());
        }
        let step = self.try_step(letters, metrics);
        if !matches!(step, Ok(true)) {
            self.next_look = Instant::now() + LOOK;
        }
        step.map(drop)
    }

    /// False when there is nothing to do.
    fn try_step(&mut self, letters: &mut Letters, metrics: &Metrics) -> io::Result<bool> {
        if self.open.is_none() {
            self.open = self.look(metrics)?;
        }
        let Some(open) = &mut self.open else {
            return Ok(false);
        };
        if open.letters.is_empty() {
            open.read()?;
        }
        let count = letters.inherit(&open.letters)?;
        open.letters.clear();
        if count > 0 {
            DeadLettersLost { count }.emit(metrics);
        }
        if open.is_read {
            open.end(metrics)?;
            self.open = None;
        }
        Ok(true)
    }

    fn look(&self, metrics: &Metrics) -> io::Result<Option<Inheritance>> {
        let Some(path) = files(&self.folder).into_iter().next() else {
            return Ok(None);
        };
        let Some(alone) = dead::try_alone(&self.folder.join(incoming::FOLDER))? else {
            return Ok(None);
        };
        match Reader::open(&path) {
            Ok(reader) => Ok(Some(Inheritance {
                _alone: alone,
                end: reader.length()?,
                path,
                reader,
                letters: Vec::new(),
                is_read: false,
                is_damaged: false,
            })),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                set_aside(&path, metrics)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl Inheritance {
    fn read(&mut self) -> io::Result<()> {
        let mut bytes = 0;
        while bytes < STEP && !self.is_read {
            match self.reader.next(self.end)? {
                Next::Frame(content) => {
                    bytes += content.len();
                    match Letter::of(content) {
                        Some(letter) => self.letters.push(letter),
                        None => self.is_damaged = true,
                    }
                }
                Next::End => self.is_read = true,
                Next::Broken(_) | Next::Torn(_) => {
                    self.is_damaged = true;
                    self.is_read = !self.reader.resume(self.end, dead::begins_as_letter)?;
                }
            }
        }
        Ok(())
    }

    fn end(&self, metrics: &Metrics) -> io::Result<()> {
        let ended = match self.is_damaged {
            true => set_aside(&self.path, metrics),
            false => std::fs::remove_file(&self.path),
        };
        match ended {
            // Somebody took it away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            ended => ended,
        }
    }
}

/// Those that wait in a spool's folder, in the order they are taken up in; none where it cannot be read.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder.join(incoming::FOLDER));
    let found = found.into_iter().flatten().flatten();
    let mut files: Vec<_> = found
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
        .collect();
    files.sort_unstable();
    files
}

/// Keeps what cannot be read whole, out of the way.
fn set_aside(path: &Path, metrics: &Metrics) -> io::Result<()> {
    let bytes = std::fs::metadata(path)?.len();
    std::fs::rename(path, dead::damaged(path))?;
    SpoolDamaged { bytes }.emit(metrics);
    Ok(())
}
