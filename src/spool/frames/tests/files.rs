//! Files of frames as tests make and read them.

use crate::spool::chain_file::Owner;
use crate::spool::frames::file_format::Format;
use crate::spool::frames::first_format;
use crate::spool::frames::format::frame;
use crate::spool::frames::keyring::Keyring;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::frames::writer::FrameWriter;
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

pub(super) fn read(bytes: &[u8]) -> Found {
    try_read(bytes).unwrap()
}

pub(super) fn try_read(bytes: &[u8]) -> Option<Found> {
    try_read_in(&Folder::new(), bytes)
}

pub(super) fn try_read_in(folder: &Folder, bytes: &[u8]) -> Option<Found> {
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

pub(super) const TEXTS: [&[u8]; 4] = [b"one", b"", b"three \0\0\0", b"four"];

/// A record of this gateway, whose text holds these bytes.
pub(super) fn entry(gateway: u128, text: &[u8]) -> Vec<u8> {
    let mut record = sample_record(512);
    record.chain.as_mut().unwrap().gateway = Uuid::from_u128(gateway);
    let mut content = Vec::new();
    record_codec::encode(&record, &mut content);
    [&content, text].concat()
}

/// A folder whose spool has that gateway.
pub(super) fn folder_of(gateway: u128) -> std::sync::Arc<Folder> {
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
