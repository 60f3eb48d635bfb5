//! A complete answer on its way to the client: as the upstream sent it, or as a stream.

use super::replay::Replay;
use crate::gateway::context::CallContext;
use crate::gateway::exchange::record::Registration;
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
        headers::for_other_body(&mut self.head, &ctx.request_id)?;
        respond::stream(session, ctx, self.head, events.into()).await
    }
}
