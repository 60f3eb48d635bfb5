//! The simulated machine of a thread: its files, names, clock and boots, and what goes wrong with them.

use super::chance::Chance;
use super::changes::{Change, NameChange, Node};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// Paths below it are on the simulated disk.
const ROOT: &str = "/simulated";

thread_local! {
    static MACHINE: RefCell<Option<Machine>> = const { RefCell::new(None) };
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
    /// So many files and folders cannot be opened to be read: too many are open.
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

pub(super) struct Machine {
    pub(super) chance: Chance,
    pub(super) faults: Faults,
    pub(super) nodes: BTreeMap<u64, Node>,
    /// What processes see.
    pub(super) names: BTreeMap<PathBuf, u64>,
    /// What is on disk.
    pub(super) durable_names: BTreeMap<PathBuf, u64>,
    /// Changes of names since they were last synced.
    pub(super) name_changes: Vec<NameChange>,
    pub(super) last_node: u64,
    pub(super) wall_ms: i64,
    pub(super) boot: Uuid,
    /// Syncs that were confirmed and wrote nothing.
    pub(super) lies_told: u64,
}

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
        node.is_none_or(|node| node.changes.is_empty() && node.visible == node.durable)
    })
}

/// Whether a file is still there once the power has failed.
pub(crate) fn outlives_power(path: &Path) -> bool {
    with(|machine| machine.durable_names.contains_key(path))
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

pub(super) fn with<T>(work: impl FnOnce(&mut Machine) -> T) -> T {
    MACHINE.with_borrow_mut(|machine| match machine {
        Some(machine) => work(machine),
        None => panic!("no simulated machine runs on this thread"),
    })
}

impl Faults {
    /// A file or a folder is opened to be read.
    pub(super) fn open(&mut self) -> io::Result<()> {
        match (self.opens_before, self.refused_opens) {
            (_, 0) => {}
            (0, _) => {
                self.refused_opens -= 1;
                return Err(io::Error::from_raw_os_error(24));
            }
            _ => self.opens_before -= 1,
        }
        Ok(())
    }
}

impl Machine {
    pub(super) fn change_name(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.name_changes.push(change);
    }

    pub(super) fn node_of(&self, path: &Path) -> io::Result<u64> {
        self.names
            .get(path)
            .copied()
            .ok_or(io::ErrorKind::NotFound.into())
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<u64> {
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

    pub(super) fn write(
        &mut self,
        node: u64,
        at: Option<usize>,
        bytes: &[u8],
    ) -> io::Result<usize> {
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

    pub(super) fn sync(&mut self, node: u64) -> io::Result<()> {
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

    pub(super) fn node(&mut self, node: u64) -> io::Result<&mut Node> {
        self.nodes
            .get_mut(&node)
            .ok_or(io::ErrorKind::NotFound.into())
    }
}
