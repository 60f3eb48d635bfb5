//! An answer held in memory until it is all there, for those who look at it whole: bounded by
//! `limits.recorded_bytes`, with the client and the clocks watched (CONTRACT 15, 41).

use super::call::Answering;
use super::capture;
use super::client_gone;
use super::record::{Registration, failure_of};
use crate::gateway::Shared;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::memory::Share;
use crate::gateway::respond;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_http::ResponseHeader;
use std::time::Instant;
use tokio::time::timeout;

/// An answer on its way into memory.
pub(super) enum Collected {
    Whole(Vec<u8>),
    /// There is more than `limits.recorded_bytes`.
    TooLarge(Vec<u8>),
    Failed(Vec<u8>, CallError),
}

/// An answer that failed before the client got any of it.
pub(super) struct Failed {
    pub(super) upstream: Answering,
    pub(super) registration: Registration,
    pub(super) head: ResponseHeader,
    pub(super) body: Vec<u8>,
    pub(super) error: CallError,
}

impl Failed {
    /// Registers what there was of it and tells the client.
    pub(super) async fn answer(
        self,
        shared: &Shared,
        session: &mut ServerSession,
        ctx: &mut CallContext,
    ) -> Result<()> {
        self.upstream.abandon();
        let limit = shared.settings.limits.recorded_bytes;
        let mut said = capture::whole(&self.head, &self.body, (limit, false)).said;
        said.incomplete = true;
        self.registration
            .post_call(said, Some(failure_of(&self.error)));
        respond::error(session, ctx, &self.error).await
    }
}

/// An upstream's error and an answer without a body hold nothing to check.
pub(super) fn has_words(head: &ResponseHeader) -> bool {
    let status = head.status.as_u16();
    status < 400 && !matches!(status, 204 | 304)
}

/// Reads an answer to its end.
pub(super) async fn collect(
    shared: &Shared,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    upstream: &mut Answering,
) -> Collected {
    let limit = usize::try_from(shared.settings.limits.recorded_bytes).unwrap_or(usize::MAX);
    let started = Instant::now();
    let mut body = Vec::new();
    let share = ctx.answer.insert(Share::new(&shared.memory));
    let end = loop {
        let read = tokio::select! {
            biased;
            read = timeout(shared.upstream.timeout(), upstream.read()) => read,
            () = client_gone(session) => break Some(CallError::ClientGone),
        };
        match read {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            Ok(Ok(None)) => break None,
            Ok(Err(_)) => break Some(CallError::Broken("its answer was cut")),
            Err(_) => break Some(CallError::Late),
        }
        if let Err(full) = share.cover(body.len()) {
            break Some(CallError::Overloaded(full.0));
        }
        if body.len() > limit {
            ctx.clock.waited_for_upstream(started);
            return Collected::TooLarge(body);
        }
    };
    ctx.clock.waited_for_upstream(started);
    match end {
        None => Collected::Whole(body),
        Some(error) => Collected::Failed(body, error),
    }
}
