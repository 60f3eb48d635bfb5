//! The record of an answer that the model server keeps and delivers to another call: that of a background response,
//! when it is fetched or canceled. The call is transparent. Its answer is copied as it passes, and registered behind
//! its last byte as an exchange whose prompt is empty: the prompt itself is on the record of the call that sent it. The
//! record is marked, for each delivery repeats the tokens of that call.

use super::capture::{Capture, Captured, Wanted, has_text};
use super::record::{Registration, failure_of};
use super::scan_roles::call_texts;
use crate::gateway::call_trace::AnswerMetadata;
use crate::gateway::context::{CallContext, RecordedAnswer};
use crate::gateway::error::CallError;
use crate::gateway::limits::MemoryReservation;
use crate::gateway::state::Snapshot;
use crate::policy::Found;
use monitor_wire::json::Prompt;
use monitor_wire::protocol::Protocol;
use pingora_core::protocols::http::ServerSession;
use pingora_http::ResponseHeader;
use std::sync::{Arc, Mutex, PoisonError};

/// What an answer is while the model server works on it.
const UNFINISHED: [&str; 2] = ["queued", "in_progress"];

/// A stored answer on its way to the client.
pub(crate) struct StoredAnswer {
    snapshot: Arc<Snapshot>,
    protocol: &'static dyn Protocol,
    holder: u64,
    registration: Registration,
    /// Never locked: pingora wants what a call carries to be shareable, though it shares nothing of it.
    capture: Mutex<Capture>,
}

impl StoredAnswer {
    /// Opens the exchange; None where nothing is registered.
    pub(crate) fn open(session: &ServerSession, ctx: &mut CallContext) -> Option<Box<Self>> {
        let snapshot = ctx.snapshot.clone();
        let mut registration = Registration::open(&snapshot, session, ctx, None);
        registration.set_stored_response();
        let policies = ctx.policies.as_ref();
        let found = policies.map(|policies| policies.lookup(registration.application_id()));
        if let Some(Found::Policy(policy)) = found {
            registration.set_calls(call_texts(&policy));
        }
        registration.wants_answer().then(|| {
            Box::new(Self {
                snapshot,
                protocol: ctx.protocol,
                holder: ctx.tenant.holder,
                registration,
                capture: Mutex::new(Capture::Off),
            })
        })
    }
}

impl RecordedAnswer for StoredAnswer {
    /// An error has no text to record.
    fn begin(&mut self, head: &ResponseHeader) {
        let wanted = Wanted {
            protocol: self.protocol,
            calls: self.registration.calls(),
            text: has_text(head),
            metadata: has_text(head),
            limit: self.snapshot.settings.limits.recorded_bytes,
        };
        let reservation = MemoryReservation::new(&self.snapshot.memory, self.holder);
        self.registration.set_status(head.status.as_u16());
        self.capture = Mutex::new(Capture::new(head, wanted, reservation));
    }

    fn push(&mut self, bytes: &[u8]) {
        let capture = self.capture.get_mut();
        capture.unwrap_or_else(PoisonError::into_inner).push(bytes);
    }

    /// Registers nothing of an answer without text, as most polls get it.
    fn finish(self: Box<Self>, failure: Option<&CallError>) -> Option<Box<AnswerMetadata>> {
        let capture = self.capture.into_inner();
        let mut captured = capture.unwrap_or_else(PoisonError::into_inner).finish();
        if !is_recorded(&captured) {
            return None;
        }
        captured.incomplete |= failure.is_some();
        let metadata = captured.metadata.take();
        self.registration.pre_call(0, Prompt::default);
        self.registration
            .post_call(captured, failure.map(failure_of));
        metadata
    }
}

/// Whether the client got something to record. What cannot be read of a finished answer may be text.
fn is_recorded(captured: &Captured) -> bool {
    let metadata = captured.metadata.as_ref();
    let is_unfinished =
        metadata.is_some_and(|answer| UNFINISHED.into_iter().any(|status| answer.ended_by(status)));
    !captured.text.is_empty() || (captured.incomplete && !is_unfinished)
}
