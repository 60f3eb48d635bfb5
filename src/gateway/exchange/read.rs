//! The request body, whole (CONTRACT 1). One chunk is taken as it is; more are put together in one
//! buffer, so a body costs its own size and one chunk. One above [`LARGEST_IN_MEMORY`] waits in a file
//! until it is whole.

use crate::gateway::Shared;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers::expects_continue;
use crate::gateway::memory::Share;
use crate::gateway::proxy::classify;
use crate::gateway::spill::Spilled;
use crate::gateway::watch::is_too_slow;
use crate::observe::Room;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use log::debug;
use pingora_core::protocols::http::ServerSession;
use pingora_error::{Error, ErrorType};
use std::io;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// A larger body goes to a file while it comes.
const LARGEST_IN_MEMORY: usize = 8 << 20;
/// So much of it is written at once.
const WRITTEN_AT_ONCE: usize = 1 << 20;

/// A body, and the room it takes until it is dropped.
pub(super) struct Body {
    pub(super) bytes: Bytes,
    pub(super) share: Share,
}

pub(super) async fn request_body(
    shared: &Shared,
    session: &mut ServerSession,
    ctx: &mut CallContext,
) -> Result<Body, CallError> {
    let started = Instant::now();
    let reading = Reading {
        shared,
        session,
        limit: shared.settings.limits.header_timeout,
        share: Share::new(&shared.memory),
    };
    let body = reading.whole(started).await;
    ctx.clock.waited_for_client(started);
    body
}

struct Reading<'a> {
    shared: &'a Shared,
    session: &'a mut ServerSession,
    limit: Duration,
    share: Share,
}

impl Reading<'_> {
    async fn whole(mut self, started: Instant) -> Result<Body, CallError> {
        self.fits(announced(self.session))?;
        if expects_continue(self.session.req_header()) {
            let told = self.session.write_continue_response().await;
            told.map_err(of_the_client)?;
        }
        let Some(first) = self.chunk().await? else {
            return Ok(self.body(Bytes::new()));
        };
        let Some(second) = self.chunk().await? else {
            return Ok(self.body(first));
        };
        Box::pin(self.together(started, first, second)).await
    }

    async fn together(
        mut self,
        started: Instant,
        first: Bytes,
        second: Bytes,
    ) -> Result<Body, CallError> {
        let announced = announced(self.session);
        let is_large = announced > LARGEST_IN_MEMORY && self.shared.spills.is_some();
        let mut longest = match is_large {
            true => WRITTEN_AT_ONCE,
            false => LARGEST_IN_MEMORY,
        };
        let at_first = announced.min(longest).max(first.len() + second.len());
        let mut whole = Vec::with_capacity(at_first);
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&second);
        drop((first, second));
        let (mut received, mut spilled) = (whole.len(), None);
        while let Some(chunk) = self.chunk().await? {
            whole.extend_from_slice(&chunk);
            received += chunk.len();
            if is_too_slow(started.elapsed(), self.limit, received) {
                return Err(CallError::SlowBody);
            }
            self.fits(received)?;
            if whole.len() > longest && self.shared.spills.is_some() {
                whole = self.spill(&mut spilled, whole).await?;
                longest = WRITTEN_AT_ONCE;
            }
        }
        match spilled {
            None => Ok(self.body(whole.into())),
            Some(spilled) => self.read_back(spilled, whole).await,
        }
    }

    /// A body that is larger than all calls together may hold is not taken in first.
    fn fits(&self, bytes: usize) -> Result<(), CallError> {
        match self.shared.memory.can_ever_hold(bytes) {
            true => Ok(()),
            false => Err(CallError::TooLarge),
        }
    }

    /// The file takes what is in memory.
    async fn spill(
        &mut self,
        spilled: &mut Option<Spilled>,
        bytes: Vec<u8>,
    ) -> Result<Vec<u8>, CallError> {
        if let (None, Some(spills)) = (&spilled, &self.shared.spills) {
            *spilled = Some(spills.file().await.map_err(of_the_disk)?);
        }
        let Some(file) = spilled else {
            return Ok(bytes);
        };
        if !self.shared.memory.may_spill(bytes.len()) {
            return Err(CallError::Overloaded(Room::Disk));
        }
        let mut emptied = file.write(bytes).await.map_err(of_the_disk)?;
        emptied.shrink_to(WRITTEN_AT_ONCE);
        self.share.give_back();
        Ok(emptied)
    }

    /// A body that is all there is worth a short wait for room.
    async fn read_back(mut self, file: Spilled, rest: Vec<u8>) -> Result<Body, CallError> {
        let mut spilled = Some(file);
        drop(self.spill(&mut spilled, rest).await?);
        let Some(file) = spilled else {
            return Ok(self.body(Bytes::new()));
        };
        let room = self.share.grow_within(file.len(), self.limit);
        room.await.map_err(|full| CallError::Overloaded(full.0))?;
        let bytes = file.read_back().await.map_err(of_the_disk)?;
        Ok(self.body(bytes.into()))
    }

    /// The next piece, accounted for. Silence longer than the limit is an error; pingora sees to that
    /// for HTTP/1 alone.
    async fn chunk(&mut self) -> Result<Option<Bytes>, CallError> {
        let read = match self.session.as_http2().is_none() {
            true => self.session.read_request_body().await,
            false => {
                let late = |_| Error::e_explain(ErrorType::ReadTimedout, "reading an HTTP/2 body");
                let read = timeout(self.limit, self.session.read_request_body());
                read.await.unwrap_or_else(late)
            }
        };
        let chunk = read.map_err(of_the_client)?;
        if let Some(chunk) = &chunk {
            let grown = self.share.grow(chunk.len());
            grown.map_err(|full| CallError::Overloaded(full.0))?;
        }
        Ok(chunk)
    }

    fn body(self, bytes: Bytes) -> Body {
        Body {
            bytes,
            share: self.share,
        }
    }
}

fn of_the_client(mut error: Box<Error>) -> CallError {
    error.as_down();
    classify(&error)
}

fn of_the_disk(error: io::Error) -> CallError {
    debug!("a request body cannot be kept in a file: {error}");
    CallError::Overloaded(Room::Disk)
}

fn announced(session: &ServerSession) -> usize {
    let length = session.get_header(CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
    length.unwrap_or(0)
}
