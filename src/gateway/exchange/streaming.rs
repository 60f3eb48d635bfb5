//! What becomes of a call of sync mode that asks for a stream (§3, CONTRACT 2, 41, 43): a plain answer, a stream
//! that is checked on its way, or the checked answer as a stream.

use super::block::BlockForm;
use super::held::Replay;
use super::hold_back::HoldBack;
use crate::gateway::state::Snapshot;
use crate::observe::StreamHandling;
use crate::observe::events::StreamAsked;
use monitor_model::{Policy, StreamInSync};
use monitor_wire::json::{Chat, Edit};
use std::sync::Arc;

/// How a call that asks for a stream goes on; without anything for one that asks for none.
pub(super) struct Streaming {
    /// What changes in the body for the upstream.
    pub(super) edits: Vec<Edit<Vec<u8>>>,
    /// The form of an answer that the gateway makes itself.
    pub(super) form: BlockForm,
    /// The filter of a stream that is checked while it is relayed (CONTRACT 41).
    pub(super) filter: Option<Box<HoldBack>>,
    /// How a whole answer becomes a stream (CONTRACT 43).
    pub(super) replay: Option<Replay>,
}

impl Streaming {
    /// Follows the policy, and counts the call.
    pub(super) fn of(snapshot: &Snapshot, policy: &Arc<Policy>, chat: Chat<'_>) -> Self {
        let with_usage = chat.wants_usage();
        if policy.stream_in_sync == StreamInSync::HoldBack
            && chat.may_stream()
            && let Some(filter) = HoldBack::new(snapshot, policy)
        {
            count(snapshot, StreamHandling::HeldBack);
            return Self {
                edits: Vec::new(),
                form: BlockForm::Stream { with_usage },
                filter: Some(Box::new(filter)),
                replay: None,
            };
        }
        // Sync mode gives no stream otherwise (CONTRACT 2).
        let literals = chat.stream_true_spans().into_iter();
        let edits: Vec<_> = literals.map(|span| (span, b"false".to_vec())).collect();
        if policy.stream_in_sync == StreamInSync::Replay && chat.wants_stream() {
            count(snapshot, StreamHandling::Replayed);
            return Self::replayed(chat, edits, Replay { with_usage });
        }
        if !edits.is_empty() {
            count(snapshot, StreamHandling::Rewritten);
        }
        Self {
            edits,
            form: BlockForm::Completion,
            filter: None,
            replay: None,
        }
    }

    fn replayed(chat: Chat<'_>, mut edits: Vec<Edit<Vec<u8>>>, replay: Replay) -> Self {
        // Model servers refuse options of a stream where none is asked for.
        let options = chat.stream_options_spans().into_iter();
        edits.extend(options.map(|span| (span, b"null".to_vec())));
        Self {
            edits,
            form: BlockForm::Stream {
                with_usage: replay.with_usage,
            },
            filter: None,
            replay: Some(replay),
        }
    }
}

fn count(snapshot: &Snapshot, handling: StreamHandling) {
    StreamAsked { handling }.emit(&snapshot.metrics);
}
