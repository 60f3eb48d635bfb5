//! The folder `incoming` inside a spool's folder (CONTRACT 23): replayed dead letters and the records
//! of a process that has ended arrive there as files of frames. The spool's thread accepts their records
//! like those of the request path and removes a file once its records are on disk in a segment. A crash
//! in between accepts some of them twice, which the backend treats as once.

use super::record_codec;
use super::segment::{self, NextFrame, SegmentReader};
use crate::backend::Record;
use crate::observe::Metrics;
use crate::observe::events::{SpoolDamaged, SpoolDiskFailed};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// How often the folder is scanned.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes accepted between two writes, so that they never delay records of the request path.
const STEP: u64 = 2 << 20;
/// The extension of files that are ready to be accepted.
const READY: &str = "seg";
/// The extension of a file that is still being written.
pub(super) const UNFINISHED: &str = "part";

/// The folder inside a spool's.
pub(super) fn folder(spool: &Path) -> PathBuf {
    spool.join("incoming")
}

/// Creates the folder (0700) if it is missing.
pub(super) fn create_folder(spool: &Path) -> io::Result<PathBuf> {
    let incoming = folder(spool);
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(&incoming)?;
    Ok(incoming)
}

/// A name that no other file has, without an extension.
fn unique_name(incoming: &Path) -> PathBuf {
    incoming.join(Uuid::new_v4().to_string())
}

/// Moves a whole file of frames into the folder.
pub(super) fn move_in(path: &Path, incoming: &Path) -> io::Result<()> {
    std::fs::rename(path, unique_name(incoming).with_extension(READY))
}

/// The files that are ready to be accepted, in no particular order; none if the folder is missing.
pub(super) fn ready_files(incoming: &Path) -> io::Result<Vec<PathBuf>> {
    let found = match std::fs::read_dir(incoming) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found?,
    };
    let paths = found.map(|file| file.map(|file| file.path()));
    let paths: io::Result<Vec<_>> = paths.collect();
    Ok(paths?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == READY))
        .collect())
}

/// A file of frames that becomes visible to the spool's thread only when it is whole and on disk.
pub(super) struct IncomingFile {
    folder: PathBuf,
    path: PathBuf,
    out: BufWriter<File>,
    frames: u64,
}

impl IncomingFile {
    pub(super) fn create(incoming: &Path) -> io::Result<Self> {
        let path = unique_name(incoming).with_extension(UNFINISHED);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let mut out = BufWriter::new(file);
        out.write_all(segment::MAGIC)?;
        Ok(Self {
            folder: incoming.into(),
            path,
            out,
            frames: 0,
        })
    }

    /// Appends an encoded record.
    pub(super) fn append(&mut self, content: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(content.len() + segment::FRAME_HEADER);
        segment::frame(&mut bytes, |out| out.extend_from_slice(content));
        self.out.write_all(&bytes)?;
        self.frames += 1;
        Ok(())
    }

    /// Where the file is while it is unfinished.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file ready, on disk, and gives the number of its records. An empty one is removed.
    pub(super) fn publish(self) -> io::Result<u64> {
        self.out.into_inner()?.sync_all()?;
        match self.frames {
            0 => std::fs::remove_file(&self.path)?,
            _ => std::fs::rename(&self.path, self.path.with_extension(READY))?,
        }
        File::open(&self.folder)?.sync_all()?;
        Ok(self.frames)
    }
}

/// Accepts what arrives in the folder.
pub(super) struct IncomingReader {
    folder: PathBuf,
    next_scan: Instant,
    open: Option<OpenFile>,
    /// Accepted whole; its records are on disk with the next write.
    accepted: Option<PathBuf>,
}

struct OpenFile {
    path: PathBuf,
    reader: SegmentReader,
    end: u64,
}

impl IncomingReader {
    pub(super) fn new(spool: &Path) -> Self {
        Self {
            folder: folder(spool),
            next_scan: Instant::now(),
            open: None,
            accepted: None,
        }
    }

    /// Whether a file is being accepted.
    pub(super) fn is_busy(&self) -> bool {
        self.open.is_some() || self.accepted.is_some()
    }

    /// Accepts some more records. Called after a write that left nothing unwritten.
    pub(super) fn step(&mut self, accept: &mut dyn FnMut(Record), metrics: &Metrics) {
        if let Err(error) = self.try_step(accept, metrics) {
            SpoolDiskFailed { error: &error }.emit(metrics);
        }
    }

    fn try_step(&mut self, accept: &mut dyn FnMut(Record), metrics: &Metrics) -> io::Result<()> {
        if let Some(path) = self.accepted.take() {
            std::fs::remove_file(path)?;
        }
        if self.open.is_none() && self.next_scan <= Instant::now() {
            self.next_scan = Instant::now() + SCAN_INTERVAL;
            self.open = self.find(metrics)?;
        }
        if let Some(file) = &mut self.open
            && file.accept_some(accept, metrics)?
        {
            self.accepted = self.open.take().map(|file| file.path);
        }
        Ok(())
    }

    /// Opens one of the files that are ready.
    fn find(&self, metrics: &Metrics) -> io::Result<Option<OpenFile>> {
        for path in ready_files(&self.folder)? {
            match SegmentReader::open(&path) {
                Ok(reader) => {
                    let end = reader.length()?;
                    return Ok(Some(OpenFile { path, reader, end }));
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    keep_damaged(&path, metrics)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

impl OpenFile {
    /// Accepts up to [`STEP`] bytes of records; true if none are left.
    fn accept_some(
        &mut self,
        accept: &mut dyn FnMut(Record),
        metrics: &Metrics,
    ) -> io::Result<bool> {
        let stop = self.reader.offset() + STEP;
        while self.reader.offset() < stop {
            match self.reader.next(self.end)? {
                NextFrame::Whole(content) => match record_codec::decode(&content) {
                    Some(record) => accept(record),
                    None => keep_damaged(&self.path, metrics)?,
                },
                NextFrame::End => return Ok(true),
                NextFrame::Broken(_) | NextFrame::Torn(_) => {
                    keep_damaged(&self.path, metrics)?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Keeps a copy with the extension `damaged`.
fn keep_damaged(path: &Path, metrics: &Metrics) -> io::Result<()> {
    let kept = path.with_extension("damaged");
    if kept.exists() {
        return Ok(());
    }
    let bytes = std::fs::metadata(path)?.len();
    std::fs::copy(path, kept)?;
    SpoolDamaged { bytes }.emit(metrics);
    Ok(())
}
