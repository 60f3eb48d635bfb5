//! The folder `incoming` inside a spool's folder (CONTRACT 23): replayed dead letters and the records
//! of a process that has ended arrive there as files of frames. The spool's thread accepts their records
//! like those of the request path and removes a file once its records are on disk in a segment. A crash
//! in between accepts some of them twice, which the backend treats as once.

use crate::backend::Record;
use crate::observe::Metrics;
use crate::observe::events::{SpoolDiskFailed, SpoolRecordsDamaged};
use crate::spool::disk::{self, File};
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::damage;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::frames::writer::FrameWriter;
use crate::spool::record_codec;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;

/// How often the folder is scanned.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes accepted between two writes, so that they never delay records of the request path.
const STEP: u64 = 2 << 20;
/// The extension of files that are ready to be accepted.
const READY: &str = "seg";
/// The extension of a file that is still being written.
pub(crate) const UNFINISHED: &str = "part";

/// The folder inside a spool's.
pub(crate) fn folder(spool: &Path) -> PathBuf {
    spool.join("incoming")
}

/// Creates the folder (0700) if it is missing.
pub(crate) fn create_folder(spool: &Path) -> io::Result<PathBuf> {
    let incoming = folder(spool);
    disk::create_folder(&incoming)?;
    Ok(incoming)
}

/// A name that no other file has, without an extension.
fn unique_name(incoming: &Path) -> PathBuf {
    incoming.join(Uuid::new_v4().to_string())
}

/// Moves a whole file of frames into the folder.
pub(crate) fn move_in(path: &Path, incoming: &Path) -> io::Result<()> {
    disk::rename(path, &unique_name(incoming).with_extension(READY))
}

/// The files that are ready to be accepted, in no particular order; none if the folder is missing.
pub(crate) fn ready_files(incoming: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = match disk::list(incoming) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found?,
    };
    paths.retain(|path| path.extension().is_some_and(|kind| kind == READY));
    Ok(paths)
}

/// A file of frames that becomes visible to the spool's thread only when it is whole and on disk. Dropped before, it
/// is removed: what is tried again does not fill the disk with attempts.
pub(crate) struct IncomingFile {
    folder: PathBuf,
    path: PathBuf,
    out: BufWriter<File>,
    writer: FrameWriter,
    frames: u32,
    is_published: bool,
}

impl Drop for IncomingFile {
    fn drop(&mut self) {
        if !self.is_published {
            let _ = disk::remove(&self.path);
        }
    }
}

impl IncomingFile {
    /// Begins a file in the folder, which has the keys of its spool.
    pub(crate) fn create(incoming: &SpoolFolder) -> io::Result<Self> {
        let path = unique_name(incoming).with_extension(UNFINISHED);
        let mut file = Self {
            folder: incoming.to_path_buf(),
            out: BufWriter::new(disk::create_new(&path)?),
            path,
            writer: FrameWriter::new(incoming.keys()),
            frames: 0,
            is_published: false,
        };
        file.out.write_all(&file.writer.header())?;
        Ok(file)
    }

    /// Appends an encoded record.
    pub(crate) fn append(&mut self, content: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(content.len() + self.writer.overhead());
        self.writer.frame(&mut bytes, self.frames, |out| {
            out.extend_from_slice(content);
        })?;
        self.out.write_all(&bytes)?;
        #[cfg(test)]
        crate::spool::witness::appended_to_incoming(content);
        self.frames += 1;
        Ok(())
    }

    /// Where the file is while it is unfinished.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file ready, on disk, and gives the number of its records. An empty one is removed.
    pub(crate) fn publish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        self.out.get_ref().sync()?;
        let ready = self.path.with_extension(READY);
        match self.frames {
            0 => disk::remove(&self.path)?,
            _ => disk::rename(&self.path, &ready)?,
        }
        disk::sync_folder(&self.folder).inspect_err(|_| {
            // It is published again, and not a second time.
            let _ = disk::rename(&ready, &self.path);
        })?;
        self.is_published = true;
        Ok(self.frames.into())
    }
}

/// Puts the records of a file back into the spool in this folder, from an offset in the file on.
pub(crate) fn put_back_from(path: &Path, offset: u64, spool: &SpoolFolder) -> io::Result<u64> {
    let mut reader = FrameReader::open_at(path, spool.keys(), offset, 0)?;
    let end = reader.length()?;
    let mut out = IncomingFile::create(&spool.sibling(&create_folder(spool)?))?;
    copy_frames(&mut reader, end, &mut out)?;
    out.publish()
}

fn copy_frames(reader: &mut FrameReader, end: u64, out: &mut IncomingFile) -> io::Result<()> {
    loop {
        match reader.next(end)? {
            NextFrame::Whole(frame) => out.append(&frame.content)?,
            NextFrame::Damaged(_) => {}
            NextFrame::Torn(_) | NextFrame::End => return Ok(()),
        }
    }
}

/// Accepts what arrives in the folder.
pub(crate) struct IncomingReader {
    folder: SpoolFolder,
    next_scan: Instant,
    open: Option<OpenFile>,
    /// Accepted whole; its records are on disk with the next write.
    accepted: Option<PathBuf>,
}

struct OpenFile {
    path: PathBuf,
    reader: FrameReader,
    end: u64,
    /// The number of frames up to where it was read.
    frames: u32,
    /// It has damage, and could not be kept.
    must_be_kept: bool,
}

impl IncomingReader {
    pub(crate) fn new(spool: &SpoolFolder) -> Self {
        Self {
            folder: spool.sibling(&folder(spool)),
            next_scan: Instant::now(),
            open: None,
            accepted: None,
        }
    }

    /// Whether a file is being accepted.
    pub(crate) fn is_busy(&self) -> bool {
        self.open.is_some() || self.accepted.is_some()
    }

    /// Accepts some more records. Called after a write that left nothing unwritten.
    pub(crate) fn step(&mut self, accept: &mut dyn FnMut(Record), metrics: &Metrics) {
        if let Err(error) = self.try_step(accept, metrics) {
            SpoolDiskFailed { error: &error }.emit(metrics);
        }
    }

    fn try_step(&mut self, accept: &mut dyn FnMut(Record), metrics: &Metrics) -> io::Result<()> {
        if let Some(path) = &self.accepted {
            match disk::remove(path) {
                // Its records are in the spool: it is not accepted again.
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => self.accepted = None,
            }
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

    /// Opens one of the files that are ready. One that cannot be opened, as its key is missing, waits, and others do not
    /// wait for it.
    fn find(&self, metrics: &Metrics) -> io::Result<Option<OpenFile>> {
        let mut waits = None;
        for path in ready_files(&self.folder)? {
            match FrameReader::open(&path, self.folder.keys()) {
                Ok(reader) => {
                    let end = reader.length()?;
                    return Ok(Some(OpenFile {
                        path,
                        reader,
                        end,
                        frames: 0,
                        must_be_kept: false,
                    }));
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    damage::set_aside(&path, disk::about(&path)?.bytes, metrics)?;
                    // It is not known how many it had: it was one at least.
                    SpoolRecordsDamaged {
                        file: &path,
                        count: 1,
                    }
                    .emit(metrics);
                }
                Err(error) => waits = Some(error),
            }
        }
        waits.map_or(Ok(None), Err)
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
                NextFrame::Whole(frame) => {
                    self.count(frame.ordinal, metrics);
                    match record_codec::decode_in_place(frame.content) {
                        Some(record) => accept(record),
                        None => {
                            let bytes = frame.place.end - frame.place.start;
                            self.keep(bytes, metrics)?;
                        }
                    }
                }
                NextFrame::End if self.must_be_kept => {
                    self.keep(0, metrics)?;
                    return Ok(true);
                }
                NextFrame::End => return Ok(true),
                NextFrame::Damaged(place) => {
                    self.lost(self.reader.is_uncounted(&place, self.end).into(), metrics);
                    self.keep(place.end - place.start, metrics)?;
                }
                // The file was whole when it was published.
                NextFrame::Torn(at) => {
                    self.lost(1, metrics);
                    self.keep(self.end - at, metrics)?;
                }
            }
        }
        Ok(false)
    }

    /// Keeps the file, of which so many bytes cannot be read.
    fn keep(&mut self, bytes: u64, metrics: &Metrics) -> io::Result<()> {
        self.must_be_kept = true;
        damage::keep(&self.path, bytes, metrics)?;
        self.must_be_kept = false;
        Ok(())
    }

    /// Counts a frame; the ones between it and the frame before are lost.
    fn count(&mut self, ordinal: Option<u32>, metrics: &Metrics) {
        let ordinal = ordinal.unwrap_or(self.frames);
        self.lost(ordinal.saturating_sub(self.frames), metrics);
        self.frames = ordinal.saturating_add(1);
    }

    fn lost(&self, count: u32, metrics: &Metrics) {
        if count > 0 {
            SpoolRecordsDamaged {
                file: &self.path,
                count: count.into(),
            }
            .emit(metrics);
        }
    }
}
