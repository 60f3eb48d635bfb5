//! Buffers a request body while the client sends it: in memory at first, in a file once it is large, or
//! slow while other calls need the memory (`limits.buffered_bytes`). `read` takes it from the client.

mod read;

pub(super) use read::request_body;

use crate::gateway::error::CallError;
use crate::gateway::limits::{MemoryReservation, SpillFile};
use crate::gateway::state::Snapshot;
use crate::observe::Exhausted;
use crate::observe::events::SpilledEarly;
use bytes::Bytes;
use log::debug;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::{Duration, Instant};

/// A body beyond this size is moved to a file while it arrives.
const LARGEST_IN_MEMORY: usize = 8 << 20;
/// The size of one write to the file.
const WRITE_SIZE: usize = 1 << 20;
/// A body that has been arriving for this long is moved to a file when memory is short …
const SLOW_AFTER: Duration = Duration::from_secs(1);
/// … if it has at least this many bytes.
const SMALLEST_SPILL: usize = 16 << 10;
/// How long a body that must stay in memory waits for it; longer than slow calls need to free theirs.
pub(super) const MEMORY_WAIT: Duration = Duration::from_secs(3);

/// What a check holds of a prompt beside the body: its text, the copy for the disk, and the request to the backend.
const COPIES: usize = 3;
/// A text up to this size is checked without a reservation: its copies take less than the buffers of a connection.
const SHORT_TEXT: usize = 16 << 10;

/// A complete body, and its memory until it is dropped.
pub(super) struct Body {
    /// As they are checked: decoded where they came compressed.
    pub(super) bytes: Bytes,
    /// As they came, where they were compressed.
    pub(super) encoded: Option<Box<Bytes>>,
    pub(super) reservation: MemoryReservation,
    /// Of the buffer that it arrived in, which the connection keeps until the call ends.
    _connection: Option<Box<MemoryReservation>>,
}

impl Body {
    /// Reserves what the check of a text takes beside the body, waiting for it as a body does; gives how much that is. It
    /// leaves half of the memory to others, so that a body which can never have all of it is checked too.
    pub(super) async fn reserve_copies(
        &mut self,
        snapshot: &Snapshot,
        text: usize,
    ) -> Result<usize, CallError> {
        if text <= SHORT_TEXT {
            return Ok(0);
        }
        let most = snapshot.memory.limit_bytes() / 2;
        let copies = (text * COPIES).min(most.saturating_sub(self.bytes.len()));
        if self.reservation.grow(copies).is_err() {
            let grown = Box::pin(self.reservation.grow_for_check(copies, MEMORY_WAIT)).await;
            grown.map_err(|full| CallError::Overloaded(full.0))?;
        }
        Ok(copies)
    }

    pub(super) fn new(bytes: Bytes, reservation: MemoryReservation) -> Self {
        Self {
            bytes,
            encoded: None,
            reservation,
            _connection: None,
        }
    }
}

/// The part of a body that has arrived.
pub(super) struct BodyBuffer<'a> {
    snapshot: &'a Snapshot,
    reservation: MemoryReservation,
    /// When the body began to arrive, without the time it waited for memory, which is not the client's.
    began: Instant,
    in_memory: Vec<u8>,
    /// More bytes than this are moved to the file.
    most_in_memory: usize,
    file: Option<SpillFile>,
}

impl<'a> BodyBuffer<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        reservation: MemoryReservation,
        began: Instant,
    ) -> Self {
        Self {
            snapshot,
            reservation,
            began,
            in_memory: Vec::new(),
            most_in_memory: LARGEST_IN_MEMORY,
            file: None,
        }
    }

    /// Takes the first chunk, whose memory is reserved already. `announced` is the body's Content-Length, or 0
    /// for chunked coding.
    pub(super) fn start(&mut self, first: &[u8], announced: usize) {
        if announced > LARGEST_IN_MEMORY && self.snapshot.spill.is_some() {
            self.most_in_memory = WRITE_SIZE;
        }
        let capacity = announced.min(self.most_in_memory).max(first.len());
        self.in_memory = Vec::with_capacity(capacity);
        self.in_memory.extend_from_slice(first);
    }

    /// Waits for the client, and moves a slow body to the file whenever another call asks for its memory.
    pub(super) async fn yielding<T>(
        &mut self,
        reading: impl Future<Output = T>,
    ) -> Result<T, CallError> {
        let memory = &self.snapshot.memory;
        let holder = self.reservation.holder();
        // Pinned outside the loop: dropping it would lose what it has read.
        let mut reading = pin!(reading);
        loop {
            tokio::select! {
                biased;
                read = &mut reading => return Ok(read),
                () = memory.requested(holder) => self.yield_memory().await?,
            }
        }
    }

    /// Takes the next chunk. When memory is exhausted, the whole body moves to the file.
    pub(super) async fn push(&mut self, chunk: &Bytes) -> Result<(), CallError> {
        let held = self.in_memory.len() + self.file.as_ref().map_or(0, SpillFile::len);
        check_size(self.snapshot, held + chunk.len())?;
        let grown = self.reservation.grow(chunk.len());
        if grown.is_err() && !self.fits_on_disk(chunk.len()) {
            let since = Instant::now();
            let grown = self.reservation.grow_within(chunk.len(), MEMORY_WAIT).await;
            grown.map_err(|full| CallError::Overloaded(full.0))?;
            self.began += since.elapsed();
            self.in_memory.extend_from_slice(chunk);
            return Ok(());
        }
        if grown.is_err()
            && self.in_memory.is_empty()
            && let Some(file) = &mut self.file
        {
            // Without another copy, which nothing is reserved for.
            return file.write(chunk.clone()).await.map_err(disk_error);
        }
        self.in_memory.extend_from_slice(chunk);
        if grown.is_err() {
            return self.spill_early().await;
        }
        if self.in_memory.len() > self.most_in_memory {
            return self.spill().await;
        }
        match self.snapshot.memory.is_short() {
            true => self.yield_memory().await,
            false => Ok(()),
        }
    }

    /// The complete body. One that is in a file waits at most `patience` for the memory of all of it.
    pub(super) async fn finish(mut self, patience: Duration) -> Result<Body, CallError> {
        if self.file.is_some() {
            self.spill().await?;
        }
        let Some(file) = self.file.take() else {
            return Ok(Body::new(self.in_memory.into(), self.reservation));
        };
        let grown = self.reservation.grow_within(file.len(), patience).await;
        grown.map_err(|full| CallError::Overloaded(full.0))?;
        let bytes = file.read_back().await.map_err(disk_error)?;
        Ok(Body::new(Bytes::from(bytes), self.reservation))
    }

    /// Moves a slow body to the file. When the disk has no space either, this call is refused so that others
    /// get the memory.
    async fn yield_memory(&mut self) -> Result<(), CallError> {
        let is_slow = self.began.elapsed() >= SLOW_AFTER;
        match is_slow && self.in_memory.len() >= SMALLEST_SPILL {
            true => self.spill_early().await,
            false => Ok(()),
        }
    }

    async fn spill_early(&mut self) -> Result<(), CallError> {
        if self.file.is_none() && self.snapshot.spill.is_some() {
            SpilledEarly.emit(&self.snapshot.metrics);
        }
        self.spill().await
    }

    /// Moves what is in memory to the file.
    async fn spill(&mut self) -> Result<(), CallError> {
        let Some(folder) = &self.snapshot.spill else {
            return Ok(());
        };
        if self.file.is_none() {
            self.file = Some(
                folder
                    .create_file(self.reservation.holder())
                    .await
                    .map_err(disk_error)?,
            );
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        // The buffer goes too: nothing is reserved for it any more, and a client may send nothing for long.
        let bytes = std::mem::take(&mut self.in_memory);
        file.write(bytes).await.map_err(disk_error)?;
        self.most_in_memory = WRITE_SIZE;
        self.reservation.release();
        Ok(())
    }

    fn fits_on_disk(&self, more: usize) -> bool {
        let spill = self.snapshot.spill.as_ref();
        spill.is_some_and(|spill| spill.has_room_for(self.in_memory.len() + more))
    }
}

/// Refuses a body that exceeds the memory of all calls together, before it is read.
pub(super) fn check_size(snapshot: &Snapshot, bytes: usize) -> Result<(), CallError> {
    match snapshot.memory.can_ever_hold(bytes) {
        true => Ok(()),
        false => Err(CallError::TooLarge),
    }
}

fn disk_error(error: io::Error) -> CallError {
    debug!("cannot buffer a request body on disk: {error}");
    CallError::Overloaded(Exhausted::Disk)
}
