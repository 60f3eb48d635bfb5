//! A file of the simulated disk as processes see it and as it is on the disk, and what changes files and names.

use super::chance::Chance;
use crate::spool::disk::about::About;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Bytes that are written as a whole or not at all when the power fails.
const BLOCK: usize = 16;

#[derive(Default)]
pub(super) struct Node {
    pub(super) visible: Vec<u8>,
    pub(super) durable: Vec<u8>,
    /// Changes since the last sync.
    pub(super) changes: Vec<Change>,
    /// The latest sync was confirmed and wrote nothing, or a later one failed and what both should write was lost.
    pub(super) is_doubtful: bool,
    pub(super) is_lost_by_a_lie: bool,
    pub(super) begun_ms: i64,
    pub(super) last_ms: i64,
}

pub(super) enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

pub(super) enum NameChange {
    Add(PathBuf, u64),
    Move(PathBuf, PathBuf),
    Remove(PathBuf),
}

impl Node {
    /// Changes a byte on the disk and in what processes see.
    pub(super) fn change(&mut self, at: usize, new: impl Fn(u8) -> u8) {
        for bytes in [&mut self.visible, &mut self.durable] {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = new(*byte);
            }
        }
    }
}

impl Change {
    pub(super) fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Length(length) => bytes.resize(*length, 0),
            Self::Write(at, written) => write(bytes, *at, written),
        }
    }

    /// Applies what the disk had written when the power failed.
    pub(super) fn tear(&self, bytes: &mut Vec<u8>, chance: &mut Chance) {
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
    pub(super) fn apply(&self, names: &mut BTreeMap<PathBuf, u64>) {
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

pub(super) fn about_of(id: u64, node: &Node) -> About {
    About {
        bytes: node.visible.len() as u64,
        begun_ms: node.begun_ms.min(node.last_ms),
        last_ms: node.last_ms,
        identity: (0, id),
    }
}
