//! What an archive gives back, and that nothing that is damaged or cut looks whole.

#![allow(clippy::unwrap_used)]

use super::cipher::MAGIC;
use super::manifest::{About, Content, Counts, FORMAT, PART};
use super::reader::{ArchiveReader, Part};
use super::writer::ArchiveWriter;
use crate::config::key_file::FileKey;
use monitor_store::{BlobHash, Row, Table};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::stack::Folder;

const NAME: &str = "0b8f5c43-6a51-4b0c-9a3e-0e6c60b7a001.seg";

fn about() -> About {
    About {
        format: FORMAT,
        content: Content::Everything,
        version: "4.1.0".to_owned(),
        store: "SQLite".to_owned(),
        schema: 13,
        at_ms: 1_700_000_000_000,
    }
}

fn row(size: u64) -> Row {
    Row::from_line(
        Table::Blobs,
        &format!(r#"{{"sha256":"00ff","size":{size}}}"#),
    )
    .unwrap()
}

/// It does not shrink, so that the archive has many pieces.
fn long_file() -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let bytes = (0..2 * PART + 7).map(|_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1]
    });
    bytes.collect()
}

fn write(path: &Path, key: Option<&FileKey>) -> Counts {
    let mut archive = ArchiveWriter::begin(File::create(path).unwrap(), key, &about()).unwrap();
    for size in 0..3 {
        archive.rows(Table::Blobs, &[row(size), row(9)]).unwrap();
    }
    archive.file(BlobHash([1; 32]), &[]).unwrap();
    for piece in long_file().chunks(300_000) {
        archive.file(BlobHash([2; 32]), piece).unwrap();
    }
    archive.spool(NAME, b"frames").unwrap();
    if key.is_some() {
        archive.key(&FileKey::of(5)).unwrap();
    }
    archive.finish().unwrap()
}

fn read(path: &Path, key: Option<&FileKey>) -> anyhow::Result<(Counts, Vec<u8>)> {
    let (mut file, mut rows) = (Vec::new(), 0);
    let counts = ArchiveReader::open(path, key)?.read(|part| {
        match part {
            Part::About(found) => assert_eq!(found, about()),
            Part::Rows(table, found) => {
                assert_eq!(table, Table::Blobs);
                assert_eq!(found[1], row(9));
                rows += found.len();
            }
            Part::File { hash, bytes, .. } if hash.0 == [2; 32] => file.extend(bytes),
            Part::File {
                is_first, bytes, ..
            } => assert!(is_first && bytes.is_empty()),
            Part::Spool { name, bytes, .. } => {
                assert_eq!((&*name, &*bytes), (NAME, &b"frames"[..]))
            }
            Part::Key { bytes, .. } => assert_eq!(bytes, [5; 32]),
        }
        Ok(())
    })?;
    assert_eq!(rows, 6);
    Ok((counts, file))
}

fn a_path() -> (Arc<Folder>, PathBuf) {
    let folder = Folder::new();
    let path = folder.path().join("archive");
    (folder, path)
}

#[test]
fn an_archive_gives_back_what_was_written_encrypted_or_not() {
    let (_folder, path) = a_path();
    for key in [None, Some(FileKey::of(3))] {
        let written = write(&path, key.as_ref());
        let (counts, file) = read(&path, key.as_ref()).unwrap();
        assert_eq!(counts, written);
        assert!(file == long_file());
        assert_eq!((counts.files, counts.rows["blobs"]), (2, 6));
        assert_eq!(counts.keys, u64::from(key.is_some()));
        assert_eq!(
            std::fs::read(&path).unwrap().starts_with(MAGIC),
            key.is_some()
        );
    }
}

#[test]
fn an_archive_that_was_cut_anywhere_is_refused() {
    let (_folder, path) = a_path();
    for key in [None, Some(FileKey::of(3))] {
        write(&path, key.as_ref());
        let whole = std::fs::read(&path).unwrap();
        let border = 48 + 64 * 1024 + 16;
        let mut lengths: Vec<usize> = (0..40).map(|part| whole.len() * part / 40).collect();
        lengths.extend([whole.len() - 1, border, border - 1]);
        for length in lengths {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(
                read(&path, key.as_ref()).is_err(),
                "cut to {length} of {}",
                whole.len()
            );
        }
    }
}

#[test]
fn a_changed_byte_of_an_archive_is_refused() {
    let (_folder, path) = a_path();
    for key in [None, Some(FileKey::of(3))] {
        write(&path, key.as_ref());
        let whole = std::fs::read(&path).unwrap();
        for place in (0..whole.len()).step_by(whole.len() / 50) {
            let mut changed = whole.clone();
            changed[place] ^= 0x20;
            std::fs::write(&path, &changed).unwrap();
            let said = match read(&path, key.as_ref()) {
                Err(error) => format!("{error:#}"),
                Ok(_) => panic!("a change at {place} went unnoticed"),
            };
            assert!(said.contains("archive"), "{said}");
        }
    }
}

#[test]
fn a_wrong_or_missing_key_is_named() {
    let (_folder, path) = a_path();
    let (key, other) = (FileKey::of(3), FileKey::of(4));
    write(&path, Some(&key));
    let said = |key: Option<&FileKey>| read(&path, key).unwrap_err().to_string();
    let missing = said(None);
    assert!(
        missing.contains(&key.id().to_string()) && missing.contains("--key-file"),
        "{missing}"
    );
    let wrong = said(Some(&other));
    assert!(wrong.contains(&key.id().to_string()), "{wrong}");
    assert!(wrong.contains(&other.id().to_string()), "{wrong}");
    write(&path, None);
    assert!(said(Some(&key)).contains("leave out --key-file"));
}

#[test]
fn what_is_no_archive_is_refused() {
    let (_folder, path) = a_path();
    for content in [&b""[..], b"hello", b"MONBAK01", &[0; 4_096]] {
        std::fs::write(&path, content).unwrap();
        assert!(
            ArchiveReader::open(&path, None)
                .and_then(|archive| archive.read(|_| Ok(())))
                .is_err()
        );
    }
    std::fs::remove_file(&path).unwrap();
    let missing = ArchiveReader::open(&path, None).map(|_| ()).unwrap_err();
    assert!(missing.to_string().contains("archive"), "{missing}");
}

#[test]
fn an_entry_that_no_version_writes_is_refused_by_its_head() {
    use tar::{Builder, EntryType, Header};
    let (_folder, path) = a_path();
    let huge = 2 << 30;
    for (name, kind, size, said) in [
        ("link", EntryType::GNULongName, huge, "not a file"),
        ("link", EntryType::GNULongLink, huge, "not a file"),
        ("PaxHeaders/x", EntryType::XHeader, huge, "not a file"),
        ("PaxHeaders/x", EntryType::XGlobalHeader, huge, "not a file"),
        (
            "store/blobs/000001.jsonl",
            EntryType::Symlink,
            0,
            "not a file",
        ),
        (
            "store/blobs/000001.jsonl",
            EntryType::Regular,
            huge,
            "more than 268435456 bytes",
        ),
        (
            "spool/x.seg/000001",
            EntryType::Regular,
            2 << 20,
            "more than 1048576 bytes",
        ),
        (
            "keys/0",
            EntryType::Regular,
            2 << 20,
            "more than 1048576 bytes",
        ),
        (
            "manifest.json",
            EntryType::Regular,
            huge,
            "more than 1048576 bytes",
        ),
    ] {
        let encoder = zstd::stream::write::Encoder::new(File::create(&path).unwrap(), 1).unwrap();
        let mut tar = Builder::new(encoder);
        let mut header = Header::new_gnu();
        header.set_path(name).unwrap();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o600);
        header.set_cksum();
        // Nothing of what the head claims is there: whoever read it first would find another fault.
        tar.append(&header, std::io::empty()).unwrap();
        tar.into_inner().unwrap().finish().unwrap();
        let refused = ArchiveReader::open(&path, None).unwrap().read(|_| Ok(()));
        let refused = format!("{:#}", refused.unwrap_err());
        assert!(refused.contains(said), "{name} {kind:?}: {refused}");
    }
}
