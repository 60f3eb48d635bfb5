//! A complete answer as the events of a stream (CONTRACT 43).

use crate::fair_queue::heavy;
use crate::gateway::exchange::capture;
use crate::gateway::state::Snapshot;
use crate::observe::UnreplayedReason;
use crate::observe::events::Unreplayed;
use monitor_model::ApplicationId;
use monitor_wire::sse::{self, NotReplayed};
use pingora_http::ResponseHeader;

/// Sends a whole answer as a stream.
#[derive(Clone, Copy)]
pub(crate) struct Replay {
    /// Whether the last event holds the usage, as `stream_options.include_usage` asks for.
    pub(crate) with_usage: bool,
    /// How many choices the client asked for.
    pub(crate) choices: u64,
    /// Of the call, for the log.
    pub(crate) application: Option<ApplicationId>,
}

impl Replay {
    /// The events of a complete answer, with at most `limits.recorded_bytes`; None, counted, for one that is no chat
    /// completion, and for one with more.
    pub(crate) fn events(
        self,
        snapshot: &Snapshot,
        head: &ResponseHeader,
        body: &[u8],
    ) -> Option<Vec<u8>> {
        let limit = snapshot.settings.limits.recorded_bytes;
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let events = heavy(capture::plain_bytes(head, body, limit), || {
            let plain = capture::decoded(head, body, limit).ok_or(NotReplayed::Unreadable)?;
            sse::replay(&plain, self.with_usage, self.choices, most)
        });
        let reason = |error| match error {
            NotReplayed::Unreadable => UnreplayedReason::Unreadable,
            NotReplayed::TooLarge => UnreplayedReason::TooLarge,
        };
        events
            .map_err(|error| self.report(snapshot, reason(error)))
            .ok()
    }

    /// Counts and logs an answer that could not be sent as a stream.
    pub(crate) fn report(self, snapshot: &Snapshot, reason: UnreplayedReason) {
        let application = self.application;
        Unreplayed {
            reason,
            application,
        }
        .emit(&snapshot.metrics);
    }
}
