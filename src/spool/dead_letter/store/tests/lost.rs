//! Dead letters that are damaged, or that the system does not let be read: each is counted once, and kept (CONTRACT 23).

use super::*;
use crate::observe::DropReason;
use crate::spool::frames::reader::FrameReader;
use crate::spool::recovery::incoming;

/// Flips a bit in the text of the first letter of the newer file, and gives the file as it is then.
fn damage_first(path: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[format::HEADER as usize + 600] ^= 1;
    std::fs::write(path, &bytes).unwrap();
    bytes
}

#[test]
fn contract_23_each_damaged_file_of_a_name_is_kept_and_counted_once_wherever_it_goes() {
    let folder = folder();
    let path = folder.path().join(RefusalClass::Record.newer());
    let metrics = Metrics::new().unwrap();
    let limit = 64 << 10;
    let mut kept = Vec::new();
    let mut store = DeadLetterStore::open(&folder.path().into(), limit);
    for round in 1..=3 {
        write(
            &mut store,
            vec![letter(0, 422, "key"), letter(1, 422, "key")],
        );
        kept.push(damage_first(&path));
        // The next process finds it, and goes on writing until the file is the older one.
        store = DeadLetterStore::open(&folder.path().into(), limit);
        let before = metrics.spool.lost_so_far(DropReason::Damaged);
        store.use_current_key(&metrics).unwrap();
        store.keep_damaged(&metrics).unwrap();
        let is_older_damaged = u64::from(round > 1);
        let said = metrics.spool.lost_so_far(DropReason::Damaged) - before;
        assert_eq!(said, 1 + is_older_damaged, "a start says what it finds");
        for at in 2.. {
            write(&mut store, vec![letter(at, 422, &format!("key{at}"))]);
            store.reload();
            store.keep_damaged(&metrics).unwrap();
            if !std::fs::read(&path).unwrap().starts_with(&kept[round - 1]) {
                break;
            }
        }
        let said = metrics.spool.lost_so_far(DropReason::Damaged) - before;
        assert_eq!(said, 1 + is_older_damaged, "once, in round {round}");
        // For the next round the newer file begins anew.
        std::fs::remove_file(&path).unwrap();
    }
    let files = damage::kept_files(folder.path()).unwrap();
    assert_eq!(files.len(), 3, "{files:?}");
    for content in kept {
        let is_it = |path: &std::path::PathBuf| std::fs::read(path).unwrap().starts_with(&content);
        assert_eq!(files.iter().filter(|path| is_it(path)).count(), 1);
    }
}

#[test]
fn contract_23_what_replays_leave_of_damaged_files_is_kept_each_under_its_name() {
    let folder = folder();
    let path = folder.path().join(RefusalClass::Record.newer());
    for replays in 1..=3 {
        let mut store = DeadLetterStore::open(&folder.path().into(), 1 << 20);
        write(
            &mut store,
            vec![letter(0, 422, "key"), letter(1, 422, "key")],
        );
        damage_first(&path);
        assert_eq!(replay_dead_letters(&folder.path().into()).unwrap(), 1);
        let files = damage::kept_files(folder.path()).unwrap();
        assert_eq!(files.len(), replays, "{files:?}");
    }
    let repaired = crate::spool::repair(&folder.path().into()).unwrap();
    assert_eq!((repaired.files, repaired.put_back), (3, 3));
    assert_eq!(damage::kept_files(folder.path()).unwrap().len(), 0);
}

#[test]
fn contract_23_no_letter_is_put_back_by_repair_while_its_file_is_read_under_another_name() {
    let folder = folder();
    let path = folder.path().join(RefusalClass::Record.newer());
    let mut store = DeadLetterStore::open(&folder.path().into(), 1 << 20);
    write(
        &mut store,
        vec![letter(0, 422, "key"), letter(1, 422, "key")],
    );
    damage_first(&path);
    let metrics = Metrics::new().unwrap();
    DeadLetterStore::open(&folder.path().into(), 1 << 20)
        .keep_damaged(&metrics)
        .unwrap();
    std::fs::rename(&path, folder.path().join(RefusalClass::Record.older())).unwrap();
    let repaired = crate::spool::repair(&folder.path().into()).unwrap();
    assert_eq!((repaired.in_use, repaired.put_back), (1, 0));
}

/// A simulated folder with so many letters in a file.
fn simulated_letters(count: i64) -> SpoolFolder {
    let folder: SpoolFolder = simulated::start(7, 1_000).as_path().into();
    let mut store = DeadLetterStore::open(&folder, 64 << 10);
    write(
        &mut store,
        (0..count).map(|at| letter(at, 422, "key")).collect(),
    );
    folder
}

#[tokio::test(start_paused = true)]
async fn contract_23_letters_that_cannot_be_read_at_the_start_are_counted_later_and_pushed_out_by_none()
 {
    let folder = simulated_letters(20);
    simulated::set_faults(|faults| faults.refused_opens = u64::MAX);
    let mut store = DeadLetterStore::open(&folder, 64 << 10);
    let written = store.write(vec![letter(20, 422, "key")]);
    assert!(written.error.is_some());
    simulated::set_faults(|faults| faults.refused_opens = 0);
    let mut lost = 0;
    for at in 21..60 {
        lost += write(&mut store, vec![letter(at, 422, "key")]);
    }
    let kept = dead_letters(&folder).unwrap().len() as u64;
    assert_eq!(lost + kept, 60, "each that goes is counted");
    // Or nothing is written, and they are counted all the same.
    simulated::set_faults(|faults| faults.refused_opens = u64::MAX);
    let mut store = DeadLetterStore::open(&folder, 64 << 10);
    assert_eq!(store.measure().letters, 0);
    simulated::set_faults(|faults| faults.refused_opens = 0);
    tokio::time::advance(CHECK_INTERVAL).await;
    assert_eq!(store.measure().letters, kept);
    simulated::stop();
}

#[test]
fn contract_23_letters_that_this_user_must_not_read_are_said_to_be_lost_and_kept() {
    let folder = simulated_letters(3);
    let metrics = Metrics::new().unwrap();
    simulated::set_faults(|faults| faults.denies_opens = true);
    let mut store = DeadLetterStore::open(&folder, 64 << 10);
    for _ in 0..2 {
        store.keep_damaged(&metrics).unwrap();
        // It is not known how many they were: it was one at least.
        assert_eq!(metrics.spool.lost_so_far(DropReason::Damaged), 1);
        assert_eq!(metrics.spool.damaged.get(), 1);
    }
    // A new file is this user's own.
    simulated::set_faults(|faults| faults.denies_opens = false);
    assert_eq!(write(&mut store, vec![letter(7, 422, "key")]), 0);
    assert_eq!(dead_letters(&folder).unwrap().len(), 1);
    let kept = damage::kept_files(&folder).unwrap();
    let mut records = 0;
    let opened = FrameReader::open_sealed(&kept[0]);
    files::for_each_letter(&kept[0], opened, |_| records += 1).unwrap();
    assert_eq!((kept.len(), records), (1, 3));
    simulated::stop();
}

#[test]
fn contract_23_damage_that_comes_before_a_rewrite_with_another_key_is_counted() {
    let folder = folder();
    let (path, _) = file_of_letters(&folder, 5);
    let keys = Keyring::new(Some(FileKey::of(1).into()), Vec::new());
    let folder_of_keys = SpoolFolder::new(folder.path(), keys.into());
    let mut store = DeadLetterStore::open(&folder_of_keys, 1 << 20);
    let damaged = damage_first(&path);
    let metrics = Metrics::new().unwrap();
    store.use_current_key(&metrics).unwrap();
    assert_ne!(std::fs::read(&path).unwrap(), damaged, "it is encrypted");
    assert_eq!(metrics.spool.lost_so_far(DropReason::Damaged), 1);
    let kept = damage::kept_files(folder.path()).unwrap();
    let kept: Vec<_> = kept
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    assert_eq!(kept, [damaged]);
}

#[tokio::test(start_paused = true)]
async fn contract_23_damage_is_counted_once_however_many_attempts_an_import_takes() {
    let folder: SpoolFolder = simulated::start(7, 1_000).as_path().into();
    let mut store = DeadLetterStore::open(&folder, 1 << 20);
    write(
        &mut store,
        vec![letter(0, 422, "key"), letter(1, 422, "key")],
    );
    let path = folder.join(RefusalClass::Record.newer());
    let damaged = disk::open_update(&path).unwrap();
    damaged.write_at(b"?", format::HEADER + 600).unwrap();
    let incoming = incoming::create_folder(&folder).unwrap();
    files::move_to_imported(&path, &incoming, 0).unwrap();
    let metrics = Metrics::new().unwrap();
    let mut import = DeadLetterImport::new(&folder);
    // The folder and the file are read, and then the names of the files that are kept already are not.
    simulated::set_faults(|faults| (faults.opens_before, faults.refused_opens) = (2, 1));
    import.step(&mut store, &metrics).unwrap_err();
    tokio::time::advance(Duration::from_secs(1)).await;
    import.step(&mut store, &metrics).unwrap();
    assert_eq!(files::imported_files(&folder), Vec::<PathBuf>::new());
    assert_eq!(damage::kept_files(&incoming).unwrap().len(), 1);
    assert_eq!(metrics.spool.lost_so_far(DropReason::Damaged), 1);
    simulated::stop();
}
