//! A request body on its way in: in memory, and in a file from when it is large, or is slow while
//! others need the memory (`limits.buffered_bytes`). Nothing is read from the client here.

use super::read::Body;
use crate::gateway::Shared;
use crate::gateway::error::CallError;
use crate::gateway::memory::Share;
use crate::gateway::spill::Spilled;
use crate::observe::Exhausted;
use crate::observe::events::SpilledEarly;
use bytes::Bytes;
use log::debug;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::{Duration, Instant};

/// A larger body goes to a file while it comes.
const LARGEST_IN_MEMORY: usize = 8 << 20;
/// So much of it is written at once.
const WRITTEN_AT_ONCE: usize = 1 << 20;
/// A body that has been coming for so long gives way where memory is short …
const SLOW_AFTER: Duration = Duration::from_secs(1);
/// … with what is worth a file.
const WORTH_A_FILE: usize = 16 << 10;
/// How long room is waited for by what has to stay in memory; longer than it takes others to give way.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// One body.
pub(super) struct Arrival<'a> {
    shared: &'a Shared,
    share: Share,
    /// When it began; later by what it waited for room, for which its client can do nothing.
    began: Instant,
    whole: Vec<u8>,
    /// More than this is not kept in memory.
    longest: usize,
    file: Option<Spilled>,
}

impl<'a> Arrival<'a> {
    /// Of which `first` is there and accounted for, and so many bytes are announced, or none.
    pub(super) fn new(
        (shared, share): (&'a Shared, Share),
        began: Instant,
        (first, announced): (&[u8], usize),
    ) -> Self {
        let longest = match announced > LARGEST_IN_MEMORY && shared.spills.is_some() {
            true => WRITTEN_AT_ONCE,
            false => LARGEST_IN_MEMORY,
        };
        let mut whole = Vec::with_capacity(announced.min(longest).max(first.len()));
        whole.extend_from_slice(first);
        Self {
            shared,
            share,
            began,
            whole,
            longest,
            file: None,
        }
    }

    /// Waits for the client, and gives way meanwhile where room is asked for.
    pub(super) async fn beside<T>(
        &mut self,
        reading: impl Future<Output = T>,
    ) -> Result<T, CallError> {
        let memory = &self.shared.memory;
        // Kept while others are served: what it has read by then is in it.
        let mut reading = pin!(reading);
        loop {
            tokio::select! {
                biased;
                read = &mut reading => return Ok(read),
                () = memory.asks() => self.give_way().await?,
            }
        }
    }

    /// Takes what came. What finds no room in memory goes to the file, all of it.
    pub(super) async fn add(&mut self, chunk: &[u8]) -> Result<(), CallError> {
        let held = self.whole.len() + self.file.as_ref().map_or(0, Spilled::len);
        fits(self.shared, held + chunk.len())?;
        let grown = self.share.grow(chunk.len());
        if grown.is_err() && !self.may_be_filed(chunk.len()) {
            let since = Instant::now();
            let room = self.share.grow_within(chunk.len(), PATIENCE).await;
            room.map_err(|full| CallError::Overloaded(full.0))?;
            self.began += since.elapsed();
            self.whole.extend_from_slice(chunk);
            return Ok(());
        }
        self.whole.extend_from_slice(chunk);
        if grown.is_err() {
            return self.spill_early().await;
        }
        if self.whole.len() > self.longest {
            return self.spill().await;
        }
        match self.shared.memory.is_short() {
            true => self.give_way().await,
            false => Ok(()),
        }
    }

    /// The body, once there is room for all of it. What has come whole is worth a wait for that.
    pub(super) async fn end(mut self, patience: Duration) -> Result<Body, CallError> {
        if self.file.is_some() {
            self.spill().await?;
        }
        let Some(file) = self.file.take() else {
            return Ok(Body {
                bytes: self.whole.into(),
                share: self.share,
            });
        };
        let room = self.share.grow_within(file.len(), patience).await;
        room.map_err(|full| CallError::Overloaded(full.0))?;
        let bytes = file.read_back().await.map_err(of_the_disk)?;
        Ok(Body {
            bytes: Bytes::from(bytes),
            share: self.share,
        })
    }

    /// A slow body goes to the file; where there is no room for it either, its call is refused for the
    /// others' sake.
    async fn give_way(&mut self) -> Result<(), CallError> {
        let is_worth_it = self.whole.len() >= WORTH_A_FILE;
        match is_worth_it && self.began.elapsed() >= SLOW_AFTER {
            true => self.spill_early().await,
            false => Ok(()),
        }
    }

    async fn spill_early(&mut self) -> Result<(), CallError> {
        if self.file.is_none() && self.shared.spills.is_some() {
            SpilledEarly.emit(&self.shared.metrics);
        }
        self.spill().await
    }

    /// The file takes what is in memory.
    async fn spill(&mut self) -> Result<(), CallError> {
        let Some(spills) = &self.shared.spills else {
            return Ok(());
        };
        if self.file.is_none() {
            self.file = Some(spills.file().await.map_err(of_the_disk)?);
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let bytes = std::mem::take(&mut self.whole);
        let emptied = file.write(bytes).await.map_err(of_the_disk)?;
        // A larger buffer would be memory that nobody accounts for.
        if emptied.capacity() <= 2 * WRITTEN_AT_ONCE {
            self.whole = emptied;
        }
        self.longest = WRITTEN_AT_ONCE;
        self.share.give_back();
        Ok(())
    }

    fn may_be_filed(&self, more: usize) -> bool {
        let spills = self.shared.spills.as_ref();
        spills.is_some_and(|spills| spills.have_room(self.whole.len() + more))
    }
}

/// A body that is larger than all calls together may hold is not taken in first.
pub(super) fn fits(shared: &Shared, bytes: usize) -> Result<(), CallError> {
    match shared.memory.can_ever_hold(bytes) {
        true => Ok(()),
        false => Err(CallError::TooLarge),
    }
}

fn of_the_disk(error: io::Error) -> CallError {
    debug!("a request body cannot be kept in a file: {error}");
    CallError::Overloaded(Exhausted::Disk)
}
