//! An upstream's answer between its head and the client: the exchange it belongs to, and the filter that its
//! bytes pass through. Nearly always there is none, and each chunk is relayed as it came.

use super::call::UpstreamResponse;
use super::capture::Layout;
use super::record::Registration;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::respond;
use bytes::Bytes;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;

/// An answer whose body has not been read yet.
pub(super) struct Answer {
    pub(super) upstream: UpstreamResponse,
    pub(super) registration: Registration,
    pub(super) filter: Option<Box<dyn StreamFilter>>,
}

impl Answer {
    pub(super) fn new(upstream: UpstreamResponse, mut registration: Registration) -> Self {
        registration.set_server(upstream.server());
        registration.set_status(upstream.status());
        Self {
            upstream,
            registration,
            filter: None,
        }
    }

    pub(super) fn filtered(self, filter: Option<Box<dyn StreamFilter>>) -> Self {
        Self { filter, ..self }
    }

    /// Answers the client with an error instead, and registers the call as failed.
    pub(super) async fn refuse(
        self,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        error: CallError,
    ) -> Result<()> {
        self.upstream.abandon();
        self.registration.post_call_failed(&error);
        respond::error(session, ctx, &error).await
    }
}

/// Changes or holds back the bytes of an answer while it is relayed. A filter neither waits nor writes.
pub(super) trait StreamFilter: Send {
    /// Learns how the answer is laid out, before any of it is sent.
    ///
    /// # Errors
    /// When nothing of the answer may pass.
    fn start(&mut self, _layout: Layout) -> Result<(), CallError> {
        Ok(())
    }

    /// Takes a chunk from the upstream and returns what the client gets now.
    fn push(&mut self, chunk: Bytes) -> Filtered;

    /// Ends the upstream's body, which is not `complete` when the upstream broke off.
    fn finish(&mut self, complete: bool) -> Filtered;

    /// Whether bytes passed without the check they should have had.
    fn passed_unchecked(&self) -> bool {
        false
    }

    /// Whether it has ended the stream with the policy's phrase. The client may not have got all of that.
    fn has_flagged(&self) -> bool {
        false
    }
}

/// What a filter lets pass.
pub(super) struct Filtered {
    pub(super) bytes: Bytes,
    /// Why the client's stream ends behind the bytes, whatever the upstream still sends.
    pub(super) stop: Option<Stop>,
}

impl Filtered {
    /// Bytes behind which the stream goes on.
    pub(super) fn passing(bytes: Bytes) -> Self {
        Self { bytes, stop: None }
    }
}

/// Why a stream ends before the upstream's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// A finding in the text: the filter has ended the stream with the policy's phrase.
    Flagged,
    /// The stream cannot be read, and the policy requires a check: the relay sends an error frame.
    Unreadable,
}
