//! What the upstream gets of a call: the body as the client sent it or with edits, and the head to match.

use super::body::Body;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers::{self, UpstreamHead};
use crate::gateway::upstream::{ModelServer, WireHead};
use bytes::Bytes;
use http::HeaderValue;
use monitor_wire::json::{self, Edit};
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;

/// The body for the upstream, and how its head differs from the client's.
pub(super) struct UpstreamRequest {
    pub(super) body: Body,
    /// The body is not the client's, so no header of the client describes it.
    is_edited: bool,
    /// The gateway reads the answer as it passes, so no content coding is accepted.
    pub(super) identity_encoding: bool,
    /// Another model server may need the body, so it stays in memory until the response head.
    keeps_body: bool,
}

impl UpstreamRequest {
    /// The body as the client sent it, and an answer that may be compressed.
    pub(super) fn unchanged(mut body: Body) -> Self {
        if let Some(encoded) = body.encoded.take() {
            body.bytes = *encoded;
        }
        Self {
            body,
            is_edited: false,
            identity_encoding: false,
            keeps_body: false,
        }
    }

    /// The body with these edits; without any, as the client sent it. An edited body is
    /// uncompressed even where the client's was not: every server can read it.
    pub(super) fn with_edits(mut body: Body, mut edits: Vec<Edit<Vec<u8>>>) -> Self {
        if edits.is_empty() {
            return Self::unchanged(body);
        }
        edits.sort_by_key(|(span, _)| span.start);
        body.bytes = json::replace_spans(&body.bytes, &edits).into();
        body.encoded = None;
        Self {
            is_edited: true,
            ..Self::unchanged(body)
        }
    }

    /// Keeps the body for another model server, or frees it once the first one has it.
    pub(super) fn set_keeps_body(&mut self, keeps_body: bool) {
        self.keeps_body = keeps_body;
    }

    /// Frees the body once the upstream has all of it, unless another server may need it: a model may take
    /// minutes to answer.
    pub(super) fn free_body(&mut self) {
        if self.keeps_body {
            return;
        }
        self.body.bytes = Bytes::new();
        self.body.reservation.release();
    }

    /// The head for this model server.
    ///
    /// # Errors
    /// [`CallError::BadFraming`] where the client's head cannot be forwarded.
    pub(super) fn head(
        &self,
        server: &ModelServer,
        session: &ServerSession,
        ctx: &CallContext,
    ) -> Result<WireHead, CallError> {
        let head = self.try_head(server, session, ctx);
        head.map_err(|_| CallError::BadFraming)
    }

    fn try_head(
        &self,
        server: &ModelServer,
        session: &ServerSession,
        ctx: &CallContext,
    ) -> Result<WireHead> {
        let (client, target) = (session.req_header(), server.resolver.target());
        let length = Some(self.body.bytes.len());
        let mut head = UpstreamHead::new(client, target, &ctx.request_id, length)?;
        if let Some(trace) = &ctx.trace {
            trace.set_upstream_headers(&mut head)?;
        }
        if self.is_edited {
            headers::for_edited_body(&mut head);
        }
        if self.identity_encoding {
            head.set("Accept-Encoding", HeaderValue::from_static("identity"));
        }
        server.connections.wire_head(&head)
    }
}
