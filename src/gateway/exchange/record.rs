//! The two registrations of one exchange (§1.2, CONTRACT 3, 5, 7, 11, 17).

use super::capture::Captured;
use crate::gateway::Shared;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers::Extensions;
use crate::json::{self, Scan};
use crate::model::{ErrorType, ExchangeId, Stage};
use crate::telemetry::{CallFailure, ClosedBy, Queue, Record, RecordContext};
use bytes::Bytes;
use pingora_core::protocols::http::ServerSession;
use std::sync::Arc;

/// An exchange whose prompt is registered and whose answer is to come. Without a backend it is empty.
pub(super) struct Registration(Option<Open>);

struct Open {
    queue: Queue,
    context: Arc<RecordContext>,
}

impl Registration {
    /// Registers the prompt: accepted by the queue before the upstream call starts.
    pub(super) fn pre_call(
        shared: &Shared,
        session: &ServerSession,
        ctx: &mut CallContext,
        (body, scan): (&Bytes, &Scan),
    ) -> Self {
        let (Some(queue), Some(access_key)) = (&shared.telemetry, ctx.key.take()) else {
            return Self(None);
        };
        let said = Extensions::of(&session.req_header().headers);
        let fallback = || {
            shared
                .settings
                .monitor
                .application_id
                .map(|id| id.to_string())
        };
        let context = Arc::new(RecordContext {
            exchange: ExchangeId::random(),
            access_key,
            application_id: said.application_id.or_else(fallback),
            user_id: said.user_id,
            session_id: said.session_id,
        });
        let prompt = json::Chat::read(body, scan).prompt(&[]);
        let open = Open {
            queue: queue.clone(),
            context,
        };
        let limit = shared.settings.limits.recorded_bytes;
        open.push(Stage::PreCall, bounded(prompt, limit), None);
        Self(Some(open))
    }

    /// Whether anybody wants the answer.
    pub(super) fn wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Registers the answer, whole or with what went wrong.
    pub(super) fn post_call(self, answer: Captured, failure: Option<CallFailure>) {
        if let Some(open) = self.0 {
            open.push(Stage::PostCall, answer, failure);
        }
    }

    /// Registers a call that got no answer at all.
    pub(super) fn post_call_failed(self, error: &CallError) {
        let answer = error.answer();
        let failure = CallFailure {
            kind: answer
                .as_ref()
                .map_or(ErrorType::GatewayError, |answer| answer.kind)
                .as_str()
                .into(),
            code: answer.as_ref().map_or(0, |answer| answer.status),
            message: answer.map_or_else(
                || "the client left before the answer".into(),
                |answer| answer.message,
            ),
            closed_by: match error {
                CallError::ClientGone => ClosedBy::Client,
                CallError::Connect(_) => ClosedBy::Gateway,
                _ => ClosedBy::Upstream,
            },
        };
        self.post_call(
            Captured {
                text: String::new(),
                incomplete: true,
            },
            Some(failure),
        );
    }
}

/// The text, cut at a character where it is over `limit` bytes.
fn bounded(mut text: String, limit: u64) -> Captured {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let incomplete = text.len() > limit;
    text.truncate(text.floor_char_boundary(limit));
    Captured { text, incomplete }
}

impl Open {
    fn push(&self, stage: Stage, answer: Captured, failure: Option<CallFailure>) {
        self.queue.push(Record {
            stage,
            context: self.context.clone(),
            message: answer.text,
            incomplete: answer.incomplete,
            failure,
        });
    }
}
