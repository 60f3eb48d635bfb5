//! The file `chain` in a spool's folder: whose folder it is, and the numbers of removed segments
//! ([`super::sequence`]). Three blocks, each with a checksum, are written in place. A copy of each lies in another
//! sector, so that neither a damaged block nor a lost sector costs the gateway's id or a number.

use super::disk::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use uuid::Uuid;

pub(super) const FILE_NAME: &str = "chain";
const MAGIC: &[u8; 8] = b"MONCHN01";
pub(super) const BLOCK: usize = 64;
/// Bytes of a block before its checksum.
pub(super) const CONTENT: usize = BLOCK - 4;
/// Offset of the block that says who wrote the file.
const OWNER: u64 = 0;
/// Offset of the block with the highest number on disk.
pub(super) const ON_DISK: u64 = BLOCK as u64;
/// Offset of the block with the highest number sent before it was on disk.
pub(super) const EARLY: u64 = 2 * BLOCK as u64;
/// From a block to its copy. Versions up to 4.1 have none, and leave those there are as they find them.
pub(super) const COPY: u64 = 4096;

/// The start of the names of the folders inside the configured one that hold a spool each.
const BESIDE: &str = "beside-";
const INCOMING: &str = "incoming";

/// Who wrote the file.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    pub(super) gateway: Uuid,
    pub(super) boot: Uuid,
    /// The process ended in order.
    pub(super) ended: bool,
}

impl Owner {
    pub(super) fn read(file: &File) -> Option<Self> {
        let content = read_block(file, OWNER).filter(|content| content.starts_with(MAGIC))?;
        Some(Self {
            gateway: Uuid::from_slice(&content[8..24]).ok()?,
            boot: Uuid::from_slice(&content[24..40]).ok()?,
            ended: content[40] == 1,
        })
    }

    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        let mut content = [0; CONTENT];
        content[..8].copy_from_slice(MAGIC);
        content[8..24].copy_from_slice(self.gateway.as_bytes());
        content[24..40].copy_from_slice(self.boot.as_bytes());
        content[40] = u8::from(self.ended);
        write_block(file, OWNER, content)
    }
}

/// How far the segment that takes new records was written and synced. The segment may be gone since: its number is
/// not given again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WrittenUpTo {
    pub(super) segment: u64,
    pub(super) bytes: u64,
}

impl WrittenUpTo {
    /// Offset in the block with the highest number on disk, behind the number and its link.
    const AT: usize = 40;

    pub(super) fn put(self, block: &mut [u8; CONTENT]) {
        block[Self::AT..Self::AT + 8].copy_from_slice(&self.segment.to_le_bytes());
        block[Self::AT + 8..Self::AT + 16].copy_from_slice(&self.bytes.to_le_bytes());
    }

    /// What a folder's file says.
    pub(super) fn of_folder(folder: &Path) -> io::Result<Self> {
        let file = open(folder)?;
        Ok(file.map_or(Self::default(), |file| Self::read(&file)))
    }

    /// What a file says; nothing if it cannot be read, or comes from a version up to 4.1. After a power failure it may
    /// be older than the segment.
    pub(super) fn read(file: &File) -> Self {
        read_block(file, ON_DISK).map_or(Self::default(), |content| Self::of(&content))
    }

    fn of(content: &[u8; CONTENT]) -> Self {
        Self {
            segment: number_at(content, Self::AT),
            bytes: number_at(content, Self::AT + 8),
        }
    }
}

/// The gateways of the spool that a file belongs to: that of its folder, and those of the folders of other processes
/// with the same configuration, whose records it may hold. No client knows their ids.
///
/// # Errors
/// When the system does not let a folder or its file be read now.
pub(super) fn known_gateways(file: &Path) -> io::Result<Vec<Uuid>> {
    let mut folder = file.parent().unwrap_or(file);
    let is_inside = |folder: &Path| {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name == INCOMING || name.starts_with(BESIDE))
    };
    let mut folders = vec![folder.to_owned()];
    while is_inside(folder) {
        folder = folder.parent().unwrap_or(folder);
        folders.push(folder.to_owned());
    }
    folders.extend(beside(folder)?);
    let found = folders.iter().map(|it| match gateway_of(it) {
        // The folder of another user's process.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
        found => found,
    });
    found.filter_map(Result::transpose).collect()
}

fn beside(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = match disk::list(folder) {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::PermissionDenied
            ) =>
        {
            return Ok(Vec::new());
        }
        found => found?,
    };
    found.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(BESIDE))
    });
    Ok(found)
}

/// Whether a file is one of these that was kept because it was damaged.
pub(super) fn is_kept(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.split_once('.'))
        .is_some_and(|(stem, _)| stem == FILE_NAME)
}

/// The gateway of a folder; None if its file is missing or damaged.
///
/// # Errors
/// When the system does not let the file be read now.
pub(super) fn gateway_of(folder: &Path) -> io::Result<Option<Uuid>> {
    let file = open(folder)?;
    Ok(file.and_then(|file| Owner::read(&file).map(|owner| owner.gateway)))
}

/// Syncs the file of a folder, if there is one.
///
/// # Errors
/// When the system refuses to open or sync it.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    open(folder)?.map_or(Ok(()), |file| file.sync())
}

/// The file of a folder; None if there is none.
fn open(folder: &Path) -> io::Result<Option<File>> {
    match disk::open(&folder.join(FILE_NAME)) {
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::InvalidData => Ok(None),
            _ => Err(error),
        },
        Ok(file) => Ok(Some(file)),
    }
}

/// The content of a block, or of its copy if the block is damaged. Of two that are whole and differ, since the disk
/// refused one of them, the one with the higher number is newer.
pub(super) fn read_block(file: &File, at: u64) -> Option<[u8; CONTENT]> {
    let copies = [at, at + COPY].into_iter();
    let mut whole = copies.filter_map(|at| read_copy(file, at));
    match at {
        OWNER => whole.next(),
        _ => whole.max_by_key(|content| (number_at(content, 0), WrittenUpTo::of(content))),
    }
}

fn number_at(content: &[u8; CONTENT], at: usize) -> u64 {
    let eight = content[at..].first_chunk().copied();
    u64::from_le_bytes(eight.unwrap_or_default())
}

fn read_copy(file: &File, at: u64) -> Option<[u8; CONTENT]> {
    let mut block = [0; BLOCK];
    let read = file.read_at(&mut block, at).ok()?;
    let (content, check) = block.split_first_chunk()?;
    (read == BLOCK && crc32fast::hash(content).to_le_bytes() == check).then_some(*content)
}

/// Writes a block and its copy.
///
/// # Errors
/// When the system refuses either.
pub(super) fn write_block(file: &File, at: u64, content: [u8; CONTENT]) -> io::Result<()> {
    let [block, copy] = write_copies(file, at, content);
    block.and(copy)
}

/// Writes a higher number, of which one copy is enough.
///
/// # Errors
/// When the system refuses both.
pub(super) fn write_higher(file: &File, at: u64, content: [u8; CONTENT]) -> io::Result<()> {
    let [block, copy] = write_copies(file, at, content);
    block.or(copy)
}

fn write_copies(file: &File, at: u64, content: [u8; CONTENT]) -> [io::Result<()>; 2] {
    let mut block = [0; BLOCK];
    block[..CONTENT].copy_from_slice(&content);
    block[CONTENT..].copy_from_slice(&crc32fast::hash(&content).to_le_bytes());
    [at, at + COPY].map(|at| file.write_at(&block, at))
}

/// How many blocks of a file of that length are there and not whole.
pub(super) fn damaged_blocks(file: &File, length: u64) -> u64 {
    let blocks = [OWNER, ON_DISK, EARLY].into_iter();
    let blocks = blocks.flat_map(|at| [at, at + COPY]);
    let damaged = blocks.filter(|at| *at < length && read_copy(file, *at).is_none());
    damaged.count() as u64
}
