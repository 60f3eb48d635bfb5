//! Dead letters within their bounds, and those that a crash tore (CONTRACT 23).
#![allow(clippy::unwrap_used)]

use super::*;
use crate::backend::{Record, RecordContext};
use crate::config::key_file::FileKey;
use crate::observe::DropReason;
use crate::spool::dead_letter::class_files::SHARE;
use crate::spool::dead_letter::import::DeadLetterImport;
use crate::spool::dead_letter::{dead_letters, replay_dead_letters};
use crate::spool::disk;
use crate::spool::disk::simulated;
use crate::spool::frames::keyring::Keyring;
use crate::spool::frames::tests::to_first_format;
use crate::spool::frames::{damage, format};
use crate::spool::tests::samples::sample_record;
use monitor_model::Secret;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::stack::Folder;

fn folder() -> Folder {
    let folder = Folder::unmade();
    std::fs::create_dir_all(folder.path()).unwrap();
    folder
}

fn letter(at_ms: i64, status: u16, key: &str) -> EncodedLetter {
    let record = Record {
        context: Arc::new(RecordContext {
            access_key: Secret::new(key),
            ..clone(&sample_record(at_ms.unsigned_abs()).context)
        }),
        message: "x".repeat(1_000).into(),
        ..sample_record(0)
    };
    EncodedLetter::new(at_ms, status, &record)
}

fn clone(context: &RecordContext) -> RecordContext {
    RecordContext {
        exchange: context.exchange,
        access_key: Secret::new(""),
        application_id: None,
        user_id: None,
        session_id: None,
        trace: None,
    }
}

/// Times of the letters that can be read.
fn times(folder: &Folder) -> Vec<i64> {
    let letters = dead_letters(&folder.path().into()).unwrap();
    letters.iter().map(|letter| letter.at_ms).collect()
}

/// Writes so many letters; their file and its bytes.
fn file_of_letters(folder: &Folder, count: i64) -> (PathBuf, Vec<u8>) {
    let mut store = DeadLetterStore::open(&folder.path().into(), 1 << 20);
    let letters = (0..count).map(|at| letter(at, 422, "key"));
    write(&mut store, letters.collect());
    let path = folder.path().join(RefusalClass::Record.newer());
    let bytes = std::fs::read(&path).unwrap();
    (path, bytes)
}

fn write(letters: &mut DeadLetterStore, new: Vec<EncodedLetter>) -> u64 {
    let step = letters.write(new);
    assert!(step.error.is_none() && step.refused == 0);
    step.evicted
}

#[test]
fn dead_letters_come_back_in_order_until_they_are_taken_away() {
    let folder = folder();
    let mut store = DeadLetterStore::open(&folder.path().into(), 1 << 20);
    assert_eq!(times(&folder), [0_i64; 0]);
    for number in 0..3 {
        let status = [422, 401, 400][number as usize];
        write(
            &mut store,
            vec![letter(number, status, &format!("key{number}"))],
        );
    }
    let found = dead_letters(&folder.path().into()).unwrap();
    let seen: Vec<_> = found
        .iter()
        .map(|letter| (letter.at_ms, letter.status))
        .collect();
    assert_eq!(seen, [(0, 422), (1, 401), (2, 400)]);
    assert_eq!(found[2].record.context.access_key.expose(), "key2");
    assert_eq!(store.measure().letters, 3);
    let taken = files::take_one(folder.path()).unwrap().unwrap();
    write(&mut store, vec![letter(3, 422, "key3")]);
    assert_eq!(times(&folder).len(), 4, "none is out of sight");
    assert_eq!(files::take_one(folder.path()).unwrap(), Some(taken));
    assert_eq!(replay_dead_letters(&folder.path().into()).unwrap(), 4);
    assert_eq!(times(&folder).len(), 0);
}

#[test]
fn contract_23_dead_letters_stay_within_their_bound_and_what_goes_is_counted() {
    let folder = folder();
    let mut store = DeadLetterStore::open(&folder.path().into(), 64 << 10);
    let mut lost = 0;
    for number in 0..200 {
        let new = vec![letter(number, 422, &format!("key{number}"))];
        lost += write(&mut store, new);
        assert!(files::size(folder.path()) <= 64 << 10);
    }
    let kept = times(&folder);
    assert_eq!(lost + kept.len() as u64, 200);
    assert!(
        kept.len() > 20 && kept.last() == Some(&199),
        "{}",
        kept.len()
    );
    assert_eq!(store.measure().letters, kept.len() as u64);
    let again = DeadLetterStore::open(&folder.path().into(), 64 << 10).measure();
    assert_eq!(again, store.measure(), "a restart counts the same");
}

#[test]
fn contract_23_made_up_keys_push_out_no_other_letter() {
    let folder = folder();
    let mut store = DeadLetterStore::open(&folder.path().into(), 64 << 10);
    let refused: Vec<_> = (0..5).map(|at| letter(at, 422, "known")).collect();
    write(&mut store, refused);
    let flood = (100..1_100).map(|at| letter(at, 401, &format!("made-up-{at}")));
    let lost = write(&mut store, flood.collect());
    assert!(lost > 900, "{lost}");
    assert_eq!(times(&folder)[..5], [0, 1, 2, 3, 4]);
    assert!(files::size(folder.path()) <= 64 << 10);
}

#[test]
fn contract_23_a_flood_of_one_key_leaves_room_for_the_others() {
    let folder = folder();
    let limit = 256 << 10;
    let mut store = DeadLetterStore::open(&folder.path().into(), limit);
    write(&mut store, vec![letter(1, 401, "rare")]);
    for at in 100..1_000 {
        write(&mut store, vec![letter(at, 403, "flood")]);
    }
    let lost = write(&mut store, vec![letter(2_000, 401, "late")]);
    let kept = times(&folder);
    assert!(kept.contains(&1) && kept.contains(&2_000));
    let room = limit / 4 / 2 / SHARE / 1_000;
    assert!(
        (2..=room).contains(&(kept.len() as u64 - 2)),
        "{}",
        kept.len()
    );
    assert_eq!(lost, 0);
}

#[test]
fn contract_23_a_key_that_is_alone_may_fill_what_there_is() {
    let folder = folder();
    let mut store = DeadLetterStore::open(&folder.path().into(), 64 << 10);
    let lost = write(
        &mut store,
        (0..40).map(|at| letter(at, 422, "only")).collect(),
    );
    assert_eq!(times(&folder).len() as u64 + lost, 40);
    assert!(times(&folder).len() > 20);
}

#[test]
fn contract_23_a_torn_letter_hides_none_that_comes_later() {
    let folder = folder();
    let (path, whole) = file_of_letters(&folder, 3);
    for cut in [1, 500, 1_030] {
        std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        let mut after = DeadLetterStore::open(&folder.path().into(), 1 << 20);
        write(&mut after, vec![letter(7, 422, "key")]);
        assert_eq!(times(&folder), [0, 1, 7], "{cut}");
    }
}

#[test]
fn contract_23_damage_among_dead_letters_costs_only_what_it_covers() {
    let folder = folder();
    let (path, whole) = file_of_letters(&folder, 5);
    let header = format::HEADER as usize;
    let length = (whole.len() - header) / 5;
    // In the second letter: its marker, its length, its checksum, its text.
    for place in [0, 14, 21, 600] {
        let mut bytes = whole.clone();
        bytes[header + length + place] ^= 0x55;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(times(&folder), [0, 2, 3, 4], "{place}");
    }
    // The last letter, with one that is written behind it: damage is counted once, and kept.
    let mut bytes = whole.clone();
    bytes[header + length * 4 + 600] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let metrics = Metrics::new().unwrap();
    let mut again = DeadLetterStore::open(&folder.path().into(), 1 << 20);
    again.keep_damaged(&metrics).unwrap();
    write(&mut again, vec![letter(7, 422, "key")]);
    again.keep_damaged(&metrics).unwrap();
    assert_eq!(times(&folder), [0, 1, 2, 3, 7]);
    assert_eq!(metrics.spool.damaged_bytes.get(), length as u64);
    assert_eq!(metrics.spool.lost_so_far(DropReason::Damaged), 1);
    let next = DeadLetterStore::open(&folder.path().into(), 1 << 20);
    assert_eq!(
        next.classes[0].newer.damage.letters, 1,
        "also for the next start"
    );
    std::fs::remove_file(damage::kept_path(&path)).unwrap();
    // A torn write with letters behind it.
    let mut bytes = whole[..header + length + 300].to_vec();
    bytes.extend_from_slice(&whole[header + length * 2..]);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(times(&folder), [0, 2, 3, 4]);
    assert_eq!(replay_dead_letters(&folder.path().into()).unwrap(), 4);
    let taken = folder.path().join("dead.letters.taken");
    assert_eq!(std::fs::read(damage::kept_path(&taken)).unwrap(), bytes);
}

#[test]
fn contract_23_letters_join_those_of_an_earlier_version() {
    let folder = folder();
    let path = folder.path().join(RefusalClass::Record.newer());
    let mut bytes = b"MONSPL01".to_vec();
    for at in 0..3 {
        let content = letter(at, 422, "key").bytes;
        let length = u32::try_from(content.len()).unwrap().to_le_bytes();
        let sum = crc32fast::hash(&[&length[..], &content].concat());
        bytes.extend_from_slice(&[&length[..], &sum.to_le_bytes(), &content].concat());
    }
    std::fs::write(&path, &bytes).unwrap();
    let mut store = DeadLetterStore::open(&folder.path().into(), 1 << 20);
    write(&mut store, vec![letter(3, 422, "key")]);
    assert_eq!(times(&folder), [0, 1, 2, 3]);
    assert!(std::fs::read(&path).unwrap().starts_with(&bytes));
    assert_eq!(replay_dead_letters(&folder.path().into()).unwrap(), 4);
}

#[test]
fn letters_of_a_process_before_push_out_none_of_this_ones() {
    let folder = folder();
    let mut store = DeadLetterStore::open(&folder.path().into(), 1 << 16);
    write(&mut store, vec![letter(1_000, 422, "own")]);
    let before: Vec<_> = (0..100).map(|at| letter(at, 422, "flood")).collect();
    let over = store.import(&before).unwrap();
    assert!((1..100).contains(&over), "{over}");
    let kept = times(&folder);
    assert!(kept.contains(&1_000), "its own");
    assert_eq!(kept.len() as u64, 101 - over);
    assert_eq!(store.measure().letters, 101 - over);
    assert!(files::size(folder.path()) <= 1 << 16);
    // And none of the other class has to go for them.
    assert_eq!(store.import(&[letter(0, 401, "key")]).unwrap(), 0);
}

#[test]
fn contract_23_a_letter_that_fits_but_for_its_frame_begins_a_new_file() {
    let length = letter(0, 422, "key").bytes.len() as u64;
    for room in 0..=format::FRAME_HEADER as u64 {
        let folder = folder();
        // Room for two letters in a file, and for a third one without all of its frame.
        let file = 3 * length + 2 * format::FRAME_HEADER as u64 + room + format::HEADER;
        let limit = (file * 2 * 4).div_ceil(3) / 4 * 4;
        let mut store = DeadLetterStore::open(&folder.path().into(), limit);
        for at in 0..4 {
            write(&mut store, vec![letter(at, 422, "key")]);
        }
        assert_eq!(times(&folder), [0, 1, 2, 3], "{room}");
    }
}

#[test]
fn contract_23_a_damaged_last_letter_of_an_earlier_version_is_kept_and_said() {
    let folder = folder();
    let (path, _) = file_of_letters(&folder, 3);
    to_first_format(&path);
    let whole = std::fs::read(&path).unwrap();
    let start = 8 + (whole.len() - 8) / 3 * 2;
    // A wrong bit in its length, and one in its checksum too.
    for kept_apart in [false, true] {
        let mut bytes = whole.clone();
        bytes[start + 2] ^= 1;
        bytes[start + 4] ^= u8::from(kept_apart);
        std::fs::write(&path, &bytes).unwrap();
        let metrics = Metrics::new().unwrap();
        let mut after = DeadLetterStore::open(&folder.path().into(), 1 << 20);
        write(&mut after, vec![letter(7, 422, "key")]);
        after.keep_damaged(&metrics).unwrap();
        assert_eq!(times(&folder), [0, 1, 7]);
        assert_eq!(metrics.spool.damaged.get(), 1);
        let end = folder.path().join("dead.letters.end-1.damaged");
        match kept_apart {
            true => assert_eq!(std::fs::read(end).unwrap(), bytes[start..]),
            false => assert!(std::fs::read(&path).unwrap().starts_with(&bytes)),
        }
    }
}

#[test]
fn contract_23_letters_lost_while_a_process_runs_are_said_by_the_next_one() {
    let folder = folder();
    let (path, mut bytes) = file_of_letters(&folder, 2);
    let mut running = DeadLetterStore::open(&folder.path().into(), 1 << 20);
    // A lost sector looks like a write that never came.
    bytes[format::HEADER as usize..].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    write(&mut running, vec![letter(7, 422, "key")]);
    assert_eq!(times(&folder), [7]);
    let metrics = Metrics::new().unwrap();
    let mut next = DeadLetterStore::open(&folder.path().into(), 1 << 20);
    next.keep_damaged(&metrics).unwrap();
    assert_eq!(metrics.spool.lost_so_far(DropReason::Damaged), 2);
}

/// A store that had letters of another key when the disk was full.
fn store_on_a_full_disk(keys: &[Keyring; 2]) -> (DeadLetterStore, SpoolFolder) {
    let [old, new] = keys.clone().map(Arc::new);
    let path = simulated::start(7, 1_000);
    let folder = SpoolFolder::new(path.clone(), old);
    let letters = (0..40).map(|at| letter(at, 422, "key")).collect();
    assert!(
        DeadLetterStore::open(&folder, 1 << 20)
            .write(letters)
            .error
            .is_none()
    );
    let folder = SpoolFolder::new(path, new);
    let store = DeadLetterStore::open(&folder, 1 << 20);
    simulated::set_faults(|faults| faults.full = true);
    (store, folder)
}

#[tokio::test(start_paused = true)]
async fn contract_23_letters_of_another_key_on_a_full_disk_take_no_room_and_none_is_lost() {
    let key = |byte| Some(FileKey::of(byte).into());
    let keys = [
        Keyring::new(key(1), Vec::new()),
        Keyring::new(key(2), Vec::from_iter(key(1))),
    ];
    let (mut store, folder) = store_on_a_full_disk(&keys);
    let metrics = Metrics::new().unwrap();
    store.use_current_key(&metrics).unwrap_err();
    for _ in 0..5 {
        store.use_current_key(&metrics).unwrap();
        let files = disk::list(&folder).unwrap();
        assert!(
            files
                .iter()
                .all(|path| path.extension() != Some("part".as_ref()))
        );
    }
    simulated::set_faults(|faults| faults.full = false);
    // Further letters wait for nothing.
    assert_eq!(write(&mut store, vec![letter(40, 422, "key")]), 0);
    let mut import = DeadLetterImport::new(&folder);
    for _ in 0..3 {
        import.step(&mut store, &metrics).unwrap();
    }
    let mut found: Vec<i64> = dead_letters(&folder)
        .unwrap()
        .iter()
        .map(|it| it.at_ms)
        .collect();
    found.sort_unstable();
    assert_eq!(found, Vec::from_iter(0..41));
    tokio::time::advance(REWRITE_INTERVAL).await;
    store.use_current_key(&metrics).unwrap();
    assert!(store.has_current_key);
    simulated::stop();
}

mod lost;
