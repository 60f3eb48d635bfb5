//! A disk in memory for one thread, with the time, the boots and the chance of its machine. It keeps apart what a
//! process sees and what is on the disk: a write is on disk for certain only after a sync, a name only after a sync
//! of its folder. When the power fails, each write since then is kept, lost or torn on its own, in any order, and
//! names are lost from the latest on. Beyond that it can be full, fail to sync, confirm what it did not write, and
//! let a bit rot.
//!
//! Long because: it is one machine, and each call of [`super::real`] has its counterpart here.

use super::About;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// Paths below it are on the simulated disk.
const ROOT: &str = "/simulated";
/// Bytes that are written as a whole or not at all when the power fails.
const BLOCK: usize = 16;

thread_local! {
    static MACHINE: RefCell<Option<Machine>> = const { RefCell::new(None) };
}

/// A small generator of random numbers (SplitMix64): the same numbers for the same seed, everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// What the disk does wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    /// It takes no further byte.
    pub(crate) full: bool,
    /// The next sync of a file fails, and what it should have written is lost or not.
    pub(crate) fails_sync: bool,
    /// The next sync of a file is confirmed and writes nothing.
    pub(crate) lies: bool,
    /// So many files cannot be opened to be read: too many are open.
    pub(crate) refused_opens: u64,
    /// So many are opened before the first one is refused.
    pub(crate) opens_before: u64,
    /// No file can be opened to be read: none is this user's.
    pub(crate) denies_opens: bool,
    /// A file cannot have a second name.
    pub(crate) no_links: bool,
    /// No file can be removed.
    pub(crate) no_removal: bool,
}

struct Machine {
    chance: Chance,
    faults: Faults,
    nodes: BTreeMap<u64, Node>,
    /// What processes see.
    names: BTreeMap<PathBuf, u64>,
    /// What is on disk.
    durable_names: BTreeMap<PathBuf, u64>,
    /// Changes of names since they were last synced.
    name_changes: Vec<NameChange>,
    last_node: u64,
    wall_ms: i64,
    boot: Uuid,
    /// Syncs that were confirmed and wrote nothing.
    lies_told: u64,
}

#[derive(Default)]
struct Node {
    visible: Vec<u8>,
    durable: Vec<u8>,
    /// Changes since the last sync.
    changes: Vec<Change>,
    /// The latest sync was confirmed and wrote nothing, or what it should have written was lost with a later one that
    /// failed.
    is_doubtful: bool,
    is_lost_by_a_lie: bool,
    begun_ms: i64,
    last_ms: i64,
}

enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

enum NameChange {
    Add(PathBuf, u64),
    Move(PathBuf, PathBuf),
    Remove(PathBuf),
}

/// An open file.
#[derive(Debug)]
pub(crate) struct File(u64);

// --- The machine ---

/// Puts a new machine in the place of the one before.
pub(crate) fn start(seed: u64, wall_ms: i64) -> PathBuf {
    let mut chance = Chance::new(seed);
    let machine = Machine {
        boot: Uuid::from_u64_pair(chance.next(), 1),
        chance,
        faults: Faults::default(),
        nodes: BTreeMap::new(),
        names: BTreeMap::new(),
        durable_names: BTreeMap::new(),
        name_changes: Vec::new(),
        last_node: 0,
        wall_ms,
        lies_told: 0,
    };
    MACHINE.set(Some(machine));
    PathBuf::from(ROOT).join("spool")
}

/// Ends the simulation on this thread.
pub(crate) fn stop() {
    MACHINE.set(None);
}

pub(crate) fn set_faults(change: impl FnOnce(&mut Faults)) {
    with(|machine| change(&mut machine.faults));
}

pub(crate) fn faults() -> Faults {
    with(|machine| machine.faults)
}

pub(crate) fn lies_told() -> u64 {
    with(|machine| machine.lies_told)
}

/// The files, by what stands for each, of which a sync was confirmed that wrote nothing, and no true one since.
pub(crate) fn doubtful_files() -> BTreeMap<u64, PathBuf> {
    with(|machine| {
        let nodes = machine.nodes.iter().filter(|(_, node)| node.is_doubtful);
        let named = |id: u64| {
            let mut names = machine.names.iter().filter(|(_, node)| **node == id);
            names
                .next()
                .map_or_else(PathBuf::new, |(path, _)| path.clone())
        };
        nodes.map(|(id, _)| (*id, named(*id))).collect()
    })
}

/// Whether all that was written to a file is on disk.
pub(crate) fn is_synced(path: &Path) -> bool {
    with(|machine| {
        let node = machine.names.get(path).and_then(|id| machine.nodes.get(id));
        node.is_none_or(|node| node.changes.is_empty())
    })
}

/// Whether a folder, or one of its own inside, has a file with something in it.
pub(crate) fn has_files(folder: &Path) -> bool {
    with(|machine| {
        let own = |path: &Path| {
            path.parent() == Some(folder) || path.parent() == Some(&folder.join("incoming"))
        };
        let mut names = machine.names.iter().filter(|(path, _)| own(path));
        names.any(|(_, id)| {
            machine
                .nodes
                .get(id)
                .is_some_and(|it| !it.visible.is_empty())
        })
    })
}

/// Moves the wall clock.
pub(crate) fn move_clock(ms: i64) {
    with(|machine| machine.wall_ms += ms);
}

/// The power fails and comes back.
pub(crate) fn fail_power() {
    with(|machine| {
        let kept = machine.chance.below(machine.name_changes.len() as u64 + 1);
        let changes = std::mem::take(&mut machine.name_changes);
        for change in changes.into_iter().take(usize::try_from(kept).unwrap_or(0)) {
            change.apply(&mut machine.durable_names);
        }
        machine.names = machine.durable_names.clone();
        for node in machine.nodes.values_mut() {
            for change in std::mem::take(&mut node.changes) {
                change.tear(&mut node.durable, &mut machine.chance);
            }
            node.visible = node.durable.clone();
            node.is_doubtful = false;
            node.is_lost_by_a_lie = false;
        }
        machine.boot = Uuid::from_u64_pair(machine.chance.next(), 2);
    });
}

/// What changes by itself on a disk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rot {
    Bit,
    /// A whole sector of so many bytes, to zeros or to anything.
    Sector(usize),
}

/// A part of one file changes by itself; the name of the file, unless all are empty.
pub(crate) fn rot(what: Rot) -> Option<PathBuf> {
    with(|machine| {
        let has_content = |node: &u64| {
            machine
                .nodes
                .get(node)
                .is_some_and(|it| !it.visible.is_empty())
        };
        let names = machine.names.iter().filter(|(_, node)| has_content(node));
        let files: Vec<_> = names.map(|(path, node)| (path.clone(), *node)).collect();
        if files.is_empty() {
            return None;
        }
        let chosen = machine.chance.below(files.len() as u64);
        let (path, node) = files[usize::try_from(chosen).unwrap_or(0)].clone();
        let mut chance = machine.chance.clone();
        let node = machine.nodes.get_mut(&node)?;
        let length = node.visible.len() as u64;
        match what {
            Rot::Bit => {
                let bit = chance.below(length * 8);
                let (byte, mask) = (usize::try_from(bit / 8).unwrap_or(0), 1 << (bit % 8));
                node.change(byte, |old| old ^ mask);
            }
            Rot::Sector(size) => {
                let sector = chance.below(length.div_ceil(size as u64));
                let start = usize::try_from(sector).unwrap_or(0) * size;
                let is_zero = chance.once_in(2);
                for byte in start..(start + size).min(node.visible.len()) {
                    let new = if is_zero { 0 } else { chance.next() as u8 };
                    node.change(byte, |_| new);
                }
            }
        }
        machine.chance = chance;
        Some(path)
    })
}

impl Node {
    /// Changes a byte on the disk and in what processes see.
    fn change(&mut self, at: usize, new: impl Fn(u8) -> u8) {
        for bytes in [&mut self.visible, &mut self.durable] {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = new(*byte);
            }
        }
    }
}

pub(crate) fn now_ms() -> Option<i64> {
    MACHINE.with_borrow(|machine| machine.as_ref().map(|machine| machine.wall_ms))
}

pub(crate) fn boot_id() -> Option<Uuid> {
    MACHINE.with_borrow(|machine| machine.as_ref().map(|machine| machine.boot))
}

pub(crate) fn random() -> Option<u64> {
    MACHINE.with_borrow_mut(|machine| machine.as_mut().map(|machine| machine.chance.next()))
}

/// Whether a path is on the simulated disk.
pub(crate) fn holds(path: &Path) -> bool {
    path.starts_with(ROOT)
}

fn with<T>(work: impl FnOnce(&mut Machine) -> T) -> T {
    MACHINE.with_borrow_mut(|machine| match machine {
        Some(machine) => work(machine),
        None => panic!("no simulated machine runs on this thread"),
    })
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Length(length) => bytes.resize(*length, 0),
            Self::Write(at, written) => write(bytes, *at, written),
        }
    }

    /// Applies what the disk had written when the power failed.
    fn tear(&self, bytes: &mut Vec<u8>, chance: &mut Chance) {
        match (chance.below(3), self) {
            (0, _) => {}
            (1, Self::Write(at, written)) => {
                for (index, block) in written.chunks(BLOCK).enumerate() {
                    if !chance.once_in(3) {
                        write(bytes, at + index * BLOCK, block);
                    }
                }
            }
            _ => self.apply(bytes),
        }
    }
}

fn write(bytes: &mut Vec<u8>, at: usize, written: &[u8]) {
    let end = at + written.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at..end].copy_from_slice(written);
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<PathBuf, u64>) {
        match self {
            Self::Add(path, node) => names.insert(path.clone(), *node),
            Self::Move(from, to) => {
                let node = names.remove(from);
                node.and_then(|node| names.insert(to.clone(), node))
            }
            Self::Remove(path) => names.remove(path),
        };
    }
}

impl Machine {
    fn change_name(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.name_changes.push(change);
    }

    fn node_of(&self, path: &Path) -> io::Result<u64> {
        self.names
            .get(path)
            .copied()
            .ok_or(io::ErrorKind::NotFound.into())
    }

    fn create(&mut self, path: &Path) -> io::Result<u64> {
        if self.faults.full && self.chance.once_in(2) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.last_node += 1;
        let node = Node {
            begun_ms: self.wall_ms,
            last_ms: self.wall_ms,
            ..Node::default()
        };
        self.nodes.insert(self.last_node, node);
        self.change_name(NameChange::Add(path.into(), self.last_node));
        Ok(self.last_node)
    }

    fn write(&mut self, node: u64, at: Option<usize>, bytes: &[u8]) -> io::Result<usize> {
        let mut length = bytes.len();
        if self.faults.full && length > 0 {
            length = usize::try_from(self.chance.below(length as u64)).unwrap_or(0);
            // A block that the file has already is written over.
            if at.is_some() {
                length = bytes.len();
            } else if length == 0 || self.chance.once_in(2) {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        let now = self.wall_ms;
        let node = self.node(node)?;
        let at = at.unwrap_or(node.visible.len());
        let change = Change::Write(at, bytes[..length].to_vec());
        change.apply(&mut node.visible);
        node.changes.push(change);
        node.last_ms = now;
        Ok(length)
    }

    fn sync(&mut self, node: u64) -> io::Result<()> {
        if std::mem::take(&mut self.faults.lies) {
            self.lies_told += 1;
            self.node(node)?.is_doubtful = true;
            return Ok(());
        }
        let fails = std::mem::take(&mut self.faults.fails_sync);
        let mut chance = self.chance.clone();
        let node = self.node(node)?;
        node.is_lost_by_a_lie |= node.is_doubtful && fails;
        node.is_doubtful = node.is_lost_by_a_lie;
        for change in std::mem::take(&mut node.changes) {
            // After a failure the system does not try the same bytes again.
            match fails {
                true => change.tear(&mut node.durable, &mut chance),
                false => change.apply(&mut node.durable),
            }
        }
        self.chance = chance;
        match fails {
            true => Err(io::Error::from_raw_os_error(5)),
            false => Ok(()),
        }
    }

    fn node(&mut self, node: u64) -> io::Result<&mut Node> {
        self.nodes
            .get_mut(&node)
            .ok_or(io::ErrorKind::NotFound.into())
    }
}

// --- Files ---

impl File {
    pub(crate) fn about(&self) -> io::Result<About> {
        with(|machine| machine.node(self.0).map(|node| about_of(self.0, node)))
    }

    pub(crate) fn set_length(&self, bytes: u64) -> io::Result<()> {
        with(|machine| {
            let node = machine.node(self.0)?;
            let change = Change::Length(usize::try_from(bytes).unwrap_or(0));
            change.apply(&mut node.visible);
            node.changes.push(change);
            Ok(())
        })
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        with(|machine| machine.sync(self.0))
    }

    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        with(|machine| {
            let node = machine.node(self.0)?;
            let from = usize::try_from(offset).unwrap_or(0).min(node.visible.len());
            let read = bytes.len().min(node.visible.len() - from);
            bytes[..read].copy_from_slice(&node.visible[from..from + read]);
            Ok(read)
        })
    }

    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let at = usize::try_from(offset).unwrap_or(0);
        with(|machine| machine.write(self.0, Some(at), bytes)).map(drop)
    }

    /// No other process runs on this machine.
    pub(crate) fn lock(&self) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn try_lock(&self) -> io::Result<bool> {
        Ok(true)
    }
}

impl io::Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        with(|machine| machine.write(self.0, None, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn open(path: &Path) -> io::Result<File> {
    with(|machine| {
        let faults = &mut machine.faults;
        match (faults.opens_before, faults.refused_opens) {
            (_, 0) => {}
            (0, _) => {
                faults.refused_opens -= 1;
                return Err(io::Error::from_raw_os_error(24));
            }
            _ => faults.opens_before -= 1,
        }
        let node = machine.node_of(path)?;
        match machine.faults.denies_opens {
            true => Err(io::ErrorKind::PermissionDenied.into()),
            false => Ok(node),
        }
    })
    .map(File)
}

pub(crate) fn open_folder(_: &Path) -> io::Result<File> {
    Ok(File(0))
}

pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    with(|machine| match machine.node_of(path) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => machine.create(path),
    })
    .map(File)
}

pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    with(|machine| machine.node_of(path).or_else(|_| machine.create(path))).map(File)
}

pub(crate) fn open_update(path: &Path) -> io::Result<File> {
    open_append(path)
}

// --- Names ---

pub(crate) fn create_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    with(|machine| {
        for change in std::mem::take(&mut machine.name_changes) {
            change.apply(&mut machine.durable_names);
        }
    });
    Ok(())
}

/// In the order in which the files were created, whatever their names.
pub(crate) fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    with(|machine| {
        let names = machine.names.iter();
        let mut found: Vec<_> = names
            .filter(|(path, _)| path.parent() == Some(folder))
            .map(|(path, node)| (*node, path.clone()))
            .collect();
        found.sort_by_key(|(node, _)| *node);
        Ok(found.into_iter().map(|(_, path)| path).collect())
    })
}

pub(crate) fn about(path: &Path) -> io::Result<About> {
    with(|machine| machine.node_of(path).map(File))?.about()
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    with(|machine| {
        let node = machine.node_of(from)?;
        if machine.node_of(to).is_ok_and(|other| other == node) {
            return Ok(());
        }
        machine.change_name(NameChange::Move(from.into(), to.into()));
        Ok(())
    })
}

pub(crate) fn link(from: &Path, to: &Path) -> io::Result<()> {
    with(|machine| {
        let node = machine.node_of(from)?;
        if machine.faults.no_links {
            return Err(io::Error::from_raw_os_error(1));
        }
        if machine.node_of(to).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        machine.change_name(NameChange::Add(to.into(), node));
        Ok(())
    })
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    with(|machine| {
        machine.node_of(path)?;
        if machine.faults.no_removal {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        machine.change_name(NameChange::Remove(path.into()));
        Ok(())
    })
}

fn about_of(id: u64, node: &Node) -> About {
    About {
        bytes: node.visible.len() as u64,
        begun_ms: node.begun_ms.min(node.last_ms),
        last_ms: node.last_ms,
        identity: (0, id),
    }
}
