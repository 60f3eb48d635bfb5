//! The memory of one file, counted in that of the calls (`limits.buffered_bytes`) as the file arrives, however slowly its
//! host sends it.

use super::file_error::FileError;
use crate::gateway::limits::MemoryReservation;
use std::time::Duration;

/// How long a file waits for memory that others hold.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Memory is taken in steps of this size.
const STEP: usize = 256 << 10;

/// The memory that one file has, until it is dropped.
pub(super) struct FileMemory {
    reservation: MemoryReservation,
    bytes: usize,
}

impl FileMemory {
    pub(super) fn new(reservation: MemoryReservation) -> Self {
        Self {
            reservation,
            bytes: 0,
        }
    }

    /// Takes what is missing for so many bytes.
    ///
    /// # Errors
    /// [`FileError::NoMemory`] where it does not become free in time.
    pub(super) async fn cover(&mut self, bytes: usize) -> Result<(), FileError> {
        let Some(missing) = bytes.checked_sub(self.bytes).filter(|missing| *missing > 0) else {
            return Ok(());
        };
        let more = missing.next_multiple_of(STEP);
        if self.reservation.grow(more).is_err() {
            let grown = self.reservation.grow_within(more, LONGEST_WAIT).await;
            grown.map_err(|_| FileError::NoMemory)?;
        }
        self.bytes += more;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{FileMemory, STEP};
    use crate::gateway::limits::{MemoryBudget, MemoryReservation};

    #[tokio::test(start_paused = true)]
    async fn a_file_takes_memory_as_it_grows_and_waits_for_some_with_an_end() {
        let budget = MemoryBudget::unmeasured(8 * STEP as u64);
        let mut other = MemoryReservation::new(&budget, 1);
        let mut file = FileMemory::new(MemoryReservation::new(&budget, 2));
        other.grow(7 * STEP).unwrap();
        file.cover(1).await.unwrap();
        file.cover(STEP).await.unwrap();
        let late = file.cover(STEP + 1).await.unwrap_err();
        assert!(late.to_string().contains("limits.buffered_bytes"));
        other.release();
        file.cover(STEP + 1).await.unwrap();
        assert!(other.grow(7 * STEP).is_err(), "two steps are taken");
        drop(file);
        other.grow(8 * STEP).unwrap();
    }
}
