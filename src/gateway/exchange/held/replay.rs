//! A complete answer as the events of a stream (CONTRACT 43).

use crate::fair_queue::heavy;
use crate::gateway::exchange::capture;
use crate::gateway::state::Snapshot;
use crate::observe::UnreplayedReason;
use crate::observe::events::Unreplayed;
use monitor_wire::sse;
use pingora_http::ResponseHeader;

/// Sends a whole answer as a stream.
#[derive(Clone, Copy)]
pub(crate) struct Replay {
    /// Whether the last event holds the usage, as `stream_options.include_usage` asks for.
    pub(crate) with_usage: bool,
}

impl Replay {
    /// The events of a complete answer; None, counted, for one that is no chat completion.
    pub(crate) fn events(
        self,
        snapshot: &Snapshot,
        head: &ResponseHeader,
        body: &[u8],
    ) -> Option<Vec<u8>> {
        let limit = snapshot.settings.limits.recorded_bytes;
        let events = heavy(body.len(), || {
            let plain = capture::decoded(head, body, limit)?;
            sse::replay(&plain, self.with_usage)
        });
        if events.is_none() {
            report_unreplayed(snapshot, UnreplayedReason::Unreadable);
        }
        events
    }
}

/// Counts and logs an answer that could not be sent as a stream.
pub(crate) fn report_unreplayed(snapshot: &Snapshot, reason: UnreplayedReason) {
    Unreplayed { reason }.emit(&snapshot.metrics);
}
