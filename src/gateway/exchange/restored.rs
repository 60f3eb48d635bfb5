//! Answers to redacted prompts (CONTRACT 41): event streams are restored as they pass, other answers
//! once they are whole. What cannot be read passes untouched, counted and said. Which bytes change
//! stands in `restore`.

use super::call::Answering;
use super::capture::{self, Layout};
use super::collect::{Collected, Failed, collect, has_words};
use super::placeholders::Placeholders;
use super::record::Registration;
use super::relay::{self, Answer};
use super::restore::{self, RestoreStream};
use super::transform::Transform;
use crate::gateway::Shared;
use crate::gateway::context::CallContext;
use crate::gateway::{headers, respond};
use crate::observe::events::Unrestored;
use crate::observe::{Metrics, UnrestoredReason};
use bytes::Bytes;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_http::ResponseHeader;
use std::sync::Arc;

/// Headers that say what the bytes of a body are.
const DIGESTS: [&str; 5] = [
    "etag",
    "content-md5",
    "digest",
    "content-digest",
    "repr-digest",
];

/// What it takes to restore an answer.
pub(super) struct Restore {
    pub(super) placeholders: Placeholders,
}

/// A stream on its way, with who is told of what cannot be read.
pub(super) struct Restoring {
    stream: RestoreStream,
    metrics: Arc<Metrics>,
    told: bool,
}

impl Restore {
    /// Relays the answer with its values.
    pub(super) async fn response_body(
        self: Box<Self>,
        shared: &Shared,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        (mut upstream, registration): (Answering, Registration),
    ) -> Result<()> {
        let head = upstream.head().filter(|head| has_words(head)).cloned();
        let is_buffered = |head: &ResponseHeader| {
            let layout = Layout::of(head);
            !layout.event_stream && !layout.encoded
        };
        let Some(head) = head.filter(is_buffered) else {
            let transform = self.relayed(shared, &upstream);
            return relay(shared, session, ctx, (upstream, registration, transform)).await;
        };
        match collect(shared, session, ctx, &mut upstream).await {
            Collected::Whole(body) => {
                upstream.release().await;
                self.answer(shared, session, ctx, (head, body, registration))
                    .await
            }
            Collected::TooLarge(body) => {
                tell(&shared.metrics, UnrestoredReason::TooLarge);
                upstream.put_back(body.into());
                let untouched = (upstream, registration, Transform::None);
                relay(shared, session, ctx, untouched).await
            }
            Collected::Failed(body, error) => {
                let failed = Failed {
                    upstream,
                    registration,
                    head,
                    body,
                    error,
                };
                failed.answer(shared, session, ctx).await
            }
        }
    }

    async fn answer(
        &self,
        shared: &Shared,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        (mut head, body, registration): (ResponseHeader, Vec<u8>, Registration),
    ) -> Result<()> {
        let body = self.whole(shared, &mut head, body);
        if registration.wanted() || ctx.listens() {
            let limit = shared.settings.limits.recorded_bytes;
            let mut said = capture::whole(&head, &body, (limit, ctx.listens())).said;
            ctx.heard(said.heard.take());
            registration.post_call(said, None);
        }
        // The whole body is here, so it goes by length whatever the upstream's framing was.
        headers::for_client(&mut head, http::Version::HTTP_10, &ctx.request_id)?;
        respond::whole(session, ctx, head, body).await
    }

    /// An answer that is all there, with its values.
    pub(super) fn whole(&self, shared: &Shared, head: &mut ResponseHeader, body: Vec<u8>) -> Bytes {
        let layout = Layout::of(head);
        if layout.encoded {
            tell(&shared.metrics, UnrestoredReason::Compressed);
            return body.into();
        }
        let restored = match layout.event_stream {
            true => restore::stream(&self.placeholders, &body),
            false => restore::completion(&self.placeholders, &body),
        };
        let Some(restored) = restored else {
            tell(&shared.metrics, UnrestoredReason::Unreadable);
            return body.into();
        };
        if restored != body {
            for name in DIGESTS {
                head.remove_header(name);
            }
        }
        restored.into()
    }

    /// What restores an answer that cannot be held whole, as far as that can be done.
    pub(super) fn relayed(self, shared: &Shared, upstream: &Answering) -> Transform {
        let Some(head) = upstream.head().filter(|head| has_words(head)) else {
            return Transform::None;
        };
        let reason = match Layout::of(head) {
            layout if layout.plain_stream() => {
                let limit = usize::try_from(shared.settings.limits.recorded_bytes);
                return Transform::Restore(Box::new(Restoring {
                    stream: RestoreStream::new(self.placeholders, limit.unwrap_or(usize::MAX)),
                    metrics: shared.metrics.clone(),
                    told: false,
                }));
            }
            layout if layout.encoded => UnrestoredReason::Compressed,
            _ => UnrestoredReason::TooLarge,
        };
        tell(&shared.metrics, reason);
        Transform::None
    }
}

impl Restoring {
    /// Takes a chunk of the upstream's and gives what can be passed on.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Bytes {
        let out = self.stream.push(chunk);
        if self.stream.unreadable() > 0 && !std::mem::replace(&mut self.told, true) {
            tell(&self.metrics, UnrestoredReason::Unreadable);
        }
        out.into()
    }

    /// What was held, at the end.
    pub(super) fn end(&mut self) -> Bytes {
        self.stream.end().into()
    }
}

async fn relay(
    shared: &Shared,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    (upstream, registration, transform): (Answering, Registration, Transform),
) -> Result<()> {
    let answer = Answer {
        upstream,
        registration,
        transform,
    };
    relay::response_body(shared, session, ctx, answer).await
}

fn tell(metrics: &Metrics, reason: UnrestoredReason) {
    Unrestored { reason }.emit(metrics);
}
