//! The memory of one call, which it gives back however it ends.

use super::holder::Asking;
use super::{ASK_EVERY, Full, MemoryBudget, signed};
use crate::observe::Exhausted;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::timeout;

/// An answer's copy up to this size is not counted: the connection's own buffers are as large.
const SMALL: i64 = 16 << 10;
/// A growing copy is counted in steps of this size.
const STEP: i64 = 64 << 10;

/// The bytes that one call holds, released when it is dropped.
pub(crate) struct MemoryReservation {
    budget: Arc<MemoryBudget>,
    /// The access key of the call.
    holder: u64,
    bytes: i64,
    /// It is the one that the part of its address does not count.
    is_large: bool,
    /// It gets nothing while a check of its access key waits.
    gives_way: bool,
    /// It counts in the part of its address alone.
    is_beside: bool,
}

impl MemoryReservation {
    /// Reserves nothing yet; `holder` is the access key of the call.
    pub(crate) fn new(budget: &Arc<MemoryBudget>, holder: u64) -> Self {
        Self {
            budget: budget.clone(),
            holder,
            bytes: 0,
            is_large: false,
            gives_way: false,
            is_beside: false,
        }
    }

    /// Of a body that arrives: it gets nothing while a check of the same access key waits for memory, without which
    /// bodies that wait for theirs would fill it and none would leave.
    pub(crate) fn of_body(budget: &Arc<MemoryBudget>, holder: u64) -> Self {
        let mut reservation = Self::new(budget, holder);
        reservation.gives_way = true;
        reservation
    }

    /// Of a connection's buffer: it counts in the part of its address alone, as none of it can move to a file.
    pub(crate) fn of_connection(budget: &Arc<MemoryBudget>, holder: u64) -> Self {
        let mut reservation = Self::new(budget, holder);
        reservation.is_beside = true;
        reservation
    }

    /// The access key of the call.
    pub(crate) fn holder(&self) -> u64 {
        self.holder
    }

    /// Counts what is reserved for another holder; false where that would have more than its share.
    pub(crate) fn count_for(&mut self, holder: u64) -> bool {
        let passed = self.budget.pass(self.asking(), holder);
        if passed {
            self.holder = holder;
            self.is_large = false;
        }
        passed
    }

    fn asking(&self) -> Asking {
        Asking {
            holder: self.holder,
            bytes: self.bytes,
            is_large: self.is_large,
            gives_way: self.gives_way,
            is_beside: self.is_beside,
        }
    }

    fn take(&mut self, asking: Asking, bytes: i64) -> Result<(), Full> {
        self.is_large = self.budget.take(asking, bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Reserves `bytes` more.
    ///
    /// # Errors
    /// When they do not fit at the moment.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        self.take(self.asking(), signed(bytes as u64))
    }

    /// Like [`Self::grow`], waiting for other calls to release memory for at most `limit`.
    ///
    /// # Errors
    /// When the bytes do not fit by then, or never can.
    pub(crate) async fn grow_within(&mut self, bytes: usize, limit: Duration) -> Result<(), Full> {
        self.grow_waiting(bytes, limit, self.gives_way).await
    }

    /// The same for the check of a body that is complete. Larger bodies of the same access key that still arrive get
    /// nothing while it waits.
    ///
    /// # Errors
    /// When the bytes do not fit by then, or never can.
    pub(crate) async fn grow_for_check(
        &mut self,
        bytes: usize,
        limit: Duration,
    ) -> Result<(), Full> {
        self.grow_waiting(bytes, limit, false).await
    }

    async fn grow_waiting(
        &mut self,
        bytes: usize,
        limit: Duration,
        gives_way: bool,
    ) -> Result<(), Full> {
        let budget = self.budget.clone();
        if !budget.can_ever_hold(bytes) {
            return Err(Full(Exhausted::Memory));
        }
        let is_check = self.gives_way && !gives_way;
        let _waiting = Waiting::count_in(&budget, self.holder, is_check);
        let mut refused = Full(Exhausted::Memory);
        let growing = async {
            loop {
                let mut freed = std::pin::pin!(budget.freed.notified());
                freed.as_mut().enable();
                let asking = Asking {
                    gives_way,
                    ..self.asking()
                };
                match self.take(asking, signed(bytes as u64)) {
                    Ok(()) => return,
                    Err(full) => refused = full,
                }
                // Each further attempt asks the slow calls again.
                let _ = timeout(ASK_EVERY, freed).await;
            }
        };
        let grown = timeout(limit, growing).await;
        grown.map_err(|_| refused)
    }

    /// Grows the reservation to cover an answer's copy of `length` bytes.
    ///
    /// # Errors
    /// When it does not fit.
    pub(crate) fn cover(&mut self, length: usize) -> Result<(), Full> {
        let length = signed(length as u64);
        if length <= self.bytes.max(SMALL) {
            return Ok(());
        }
        let more = (length - self.bytes).div_euclid(STEP) * STEP + STEP;
        self.take(self.asking(), more)
    }

    /// The same of what grows and shrinks: it keeps little more than `length` bytes.
    ///
    /// # Errors
    /// When it does not fit.
    pub(crate) fn fit(&mut self, length: usize) -> Result<(), Full> {
        self.cover(length)?;
        let length = signed(length as u64);
        if length <= SMALL {
            self.release();
        } else if self.bytes > length + 2 * STEP {
            let spare = self.bytes - length - STEP;
            self.shrink(usize::try_from(spare).unwrap_or_default());
        }
        Ok(())
    }

    /// Releases a part of the bytes.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = signed(bytes as u64).min(self.bytes);
        if bytes > 0 {
            self.budget.release(self.asking(), bytes);
            self.bytes -= bytes;
            self.is_large &= self.bytes > 0;
        }
    }

    /// Releases all bytes of the reservation.
    pub(crate) fn release(&mut self) {
        self.shrink(usize::MAX);
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.release();
    }
}

/// Counts a waiting call until it is dropped.
struct Waiting<'a> {
    budget: &'a MemoryBudget,
    holder: u64,
    is_check: bool,
}

impl<'a> Waiting<'a> {
    fn count_in(budget: &'a MemoryBudget, holder: u64, is_check: bool) -> Self {
        budget.waiting.fetch_add(1, Ordering::SeqCst);
        budget.change(holder, |own| {
            own.waiting += 1;
            own.waiting_checks += usize::from(is_check);
        });
        Self {
            budget,
            holder,
            is_check,
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.budget.change(self.holder, |own| {
            own.waiting -= 1;
            own.waiting_checks -= usize::from(self.is_check);
        });
        self.budget.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
