//! Files of frames, whole, torn and damaged at every place.
#![allow(clippy::unwrap_used)]

mod cipher;
mod files;
mod first_format;

pub(in crate::spool) use files::{
    append_to, contents, in_first_format, segment_of, to_first_format,
};

use super::format::{FRAME_HEADER, HEADER, Marker, file_header, frame};
use files::{TEXTS, entry, folder_of, read, try_read, try_read_in};

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
fn contract_23_a_frame_in_a_wrong_place_hides_none_that_begins_in_its_last_byte() {
    // Found by fuzzing: a sector in a wrong place, and behind it a byte that is the right one by chance.
    let marker = Marker::random();
    let mut bytes = file_header(marker, None).to_vec();
    let misplaced = [b"misplaced", &marker.0[..1]].concat();
    frame(&mut bytes, marker, 7, |out| {
        out.extend_from_slice(&misplaced)
    });
    bytes.pop();
    for ordinal in [1, 2] {
        frame(&mut bytes, marker, ordinal, |out| {
            out.extend_from_slice(b"whole")
        });
    }
    let found = read(&bytes);
    let ordinals: Vec<_> = found.whole.iter().map(|(ordinal, _)| *ordinal).collect();
    assert_eq!(ordinals, [Some(7), Some(1), Some(2)]);
    assert_eq!((found.damaged.len(), found.torn), (0, None));
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
