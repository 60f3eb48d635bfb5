//! Files of frames, whole, torn and damaged at every place.
//!
//! Long because: every test reads the same few files, which are made here.
#![allow(clippy::unwrap_used)]

use super::file_format::Format;
use super::first_format;
use super::format::{FRAME_HEADER, HEADER, Marker, file_header, frame};
use super::keyring::Keyring;
use super::reader::{FrameReader, NextFrame};
use super::writer::FrameWriter;
use crate::spool::chain_file::Owner;
use crate::spool::segment::{self, SegmentId};
use crate::spool::tests::samples::sample_record;
use crate::spool::{disk, record_codec};
use std::io::Write as _;
use std::path::Path;
use support::stack::Folder;
use uuid::Uuid;

/// Writes a segment whose frames have these contents.
pub(in crate::spool) fn segment_of(folder: &Path, id: SegmentId, contents: &[&[u8]]) {
    let writer = FrameWriter::new(&Keyring::default());
    let mut bytes = Vec::new();
    for (ordinal, content) in (0..).zip(contents) {
        let frame = writer.frame(&mut bytes, ordinal, |out| out.extend_from_slice(content));
        frame.unwrap();
    }
    let mut file = segment::create(folder, id, &writer).unwrap();
    file.write_all(&bytes).unwrap();
}

/// The contents of the whole frames of a file.
pub(in crate::spool) fn contents(path: &Path) -> Vec<Vec<u8>> {
    let whole = read(&std::fs::read(path).unwrap()).whole;
    whole.into_iter().map(|(_, content)| content).collect()
}

/// Appends a frame to a file.
pub(in crate::spool) fn append_to(path: &Path, content: &[u8]) {
    let mut bytes = std::fs::read(path).unwrap();
    let ordinal = u32::try_from(read(&bytes).whole.len()).unwrap();
    match FrameReader::open_sealed(path).unwrap().format() {
        Format::Marked { marker, .. } => frame(&mut bytes, marker, ordinal, |out| {
            out.extend_from_slice(content);
        }),
        _ => first_format::frame(&mut bytes, content),
    }
    std::fs::write(path, bytes).unwrap();
}

/// Rewrites a file as versions up to 4.1 wrote it.
pub(in crate::spool) fn to_first_format(path: &Path) {
    std::fs::write(path, in_first_format(contents(path))).unwrap();
}

/// A file of versions up to 4.1 whose frames have these contents.
pub(in crate::spool) fn in_first_format(contents: Vec<Vec<u8>>) -> Vec<u8> {
    let mut bytes = first_format::MAGIC.to_vec();
    for content in contents {
        first_format::frame(&mut bytes, &content);
    }
    bytes
}

/// What a reader made of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) whole: Vec<(Option<u32>, Vec<u8>)>,
    pub(super) damaged: Vec<std::ops::Range<u64>>,
    pub(super) torn: Option<u64>,
}

fn read(bytes: &[u8]) -> Found {
    try_read(bytes).unwrap()
}

fn try_read(bytes: &[u8]) -> Option<Found> {
    try_read_in(&Folder::new(), bytes)
}

fn try_read_in(folder: &Folder, bytes: &[u8]) -> Option<Found> {
    read_with_in(folder, bytes, &Keyring::default())
}

pub(super) fn read_with(bytes: &[u8], keys: &Keyring) -> Option<Found> {
    read_with_in(&Folder::new(), bytes, keys)
}

pub(super) fn read_with_in(folder: &Folder, bytes: &[u8], keys: &Keyring) -> Option<Found> {
    let file = folder.path().join("x");
    std::fs::write(&file, bytes).unwrap();
    let mut reader = FrameReader::open(&file, keys).ok()?;
    let mut found = Found {
        whole: Vec::new(),
        damaged: Vec::new(),
        torn: None,
    };
    loop {
        match reader.next(bytes.len() as u64).unwrap() {
            NextFrame::Whole(frame) => found.whole.push((frame.ordinal, frame.content)),
            NextFrame::Damaged(place) => found.damaged.push(place),
            NextFrame::Torn(at) => found.torn = Some(at),
            NextFrame::End => return Some(found),
        }
    }
}

const TEXTS: [&[u8]; 4] = [b"one", b"", b"three \0\0\0", b"four"];

/// A file with [`TEXTS`], and where each frame ends.
fn file() -> (Vec<u8>, Vec<usize>) {
    file_of(Marker::random())
}

fn file_of(marker: Marker) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = file_header(marker, None).to_vec();
    let mut ends = Vec::new();
    for (ordinal, text) in (0..).zip(TEXTS) {
        frame(&mut bytes, marker, ordinal, |out| {
            out.extend_from_slice(text);
        });
        ends.push(bytes.len());
    }
    (bytes, ends)
}

fn numbered(kept: impl Fn(usize) -> bool) -> Vec<(Option<u32>, Vec<u8>)> {
    let all = (0_u32..).zip(TEXTS).enumerate();
    let kept = all.filter(|(index, _)| kept(*index));
    kept.map(|(_, (ordinal, text))| (Some(ordinal), text.to_vec()))
        .collect()
}

/// The frame that a byte is part of; None for the file's header.
fn frame_at(ends: &[usize], byte: usize) -> Option<usize> {
    (byte >= HEADER as usize).then(|| ends.iter().take_while(|end| **end <= byte).count())
}

#[test]
fn frames_come_back_in_order() {
    let found = read(&file().0);
    assert_eq!(found.whole, numbered(|_| true));
    assert_eq!((found.damaged.len(), found.torn), (0, None));
}

#[test]
fn contract_23_any_wrong_bit_costs_the_frame_it_is_in_and_is_noticed() {
    let (whole, ends) = file();
    // Each copy of the header, and the frames.
    let places = (0..40).chain(4_090..whole.len());
    for bit in places.flat_map(|byte| byte * 8..byte * 8 + 8) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (found, touched) = (read(&bytes), frame_at(&ends, bit / 8));
        assert_eq!(
            found.whole,
            numbered(|index| Some(index) != touched),
            "{bit}"
        );
        assert_eq!(found.torn, None, "{bit}");
        let start = |index: usize| {
            if index == 0 {
                HEADER as usize
            } else {
                ends[index - 1]
            }
        };
        let expected = touched.map(|index| start(index) as u64..ends[index] as u64);
        assert_eq!(found.damaged, Vec::from_iter(expected), "{bit}");
    }
}

#[test]
fn contract_23_any_overwritten_stretch_costs_the_frames_it_touches() {
    let (whole, ends) = file();
    let from = HEADER as usize;
    for start in from..whole.len() {
        for length in [1, 2, 7, 24, 25, 60] {
            for value in [0x00, 0xff, 0x5a] {
                let mut bytes = whole.clone();
                let end = bytes.len().min(start + length);
                bytes[start..end].fill(value);
                let differs = |byte: &usize| bytes[*byte] != whole[*byte];
                let touched: Vec<_> = (start..end)
                    .filter(differs)
                    .filter_map(|byte| frame_at(&ends, byte))
                    .collect();
                let found = read(&bytes);
                let expected = numbered(|index| !touched.contains(&index));
                assert_eq!(found.whole, expected, "{start} {length} {value}");
                let is_noticed = !found.damaged.is_empty() || found.torn.is_some();
                assert_eq!(is_noticed, !touched.is_empty(), "{start} {length} {value}");
            }
        }
    }
}

#[test]
fn a_torn_end_costs_only_the_frame_it_tore_and_is_no_damage() {
    let (whole, ends) = file();
    for length in 0..=whole.len() {
        let found = read(&whole[..length]);
        let count = ends.iter().filter(|end| length >= **end).count();
        assert_eq!(found.whole, numbered(|index| index < count), "{length}");
        assert_eq!(found.damaged.len(), 0, "{length}");
        let is_border = length == 0 || length == HEADER as usize || ends.contains(&length);
        assert_eq!(found.torn.is_none(), is_border, "{length}");
        // Where the file had grown before its bytes came.
        let mut grown = whole[..length].to_vec();
        grown.resize(length + 100, 0);
        if length >= HEADER as usize && (is_border || length < ends[0]) {
            let found = read(&grown);
            assert_eq!(found.whole, numbered(|index| index < count), "{length}");
        }
    }
}

#[test]
fn contract_23_what_looks_like_an_end_is_damage_if_a_whole_frame_follows() {
    let (whole, ends) = file();
    // The last byte of a length: the frame would reach far beyond the end of the file.
    let mut bytes = whole.clone();
    bytes[ends[0] + 15] ^= 0x80;
    let found = read(&bytes);
    assert_eq!(found.whole, numbered(|index| index != 1));
    let second = ends[0] as u64..ends[1] as u64;
    assert_eq!(found.damaged, std::slice::from_ref(&second));
    // A torn frame behind which a later write went on.
    let bytes = [&whole[..ends[2] - 3], &whole[ends[2]..]].concat();
    let found = read(&bytes);
    assert_eq!(found.whole, numbered(|index| index != 2));
    assert_eq!((found.damaged.len(), found.torn), (1, None));
}

#[test]
fn contract_23_a_lost_sector_at_the_beginning_costs_no_frame() {
    let (whole, ends) = file();
    let header = HEADER as usize;
    for lost in [0..32, 0..512, 0..4_096, 4_096..header, 0..header] {
        for value in [0x00, 0xff, 0x5a] {
            let mut bytes = whole.clone();
            bytes[lost.clone()].fill(value);
            let found = read(&bytes);
            assert_eq!(found.whole, numbered(|_| true), "{lost:?} {value}");
        }
    }
    // Nothing tells frames from texts any more.
    let mut bytes = whole;
    bytes[..ends[0]].fill(0);
    assert_eq!(try_read(&bytes), None);
    assert_eq!(try_read(b"nonsense"), None);
    assert_eq!(read(&[0; 10_000]).torn, Some(0), "nothing was ever written");
}

/// A record of this gateway, whose text holds these bytes.
fn entry(gateway: u128, text: &[u8]) -> Vec<u8> {
    let mut record = sample_record(512);
    record.chain.as_mut().unwrap().gateway = Uuid::from_u128(gateway);
    let mut content = Vec::new();
    record_codec::encode(&record, &mut content);
    [&content, text].concat()
}

/// A folder whose spool has that gateway.
fn folder_of(gateway: u128) -> std::sync::Arc<Folder> {
    let folder = Folder::new();
    let owner = Owner {
        gateway: Uuid::from_u128(gateway),
        boot: Uuid::nil(),
        ended: false,
    };
    let file = disk::open_update(&folder.path().join("chain")).unwrap();
    owner.write(&file).unwrap();
    folder
}

#[test]
fn contract_23_without_any_header_the_records_of_this_gateway_are_found_and_no_text() {
    let (ours, theirs) = (Marker::random(), Marker([7; 8]));
    let mut forged = Vec::new();
    for ordinal in 0..5 {
        frame(&mut forged, theirs, ordinal, |out| {
            out.extend(entry(8, b""))
        });
    }
    let mut bytes = file_header(ours, None).to_vec();
    for ordinal in 0..4 {
        frame(&mut bytes, ours, ordinal, |out| {
            out.extend(entry(9, &forged))
        });
    }
    bytes[..HEADER as usize + FRAME_HEADER].fill(0);
    for (gateway, expected) in [(9, vec![Some(1), Some(2), Some(3)]), (10, vec![])] {
        let folder = folder_of(gateway);
        let found = try_read_in(&folder, &bytes).map_or(Vec::new(), |found| found.whole);
        let ordinals: Vec<_> = found.iter().map(|(ordinal, _)| *ordinal).collect();
        assert_eq!(ordinals, expected);
    }
}

#[test]
fn contract_23_no_text_of_an_earlier_version_becomes_a_record() {
    let mut forged = Vec::new();
    for _ in 0..3 {
        first_format::frame(&mut forged, &entry(8, b""));
    }
    let mut bytes = first_format::MAGIC.to_vec();
    let mut starts = Vec::new();
    for _ in 0..3 {
        starts.push(bytes.len());
        first_format::frame(&mut bytes, &entry(9, &forged));
    }
    let folder = folder_of(9);
    for (damaged, start) in starts.into_iter().enumerate() {
        // Its length, its checksum, its content, all of its header.
        for place in [0..1, 5..6, 20..21, 0..8] {
            let mut bytes = bytes.clone();
            let places = start + place.start..start + place.end;
            bytes[places].iter_mut().for_each(|byte| *byte ^= 1);
            let found = try_read_in(&folder, &bytes).unwrap();
            assert_eq!(found.whole.len(), 2, "{damaged} {place:?}");
            for (_, content) in found.whole {
                assert!(content == entry(9, &forged), "{damaged} {place:?}");
            }
        }
    }
}

#[test]
fn contract_23_no_content_is_taken_for_a_frame() {
    let marker = Marker::random();
    // A client sends whole files of frames, with markers of its own.
    let forged = [file().0, file_of(Marker([0; 8])).0].concat();
    let mut bytes = file_header(marker, None).to_vec();
    for ordinal in 0..3 {
        frame(&mut bytes, marker, ordinal, |out| {
            out.extend_from_slice(&forged);
        });
    }
    let second = HEADER as usize + FRAME_HEADER + forged.len();
    for byte in [0, 8, 12, 16, 20, 30, 200] {
        let mut bytes = bytes.clone();
        bytes[second + byte] ^= 1;
        let found = read(&bytes);
        let ordinals: Vec<_> = found.whole.iter().map(|(ordinal, _)| *ordinal).collect();
        assert_eq!(ordinals, [Some(0), Some(2)], "{byte}");
        assert!(found.whole.iter().all(|(_, content)| *content == forged));
    }
}

#[test]
fn contract_23_a_block_of_another_file_is_damage() {
    let ((whole, ends), (other, _)) = (file(), file());
    let mut bytes = whole;
    bytes[ends[0]..ends[2]].copy_from_slice(&other[ends[0]..ends[2]]);
    let found = read(&bytes);
    assert_eq!(found.whole, numbered(|index| index == 0 || index == 3));
    let other = ends[0] as u64..ends[2] as u64;
    assert_eq!(found.damaged, std::slice::from_ref(&other));
}

#[test]
fn contract_23_damage_that_is_longer_than_what_is_read_at_once_is_skipped() {
    let marker = Marker::random();
    let mut bytes = file_header(marker, None).to_vec();
    for (ordinal, length) in [(0, 10), (1, 700_000), (2, 300_000), (3, 5)] {
        frame(&mut bytes, marker, ordinal, |out| {
            out.resize(out.len() + length, 7);
        });
    }
    let second = HEADER as usize + FRAME_HEADER + 10;
    bytes[second + 14] ^= 1;
    let found = read(&bytes);
    let ordinals: Vec<_> = found.whole.iter().map(|(ordinal, _)| *ordinal).collect();
    assert_eq!(ordinals, [Some(0), Some(2), Some(3)]);
    assert_eq!(found.whole[1].1, vec![7; 300_000]);
}

/// A file of version 4.1, with records.
fn first_file() -> (Vec<u8>, Vec<usize>) {
    let mut bytes = first_format::MAGIC.to_vec();
    let mut ends = Vec::new();
    for number in 1..5 {
        let mut content = Vec::new();
        record_codec::encode(&sample_record(512 + number), &mut content);
        first_format::frame(&mut bytes, &content);
        ends.push(bytes.len());
    }
    (bytes, ends)
}

#[test]
fn contract_23_files_of_earlier_versions_are_read_and_damage_there_costs_its_frame_too() {
    let (whole, ends) = first_file();
    let all = read(&whole);
    let ordinals: Vec<_> = all.whole.iter().map(|(ordinal, _)| *ordinal).collect();
    assert_eq!(ordinals, [Some(0), Some(1), Some(2), Some(3)]);
    let header = first_format::MAGIC.len();
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let touched = ends.iter().take_while(|end| **end <= bit / 8).count();
        let is_header = bit / 8 < header;
        let found = read(&bytes);
        let expected: Vec<_> = (0..4)
            .filter(|index| is_header || *index != touched)
            .map(|index| all.whole[index].1.clone())
            .collect();
        let contents: Vec<_> = found
            .whole
            .iter()
            .map(|(_, content)| content.clone())
            .collect();
        assert_eq!(contents, expected, "{bit}");
        let is_noticed = !found.damaged.is_empty() || found.torn.is_some();
        assert_eq!(is_noticed, !is_header, "{bit}");
        // Behind damage the ordinals are not known.
        let behind = found.whole.iter().skip(touched);
        assert!(is_header || behind.clone().all(|(ordinal, _)| ordinal.is_none()));
    }
}

#[test]
fn a_search_in_a_file_of_an_earlier_version_ends_soon_whatever_its_content() {
    let mut bytes = first_format::MAGIC.to_vec();
    // Each offset looks like a long frame with a record.
    let likely = [0x00, 0x00, 0x08, 0x00, 0, 0, 0, 0, 2, 0, 0, 0];
    let content = likely.repeat(200_000);
    first_format::frame(&mut bytes, &content);
    bytes[9] ^= 1;
    assert_eq!(read(&bytes).whole, []);
}
