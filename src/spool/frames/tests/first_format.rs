//! Files of versions up to 4.1, whole and damaged.

use super::files::{entry, folder_of, read, try_read_in};
use crate::spool::frames::first_format;
use crate::spool::record_codec;
use crate::spool::tests::samples::sample_record;

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
