//! Sequence numbers as they are given, and the file as the next start finds it (CONTRACT 5).
#![allow(clippy::unwrap_used)]

use super::*;
use crate::spool::chain_file::COPY;
use crate::spool::tests::samples::sample_record;
use support::stack::Folder;

fn folder() -> Folder {
    let folder = Folder::unmade();
    std::fs::create_dir_all(folder.path()).unwrap();
    folder
}

fn open(folder: &Folder, newest: Option<Latest>) -> (SequenceFile, Sequencer) {
    SequenceFile::open(folder.path(), newest, &Metrics::new().unwrap()).unwrap()
}

/// A folder whose file has number 5 on disk and 6 as sent early.
fn noted() -> (Folder, SequenceFile) {
    let folder = folder();
    let (file, _) = open(&folder, None);
    file.record_on_disk(at(5), None).unwrap();
    file.record_early(at(6)).unwrap();
    (folder, file)
}

fn at(sequence: u64) -> SequenceNumber {
    SequenceNumber {
        sequence,
        link: ChainHash([u8::try_from(sequence).unwrap(); 32]),
    }
}

/// Number, previous and after of the next record.
fn next(mut numbers: Sequencer) -> (u64, ChainHash, Option<u64>) {
    let chain = numbers.assign(sample_record(0).into()).chain.unwrap();
    (chain.sequence, chain.previous, chain.after)
}

#[test]
fn contract_5_a_folder_keeps_its_id_and_goes_on_behind_what_is_on_disk() {
    let folder = folder();
    let (file, numbers) = open(&folder, None);
    assert_eq!(next(numbers), (1, ChainHash::default(), None));
    file.record_on_disk(at(5), None).unwrap();
    file.close(false).unwrap();
    let (again, numbers) = open(&folder, None);
    assert_eq!(again.gateway, file.gateway);
    assert_eq!(next(numbers), (6, at(5).link, None));
    again.close(false).unwrap();
    let newest = Some(Latest {
        gateway: file.gateway,
        number: at(7),
    });
    let (_, numbers) = open(&folder, newest);
    assert_eq!(next(numbers), (8, at(7).link, None));
    let (_, numbers) = open(&folder, None);
    assert_eq!(next(numbers).0, 8, "also once the segments are gone");
}

#[test]
fn contract_5_what_went_out_early_is_not_given_again_and_the_cut_is_said_until_it_is_on_disk() {
    let folder = folder();
    let (file, _) = open(&folder, None);
    file.record_on_disk(at(5), None).unwrap();
    file.record_early(at(9)).unwrap();
    file.record_early(at(8)).unwrap();
    for _ in 0..2 {
        let (_, numbers) = open(&folder, None);
        assert_eq!(next(numbers), (10, at(9).link, Some(5)));
    }
    let (file, _) = open(&folder, None);
    file.record_on_disk(at(10), None).unwrap();
    file.close(false).unwrap();
    let (_, numbers) = open(&folder, None);
    assert_eq!(next(numbers), (11, at(10).link, None));
}

#[test]
fn contract_5_behind_a_crash_of_the_machine_the_numbers_leap() {
    let crashed = |early: bool, ended: bool| {
        let folder = folder();
        let (mut file, _) = open(&folder, None);
        file.boot = Uuid::new_v4();
        file.sign(false).unwrap();
        file.record_on_disk(at(5), None).unwrap();
        if early {
            file.record_early(at(3)).unwrap();
        }
        if ended {
            file.close(false).unwrap();
        }
        next(open(&folder, None).1)
    };
    assert_eq!(crashed(true, false), (5 + LEAP + 1, at(5).link, Some(5)));
    assert_eq!(crashed(true, true), (6, at(5).link, None));
    assert_eq!(crashed(false, false), (6, at(5).link, Some(5)));
}

#[test]
fn contract_5_that_a_process_was_cut_off_is_said_until_a_record_has_told() {
    let folder = folder();
    let (file, _) = open(&folder, None);
    file.record_on_disk(at(5), None).unwrap();
    for cut_unreported in [true, false] {
        let (again, numbers) = open(&folder, None);
        assert_eq!(next(numbers), (6, at(5).link, Some(5)));
        again.close(cut_unreported).unwrap();
    }
    let (_, numbers) = open(&folder, None);
    assert_eq!(next(numbers), (6, at(5).link, None));
}

#[test]
fn contract_5_without_the_file_the_segments_say_who_it_was_and_a_damaged_one_is_a_new_gateway() {
    let other = folder();
    let gateway = Uuid::from_u128(4);
    let newest = Latest {
        gateway,
        number: at(7),
    };
    let (file, numbers) = open(&other, Some(newest));
    assert_eq!((file.gateway, next(numbers).0), (gateway, 8));
    for block in [0, 1] {
        let (folder, file) = noted();
        let path = folder.path().join(FILE_NAME);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[block * BLOCK + 9] ^= 1;
        bytes[block * BLOCK + COPY as usize + 9] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let (again, numbers) = open(&folder, None);
        assert_ne!(again.gateway, file.gateway);
        assert_eq!(next(numbers), (1, ChainHash::default(), None));
    }
}

#[test]
fn contract_5_what_went_out_early_is_not_given_again_if_the_file_does_not_say_whose_it_was() {
    for (lost, first) in [
        (&[0][..], LEAP + 7),
        (&[0, 1], LEAP + 7),
        (&[0, 2], LEAP + 6),
    ] {
        let (folder, file) = noted();
        let path = folder.path().join(FILE_NAME);
        let mut bytes = std::fs::read(&path).unwrap();
        for block in lost {
            bytes[block * BLOCK..][..BLOCK].fill(0);
            bytes[block * BLOCK + COPY as usize..][..BLOCK].fill(0);
        }
        std::fs::write(&path, bytes).unwrap();
        let newest = Some(Latest {
            gateway: file.gateway,
            number: at(4),
        });
        let (again, numbers) = open(&folder, newest);
        assert_eq!(again.gateway, file.gateway);
        assert_eq!(next(numbers).0, first, "{lost:?}");
    }
}

#[test]
fn contract_5_a_number_of_which_the_disk_took_one_copy_is_not_given_again() {
    for refused in [0, COPY as usize] {
        let folder = folder();
        let (file, _) = open(&folder, None);
        file.record_early(at(6)).unwrap();
        let path = folder.path().join(FILE_NAME);
        let before = std::fs::read(&path).unwrap();
        file.record_early(at(9)).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let old = EARLY as usize + refused..EARLY as usize + refused + BLOCK;
        bytes[old.clone()].copy_from_slice(&before[old]);
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(next(open(&folder, None).1).0, 10);
    }
}

#[test]
fn contract_5_a_wrong_bit_anywhere_costs_no_number_and_is_said() {
    let whole = {
        let (folder, _) = noted();
        std::fs::read(folder.path().join(FILE_NAME)).unwrap()
    };
    let metrics = Metrics::new().unwrap();
    let copy = COPY as usize;
    let blocks = (0..3 * BLOCK).chain(copy..copy + 3 * BLOCK);
    for (tried, bit) in (1..).zip(blocks.flat_map(|byte| byte * 8..byte * 8 + 8)) {
        let folder = folder();
        let path = folder.path().join(FILE_NAME);
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &bytes).unwrap();
        let (_, numbers) = SequenceFile::open(folder.path(), None, &metrics).unwrap();
        assert_eq!(next(numbers), (7, at(6).link, Some(5)), "{bit}");
        assert_eq!(metrics.spool.damaged.get(), tried);
        assert_eq!(std::fs::read(damage::kept_path(&path)).unwrap(), bytes);
    }
    // A file of an earlier version has no copies.
    let folder = folder();
    std::fs::write(folder.path().join(FILE_NAME), &whole[..COPY as usize]).unwrap();
    assert_eq!(next(open(&folder, None).1).0, 7);
    assert!(!damage::kept_path(&folder.path().join(FILE_NAME)).exists());
}

#[test]
fn contract_5_each_record_names_the_link_of_the_one_before() {
    let gateway = Uuid::from_u128(5);
    let mut numbers = Sequencer::continue_after(
        Latest {
            gateway,
            number: SequenceNumber::default(),
        },
        None,
    );
    let mut before = SequenceNumber::default();
    for number in 0..100 {
        let given = numbers.assign(sample_record(number).into());
        let chain = given.chain.unwrap();
        assert_eq!(chain.sequence, before.sequence + 1);
        assert_eq!((chain.previous, chain.after), (before.link, None));
        before = Latest::of_record(&given).unwrap().number;
        assert_eq!(before, numbers.latest());
    }
}

#[test]
fn contract_5_only_the_first_record_behind_a_cut_says_so_and_a_number_once_given_stays() {
    let latest = SequenceNumber {
        sequence: 9,
        link: ChainHash([1; 32]),
    };
    let mut numbers = Sequencer::continue_after(
        Latest {
            gateway: Uuid::from_u128(5),
            number: latest,
        },
        Some(4),
    );
    let first = numbers.assign(sample_record(0).into());
    assert_eq!(first.chain.unwrap().after, Some(4));
    let second = numbers.assign(sample_record(2).into()).chain.unwrap();
    assert_eq!((second.sequence, second.after), (11, None));
    let again = numbers.assign(first.into()).chain.unwrap();
    assert_eq!((again.sequence, again.after), (10, Some(4)));
    assert_eq!(numbers.latest().sequence, 11);
}
