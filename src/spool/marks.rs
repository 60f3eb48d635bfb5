//! The file beside the segments that keeps a gateway's id and how far its numbers went (CONTRACT 5):
//! three blocks, each with a check of itself, written in place. The segments say the same as long as they
//! are there; the file remembers what they took with them. Why it is needed: `numbers`.

use super::numbers::{LEAP, Numbered, Numbers};
use super::segment::{self, Next, Reader, SegmentId};
use monitor_model::ChainHash;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

const NAME: &str = "chain";
const MAGIC: &[u8; 8] = b"MONCHN01";
const BLOCK: usize = 64;
/// What a block holds before its check.
const CONTENT: usize = BLOCK - 4;
const WHO: u64 = 0;
const WRITTEN: u64 = BLOCK as u64;
const EARLY: u64 = 2 * BLOCK as u64;

/// The file.
pub(super) struct Marks {
    file: File,
    gateway: Uuid,
    boot: Uuid,
    /// The highest number that is noted as sent before it was on disk.
    early: Mutex<u64>,
}

/// Who wrote the file.
#[derive(Clone, Copy)]
struct Who {
    gateway: Uuid,
    boot: Uuid,
    /// It ended in order.
    ended: bool,
}

impl Marks {
    /// Opens the file of a folder, making it where it is missing; gives the numbers that come next.
    /// `newest` is the highest number in the newest segment that has any.
    pub(super) fn open(
        folder: &Path,
        newest: Option<(Uuid, Numbered)>,
    ) -> io::Result<(Self, Numbers)> {
        let file = opened(&folder.join(NAME))?;
        let boot = boot();
        let who = Who::read(&file);
        let (gateway, disk) = on_disk(who, numbered(&file, WRITTEN), newest);
        // What another one left there says nothing of this one.
        let who = who.filter(|who| who.gateway == gateway);
        let early = who.and_then(|_| numbered(&file, EARLY));
        let mut early = early.unwrap_or_default();
        let crashed = who.is_some_and(|who| !who.ended && who.boot != boot);
        if crashed && early.sequence > 0 {
            early = higher(disk, early);
            early.sequence += LEAP;
        }
        let marks = Self {
            file,
            gateway,
            boot,
            early: Mutex::new(early.sequence),
        };
        marks.put(WRITTEN, disk)?;
        marks.put(EARLY, early)?;
        marks.sign(false)?;
        File::open(folder)?.sync_all()?;
        // A process that ended in order took nothing with it, and a new folder had none.
        let is_sure = who.map_or(disk.sequence == 0, |who| who.ended);
        let after = (!is_sure || early.sequence > disk.sequence).then_some(disk.sequence);
        let numbers = Numbers::behind(gateway, higher(disk, early), after);
        Ok((marks, numbers))
    }

    /// Notes how far the segments go. Not synced: [`Marks::sync`].
    pub(super) fn written(&self, latest: Numbered) -> io::Result<()> {
        self.put(WRITTEN, latest)
    }

    /// Notes that a record is about to leave before it is on disk.
    pub(super) fn early(&self, numbered: Numbered) -> io::Result<()> {
        let mut highest = lock(&self.early);
        if numbered.sequence > *highest {
            self.put(EARLY, numbered)?;
            *highest = numbered.sequence;
        }
        Ok(())
    }

    /// What was noted outlives the machine too.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Everything is on disk, and nothing more comes. A cut that no record has told of is still to be told.
    pub(super) fn end(&self, owes_cut: bool) -> io::Result<()> {
        self.sign(!owes_cut)
    }

    fn sign(&self, ended: bool) -> io::Result<()> {
        let mut content = [0; CONTENT];
        content[..8].copy_from_slice(MAGIC);
        content[8..24].copy_from_slice(self.gateway.as_bytes());
        content[24..40].copy_from_slice(self.boot.as_bytes());
        content[40] = u8::from(ended);
        write(&self.file, WHO, content)?;
        self.file.sync_data()
    }

    fn put(&self, at: u64, numbered: Numbered) -> io::Result<()> {
        let mut content = [0; CONTENT];
        content[..8].copy_from_slice(&numbered.sequence.to_le_bytes());
        content[8..40].copy_from_slice(&numbered.link.0);
        write(&self.file, at, content)
    }
}

/// The file at this path, made where it is missing.
fn opened(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

/// Whose the folder is, and the highest number that is on disk there: the file may be behind the segments.
fn on_disk(
    who: Option<Who>,
    written: Option<Numbered>,
    newest: Option<(Uuid, Numbered)>,
) -> (Uuid, Numbered) {
    match (who, written, newest) {
        (Some(who), Some(written), newest) => {
            let own = newest.filter(|(gateway, _)| *gateway == who.gateway);
            let newest = own.map_or(written, |(_, newest)| newest);
            (who.gateway, higher(written, newest))
        }
        // Without the file the segments know best; without either it is a new folder.
        (_, _, Some(newest)) => newest,
        (_, _, None) => (Uuid::new_v4(), Numbered::default()),
    }
}

/// The highest number in the newest of these segments that has any.
pub(super) fn newest(folder: &Path, ids: &[SegmentId]) -> Option<(Uuid, Numbered)> {
    ids.iter().rev().find_map(|id| highest(folder, *id))
}

fn highest(folder: &Path, id: SegmentId) -> Option<(Uuid, Numbered)> {
    let mut reader = Reader::open(&segment::path(folder, id)).ok()?;
    let end = reader.length().ok()?;
    let mut highest = (0, Vec::new());
    while let Ok(Next::Frame(content)) = reader.next(end) {
        // Letters that were put back have numbers of long ago.
        match super::entry::sequence(&content) {
            Some(sequence) if sequence > highest.0 => highest = (sequence, content),
            _ => {}
        }
    }
    Numbered::of_entry(&highest.1)
}

fn higher(one: Numbered, other: Numbered) -> Numbered {
    match other.sequence > one.sequence {
        true => other,
        false => one,
    }
}

fn lock(early: &Mutex<u64>) -> MutexGuard<'_, u64> {
    early.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Who {
    fn read(file: &File) -> Option<Self> {
        let content = read(file, WHO).filter(|content| content.starts_with(MAGIC))?;
        Some(Self {
            gateway: Uuid::from_slice(&content[8..24]).ok()?,
            boot: Uuid::from_slice(&content[24..40]).ok()?,
            ended: content[40] == 1,
        })
    }
}

fn numbered(file: &File, at: u64) -> Option<Numbered> {
    let content = read(file, at)?;
    Some(Numbered {
        sequence: u64::from_le_bytes(content[..8].try_into().ok()?),
        link: ChainHash(content[8..40].try_into().ok()?),
    })
}

fn read(file: &File, at: u64) -> Option<[u8; CONTENT]> {
    let mut block = [0; BLOCK];
    file.read_exact_at(&mut block, at).ok()?;
    let (content, check) = block.split_first_chunk()?;
    (crc32fast::hash(content).to_le_bytes() == check).then_some(*content)
}

fn write(file: &File, at: u64, content: [u8; CONTENT]) -> io::Result<()> {
    let mut block = [0; BLOCK];
    block[..CONTENT].copy_from_slice(&content);
    block[CONTENT..].copy_from_slice(&crc32fast::hash(&content).to_le_bytes());
    file.write_all_at(&block, at)
}

/// The machine's start; another one at every look where the system does not tell.
fn boot() -> Uuid {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let id = text.ok().and_then(|text| Uuid::parse_str(text.trim()).ok());
    id.unwrap_or_else(Uuid::new_v4)
}

#[cfg(test)]
mod tests;
