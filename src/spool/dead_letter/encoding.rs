//! The encoding of a dead letter: the time, the backend's status and the record, as the content of a
//! frame.

use super::letter_room::LetterRoom;
use crate::backend::Record;
use crate::fair_queue::holder_of;
use crate::spool::record_codec;
use crate::spool::segment_index::RecordPosition;

/// Bytes of dead letters that wait for a disk which refuses to be written; beyond it they are dropped.
pub(crate) const MAX_WAITING: usize = 8 << 20;

/// Bytes of a dead letter before the record's own.
const HEADER: usize = 10;

/// A record that the backend refused.
pub struct DeadLetter {
    /// When it was refused, milliseconds since 1970.
    pub at_ms: i64,
    /// The backend's status; 0 if the backend never gave one that could be read.
    pub status: u16,
    /// The refused record.
    pub record: Record,
}

/// Why a record was refused, as far as it decides which files hold it. Those refused for their access
/// key have files of their own, so that made-up keys push out no other dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalClass {
    /// The record itself is refused.
    Record,
    /// The access key is refused (401, 403).
    Key,
}

impl RefusalClass {
    pub(crate) const ALL: [Self; 2] = [Self::Record, Self::Key];

    fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::Key,
            _ => Self::Record,
        }
    }

    /// The name of the file being written.
    pub(crate) fn newer(self) -> &'static str {
        match self {
            Self::Record => "dead.letters",
            Self::Key => "dead.keys",
        }
    }

    /// The name of that file once it is full.
    pub(crate) fn older(self) -> &'static str {
        match self {
            Self::Record => "dead.letters.old",
            Self::Key => "dead.keys.old",
        }
    }
}

/// A dead letter as the content of a frame.
pub(crate) struct EncodedLetter {
    pub(crate) class: RefusalClass,
    /// Stands for the record's access key within this process, or for whoever has a share with it.
    pub(crate) key: u64,
    pub(crate) bytes: Vec<u8>,
    /// The record's position in the spool, which it leaves once the letter is on disk.
    pub(crate) position: Option<RecordPosition>,
    /// The letter's part of the memory for letters, given back once the letter is on disk or dropped.
    pub(crate) room: Option<LetterRoom>,
}

impl EncodedLetter {
    pub(crate) fn new(at_ms: i64, status: u16, record: &Record) -> Self {
        // Growing step by step, a large one would take up to three times as much for a moment.
        let mut bytes = Vec::with_capacity(HEADER + usize::try_from(record.weight()).unwrap_or(0));
        bytes.extend_from_slice(&at_ms.to_le_bytes());
        bytes.extend_from_slice(&status.to_le_bytes());
        record_codec::encode(record, &mut bytes);
        Self {
            class: RefusalClass::of_status(status),
            key: holder_of(&record.context.access_key),
            bytes,
            position: None,
            room: None,
        }
    }

    /// A frame's content; None if it is not a dead letter.
    pub(crate) fn from_frame(content: Vec<u8>) -> Option<Self> {
        let status = content.get(8..HEADER)?.try_into().ok()?;
        Some(Self {
            class: RefusalClass::of_status(u16::from_le_bytes(status)),
            key: key_of(&content)?,
            bytes: content,
            position: None,
            room: None,
        })
    }
}

/// Stands for the access key of a dead letter; None if the content is not one.
pub(crate) fn key_of(content: &[u8]) -> Option<u64> {
    let record = record_codec::decode(content.get(HEADER..)?)?;
    Some(holder_of(&record.context.access_key))
}

/// The encoded record in a dead letter; None if the content is not one.
pub(crate) fn record_bytes(content: &[u8]) -> Option<&[u8]> {
    let record = content.get(HEADER..)?;
    record_codec::decode(record).map(|_| record)
}

pub(crate) fn decode(content: &[u8]) -> Option<DeadLetter> {
    let (time, rest) = content.split_first_chunk()?;
    let (status, rest) = rest.split_first_chunk()?;
    Some(DeadLetter {
        at_ms: i64::from_le_bytes(*time),
        status: u16::from_le_bytes(*status),
        record: record_codec::decode(rest)?,
    })
}
