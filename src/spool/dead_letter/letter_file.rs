//! One file of dead letters: how letters are appended to it, and what it holds.

use super::encoding::{EncodedLetter, key_of};
use super::files::{self, LetterDamage};
use super::letter_keys::is_current;
use crate::observe::Metrics;
use crate::observe::events::SpoolRecordsDamaged;
use crate::spool::disk::{self, File};
use crate::spool::fault_points::{self, FaultPoint};
use crate::spool::frames::keyring::Keyring;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::frames::{damage, file_format::Format, first_format, writer::FrameWriter};
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Access keys whose use of a file is counted; keys beyond it have no limit of their own.
const MAX_KEYS: usize = 10_000;
/// Letters are written in portions of this size, larger ones alone.
const WRITE_SIZE: usize = 1 << 20;
/// Bytes of a letter that is not copied to be written.
const LARGE: usize = 256 << 10;

/// A file as it was when it was read or written last. What is lost of it since then has its numbers still, and the
/// next process that reads it sees how many letters that is.
#[derive(Clone)]
pub(super) struct KnownFile {
    identity: (u64, u64),
    length: u64,
    /// Where further letters begin; what is behind it is the torn end of a write.
    bytes: u64,
    /// Writes its frames; None for a file of the first format.
    writer: Option<FrameWriter>,
    /// The number of the next frame.
    next_ordinal: u32,
}

/// What a file holds.
#[derive(Default)]
pub(super) struct FileUsage {
    pub(super) bytes: u64,
    pub(super) letters: u64,
    pub(super) damage: LetterDamage,
    /// How much of the damage is counted. It goes with the file, whatever name that gets.
    counted: LetterDamage,
    /// It has damage, and could not be kept.
    must_be_kept: bool,
    /// None if the file is missing.
    identity: Option<Identity>,
    access: Access,
    /// Bytes by access key.
    pub(super) keys: HashMap<u64, u64>,
}

/// Tells a file from one that came later under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    node: (u64, u64),
    format: Format,
}

/// Whether the system lets a file be read.
#[derive(Debug, Default)]
enum Access {
    #[default]
    Granted,
    /// Not now, as while too many files are open: what it holds is not known yet.
    Refused(io::Error),
    /// Not by this user: it is set aside.
    Denied,
}

impl KnownFile {
    /// Appends letters to a file and syncs them. `known` is how this process left it, if it wrote to it before.
    pub(super) fn append(
        known: Option<Self>,
        path: &Path,
        keys: &Keyring,
        letters: &[&EncodedLetter],
    ) -> io::Result<Self> {
        let mut file = open_locked(path)?;
        let mut known = Self::of(known, path, keys, &file)?;
        let mut bytes = Vec::new();
        if known.bytes == 0 {
            let writer = known.writer.insert(FrameWriter::new(keys));
            bytes.extend_from_slice(&writer.header());
        }
        let written = known.write(&mut file, bytes, letters);
        written.and_then(|()| file.sync()).inspect_err(|_| {
            // If this fails too, the next process that opens the file cuts the rest off.
            let _ = file.set_length(known.bytes);
        })?;
        if known.bytes == 0 {
            // The directory entry has to survive a crash too: the records are about to leave their segments.
            disk::sync_folder(path.parent().unwrap_or(path))?;
        }
        known.length = file.about()?.bytes;
        known.bytes = known.length;
        Ok(known)
    }

    /// Writes letters in portions, behind these first bytes of the file or none.
    fn write(
        &mut self,
        file: &mut File,
        mut bytes: Vec<u8>,
        letters: &[&EncodedLetter],
    ) -> io::Result<()> {
        let writer = self.writer.as_ref();
        let around = writer.map_or(first_format::FRAME_HEADER, FrameWriter::overhead);
        for letter in letters {
            let is_large = letter.bytes.len() >= LARGE;
            // A large one is written from where it is.
            if let Some(writer) = writer.filter(|_| is_large)
                && let Some(header) = writer.plain_header(self.next_ordinal, &letter.bytes)
            {
                bytes.extend_from_slice(&header);
                fault_points::write(FaultPoint::Letters, file, &bytes)?;
                fault_points::write(FaultPoint::Letters, file, &letter.bytes)?;
                self.next_ordinal = self.next_ordinal.saturating_add(1);
                bytes.clear();
                continue;
            }
            // Growing step by step, it would take up to three times as much for a moment.
            bytes.reserve_exact(letter.bytes.len() + around);
            let content = |out: &mut Vec<u8>| out.extend_from_slice(&letter.bytes);
            match writer {
                Some(writer) => writer.frame(&mut bytes, self.next_ordinal, content)?,
                None => first_format::frame(&mut bytes, &letter.bytes),
            }
            self.next_ordinal = self.next_ordinal.saturating_add(1);
            if bytes.len() >= WRITE_SIZE {
                fault_points::write(FaultPoint::Letters, file, &bytes)?;
                bytes = Vec::new();
            }
        }
        fault_points::write(FaultPoint::Letters, file, &bytes)
    }

    /// Cuts off the torn end that a crash left of a write: its rest is not written any more. The record of a torn
    /// letter is still in its segment.
    fn of(known: Option<Self>, path: &Path, keys: &Keyring, file: &File) -> io::Result<Self> {
        let about = file.about()?;
        let is_as_left =
            |known: &Self| (known.identity, known.length) == (about.identity, about.bytes);
        let known = match known.filter(is_as_left) {
            Some(known) => known,
            None => Self::read(path, keys).inspect_err(|error| {
                if error.kind() == ErrorKind::InvalidData {
                    // Not a file of dead letters. It is counted when the store reads it.
                    let _ = damage::rename(path);
                }
            })?,
        };
        if known.bytes < about.bytes {
            if known.is_of_first_format() {
                // It may be a damaged letter. It is counted when the store reads the file.
                damage::keep_end(path, known.bytes)?;
            }
            file.set_length(known.bytes)?;
        }
        Ok(known)
    }

    fn is_of_first_format(&self) -> bool {
        self.writer.is_none() && self.bytes > 0
    }

    /// Reads where further letters begin.
    pub(super) fn read(path: &Path, keys: &Keyring) -> io::Result<Self> {
        let about = disk::about(path)?;
        let mut reader = FrameReader::open(path, keys)?;
        let mut known = Self {
            identity: about.identity,
            length: about.bytes,
            bytes: about.bytes,
            writer: writer_of(reader.format(), keys)?,
            next_ordinal: 0,
        };
        loop {
            match reader.next(about.bytes)? {
                NextFrame::Whole(frame) => {
                    let ordinal = frame.ordinal.unwrap_or(known.next_ordinal);
                    known.next_ordinal = ordinal.saturating_add(1);
                }
                // A damaged letter at the end had a number too.
                NextFrame::Damaged(place) if place.end == about.bytes => {
                    known.next_ordinal = known.next_ordinal.saturating_add(1);
                }
                NextFrame::Damaged(_) => {}
                NextFrame::Torn(at) => known.bytes = at,
                NextFrame::End => return Ok(known),
            }
        }
    }
}

/// What goes on writing a file of this format; None for the first format.
fn writer_of(format: Format, keys: &Keyring) -> io::Result<Option<FrameWriter>> {
    if !is_current(format, keys) {
        return Err(io::Error::other(
            "the dead letters wait until those of another key are written with the current one",
        ));
    }
    Ok(match format {
        Format::Marked { marker, .. } => Some(FrameWriter::resume(marker, keys)),
        Format::Empty | Format::First => None,
    })
}

impl FileUsage {
    /// Counts what a file holds.
    fn read(path: &Path, keys: &Keyring) -> Self {
        let mut usage = Self::default();
        let about = disk::about(path).ok();
        let opened = FrameReader::open(path, keys);
        let format = opened.as_ref().map_or(Format::Empty, FrameReader::format);
        let read = files::for_each_letter(path, opened, |content| {
            let bytes = (content.len() + format.overhead()) as u64;
            usage.add(key_of(content).unwrap_or(0), bytes);
        });
        match read {
            Ok(damage) => usage.damage = damage,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                usage.access = Access::Denied;
                let bytes = about.map_or(0, |about| about.bytes);
                // It is not known how many it has: it is one at least.
                usage.damage = LetterDamage { bytes, letters: 1 };
            }
            Err(error) => {
                usage = Self::default();
                usage.access = Access::Refused(error);
            }
        }
        let node = about.map(|about| about.identity);
        usage.identity = node.map(|node| Identity { node, format });
        usage
    }

    /// The same for a file that may have been read before, as one of these: damage is counted once.
    pub(super) fn read_again(path: &Path, keys: &Keyring, before: &[Self]) -> Self {
        let mut usage = Self::read(path, keys);
        if let Access::Refused(error) = &usage.access {
            log::error!(target: "telemetry", "dead letters cannot be read: {}: {error}", path.display());
        }
        let is_same = |other: &&Self| usage.identity.is_some() && other.identity == usage.identity;
        if let Some(before) = before.iter().find(is_same) {
            usage.counted = before.counted;
            usage.must_be_kept = before.must_be_kept;
        }
        usage
    }

    pub(super) fn is_refused(&self) -> bool {
        matches!(self.access, Access::Refused(_))
    }

    /// Reads the file again if the system refused it before.
    ///
    /// # Errors
    /// While it does: no letter is written that might push out others, uncounted.
    pub(super) fn read_if_refused(&mut self, path: &Path, keys: &Keyring) -> io::Result<()> {
        if self.is_refused() {
            *self = Self::read(path, keys);
        }
        match &self.access {
            Access::Refused(error) => Err(io::Error::new(
                error.kind(),
                format!("dead letters cannot be read: {}: {error}", path.display()),
            )),
            Access::Granted | Access::Denied => Ok(()),
        }
    }

    /// Counts what is damaged in the file since it was last looked at, and keeps the file.
    pub(super) fn keep_damaged(&mut self, path: &Path, metrics: &Metrics) -> io::Result<()> {
        // Counted once, whether or not it can be kept.
        let before = std::mem::replace(&mut self.counted, self.damage);
        let bytes = self.damage.bytes.saturating_sub(before.bytes);
        let count = self.damage.letters.saturating_sub(before.letters);
        if count > 0 {
            SpoolRecordsDamaged { file: path, count }.emit(metrics);
        }
        self.must_be_kept |= bytes > 0;
        let kept = match self.access {
            Access::Denied => damage::set_aside(path, bytes, metrics),
            Access::Granted | Access::Refused(_) if !self.must_be_kept => return Ok(()),
            Access::Granted | Access::Refused(_) => damage::keep(path, bytes, metrics),
        };
        match kept {
            // It was set aside already, or a replay has taken it.
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.must_be_kept = false;
        if let Access::Denied = self.access {
            *self = Self::default();
        }
        Ok(())
    }

    /// Takes back a letter that was counted and could not be written.
    pub(super) fn remove(&mut self, letter: &EncodedLetter, bytes: u64) {
        self.bytes -= bytes;
        self.letters -= 1;
        if let Some(has) = self.keys.get_mut(&letter.key) {
            *has = has.saturating_sub(bytes);
        }
    }

    pub(super) fn add(&mut self, key: u64, bytes: u64) {
        self.bytes += bytes;
        self.letters += 1;
        if self.keys.len() < MAX_KEYS || self.keys.contains_key(&key) {
            *self.keys.entry(key).or_default() += bytes;
        }
    }
}

/// Opens the file and locks it, so that no replay takes it before the letters are in it.
fn open_locked(path: &Path) -> io::Result<File> {
    loop {
        let file = disk::open_append(path)?;
        file.lock()?;
        let named = disk::about(path);
        if named.is_ok_and(|named| {
            file.about()
                .is_ok_and(|opened| opened.identity == named.identity)
        }) {
            return Ok(file);
        }
    }
}
