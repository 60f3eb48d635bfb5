//! What a backup takes of spools whose records move meanwhile.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::observe::Metrics;
use crate::spool::frames::tests::{contents, segment_of};
use crate::spool::recovery::lock;
use crate::spool::recovery::takeover::{MovedSegments, take_over};
use std::cell::Cell;
use support::stack::Folder;

/// A file for the copies.
fn empty(path: &Path) -> File {
    let mut options = File::options();
    let options = options.read(true).write(true).create_new(true);
    options.open(path).unwrap()
}

/// The contents of all copied records, in no order.
fn records_of(copied: &CopiedSpool, base: &Folder) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for name in copied.names() {
        assert!(is_copy(name), "{name}");
        let path = base.path().join(name);
        let mut bytes = Vec::new();
        copied.open(name).unwrap().read_to_end(&mut bytes).unwrap();
        std::fs::write(&path, bytes).unwrap();
        all.extend(contents(&path));
    }
    all.sort();
    all
}

#[test]
fn records_that_move_to_a_folder_that_was_read_already_are_copied() {
    let base = Folder::new();
    let [spool, to] = ["spool", "to"].map(|name| base.path().join(name));
    let beside = spool.join("beside-1");
    for folder in [&spool, &beside] {
        drop(lock(folder).unwrap());
    }
    segment_of(&beside, 1, &[b"one", b"two"]);
    let has_moved = Cell::new(false);
    // They move between the looks into the two folders.
    let folders = || {
        [&spool, &beside].into_iter().map(|folder| {
            if folder == &beside && !has_moved.replace(true) {
                let (mut moved, metrics) = (MovedSegments::default(), Metrics::new().unwrap());
                let to = spool.as_path().into();
                let count = take_over(&beside, &to, &mut moved, &metrics).unwrap();
                assert_eq!(count, Some(2));
            }
            folder.as_path().into()
        })
    };
    let copied = copy_owed(folders, empty(&to)).unwrap();
    assert_eq!(records_of(&copied, &base), [b"one", b"two"]);
    assert_eq!(copied.records, 2, "each once");
}

#[test]
fn only_new_records_of_a_file_that_grows_are_copied_again() {
    let base = Folder::new();
    let [spool, to] = ["spool", "to"].map(|name| base.path().join(name));
    drop(lock(&spool).unwrap());
    segment_of(&spool, 1, &[b"one"]);
    let folder: SpoolFolder = spool.as_path().into();
    let mut copy = SpoolCopy::new(empty(&to));
    assert!(copy.round(&folder).unwrap());
    std::fs::remove_file(segment::path(&folder, 1)).unwrap();
    segment_of(&spool, 1, &[b"one", b"two"]);
    assert!(!copy.round(&folder).unwrap(), "no file is new");
    assert_eq!(records_of(&copy.copied, &base), [b"one", b"two"]);
}
