//! The file as the next start finds it (CONTRACT 5).
#![allow(clippy::unwrap_used)]

use super::*;
use crate::spool::entry::tests::record;
use crate::temporary::TemporaryFolder;

fn folder() -> TemporaryFolder {
    let folder = TemporaryFolder::unmade();
    std::fs::create_dir_all(folder.path()).unwrap();
    folder
}

fn at(sequence: u64) -> Numbered {
    Numbered {
        sequence,
        link: ChainHash([u8::try_from(sequence).unwrap(); 32]),
    }
}

/// Number, previous and after of the next record.
fn next(mut numbers: Numbers) -> (u64, ChainHash, Option<u64>) {
    let chain = numbers.give(record(0).into()).chain.unwrap();
    (chain.sequence, chain.previous, chain.after)
}

#[test]
fn contract_5_a_folder_keeps_its_id_and_goes_on_behind_what_is_on_disk() {
    let folder = folder();
    let (marks, numbers) = Marks::open(folder.path(), None).unwrap();
    assert_eq!(next(numbers), (1, ChainHash::default(), None));
    marks.written(at(5)).unwrap();
    marks.end(false).unwrap();
    let (again, numbers) = Marks::open(folder.path(), None).unwrap();
    assert_eq!(again.gateway, marks.gateway);
    assert_eq!(next(numbers), (6, at(5).link, None));
    again.end(false).unwrap();
    let newest = Some((marks.gateway, at(7)));
    let (_, numbers) = Marks::open(folder.path(), newest).unwrap();
    assert_eq!(next(numbers), (8, at(7).link, None));
    let (_, numbers) = Marks::open(folder.path(), None).unwrap();
    assert_eq!(next(numbers).0, 8, "also once the segments are gone");
}

#[test]
fn contract_5_what_went_out_early_is_not_given_again_and_the_cut_is_said_until_it_is_on_disk() {
    let folder = folder();
    let (marks, _) = Marks::open(folder.path(), None).unwrap();
    marks.written(at(5)).unwrap();
    marks.early(at(9)).unwrap();
    marks.early(at(8)).unwrap();
    for _ in 0..2 {
        let (_, numbers) = Marks::open(folder.path(), None).unwrap();
        assert_eq!(next(numbers), (10, at(9).link, Some(5)));
    }
    let (marks, _) = Marks::open(folder.path(), None).unwrap();
    marks.written(at(10)).unwrap();
    marks.end(false).unwrap();
    let (_, numbers) = Marks::open(folder.path(), None).unwrap();
    assert_eq!(next(numbers), (11, at(10).link, None));
}

#[test]
fn contract_5_behind_a_crash_of_the_machine_the_numbers_leap() {
    let crashed = |early: bool, ended: bool| {
        let folder = folder();
        let (mut marks, _) = Marks::open(folder.path(), None).unwrap();
        marks.boot = Uuid::new_v4();
        marks.sign(false).unwrap();
        marks.written(at(5)).unwrap();
        if early {
            marks.early(at(3)).unwrap();
        }
        if ended {
            marks.end(false).unwrap();
        }
        next(Marks::open(folder.path(), None).unwrap().1)
    };
    assert_eq!(crashed(true, false), (5 + LEAP + 1, at(5).link, Some(5)));
    assert_eq!(crashed(true, true), (6, at(5).link, None));
    assert_eq!(crashed(false, false), (6, at(5).link, Some(5)));
}

#[test]
fn contract_5_that_a_process_was_cut_off_is_said_until_a_record_has_told() {
    let folder = folder();
    let (marks, _) = Marks::open(folder.path(), None).unwrap();
    marks.written(at(5)).unwrap();
    for owes_cut in [true, false] {
        let (again, numbers) = Marks::open(folder.path(), None).unwrap();
        assert_eq!(next(numbers), (6, at(5).link, Some(5)));
        again.end(owes_cut).unwrap();
    }
    let (_, numbers) = Marks::open(folder.path(), None).unwrap();
    assert_eq!(next(numbers), (6, at(5).link, None));
}

#[test]
fn contract_5_without_the_file_the_segments_say_who_it_was_and_a_damaged_one_is_a_new_gateway() {
    let other = folder();
    let gateway = Uuid::from_u128(4);
    let (marks, numbers) = Marks::open(other.path(), Some((gateway, at(7)))).unwrap();
    assert_eq!((marks.gateway, next(numbers).0), (gateway, 8));
    for block in [0, 1] {
        let folder = folder();
        let (marks, _) = Marks::open(folder.path(), None).unwrap();
        marks.written(at(5)).unwrap();
        marks.early(at(6)).unwrap();
        let path = folder.path().join(NAME);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[block * BLOCK + 9] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let (again, numbers) = Marks::open(folder.path(), None).unwrap();
        assert_ne!(again.gateway, marks.gateway);
        assert_eq!(next(numbers), (1, ChainHash::default(), None));
    }
}
