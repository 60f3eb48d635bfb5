//! Writes dead letters and keeps them within their bounds (CONTRACT 23), on the spool's thread. Each
//! class has a part of `spool.max_dead_bytes` in two files: a full one becomes the older, and what
//! that held is gone, counted. Where letters of several access keys lie, none has more than its share
//! of a file, so that a flood of one key pushes out no other's.

use super::dead::{self, Class, Letter};
use super::fault::{self, Point};
use super::segment::{self, Reader};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes of letters that wait for a disk which refuses; beyond it the oldest are dropped.
pub(super) const MAX_WAITING: usize = 8 << 20;
/// One access key's part of a file, where there are others.
const SHARE: u64 = 4;
/// Access keys told apart in a file; those beyond it share nothing, they count as one.
const MAX_KEYS: usize = 10_000;
/// How often it is looked whether others changed the files.
const LOOK: Duration = Duration::from_secs(1);

/// What the spool's thread knows of its dead letters.
pub(super) struct Letters {
    folder: PathBuf,
    shelves: [Shelf; 2],
    /// Not yet in a file.
    waiting: Vec<Letter>,
    count: u64,
    /// Bytes of the files as this thread knows them.
    size: u64,
    next_look: Instant,
}

/// What came of a step.
#[derive(Default)]
pub(super) struct Step {
    pub(super) error: Option<io::Error>,
    /// Letters that were dropped because a disk that refuses left no room.
    pub(super) refused: u64,
    /// Letters that are gone because of the bounds.
    pub(super) over: u64,
}

/// The files of one class.
struct Shelf {
    class: Class,
    /// Bytes of one file.
    limit: u64,
    newer: Contents,
    older: Contents,
    /// The file as this process left it: device, number, length.
    known: Option<(u64, u64, u64)>,
}

#[derive(Default)]
struct Contents {
    bytes: u64,
    letters: u64,
    keys: HashMap<u64, u64>,
}

impl Letters {
    /// Looks at what is there. `limit` bounds the bytes of all files.
    pub(super) fn new(folder: &Path, limit: u64) -> Self {
        // Keys that are refused tell less than records that are.
        let parts = [limit / 4 * 3, limit / 4];
        let mut index = 0;
        let shelves = Class::ALL.map(|class| {
            let limit = parts[index] / 2;
            index += 1;
            Shelf::new(class, limit)
        });
        let mut letters = Self {
            folder: folder.into(),
            shelves,
            waiting: Vec::new(),
            count: 0,
            size: 0,
            next_look: Instant::now() + LOOK,
        };
        letters.look();
        letters
    }

    /// Writes these and those that a failure left waiting.
    pub(super) fn write(&mut self, new: Vec<Letter>) -> Step {
        self.waiting.extend(new);
        let mut step = Step::default();
        while !self.waiting.is_empty() && step.error.is_none() {
            step.error = self.write_some(&mut step.over).err();
        }
        let mut held: usize = self.waiting.iter().map(|letter| letter.bytes.len()).sum();
        let too_many = self.waiting.iter().take_while(|letter| {
            let over = held > MAX_WAITING;
            held -= letter.bytes.len();
            over
        });
        let too_many = too_many.count();
        self.waiting.drain(..too_many);
        step.refused = too_many as u64;
        step
    }

    /// Adds letters of a process before. They are older than those here: none of these goes for them, and
    /// what finds no room beside these is gone. Gives how many that are.
    ///
    /// # Errors
    /// When the disk refuses; these are to be given again.
    pub(super) fn inherit(&mut self, letters: &[Letter]) -> io::Result<u64> {
        let mut over = 0;
        for shelf in &mut self.shelves {
            let class = shelf.class;
            let of_class = letters.iter().filter(|letter| letter.class == class);
            let of_class: Vec<&Letter> = of_class.collect();
            over += shelf.inherit(&self.folder, &of_class)?;
        }
        self.size = dead::size(&self.folder);
        self.count();
        Ok(over)
    }

    /// How many there are, and their bytes; looks into the files only where somebody changed them.
    pub(super) fn extent(&mut self) -> (u64, u64) {
        if self.next_look <= Instant::now() {
            self.next_look = Instant::now() + LOOK;
            if dead::size(&self.folder) != self.size {
                self.look();
            }
        }
        (self.count + self.waiting.len() as u64, self.size)
    }

    /// The letters of the first one's class up to a full file.
    fn write_some(&mut self, over: &mut u64) -> io::Result<()> {
        let Some(first) = self.waiting.first() else {
            return Ok(());
        };
        let class = first.class;
        let shelf = &mut self.shelves[class as usize];
        *over += shelf.make_room(&self.folder, first.bytes.len() as u64)?;
        let chosen = shelf.choose(&self.waiting);
        let frames: Vec<_> = chosen
            .written
            .iter()
            .map(|place| &self.waiting[*place])
            .collect();
        shelf.append(&self.folder, &frames)?;
        *over += chosen.dropped;
        let done = chosen.seen;
        let mut place = 0;
        self.waiting.retain(|letter| {
            place += 1;
            letter.class != class || place > done
        });
        self.size = dead::size(&self.folder);
        self.count();
        Ok(())
    }

    fn count(&mut self) {
        let shelves = self.shelves.iter();
        self.count = shelves
            .map(|shelf| shelf.newer.letters + shelf.older.letters)
            .sum();
    }

    /// Reads all files anew.
    fn look(&mut self) {
        for shelf in &mut self.shelves {
            shelf.newer = Contents::read(&self.folder.join(shelf.class.newer()));
            shelf.older = Contents::read(&self.folder.join(shelf.class.older()));
        }
        self.size = dead::size(&self.folder);
        self.count();
        // Those that are just being put back are letters still.
        if let Ok(count) = dead::count(&self.folder) {
            self.count = count;
        }
    }
}

/// Which of the waiting letters go into the file now.
struct Chosen {
    written: Vec<usize>,
    /// Letters over their key's share.
    dropped: u64,
    /// Waiting letters up to here are done with, as far as they are of the class.
    seen: usize,
}

impl Shelf {
    fn new(class: Class, limit: u64) -> Self {
        Self {
            class,
            limit,
            newer: Contents::default(),
            older: Contents::default(),
            known: None,
        }
    }

    /// Makes a full file the older one; gives how many letters are gone with what that was.
    fn make_room(&mut self, folder: &Path, length: u64) -> io::Result<u64> {
        if self.newer.letters == 0 || self.newer.bytes + length <= self.limit {
            return Ok(0);
        }
        let (newer, older) = (self.class.newer(), self.class.older());
        match std::fs::rename(folder.join(newer), folder.join(older)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let gone = std::mem::replace(&mut self.older, std::mem::take(&mut self.newer));
        self.known = None;
        Ok(gone.letters)
    }

    /// Those that fit into the file, but for what is over the share of a key that is not alone.
    fn choose(&mut self, waiting: &[Letter]) -> Chosen {
        let mut chosen = Chosen {
            written: Vec::new(),
            dropped: 0,
            seen: waiting.len(),
        };
        for (place, letter) in waiting.iter().enumerate() {
            let bytes = (letter.bytes.len() + segment::FRAME_HEADER) as u64;
            if letter.class != self.class {
                continue;
            }
            if self.newer.letters > 0 && self.newer.bytes + bytes > self.limit {
                chosen.seen = place;
                break;
            }
            if self.is_over_share(letter.key, bytes) {
                chosen.dropped += 1;
                continue;
            }
            self.newer.add(letter.key, bytes);
            chosen.written.push(place);
        }
        chosen
    }

    /// Adds those that fit without pushing out others; gives how many do not.
    fn inherit(&mut self, folder: &Path, letters: &[&Letter]) -> io::Result<u64> {
        let mut rest = letters;
        while let Some(first) = rest.first() {
            if self.older.letters == 0 {
                self.make_room(folder, first.bytes.len() as u64)?;
            }
            let before = self.newer.letters;
            for letter in rest {
                let bytes = (letter.bytes.len() + segment::FRAME_HEADER) as u64;
                if self.newer.letters > 0 && self.newer.bytes + bytes > self.limit {
                    break;
                }
                self.newer.add(letter.key, bytes);
            }
            let added = usize::try_from(self.newer.letters - before).unwrap_or(usize::MAX);
            if added == 0 {
                break;
            }
            let (now, later) = rest.split_at(added);
            self.append(folder, now)?;
            rest = later;
        }
        Ok(rest.len() as u64)
    }

    fn is_over_share(&self, key: u64, bytes: u64) -> bool {
        let has = self.newer.keys.get(&key).copied().unwrap_or(0);
        let others = |contents: &Contents| contents.keys.keys().any(|other| *other != key);
        has > 0 && has + bytes > self.limit / SHARE && (others(&self.newer) || others(&self.older))
    }

    /// Adds letters, already counted. What a failure leaves of them is cut off again.
    fn append(&mut self, folder: &Path, letters: &[&Letter]) -> io::Result<()> {
        if letters.is_empty() {
            return Ok(());
        }
        let path = folder.join(self.class.newer());
        let written = self.try_append(&path, letters);
        if written.is_err() {
            letters.iter().for_each(|letter| self.newer.remove(letter));
        }
        written
    }

    fn try_append(&mut self, path: &Path, letters: &[&Letter]) -> io::Result<()> {
        let mut file = open(path)?;
        let length = self.whole_length(path, &file)?;
        let mut bytes = Vec::new();
        if length == 0 {
            bytes.extend_from_slice(segment::MAGIC);
        }
        for letter in letters {
            segment::frame(&mut bytes, |out| out.extend_from_slice(&letter.bytes));
        }
        let written = fault::write(Point::Letters, &mut file, &bytes);
        written.and_then(|()| file.sync_data()).inspect_err(|_| {
            // What fails here too is cut off by the next process that opens the file.
            let _ = file.set_len(length);
        })?;
        let about = file.metadata()?;
        self.known = Some((about.dev(), about.ino(), about.len()));
        Ok(())
    }

    /// The file's length, once the torn end that a crash left of a write is cut off: behind it no
    /// letter would be found. The record of a torn letter is owed still.
    fn whole_length(&self, path: &Path, file: &File) -> io::Result<u64> {
        let about = file.metadata()?;
        if self.known == Some((about.dev(), about.ino(), about.len())) || about.len() == 0 {
            return Ok(about.len());
        }
        if let Err(error) = Reader::open(path) {
            // No file of letters: kept for people, and out of the way.
            std::fs::rename(path, dead::damaged(path))?;
            return Err(error);
        }
        let mut end = match about.len() >= segment::HEADER {
            true => segment::HEADER,
            false => 0,
        };
        dead::each(path, |_, offset| end = offset)?;
        if end < about.len() {
            file.set_len(end)?;
        }
        Ok(end)
    }
}

impl Contents {
    /// Nothing where the file is missing or cannot be read.
    fn read(path: &Path) -> Self {
        let mut contents = Self::default();
        let read = dead::each(path, |content, _| {
            let bytes = (content.len() + segment::FRAME_HEADER) as u64;
            contents.add(dead::key_of(content).unwrap_or(0), bytes);
        });
        if let Err(error) = read {
            log::error!(target: "telemetry", "dead letters cannot be read: {error}");
        }
        contents
    }

    /// Takes one back that was added and not written.
    fn remove(&mut self, letter: &Letter) {
        let bytes = (letter.bytes.len() + segment::FRAME_HEADER) as u64;
        self.bytes -= bytes;
        self.letters -= 1;
        if let Some(has) = self.keys.get_mut(&letter.key) {
            *has = has.saturating_sub(bytes);
        }
    }

    fn add(&mut self, key: u64, bytes: u64) {
        self.bytes += bytes;
        self.letters += 1;
        if self.keys.len() < MAX_KEYS || self.keys.contains_key(&key) {
            *self.keys.entry(key).or_default() += bytes;
        }
    }
}

/// The file, locked, so that nobody takes it away before the letters are in it.
fn open(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?;
        file.lock()?;
        let (opened, named) = (file.metadata()?, std::fs::metadata(path));
        if named.is_ok_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino())) {
            return Ok(file);
        }
    }
}

#[cfg(test)]
mod tests;
