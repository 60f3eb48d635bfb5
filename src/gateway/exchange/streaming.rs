//! How a call of sync mode that asks for a stream is answered (§3, CONTRACT 2, 41, 43): as a whole, as a stream
//! that is checked on its way, or as the checked answer in the form of a stream.

use super::block::BlockForm;
use super::held::Replay;
use super::hold_back::HoldBack;
use crate::gateway::state::Snapshot;
use crate::observe::events::StreamAsked;
use crate::observe::{Metrics, StreamHandling};
use monitor_model::{ApplicationId, Policy, StreamInSync};
use monitor_wire::json::{Edit, Request};
use monitor_wire::protocol::Protocol;
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
        request: Request<'_>,
        protocol: &'static dyn Protocol,
    ) -> Self {
        let form = match request.wants_stream() {
            true => BlockForm::Stream {
                with_usage: request.wants_usage(),
            },
            false => BlockForm::Whole,
        };
        // Programs that speak the other APIs ask for the whole answer where a stream broke.
        let may_be_held = request.may_stream() || !protocol.may_answer_whole();
        if policy.stream_in_sync == StreamInSync::HoldBack
            && may_be_held
            && let Some(filter) = HoldBack::new(snapshot, policy, protocol, request)
        {
            return Self {
                handling: request.may_stream().then_some(StreamHandling::HeldBack),
                application,
                edits: Vec::new(),
                form,
                filter: Some(Box::new(filter)),
                replay: None,
            };
        }
        if !protocol.may_answer_whole() {
            return Self {
                handling: None,
                application,
                edits: Vec::new(),
                form,
                filter: None,
                replay: None,
            };
        }
        // Sync mode gives no stream otherwise (CONTRACT 2).
        let literals = request.stream_true_spans().into_iter();
        let mut edits: Vec<_> = literals.map(|span| (span, b"false".to_vec())).collect();
        if policy.stream_in_sync == StreamInSync::Replay
            && let BlockForm::Stream { with_usage } = form
        {
            // Model servers refuse options of a stream where none is asked for.
            let options = request.stream_options_spans().into_iter();
            edits.extend(options.map(|span| (span, b"null".to_vec())));
            return Self {
                handling: Some(StreamHandling::Replayed),
                application,
                edits,
                form,
                filter: None,
                replay: Some(Replay {
                    with_usage,
                    choices: request.choices(),
                    application,
                }),
            };
        }
        Self {
            handling: (!edits.is_empty()).then_some(StreamHandling::Rewritten),
            application,
            edits,
            form: BlockForm::Whole,
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
