//! How a call of sync mode that asks for a stream is answered (§3, CONTRACT 2, 41, 43): as a whole, as a stream
//! that is checked on its way, or as the checked answer in the form of a stream.

use super::block::BlockForm;
use super::held::Replay;
use super::hold_back::HoldBack;
use crate::gateway::state::Snapshot;
use crate::observe::events::StreamAsked;
use crate::observe::{Metrics, StreamHandling};
use monitor_model::{ApplicationId, Policy, StreamInSync};
use monitor_wire::json::{Chat, Edit};
use std::sync::Arc;

/// How a call that asks for a stream goes on; without anything for one that asks for none.
pub(super) struct Streaming {
    /// How it is counted.
    handling: Option<StreamHandling>,
    /// Of the call, for the log.
    application: Option<ApplicationId>,
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
    /// Follows the policy.
    pub(super) fn decide(
        snapshot: &Snapshot,
        policy: &Arc<Policy>,
        application: Option<ApplicationId>,
        chat: Chat<'_>,
    ) -> Self {
        let form = match chat.wants_stream() {
            true => BlockForm::Stream {
                with_usage: chat.wants_usage(),
            },
            false => BlockForm::Completion,
        };
        if policy.stream_in_sync == StreamInSync::HoldBack
            && chat.may_stream()
            && let Some(filter) = HoldBack::new(snapshot, policy, chat.choices())
        {
            return Self {
                handling: Some(StreamHandling::HeldBack),
                application,
                edits: Vec::new(),
                form,
                filter: Some(Box::new(filter)),
                replay: None,
            };
        }
        // Sync mode gives no stream otherwise (CONTRACT 2).
        let literals = chat.stream_true_spans().into_iter();
        let mut edits: Vec<_> = literals.map(|span| (span, b"false".to_vec())).collect();
        if policy.stream_in_sync == StreamInSync::Replay
            && let BlockForm::Stream { with_usage } = form
        {
            // Model servers refuse options of a stream where none is asked for.
            let options = chat.stream_options_spans().into_iter();
            edits.extend(options.map(|span| (span, b"null".to_vec())));
            return Self {
                handling: Some(StreamHandling::Replayed),
                application,
                edits,
                form,
                filter: None,
                replay: Some(Replay {
                    with_usage,
                    choices: chat.choices(),
                    application,
                }),
            };
        }
        Self {
            handling: (!edits.is_empty()).then_some(StreamHandling::Rewritten),
            application,
            edits,
            form: BlockForm::Completion,
            filter: None,
            replay: None,
        }
    }

    /// Counts a call that may get a stream.
    pub(super) fn emit(&self, metrics: &Metrics) {
        if let Some(handling) = self.handling {
            let application = self.application;
            StreamAsked {
                handling,
                application,
            }
            .emit(metrics);
        }
    }
}
