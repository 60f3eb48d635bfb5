//! Names that files and folders get last.
#![allow(clippy::unwrap_used)]
use super::*;
use std::io::Write as _;
use support::stack::Folder;

#[test]
fn a_file_has_its_name_only_once_it_is_whole() {
    let folder = Folder::new();
    let name = folder.path().join("backup");
    let (partial, mut file) = PartialFile::begin(&name).unwrap();
    file.write_all(b"half").unwrap();
    let second = PartialFile::begin(&name).map(drop).unwrap_err().to_string();
    assert!(second.contains("another process"), "{second}");
    drop(partial);
    assert!(first_file(folder.path()).unwrap().is_none());
    std::fs::write(beside(&name, ".partial"), "what a killed process left").unwrap();
    let (partial, mut file) = PartialFile::begin(&name).unwrap();
    file.write_all(b"whole").unwrap();
    partial.publish().unwrap();
    assert_eq!(std::fs::read(&name).unwrap(), b"whole");
    let again = PartialFile::begin(&name).map(drop).unwrap_err().to_string();
    assert!(again.contains("not written over"), "{again}");
}

#[test]
fn a_file_that_got_its_name_is_not_emptied_by_who_opened_it_before() {
    let folder = Folder::new();
    let name = folder.path().join("backup");
    let (partial, mut file) = PartialFile::begin(&name).unwrap();
    file.write_all(b"whole").unwrap();
    let opened_before = open_partial(partial.path()).unwrap();
    let path = partial.path().to_owned();
    assert!(is_at(&opened_before, &path).unwrap());
    partial.publish().unwrap();
    assert!(!is_at(&opened_before, &path).unwrap());
    assert_eq!(std::fs::read(&name).unwrap(), b"whole");
}

#[test]
fn a_partial_file_is_no_link_and_is_for_its_owner_alone() {
    let folder = Folder::new();
    let [name, other] = ["backup", "other"].map(|name| folder.path().join(name));
    let path = beside(&name, ".partial");
    std::fs::write(&other, "precious").unwrap();
    std::os::unix::fs::symlink(&other, &path).unwrap();
    assert!(PartialFile::begin(&name).is_err());
    assert_eq!(std::fs::read(&other).unwrap(), b"precious");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "left").unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let (_partial, file) = PartialFile::begin(&name).unwrap();
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_folder_that_somebody_else_made_is_left_alone() {
    let folder = Folder::new();
    let name = folder.path().join("monday");
    let theirs = beside(&name, ".spool");
    std::fs::create_dir_all(theirs.join("a")).unwrap();
    std::fs::write(theirs.join("a/file"), "precious").unwrap();
    let refused = PartialFolder::begin(&name, ".spool").map(drop);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("monday.spool is in the way"), "{refused}");
    assert_eq!(std::fs::read(theirs.join("a/file")).unwrap(), b"precious");
    // What a killed process left goes.
    let other = folder.path().join("tuesday");
    let left = PartialFolder::begin(&other, ".spool").unwrap();
    std::fs::write(left.path().join("half"), "1").unwrap();
    std::mem::forget(left);
    let again = PartialFolder::begin(&other, ".spool").unwrap();
    assert!(first_file(again.path()).unwrap().is_none());
    drop(again);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn nothing_is_published_over_something() {
    let folder = Folder::new();
    let name = folder.path().join("blobs");
    let partial = PartialFolder::begin(&name, ".restoring").unwrap();
    std::fs::write(partial.path().join("a"), "1").unwrap();
    std::fs::create_dir_all(name.join("empty")).unwrap();
    partial.publish().unwrap();
    assert_eq!(std::fs::read(name.join("a")).unwrap(), b"1");
    let partial = PartialFolder::begin(&name, ".restoring").unwrap();
    let path = partial.path().to_owned();
    assert!(partial.publish().is_err());
    assert!(!exists(&path), "what is not published goes");
    assert_eq!(std::fs::read(name.join("a")).unwrap(), b"1");
}
