//! Unredacts the answers to redacted prompts (CONTRACT 41): event streams as they pass, other answers once
//! they are complete. What cannot be read passes unchanged, counted and logged. `unredact` decides which
//! bytes change.

use super::placeholders::Placeholders;
use super::unredact::{self, UnredactStream};
use crate::gateway::exchange::answer::{Filtered, StreamFilter};
use crate::gateway::exchange::capture::Layout;
use crate::gateway::headers::DIGESTS;
use crate::observe::events::Unrestored;
use crate::observe::{Metrics, UnrestoredReason};
use bytes::Bytes;
use monitor_wire::protocol::Protocol;
use pingora_http::ResponseHeader;
use std::sync::Arc;

/// Unredacts one answer.
pub(crate) struct Unredact {
    pub(crate) protocol: &'static dyn Protocol,
    pub(crate) placeholders: Placeholders,
}

/// Unredacts an event stream as it passes.
pub(crate) struct UnredactFilter {
    stream: UnredactStream,
    metrics: Arc<Metrics>,
    is_reported: bool,
}

impl Unredact {
    /// A complete answer with its values.
    pub(crate) fn whole(&self, metrics: &Metrics, head: &mut ResponseHeader, body: Bytes) -> Bytes {
        let layout = Layout::of(head);
        if layout.encoded {
            report(metrics, UnrestoredReason::Compressed);
            return body;
        }
        let unredacted = match layout.event_stream {
            true => unredact::stream(self.protocol, &self.placeholders, &body),
            false => unredact::answer(self.protocol, &self.placeholders, &body),
        };
        let Some(unredacted) = unredacted else {
            report(metrics, UnrestoredReason::Unreadable);
            return body;
        };
        if unredacted != body {
            for name in DIGESTS {
                head.remove_header(name);
            }
        }
        unredacted.into()
    }

    /// The filter for an answer that is relayed; None, counted, for one that cannot be unredacted on its way.
    /// `limit` bounds the size of a frame.
    pub(crate) fn filter(
        self,
        metrics: &Arc<Metrics>,
        layout: Layout,
        limit: u64,
    ) -> Option<UnredactFilter> {
        if layout.plain_stream() {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            return Some(UnredactFilter {
                stream: UnredactStream::new(self.protocol, self.placeholders, limit),
                metrics: metrics.clone(),
                is_reported: false,
            });
        }
        let reason = match layout.encoded {
            true => UnrestoredReason::Compressed,
            false => UnrestoredReason::TooLarge,
        };
        report(metrics, reason);
        None
    }
}

impl StreamFilter for UnredactFilter {
    fn push(&mut self, chunk: Bytes) -> Filtered {
        let unredacted = self.stream.push(&chunk);
        if self.stream.unreadable() > 0 && !std::mem::replace(&mut self.is_reported, true) {
            report(&self.metrics, UnrestoredReason::Unreadable);
        }
        Filtered::passing(unredacted.into())
    }

    fn finish(&mut self, _complete: bool) -> Filtered {
        Filtered::passing(self.stream.finish().into())
    }
}

fn report(metrics: &Metrics, reason: UnrestoredReason) {
    Unrestored { reason }.emit(metrics);
}
