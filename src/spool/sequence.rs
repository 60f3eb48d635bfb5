//! The sequence numbers of a gateway's records (CONTRACT 5): from 1, without a gap, each record naming
//! the hash of the one before, so that the backend can tell which records never arrived. What the
//! hashes cover is defined in `monitor_model::chain`.
//!
//! **Where numbers are given.** [`super::state::State`] gives a record its number at the moment it
//! appends the record to a segment: number and record are one append, numbers are in the order of the
//! segments, and a process that is killed loses a tail of both. A record that is not accepted, because
//! the disk refuses and memory is full, gets no number. A record that is accepted and lost later keeps
//! its number: `spool.max_bytes`, `spool.max_age`, a dead letter and a file removed by hand all show as a
//! gap. A dead letter that is replayed keeps its number and closes its gap.
//!
//! **A number is never given twice.** A record goes to the backend only once it is on disk, so a crash
//! takes back no number the backend may know; the next start continues after the last number on disk.
//! Two kinds of record leave earlier: those of an awaited call of sync mode, which cannot wait for a
//! disk, and all records while the disk refuses. Before such a record leaves, its number and link are
//! written in place to a file ([`SequenceFile::record_early`]): one small write without a sync, which
//! outlives the process. Like any other record it is in a segment 10 ms later, and it stays there until
//! its verdict arrives. A start that finds this note ahead of the disk continues after the note. If the
//! machine itself went down, the note may be older than what was sent: the numbers then skip [`LEAP`]
//! further. Reserving blocks ahead would leave a gap at every crash; a new gateway id at every start
//! would leave no gap to be seen.
//!
//! **After a crash.** The first record after a process that did not end in order says so with `after`:
//! the last number on disk. Records that process accepted in its last 10 ms may have got numbers that
//! nobody knows. Numbers between `after` and the record's own that the backend lacks were sent early or
//! not at all: nobody can be sure of them, and they are not a gap.
//!
//! **A record delivered twice** has the same number both times. Delivery workers send in any order; the
//! backend sorts the numbers.
//!
//! The segments hold the same numbers while they exist. The file `chain` beside them remembers the
//! numbers of removed segments ([`super::chain_file`]).

use super::chain_file::{self, BLOCK, CONTENT, EARLY, FILE_NAME, ON_DISK, Owner, WrittenUpTo};
use super::disk::{self, File};
use super::folder::SpoolFolder;
use super::frames::damage;
use super::frames::keyring::Keyring;
use super::frames::reader::{FrameReader, NextFrame};
use super::record_codec;
use super::segment::{self, SegmentId};
use super::system::boot_id;
use crate::backend::Record;
use crate::observe::Metrics;
use monitor_model::{Chain, ChainHash};
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// More numbers than a gateway gives between two syncs of its disk.
pub(super) const LEAP: u64 = 1 << 20;

/// A number that was given, and its record's link in the hash chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SequenceNumber {
    pub(super) sequence: u64,
    pub(super) link: ChainHash,
}

/// The latest number that was found in a folder, and the gateway it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latest {
    pub(super) gateway: Uuid,
    pub(super) number: SequenceNumber,
}

/// A record with the digest for its link, which is computed before the lock is taken.
pub(super) struct Hashed {
    record: Record,
    digest: ChainHash,
}

impl From<Record> for Hashed {
    fn from(record: Record) -> Self {
        let digest = match record.chain {
            None => record.digest(),
            // The record keeps its number, and others name its link already.
            Some(_) => ChainHash::default(),
        };
        Self { record, digest }
    }
}

impl Hashed {
    /// The record, without a number.
    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    /// The record, without a number.
    pub(super) fn into_record(self) -> Record {
        self.record
    }
}

/// Gives the numbers of one folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequencer {
    gateway: Uuid,
    latest: SequenceNumber,
    /// Present if the next record is the first one after a crash.
    after: Option<u64>,
}

impl Sequencer {
    /// Continues after `latest`; `after` is set if numbers above it may not exist.
    pub(super) fn continue_after(latest: Latest, after: Option<u64>) -> Self {
        Self {
            gateway: latest.gateway,
            latest: latest.number,
            after,
        }
    }

    /// The gateway whose numbers these are.
    pub(super) fn gateway(&self) -> Uuid {
        self.gateway
    }

    /// Gives the record its number.
    pub(super) fn assign(&mut self, hashed: Hashed) -> Record {
        let Hashed { mut record, digest } = hashed;
        // A record that the backend has already is here for its files only.
        if record.chain.is_none() && record.registered().is_none() {
            let chain = Chain {
                gateway: self.gateway,
                sequence: self.latest.sequence + 1,
                previous: self.latest.link,
                after: self.after.take(),
            };
            self.latest = SequenceNumber {
                sequence: chain.sequence,
                link: chain.link(digest),
            };
            record.chain = Some(chain);
        }
        record
    }

    /// Whether no record has reported yet that the process before was cut off.
    pub(super) fn is_cut_unreported(&self) -> bool {
        self.after.is_some()
    }

    /// The latest number given.
    pub(super) fn latest(&self) -> SequenceNumber {
        self.latest
    }
}

impl Latest {
    /// The number of a record; None if it has none.
    pub(super) fn of_record(record: &Record) -> Option<Self> {
        let chain = record.chain?;
        Some(Self {
            gateway: chain.gateway,
            number: SequenceNumber {
                sequence: chain.sequence,
                link: chain.link(record.digest()),
            },
        })
    }

    /// The highest number in the newest of these segments that has any.
    ///
    /// # Errors
    /// When one of them cannot be read now: a number might be given twice.
    pub(super) fn in_segments(folder: &SpoolFolder, ids: &[SegmentId]) -> io::Result<Option<Self>> {
        let own = chain_file::gateway_of(folder)?;
        for id in ids.iter().rev() {
            let found = match highest(&segment::path(folder, *id), folder.keys(), own) {
                // It was set aside, or no number in it can be read.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::InvalidData
                    ) =>
                {
                    None
                }
                found => found?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// The highest number of this gateway in a segment, which may hold records that were taken over from others.
fn highest(path: &Path, keys: &Keyring, own: Option<Uuid>) -> io::Result<Option<Latest>> {
    let is_own = |chain: &Chain| own.is_none_or(|own| own == chain.gateway);
    let mut reader = FrameReader::open(path, keys)?;
    let end = reader.length()?;
    let mut highest = (0, Vec::new());
    loop {
        match reader.next(end)? {
            // Dead letters that were replayed have numbers from long ago.
            NextFrame::Whole(frame) => match record_codec::chain(&frame.content).filter(is_own) {
                Some(chain) if chain.sequence > highest.0 => {
                    highest = (chain.sequence, frame.content);
                }
                _ => {}
            },
            NextFrame::Damaged(_) => {}
            NextFrame::Torn(_) | NextFrame::End => break,
        }
    }
    let record = record_codec::decode(&highest.1);
    Ok(record.and_then(|record| Latest::of_record(&record)))
}

/// The file `chain` of a folder.
pub(super) struct SequenceFile {
    file: File,
    gateway: Uuid,
    boot: Uuid,
    /// The highest number noted as sent early.
    early: Mutex<u64>,
    /// The note of how far the newest segment is written.
    written: Mutex<WrittenUpTo>,
}

impl SequenceFile {
    /// Opens the file of a folder, creating it if it is missing, and gives the numbers that come next.
    /// `newest` is the latest number in the segments.
    pub(super) fn open(
        folder: &Path,
        newest: Option<Latest>,
        metrics: &Metrics,
    ) -> io::Result<(Self, Sequencer)> {
        let path = folder.join(FILE_NAME);
        let file = disk::open_update(&path)?;
        let boot = boot_id();
        keep_damaged(&path, &file, metrics)?;
        let owner = Owner::read(&file);
        let written = WrittenUpTo::read(&file);
        let disk = latest_on_disk(owner, read_number(&file, ON_DISK), newest);
        // What another gateway left says nothing of this one.
        let is_own = match owner {
            Some(owner) => owner.gateway == disk.gateway,
            // Whose it was is lost; the segments say whose folder it is.
            None => newest.is_some() && file.about()?.bytes > 0,
        };
        let owner = owner.filter(|_| is_own);
        let noted = is_own.then(|| read_number(&file, EARLY));
        let is_lost = noted == Some(None);
        let mut early = noted.flatten().unwrap_or_default();
        // If it is lost whose file it is, it is not known either whether the machine crashed.
        let machine_crashed = owner.map_or(is_own, |owner| !owner.ended && owner.boot != boot);
        if machine_crashed && early.sequence > 0 || is_lost {
            early = higher(disk.number, early);
            early.sequence += LEAP;
        }
        let opened = Self {
            file,
            gateway: disk.gateway,
            boot,
            early: Mutex::new(early.sequence),
            written: Mutex::new(written),
        };
        chain_file::write_block(&opened.file, ON_DISK, opened.on_disk(disk.number, None))?;
        chain_file::write_block(&opened.file, EARLY, number_block(early))?;
        opened.sign(false)?;
        disk::sync_folder(folder)?;
        // A process that ended in order lost nothing, and a new folder had nothing to lose.
        let is_sure = owner.map_or(disk.number.sequence == 0, |owner| owner.ended);
        let is_behind = early.sequence > disk.number.sequence;
        let after = (!is_sure || is_behind).then_some(disk.number.sequence);
        let latest = Latest {
            gateway: disk.gateway,
            number: higher(disk.number, early),
        };
        Ok((opened, Sequencer::continue_after(latest, after)))
    }

    /// Notes the highest number in the segments, and how far the newest one is written if it is known, without a sync.
    pub(super) fn record_on_disk(
        &self,
        latest: SequenceNumber,
        written: Option<WrittenUpTo>,
    ) -> io::Result<()> {
        chain_file::write_higher(&self.file, ON_DISK, self.on_disk(latest, written))
    }

    fn on_disk(&self, latest: SequenceNumber, written: Option<WrittenUpTo>) -> [u8; CONTENT] {
        let mut kept = lock(&self.written);
        *kept = written.unwrap_or(*kept);
        let mut content = number_block(latest);
        kept.put(&mut content);
        content
    }

    /// Notes that a record is about to leave before it is on disk.
    pub(super) fn record_early(&self, number: SequenceNumber) -> io::Result<()> {
        let mut highest = lock(&self.early);
        if number.sequence > *highest {
            chain_file::write_higher(&self.file, EARLY, number_block(number))?;
            if *highest == 0 {
                // From now on a crash of the machine leaves a note, if an old one: the numbers leap behind it.
                self.sync()?;
            }
            *highest = number.sequence;
        }
        Ok(())
    }

    /// Makes the notes outlive the machine too.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// Notes that everything is on disk and nothing more comes. A crash that no record has reported yet
    /// is reported after the next start.
    pub(super) fn close(&self, cut_unreported: bool) -> io::Result<()> {
        self.sign(!cut_unreported)
    }

    fn sign(&self, ended: bool) -> io::Result<()> {
        let owner = Owner {
            gateway: self.gateway,
            boot: self.boot,
            ended,
        };
        owner.write(&self.file)?;
        self.file.sync()
    }
}

fn number_block(number: SequenceNumber) -> [u8; CONTENT] {
    let mut content = [0; CONTENT];
    content[..8].copy_from_slice(&number.sequence.to_le_bytes());
    content[8..40].copy_from_slice(&number.link.0);
    content
}

/// The gateway of the folder and the highest number on disk there. The file may be behind the segments.
fn latest_on_disk(
    owner: Option<Owner>,
    noted: Option<SequenceNumber>,
    newest: Option<Latest>,
) -> Latest {
    match (owner, noted, newest) {
        (Some(owner), Some(noted), newest) => {
            let own = newest.filter(|latest| latest.gateway == owner.gateway);
            Latest {
                gateway: owner.gateway,
                number: higher(noted, own.map_or(noted, |latest| latest.number)),
            }
        }
        // If the file does not say whose it was, the segments do.
        (None, noted, Some(newest)) => Latest {
            gateway: newest.gateway,
            number: noted.map_or(newest.number, |noted| higher(noted, newest.number)),
        },
        // Without either the folder is new. If its highest number is not readable, no number would be safe.
        _ => Latest {
            gateway: Uuid::new_v4(),
            number: SequenceNumber::default(),
        },
    }
}

fn higher(one: SequenceNumber, other: SequenceNumber) -> SequenceNumber {
    match other.sequence > one.sequence {
        true => other,
        false => one,
    }
}

fn lock<T>(note: &Mutex<T>) -> MutexGuard<'_, T> {
    note.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_number(file: &File, at: u64) -> Option<SequenceNumber> {
    let content = chain_file::read_block(file, at)?;
    Some(SequenceNumber {
        sequence: u64::from_le_bytes(content[..8].try_into().ok()?),
        link: ChainHash(content[8..40].try_into().ok()?),
    })
}

/// Keeps the file if a block that is there is not whole.
fn keep_damaged(path: &Path, file: &File, metrics: &Metrics) -> io::Result<()> {
    let length = file.about()?.bytes;
    match chain_file::damaged_blocks(file, length) {
        0 => Ok(()),
        blocks => damage::keep_copy(path, blocks * BLOCK as u64, metrics),
    }
}

#[cfg(test)]
mod tests;
