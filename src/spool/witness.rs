//! What the spool does with single records in a simulated history: where each one is put, and which are given up.
//! A loss that is counted is thereby known by its records.

use crate::backend::Record;
use crate::spool::chain_file::WrittenUpTo;
use crate::spool::record_codec;
use crate::spool::segment::{self, SegmentId};
use crate::spool::segment_index::RecordPosition;
use monitor_model::Stage;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a record is known by: its exchange, and whether it is of the answer.
pub(in crate::spool) type Key = (u128, bool);

pub(in crate::spool) fn key(record: &Record) -> Key {
    let exchange = record.context.exchange.0.as_u128();
    (exchange, record.stage == Stage::PostCall)
}

thread_local! {
    static WITNESS: RefCell<Witness> = RefCell::default();
}

/// The folder, the segment and the number of a record.
type Place = (PathBuf, SegmentId, u32);

#[derive(Default)]
struct Witness {
    /// The folder that is worked in.
    folder: PathBuf,
    places: BTreeMap<Place, Key>,
    /// Since they were last asked for.
    appended: Vec<Key>,
    given_up: BTreeSet<Key>,
    put_back: BTreeSet<Key>,
}

fn with<T>(work: impl FnOnce(&mut Witness) -> T) -> T {
    WITNESS.with_borrow_mut(work)
}

/// Forgets the history before.
pub(in crate::spool) fn start() {
    with(|witness| *witness = Witness::default());
}

/// From now on segments are those of this folder.
pub(in crate::spool) fn enter(folder: &Path) {
    with(|witness| folder.clone_into(&mut witness.folder));
}

/// Records that the spool gave up, and said so.
pub(in crate::spool) fn given_up() -> BTreeSet<Key> {
    with(|witness| witness.given_up.clone())
}

/// Records that went through the folder `incoming`.
pub(in crate::spool) fn put_back() -> BTreeSet<Key> {
    with(|witness| witness.put_back.clone())
}

/// Records that were appended to segments since they were last taken.
pub(in crate::spool) fn appended_so_far() -> Vec<Key> {
    with(|witness| witness.appended.clone())
}

/// Records that were appended to segments since the last call.
pub(in crate::spool) fn take_appended() -> Vec<Key> {
    with(|witness| std::mem::take(&mut witness.appended))
}

/// The records of the newest segment of each folder that is there, of the one that was last noted as synced, and of
/// those behind either.
pub(in crate::spool) fn in_newest_segments(
    is_there: impl Fn(&Path) -> bool,
    synced: impl Fn(&Path) -> WrittenUpTo,
) -> BTreeSet<Key> {
    with(|witness| {
        let mut newest = BTreeMap::new();
        // In ascending order: the last one of a folder that is there is its newest.
        for (folder, id, _) in witness.places.keys() {
            if is_there(&segment::path(folder, *id)) {
                newest.insert(folder, *id);
            }
        }
        for (folder, id) in &mut newest {
            let synced = synced(folder).segment;
            *id = if synced > 0 { synced.min(*id) } else { *id };
        }
        let is_newest = |folder: &PathBuf, id| newest.get(folder).is_none_or(|newest| id >= newest);
        let places = witness.places.iter();
        let places = places.filter(|((folder, id, _), _)| is_newest(folder, id));
        places.map(|(_, key)| *key).collect()
    })
}

impl Witness {
    fn place(&self, position: RecordPosition) -> Place {
        (self.folder.clone(), position.segment, position.ordinal)
    }
}

/// A record is appended to a segment.
pub(in crate::spool) fn appended(position: RecordPosition, record: &Record) {
    with(|witness| {
        let place = witness.place(position);
        if position.ordinal == 0 {
            // The power took an earlier segment of that number.
            witness
                .places
                .retain(|(folder, id, _), _| (folder, *id) != (&place.0, place.1));
        }
        witness.places.insert(place, key(record));
        witness.appended.push(key(record));
    });
}

/// A record is appended to a file for the folder `incoming`.
pub(in crate::spool) fn appended_to_incoming(content: &[u8]) {
    let record = record_codec::decode(content);
    with(|witness| witness.put_back.extend(record.iter().map(key)));
}

/// The record at this place is given up.
pub(in crate::spool) fn gives_up(position: RecordPosition) {
    with(|witness| {
        let place = witness.place(position);
        witness.given_up.extend(witness.places.get(&place));
    });
}

/// The records of a segment from this place on are given up.
pub(in crate::spool) fn gives_up_from(position: RecordPosition) {
    with(|witness| {
        let first = witness.place(position);
        let last = (first.0.clone(), first.1, u32::MAX);
        let lost = witness.places.range(first..=last).map(|(_, key)| *key);
        witness.given_up.extend(lost);
    });
}
