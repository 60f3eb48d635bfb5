//! What the state gives to those who share it: to the request path for a record, to the writer for a round, to
//! operators as figures.

use super::write_buffer::Chunk;
use crate::backend::Record;
use crate::spool::dead_letter::encoding::EncodedLetter;
use crate::spool::eviction::{Dropped, Evicted};
use crate::spool::segment_index::RecordPosition;
use crate::spool::sequence::SequenceNumber;

/// A record that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// The record is on disk once so many are.
    pub(crate) ticket: u64,
    /// Older records that were dropped to make room.
    pub(crate) dropped: Option<Dropped>,
}

/// Why a record is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAccepted {
    /// The disk is too far behind.
    DiskBehind,
    /// The spool is nearly full, and the record's access key has more than its share.
    OverShare,
    /// No frame holds the record.
    TooLarge,
}

/// A record leased to the call that is about to deliver it.
pub(crate) struct LeasedRecord {
    /// None if the disk is too far behind.
    pub(crate) position: Option<RecordPosition>,
    pub(crate) record: Record,
    /// The record is on disk once so many are.
    pub(crate) ticket: u64,
}

/// The outcome of leasing a record.
pub(crate) struct Leased {
    pub(crate) record: LeasedRecord,
    /// Older records that were dropped to make room.
    pub(crate) dropped: Option<Dropped>,
}

/// How far the request path has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Appended {
    /// Records accepted so far.
    pub(crate) accepted: u64,
    /// The latest sequence number given.
    pub(crate) latest: SequenceNumber,
}

/// What was accepted since it was last taken, to be written.
pub(crate) struct TakenChunks {
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) appended: Appended,
}

/// Everything the writer does in one round apart from writing records.
pub(crate) struct WriterRound {
    pub(crate) acks: Vec<RecordPosition>,
    pub(crate) dead_letters: Vec<EncodedLetter>,
    pub(crate) evicted: Vec<Evicted>,
    /// Records that expired at the beginning of the round.
    pub(crate) dropped: Option<Dropped>,
    pub(crate) progress: Progress,
}

/// How far the request path had come when a round began.
#[derive(Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) appended: Appended,
    /// No record has reported yet that the process before was cut off.
    pub(crate) cut_unreported: bool,
    /// The spool is being closed: this is the last round.
    pub(crate) closing: bool,
}

/// The figures of a spool at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// Bytes of the segments.
    pub(crate) bytes: u64,
    /// Unacknowledged records, as far as their segments have been read.
    pub(crate) records: u64,
    /// Age of the oldest unacknowledged record; 0 if there is none.
    pub(crate) oldest_seconds: f64,
    /// Records in memory on their way to the backend.
    pub(crate) in_memory: u64,
    /// Bytes of those that are not retrying.
    pub(crate) memory_bytes: u64,
    /// Those of them in a retry queue.
    pub(crate) retrying: u64,
    /// There are more records on disk.
    pub(crate) has_backlog: bool,
    /// Records that are lost if the process ends before they are delivered.
    pub(crate) only_in_memory: u64,
}
