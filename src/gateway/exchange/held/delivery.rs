//! A complete answer on its way to the client: as the upstream sent it, or as a stream.

use super::replay::Replay;
use crate::fair_queue::heavy;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::exchange::capture::{self, Wanted, Whole};
use crate::gateway::exchange::record::Registration;
use crate::gateway::limits::Full;
use crate::gateway::state::Snapshot;
use crate::gateway::{headers, respond};
use bytes::Bytes;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_http::ResponseHeader;

/// A complete answer that the client has not seen.
pub(crate) struct HeldAnswer {
    pub(crate) delivery: Delivery,
    pub(crate) registration: Registration,
}

impl HeldAnswer {
    /// What a record keeps of the answer, where one is registered.
    pub(super) fn read(&self, snapshot: &Snapshot, ctx: &mut CallContext) -> Whole {
        let wanted = Wanted {
            protocol: ctx.protocol,
            calls: self.registration.calls(),
            text: self.registration.wants_answer(),
            metadata: ctx.wants_metadata(),
            limit: snapshot.settings.limits.recorded_bytes,
        };
        self.read_by(ctx, wanted, capture::whole)
    }

    /// Every text that the client gets of the answer.
    pub(super) fn read_for_check(&self, snapshot: &Snapshot, ctx: &mut CallContext) -> Whole {
        let (calls, limit) = (
            self.registration.calls(),
            snapshot.settings.limits.recorded_bytes,
        );
        let wanted = Wanted {
            metadata: ctx.wants_metadata(),
            ..Wanted::record(ctx.protocol, calls, limit)
        };
        self.read_by(ctx, wanted, capture::whole_for_check)
    }

    fn read_by(
        &self,
        ctx: &mut CallContext,
        wanted: Wanted,
        read: fn(&ResponseHeader, &[u8], Wanted) -> Whole,
    ) -> Whole {
        let (head, body) = (&self.delivery.head, &self.delivery.body);
        let bytes = capture::plain_bytes(head, body, wanted.limit);
        let mut whole = heavy(bytes, || read(head, body, wanted));
        let tools = whole.captured.tools.bytes();
        if tools > 0 && cover(ctx, body.len() + tools).is_err() {
            let tools = std::mem::take(&mut whole.captured.tools);
            whole.captured.tools = tools.within(0);
        }
        ctx.count_tokens(whole.captured.usage);
        ctx.set_metadata(whole.captured.metadata.take());
        whole
    }
}

/// What the client gets of a complete answer, and in which form.
pub(crate) struct Delivery {
    pub(crate) head: ResponseHeader,
    pub(crate) body: Bytes,
    /// Present where the client asked for a stream and gets the answer as one (CONTRACT 43).
    pub(crate) replay: Option<Replay>,
}

impl Delivery {
    /// Sends the answer to the client.
    pub(crate) async fn send(
        mut self,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
    ) -> Result<()> {
        let replay = self
            .replay
            .filter(|_| !headers::is_event_stream(&self.head));
        let events = replay.and_then(|replay| replay.events(snapshot, &self.head, &self.body));
        let Some(events) = events else {
            // The body is complete, so it is sent with its length, whatever the upstream's framing was.
            headers::for_client(&mut self.head, http::Version::HTTP_10, &ctx.request_id)?;
            return respond::whole(session, ctx, self.head, self.body).await;
        };
        if let Err(full) = cover(ctx, self.body.len() + events.len()) {
            drop(events);
            return respond::error(session, ctx, &CallError::Overloaded(full.0)).await;
        }
        headers::for_other_body(&mut self.head, &ctx.request_id)?;
        respond::stream(session, ctx, self.head, events.into()).await
    }
}

/// Counts what is kept beside the body: the events that say it again, or its calls (`limits.buffered_bytes`).
fn cover(ctx: &mut CallContext, bytes: usize) -> Result<(), Full> {
    let held = &mut ctx.held_answer;
    held.as_mut().map_or(Ok(()), |held| held.cover(bytes))
}
