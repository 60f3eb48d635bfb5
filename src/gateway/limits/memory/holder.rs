//! What one access key has of the memory, and what it may have before a backend has accepted it. Until then it has a
//! part of it together with all other such keys of its client's address. A body that is larger than this part may take
//! what it needs beside it, one at a time: it can be complete in no other way.

use super::Full;
use crate::fair_queue::is_stranger;
use crate::observe::Exhausted;

/// A body up to this size waits for no check: most calls have one, and they take little.
const SMALL_BODY: i64 = 256 << 10;

/// What one access key has of the memory.
#[derive(Clone, Copy, Default)]
pub(super) struct Holder {
    pub(super) bytes: i64,
    /// Bytes of its one reservation that the part of its address does not count.
    pub(super) large: i64,
    /// Its calls that wait.
    pub(super) waiting: usize,
    /// Those of them whose body is complete and whose check waits.
    pub(super) waiting_checks: usize,
}

/// A reservation that changes.
#[derive(Clone, Copy)]
pub(super) struct Asking {
    pub(super) holder: u64,
    /// What it has.
    pub(super) bytes: i64,
    /// It is the one that the part of its address does not count.
    pub(super) is_large: bool,
    /// It gets nothing while a check of its access key waits.
    pub(super) gives_way: bool,
    /// It counts in the part of its address alone, and not in the memory of all calls.
    pub(super) is_beside: bool,
}

impl Asking {
    /// What so many of its bytes count for in the memory of all calls.
    pub(super) fn of_all(self, bytes: i64) -> i64 {
        if self.is_beside { 0 } else { bytes }
    }
}

impl Holder {
    /// Decides whether a reservation may have so many bytes more, and whether the part of its address counts them.
    pub(super) fn admits(
        &self,
        asking: Asking,
        bytes: i64,
        client_limit: i64,
    ) -> Result<bool, Full> {
        let is_large_body = asking.bytes.saturating_add(bytes) > SMALL_BODY;
        if asking.gives_way && is_large_body && self.waiting_checks > 0 {
            return Err(Full(Exhausted::Memory));
        }
        if asking.is_large || !is_stranger(asking.holder) {
            return Ok(asking.is_large);
        }
        let counted = (self.bytes - self.large).saturating_add(bytes);
        let is_larger = asking.bytes.saturating_add(bytes) > client_limit;
        match counted > client_limit {
            false => Ok(false),
            true if is_larger && self.large == 0 => Ok(true),
            true => Err(Full(Exhausted::ClientMemory)),
        }
    }

    /// A reservation gives so many bytes back.
    pub(super) fn give(&mut self, from: Asking, bytes: i64) {
        self.bytes -= bytes;
        if from.is_large {
            self.large -= bytes;
        }
    }
}
