//! What one access key has of the memory, and what it may have before a backend has accepted it. Until then it has a
//! part of it together with all other such keys of its client's address. The buffers of its connections have half of
//! this part, so that bodies can be complete. One that is larger than a quarter takes what it needs beside this part,
//! one at a time: each takes several times its bytes on its way to the backend.

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
    /// Bytes of buffers of connections.
    pub(super) beside: i64,
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
        let has_room = counted <= client_limit;
        if asking.is_beside {
            let has_room = has_room && self.beside.saturating_add(bytes) <= client_limit / 2;
            return has_room
                .then_some(false)
                .ok_or(Full(Exhausted::ClientMemory));
        }
        match asking.bytes.saturating_add(bytes) > client_limit / 4 {
            true if self.large == 0 => Ok(true),
            false if has_room => Ok(false),
            _ => Err(Full(Exhausted::ClientMemory)),
        }
    }

    /// Whether it has nothing and waits for nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.bytes == 0 && self.waiting == 0
    }

    /// A reservation gives so many bytes back.
    pub(super) fn give(&mut self, from: Asking, bytes: i64) {
        self.bytes -= bytes;
        if from.is_large {
            self.large -= bytes;
        }
        if from.is_beside {
            self.beside -= bytes;
        }
    }
}
