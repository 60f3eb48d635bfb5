//! Encrypted files of frames: whole, damaged, moved, without their key.

use super::files::{read_with, read_with_in};
use crate::config::key_file::FileKey;
use crate::spool::frames::cipher::OVERHEAD;
use crate::spool::frames::format::{FRAME_HEADER, FrameHeader, HEADER};
use crate::spool::frames::keyring::{Keyring, MissingKey, SpoolKey};
use crate::spool::frames::reader::FrameReader;
use crate::spool::frames::writer::FrameWriter;
use support::stack::Folder;

const TEXTS: [&[u8]; 4] = [b"one", b"", b"three is secret", b"four!"];

fn keys(first: u8) -> Keyring {
    Keyring::new(Some(key(first)), Vec::new())
}

fn key(byte: u8) -> SpoolKey {
    FileKey::of(byte).into()
}

/// A file with [`TEXTS`], and where each frame ends.
fn file(keys: &Keyring) -> (Vec<u8>, Vec<usize>) {
    let writer = FrameWriter::new(keys);
    let mut bytes = writer.header().to_vec();
    let mut ends = Vec::new();
    for (ordinal, text) in (0..).zip(TEXTS) {
        let frame = writer.frame(&mut bytes, ordinal, |out| out.extend_from_slice(text));
        frame.unwrap();
        ends.push(bytes.len());
    }
    (bytes, ends)
}

/// The ordinals of the frames that are whole; each has its own text.
fn whole(bytes: &[u8], keys: &Keyring) -> Vec<u32> {
    whole_in(&Folder::new(), bytes, keys)
}

fn whole_in(folder: &Folder, bytes: &[u8], keys: &Keyring) -> Vec<u32> {
    let found = read_with_in(folder, bytes, keys).unwrap();
    let found = found.whole.into_iter();
    let checked = found.map(|(ordinal, content)| {
        let ordinal = ordinal.unwrap();
        assert_eq!(content, TEXTS[ordinal as usize]);
        ordinal
    });
    checked.collect()
}

/// Puts the right checksums on the frame at this place.
fn with_checksums(frame: &mut [u8]) {
    let (place, content) = frame.split_at_mut(FRAME_HEADER);
    let mut header = FrameHeader::parse(place).unwrap();
    header.checksum = crc32fast::hash(content);
    place.copy_from_slice(&header.bytes());
}

#[test]
fn frames_come_back_with_their_key_and_no_text_is_in_the_file() {
    let (bytes, _) = file(&keys(1));
    assert_eq!(whole(&bytes, &keys(1)), [0, 1, 2, 3]);
    for text in TEXTS.into_iter().filter(|text| text.len() > 4) {
        assert!(!bytes.windows(text.len()).any(|part| part == text));
    }
    let (again, _) = file(&keys(1));
    assert_ne!(bytes[HEADER as usize..], again[HEADER as usize..]);
}

#[test]
fn a_frame_that_is_written_again_with_its_ordinal_has_another_nonce() {
    let writer = FrameWriter::new(&keys(1));
    let nonce = |_| {
        let mut bytes = Vec::new();
        let frame = writer.frame(&mut bytes, 7, |out| out.extend_from_slice(b"text"));
        frame.unwrap();
        bytes[FRAME_HEADER..FRAME_HEADER + 12].to_vec()
    };
    let nonces: std::collections::HashSet<_> = (0..1_000).map(nonce).collect();
    assert_eq!(nonces.len(), 1_000);
}

#[test]
fn contract_23_any_wrong_bit_of_an_encrypted_file_costs_the_frame_it_is_in() {
    let (right, ends) = file(&keys(1));
    let folder = Folder::new();
    // Both copies of the header; what is between them is blank.
    let bytes = (0..40).chain(HEADER as usize - 38..right.len());
    for bit in bytes.flat_map(|byte| byte * 8..byte * 8 + 8) {
        let mut bytes = right.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let is_content = bit / 8 >= HEADER as usize;
        let touched = ends.iter().take_while(|end| **end <= bit / 8).count();
        let expected: Vec<u32> = (0..4)
            .filter(|ordinal| !is_content || *ordinal as usize != touched)
            .collect();
        assert_eq!(whole_in(&folder, &bytes, &keys(1)), expected, "{bit}");
    }
}

#[test]
fn a_content_that_somebody_changed_together_with_its_checksum_is_damage() {
    let (right, ends) = file(&keys(1));
    for byte in ends[1] + FRAME_HEADER..ends[2] {
        let mut bytes = right.clone();
        bytes[byte] ^= 1;
        with_checksums(&mut bytes[ends[1]..ends[2]]);
        let found = read_with(&bytes, &keys(1)).unwrap();
        let second = ends[1] as u64..ends[2] as u64;
        assert_eq!(found.damaged, std::slice::from_ref(&second));
        assert_eq!(whole(&bytes, &keys(1)), [0, 1, 3], "{byte}");
    }
}

#[test]
fn a_frame_cannot_take_the_place_of_another_of_its_file_or_of_another_file() {
    let (right, ends) = file(&keys(1));
    // The fourth frame as the third one, with the ordinal and the checksums that belong there.
    let mut bytes = right[..ends[1]].to_vec();
    let mut moved = right[ends[2]..ends[3]].to_vec();
    let place: &mut [u8] = &mut moved[8..12];
    place.copy_from_slice(&2_u32.to_le_bytes());
    let header: [u8; 20] = moved[..20].try_into().unwrap();
    moved[20..24].copy_from_slice(&crc32fast::hash(&header).to_le_bytes());
    assert!(FrameHeader::parse(&moved).is_some());
    bytes.extend_from_slice(&moved);
    assert_eq!(whole(&bytes, &keys(1)), [0, 1]);
    // A frame of another file under the same key, with this file's marker.
    let (other, _) = file(&keys(1));
    let mut bytes = right.clone();
    let marker = right[8..16].to_vec();
    let place = &mut bytes[ends[1]..ends[2]];
    place.copy_from_slice(&other[ends[1]..ends[2]]);
    place[..8].copy_from_slice(&marker);
    let header: [u8; 20] = place[..20].try_into().unwrap();
    place[20..24].copy_from_slice(&crc32fast::hash(&header).to_le_bytes());
    assert!(FrameHeader::parse(place).is_some());
    assert_eq!(whole(&bytes, &keys(1)), [0, 1, 3]);
    // A frame that is not encrypted.
    let (clear, clear_ends) = file(&Keyring::default());
    let mut bytes = right[..ends[0]].to_vec();
    let mut planted = clear[clear_ends[0]..].to_vec();
    planted[..8].copy_from_slice(&marker);
    let header: [u8; 20] = planted[..20].try_into().unwrap();
    planted[20..24].copy_from_slice(&crc32fast::hash(&header).to_le_bytes());
    bytes.extend_from_slice(&planted);
    assert_eq!(whole(&bytes, &keys(1)), [0]);
}

#[test]
fn every_key_is_read_and_a_missing_one_is_named() {
    let folder = Folder::new();
    let path = folder.path().join("x");
    let (bytes, ends) = file(&keys(1));
    std::fs::write(&path, &bytes).unwrap();
    let rotated = Keyring::new(Some(key(2)), vec![key(1)]);
    assert_eq!(whole(&bytes, &rotated), [0, 1, 2, 3]);
    let off = Keyring::new(None, vec![key(2), key(1)]);
    assert_eq!(whole(&bytes, &off), [0, 1, 2, 3]);
    for without in [Keyring::default(), keys(2)] {
        let error = FrameReader::open(&path, &without).err().unwrap();
        assert!(MissingKey::is_in(&error));
        let (text, id) = (error.to_string(), key(1).id().to_string());
        assert!(
            text.contains(&id) && text.contains("old_key_files"),
            "{text}"
        );
        assert!(text.contains(&path.display().to_string()), "{text}");
    }
    // Without a header, whichever key fits, also without the first frame.
    let mut bytes = bytes;
    bytes[..HEADER as usize].fill(0);
    assert_eq!(whole(&bytes, &rotated), [0, 1, 2, 3]);
    assert_eq!(read_with(&bytes, &keys(2)), None);
    bytes[..ends[0]].fill(0);
    assert_eq!(whole(&bytes, &rotated), [1, 2, 3]);
    assert_eq!(read_with(&bytes, &keys(2)), None);
    assert_eq!(ends[0], HEADER as usize + FRAME_HEADER + OVERHEAD + 3);
}

#[test]
fn frames_are_counted_without_their_key() {
    let folder = Folder::new();
    let path = folder.path().join("x");
    let (bytes, ends) = file(&keys(1));
    std::fs::write(&path, &bytes).unwrap();
    let mut reader = FrameReader::open_sealed(&path).unwrap();
    assert_eq!(reader.format().key(), Some(key(1).id()));
    let end = bytes.len() as u64;
    for place in ends {
        assert!(matches!(
            reader.next(end).unwrap(),
            crate::spool::frames::reader::NextFrame::Whole(_)
        ));
        assert_eq!(reader.offset(), place as u64);
    }
}
